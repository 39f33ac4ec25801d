"""Algorithms that are not hocket's, in a federation: one file, named in the plan by the hash of its source.

A plan comes from somebody else, and must not choose what is run here. So its algorithm's source is run only where
somebody at this machine has named its file, and only if it is the source that all have signed; once signed for, it is
kept in the member's home under its hash.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.config.own_algorithm import OwnSection, digest_of_source, own_parts, pinned_section
from hocket.config.section import check, shown
from hocket.config.sections import AlgorithmSection
from hocket.errors import BadConfig, BadPlan
from hocket.files import read_text
from hocket.machine import private_folder, replace_text

LONGEST = 1_000_000
"""Bytes of a source: far beyond any algorithm's, and few enough to read from a stranger."""
PLAIN = re.compile(r"\w[\w.-]{0,99}\.py:[A-Za-z_]\w{0,99}", re.ASCII)
"""What a plan calls one: a file without its folder, and a class in it."""
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class OwnCode:
    """Where an algorithm's source may be taken from.
    A file that somebody named, those kept in a home, or one that has been loaded already."""

    named: str | None = None
    """FILE.py:CLASS, as seen from where the command was typed."""
    kept: Path | None = None
    """A folder of sources by their hashes."""
    loaded: AlgorithmSection | None = None

    def naming(self, named: str | None) -> OwnCode:
        """The same with a file that was named."""
        return dataclasses.replace(self, named=named)

    def table(self) -> dict[str, Any]:
        """How a plan names the file that was named: without its folder, by its hash."""
        path, name = self._file()
        table = {"name": f"{path.name}:{name}", "sha256": digest_of_source(_source(path))}
        _check_plain(table)
        return table

    def read(self, table: Mapping[str, Any]) -> AlgorithmSection:
        """The section [algorithm] of a plan, checked against the class that it names; refuses any other source."""
        _check_plain(table)
        name, pinned = table["name"], table["sha256"]
        loaded = self.loaded
        if isinstance(loaded, OwnSection) and (loaded.name, loaded.sha256) == (name, pinned):
            return check(type(loaded), "algorithm", table)
        if self.named is not None and own_parts(self.named)[1] != own_parts(name)[1]:
            raise BadPlan(f"the plan runs {name}, and --algorithm names {self.named}; name the same class")
        path = self._kept(pinned) if self.named is None else self._file()[0]
        if path is None:
            raise BadPlan(
                f"the plan runs {name}, which is not hocket's and was not named here; read that file, whose SHA-256 is "
                f"{pinned[:16]}…, and name your copy: --algorithm {name}"
            )
        source = _source(path)
        if digest_of_source(source) != pinned:
            raise BadPlan(
                f"{path} is not the source that the plan names for {name}: its SHA-256 is "
                f"{digest_of_source(source)[:16]}…, and all sign {pinned[:16]}…; bring that file, or have a plan "
                "drawn up with this one"
            )
        return check(pinned_section(source, path, own_parts(name)[1]), "algorithm", table)

    def keep(self, section: AlgorithmSection) -> None:
        """Put the source of a plan that was signed where later commands find it."""
        if not isinstance(section, OwnSection) or self.kept is None or section.sha256 is None:
            return
        place = self.kept / f"{section.sha256}.py"
        if not place.exists():
            private_folder(place.parent)
            replace_text(place, _source(section.file).decode())

    def _kept(self, pinned: str) -> Path | None:
        if self.kept is None:
            return None
        path = self.kept / f"{pinned}.py"
        return path if path.is_file() else None

    def _file(self) -> tuple[Path, str]:
        assert self.named is not None
        file, name = own_parts(self.named)
        path = Path(file).expanduser()
        if not path.is_file():
            raise BadConfig(
                f"--algorithm {self.named}: there is no file {path}; name it as seen from {Path.cwd()}"
            )
        return path, name


NO_CODE = OwnCode()
"""Nothing but hocket's own algorithms."""


def _check_plain(table: Mapping[str, Any]) -> None:
    """Refuse what cannot be the name of a class in a file, or the hash of one, before anything is made of it."""
    name, pinned = table.get("name"), table.get("sha256")
    if not isinstance(name, str) or not PLAIN.fullmatch(name):
        raise BadPlan(
            f"[algorithm] name = {shown(name)} names no class in a file; a plan has the file's name without its "
            "folder, in plain letters, mine.py:Mine"
        )
    if not isinstance(pinned, str) or not DIGEST.fullmatch(pinned):
        raise BadPlan(
            f"[algorithm] sha256 = {shown(pinned)} is no hash; a plan with {name} has the 64 digits of its source's "
            "SHA-256"
        )


def _source(path: Path) -> bytes:
    return read_text(path, LONGEST).encode()
