"""Algorithms of a user's own in a configuration: `name = "mine.py:Mine"`, with their parameters beside it."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from pydantic import Field, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from hocket.algorithm import Algorithm
from hocket.config.files import blaming, check_unchanged, found, load_name, load_source, sha256
from hocket.config.section import check
from hocket.config.sections import (
    NOT_IN_A_FILE,
    AlgorithmSection,
    algorithm_section,
    is_algorithm,
    read_algorithm,
)
from hocket.errors import BadConfig
from hocket.files import toml_tables

OWN = re.compile(r"(?P<file>.*\.py):(?P<name>\w*)", re.DOTALL)
EXAMPLE = "mine.py:Mine"
KIND = "hocket.Algorithm"


class OwnSection(AlgorithmSection):
    """An algorithm from a user's file: which file, and the algorithm's parameters."""

    file: ClassVar[Path]
    not_parameters: ClassVar[tuple[str, ...]] = ("sha256",)
    sha256: str | None = Field(
        None, description="the SHA-256 of its file in hexadecimal, if it must not change"
    )

    def build(self) -> Algorithm:
        with blaming(self.file):
            return super().build()


def is_own(name: Any) -> bool:
    """Whether the name of an algorithm is a file and a class in it.

    >>> is_own("mine.py:Mine"), is_own("dgd")
    (True, False)
    """
    return isinstance(name, str) and OWN.fullmatch(name) is not None


def own_parts(name: str) -> tuple[str, str]:
    """The file, and the class in it."""
    parts = OWN.fullmatch(name)
    if parts is None or not parts["name"]:
        raise BadConfig(f"{name!r} is no class in a file; write {EXAMPLE}")
    return parts["file"], parts["name"]


def read_any_algorithm(table: Mapping[str, Any], base: Path = Path()) -> AlgorithmSection:
    """The section [algorithm], checked against the algorithm it names, hocket's or one in a file seen from `base`;
    that file is run."""
    if not is_own(table.get("name")):
        return read_algorithm(table)
    file, name = own_parts(table["name"])
    path, pinned = found(base, file, "[algorithm] name"), table.get("sha256")
    check_unchanged(path, pinned if isinstance(pinned, str) else None)
    return check(section_of(load_name(path, name, kind=KIND), path, name), "algorithm", table)


def kept_by_place(section: AlgorithmSection) -> AlgorithmSection:
    """The same section for a folder elsewhere: its file by its whole path and fingerprint."""
    if not isinstance(section, OwnSection):
        return section
    path, (_, name) = section.file.resolve(), own_parts(section.name)
    return section.model_copy(update={"name": f"{path}:{name}", "sha256": sha256(path)})


def pinned_section(source: bytes, path: Path, name: str) -> type[OwnSection]:
    """The keys of an algorithm that is all in these bytes, whose digest names it."""
    return section_of(load_source(source, path, name, kind=KIND), path, name)


def digest_of_source(source: bytes) -> str:
    """What names a source."""
    return hashlib.sha256(source).hexdigest()


def section_of(kind: Any, path: Path, name: str) -> type[OwnSection]:
    """The keys that a user's class has in a file."""
    if not is_algorithm(kind):
        what = f"a {type(kind).__name__}" if not isinstance(kind, type) else "another class"
        raise BadConfig(f"{name} in {path} is {what}; name a class that is a {KIND}")
    with blaming(path):
        without = {*NOT_IN_A_FILE, *_unwritable(kind, path)}
        section: Any = algorithm_section(kind, OwnSection, without=without)
    section.file = path
    return section


def _unwritable(kind: type[Algorithm], path: Path) -> Iterator[str]:
    """Parameters of kinds that no file can hold; refused where the algorithm cannot do without."""
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        taken = field.name in OwnSection.model_fields
        if is_algorithm(hints[field.name]) or (_writable(hints[field.name]) and not taken):
            continue
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            why = "is what a section calls its algorithm" if taken else "is of a kind that no file can hold"
            raise BadConfig(
                f"{field.name} of {kind.__name__} in {path} {why}; annotate it as float, int, bool or str"
                f"{' under another name' if taken else ''}, or give it a default"
            )
        yield field.name


def _writable(kind: Any) -> bool:
    try:
        TypeAdapter(kind)
    except (PydanticSchemaGenerationError, PydanticUserError):
        return False
    return True


def parameters_in(words: list[str] | None) -> dict[str, Any]:
    """Parameters as they are typed, gain=0.3: each value as in a configuration, or else as text.

    >>> parameters_in(["gain=0.3", "order=2", "rule=plain"])
    {'gain': 0.3, 'order': 2, 'rule': 'plain'}
    """
    given: dict[str, Any] = {}
    for word in words or ():
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not key.isidentifier():
            raise BadConfig(f"--set {word} sets nothing; write a parameter and its value, gain=0.3")
        try:
            given[key] = toml_tables(f"value = {value}")["value"]
        except BadConfig:
            given[key] = value
    return given
