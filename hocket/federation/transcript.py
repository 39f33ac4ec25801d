"""A member's signed word on what was said over its links in a finished run: digests, from which nobody learns a state.

If both ends of every link have signed the same digests, every member heard what its neighbours said, and nobody on the
way changed a bit.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadInput
from hocket.federation.plan import FederationPlan
from hocket.federation.run_folder import read_json, write_json
from hocket.links.identity import Identity, verify
from hocket.links.journal import Journal
from hocket.links.records import Record

PURPOSE = b"hocket/transcript/1"
"""What members sign a transcript for."""
FILE = "transcript.json"


class LinkDigests(Section):
    """One link, as one end has it."""

    said: str = Field(
        pattern="^[0-9a-f]{64}$", description="the running digest of all words said, in hexadecimal"
    )
    heard: str = Field(
        pattern="^[0-9a-f]{64}$", description="the running digest of all words heard, in hexadecimal"
    )


class TranscriptSection(Section):
    """The file."""

    member: str = Field(description="the member's name")
    run: str = Field(description="the run's hash, in hexadecimal")
    links: dict[str, LinkDigests] = Field(description="digests by neighbour")
    left: list[str] = Field(description="members who were dropped on the way")
    signature: str = Field(description="the member's signature, in base 64")


@dataclass(frozen=True)
class Transcript:
    """Digests by neighbour; members who were dropped are named, as their two ends may have parted at other words."""

    member: str
    run: bytes
    links: dict[str, LinkDigests]
    left: tuple[str, ...]
    signature: bytes = b""

    @classmethod
    def of(cls, identity: Identity, journal: Journal, records: dict[str, Record]) -> Transcript:
        """What a member signs when it has finished."""
        left = tuple(sorted(journal.ballots.left))
        links = {
            name: LinkDigests(said=one.said.hex(), heard=one.heard.hex())
            for name, one in sorted(records.items())
            if name not in left
        }
        unsigned = cls(identity.name, journal.plan, links, left)
        return cls(identity.name, journal.plan, links, left, identity.sign(unsigned.message, PURPOSE))

    @property
    def message(self) -> bytes:
        """What is signed."""
        return json.dumps(self._table(), sort_keys=True, separators=(",", ":")).encode()

    def save(self, folder: Path) -> None:
        """Write it into a run's folder."""
        write_json(folder / FILE, self._table() | {"signature": base64.b64encode(self.signature).decode()})

    def check(self, plan: FederationPlan) -> None:
        """Refuse what is of another run, or what its member has not signed."""
        if self.run != plan.run_hash:
            raise BadInput(f"the transcript of {self.member} is of another run; ask for that of this plan")
        if not verify(plan.card(self.member).certificate_pem, self.message, PURPOSE, self.signature):
            raise BadInput(
                f"the transcript of {self.member} was not signed by it; ask {self.member} for it again"
            )

    def _table(self) -> dict[str, Any]:
        return {
            "member": self.member,
            "run": self.run.hex(),
            "links": {name: one.model_dump() for name, one in self.links.items()},
            "left": list(self.left),
        }


def read_transcript(folder: Path) -> Transcript:
    """The transcript in a folder that a member gave."""
    path = folder / FILE
    if not path.is_file():
        raise BadConfig(f"there is no {FILE} in {folder}; a member writes it when it has finished its run")
    found = check(TranscriptSection, FILE, read_json(path))
    try:
        run, signature = bytes.fromhex(found.run), base64.b64decode(found.signature, validate=True)
    except ValueError:
        raise BadConfig(f"{path} is damaged: no hexadecimal or base 64; ask for it again") from None
    return Transcript(found.member, run, found.links, tuple(found.left), signature)
