"""The files that a run leaves, each by its digest, signed by the member: nobody changes a page or a table unseen.

The numbers of a study are signed by all members (study_signatures.py). A page and a table are one member's own: they
are made from these numbers, and hold what this member alone knows of its rows, so that nobody else can sign them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from hocket.config.files import sha256
from hocket.config.section import Section, check
from hocket.errors import BadInput
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.run_folder import MOST_GIVEN, read_json, write_json
from hocket.federation.verification.noise_disclosure import FOLDER as DISCLOSED
from hocket.federation.verification.study_signatures import SIGNATURES
from hocket.federation.verification.verify import FILE as TRANSCRIPT
from hocket.links.keys.identity import NAME, Identity, verify_text
from hocket.studies.results.results import COEFFICIENTS, PAGE, RESULTS

PURPOSE = b"hocket/files/1"
"""What members sign their files for."""
FILE = "files.json"
NAMED = (RESULTS, COEFFICIENTS, PAGE, SIGNATURES, TRANSCRIPT)
PUBLISHED = "published.*"
"""What a task writes at the end, in a format of its own."""
MOST = 100
"""Files that a run may leave."""


class FileSection(Section):
    """One file."""

    size: int = Field(ge=0, description="its bytes")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="its SHA-256, in hexadecimal")


class FilesSection(Section):
    """The file."""

    member: str = Field(pattern=f"^{NAME.pattern}$", description="the member's name")
    run: str = Field(pattern="^[0-9a-f]{64}$", description="the run's hash, in hexadecimal")
    files: dict[Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,100}$")], FileSection] = Field(
        max_length=MOST, description="size and digest by name"
    )
    signature: str = Field(max_length=200, description="the member's signature, in base 64")


@dataclass(frozen=True)
class CheckedFiles:
    """Files that are as their member signed them."""

    member: str
    files: tuple[str, ...]
    absent: tuple[str, ...]
    """Signed, and not given."""


def sign_files(identity: Identity, plan: FederationPlan, folder: Path) -> None:
    """Sign all that lies in a run's folder now and is given away, in place of what was signed before."""
    table: dict[str, Any] = {
        "member": identity.name,
        "run": plan.run_hash.hex(),
        "files": {name: _digest(folder / name) for name in given_away(folder)},
    }
    signature = identity.sign(_message(table), PURPOSE)
    write_json(folder / FILE, table | {"signature": base64.b64encode(signature).decode()})


def check_files(plan: FederationPlan, folder: Path) -> CheckedFiles | None:
    """Refuse a file in a folder that is not as its member signed it, or that it has not signed at all. None where
    there is nothing but a transcript, which is signed by itself."""
    there = [*given_away(folder)]
    if not (folder / FILE).is_file():
        unsigned = [name for name in there if name != TRANSCRIPT]
        if not unsigned:
            return None
        raise BadInput(
            f"nobody has signed {', '.join(unsigned)} in {folder}: {FILE} is missing, which names each file by its "
            "digest; ask the member for its whole folder"
        )
    found = check(FilesSection, FILE, read_json(folder / FILE, MOST_GIVEN))
    table = found.model_dump(exclude={"signature"})
    if found.run != plan.run_hash.hex():
        raise BadInput(f"{folder / FILE} is of another run; ask {found.member} for that of this plan")
    if not verify_text(plan.card(found.member).certificate_pem, _message(table), PURPOSE, found.signature):
        raise BadInput(f"{folder / FILE} was not signed by {found.member}; ask {found.member} for it again")
    for name in there:
        if name not in found.files:
            raise BadInput(
                f"{found.member} has not signed {folder / name}; ask {found.member} for its whole folder"
            )
        # The size first: a digest of something huge takes long.
        signed, path = found.files[name], folder / name
        if path.stat().st_size != signed.size or sha256(path) != signed.sha256:
            raise BadInput(
                f"{path} was changed after {found.member} signed it; ask {found.member} for the file as it was"
            )
    absent = tuple(name for name in found.files if name not in there)
    return CheckedFiles(found.member, tuple(there), absent)


def given_away(folder: Path) -> Iterator[str]:
    """The files of a run's result that are there."""
    yield from (name for name in NAMED if (folder / name).is_file())
    yield from sorted(path.name for path in folder.glob(PUBLISHED) if path.is_file())


def not_signed(folder: Path) -> list[str]:
    """What else lies in a folder, be it called nearly the same: of that no signature says anything."""
    known = {*given_away(folder), FILE, DISCLOSED}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def _digest(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": sha256(path)}


def _message(table: dict[str, Any]) -> bytes:
    return json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
