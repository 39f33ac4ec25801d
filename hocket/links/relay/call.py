"""What an end says to a relay: who it is, whom it wants, and that it means this relay, now.

The relay's challenge is fresh for every connection, and its name is signed with the answer: an answer that was given to
one relay is worth nothing at another, nor a second time.

    challenge   32 bytes                                        relay
    call        role, plan, from, to, and a signature           member
    WAIT        the other end is not there yet                  relay
    JOINED      all that follows is the other end's             relay
    AGAIN       this took too long; call again                  relay, in place of JOINED
    NO …        refused, and why                                relay, in place of either
"""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hocket.errors import LinkError
from hocket.files import json_value
from hocket.links.keys.identity import Identity, check_name, verify
from hocket.links.text import is_table, shown

PURPOSE = b"hocket/relay/1 call"
"""What the identity key signs here, and nowhere else."""
CHALLENGE_BYTES = 32
WAIT, JOINED, AGAIN, NO = b"W", b"J", b"A", b"N"
LONGEST_NAME = 300
"""Characters of a relay's name."""
LONGEST_SIGNATURE = 200
PLAN = re.compile("[0-9a-f]{64}")


class Role(StrEnum):
    """Which end of a link calls."""

    LISTENS = "listens"
    DIALS = "dials"


@dataclass(frozen=True)
class Call:
    """One end of one link at one relay."""

    relay: str
    """Its name, as it stands on the listener's card."""
    role: Role
    plan: str
    """The plan's hash in hex."""
    sender: str
    other: str

    @property
    def link(self) -> tuple[str, str, str]:
        """The plan, who listens and who dials: the same for both ends."""
        ends = (self.sender, self.other) if self.role is Role.LISTENS else (self.other, self.sender)
        return (self.plan, *ends)

    def signed_by(self, identity: Identity, challenge: bytes) -> bytes:
        """The answer to a challenge, as it goes over the wire."""
        signature = identity.sign(self._to_sign(challenge), PURPOSE)
        table = {
            "relay": self.relay,
            "role": str(self.role),
            "plan": self.plan,
            "from": self.sender,
            "to": self.other,
            "signature": base64.b64encode(signature).decode(),
        }
        return json.dumps(table).encode()

    def is_signed(self, certificate: bytes, challenge: bytes, signature: bytes) -> bool:
        """Whether the owner of this certificate gave this answer to this challenge."""
        return verify(certificate, self._to_sign(challenge), PURPOSE, signature)

    def _to_sign(self, challenge: bytes) -> bytes:
        fields = [self.relay, str(self.role), self.plan, self.sender, self.other]
        return b"".join(len(part).to_bytes(2, "big") + part for part in (*map(str.encode, fields), challenge))


def new_challenge() -> bytes:
    """What nobody has signed before."""
    return os.urandom(CHALLENGE_BYTES)


def read_call(message: bytes) -> tuple[Call, bytes]:
    """A call and its signature, from the wire; refused if it has any other form."""
    try:
        table: Any = json_value(message)
        if not is_table(table) or not all(isinstance(value, str) for value in table.values()):
            raise ValueError
        fields = [table.pop(key) for key in ("relay", "role", "plan", "from", "to", "signature")]
        if table or len(fields[0]) > LONGEST_NAME or not PLAN.fullmatch(fields[2]):
            raise ValueError
        if len(fields[5]) > LONGEST_SIGNATURE:
            raise ValueError
        for name in fields[3:5]:
            check_name(name)
        call = Call(fields[0], Role(fields[1]), fields[2], fields[3], fields[4])
        return call, base64.b64decode(fields[5], validate=True)
    except (ValueError, KeyError, RecursionError):
        raise LinkError("this is no call of a member") from None


def refusal(words: str) -> bytes:
    """A refusal as it goes over the wire."""
    return NO + words.encode()


def words_of(message: bytes) -> str:
    """What a relay said when it refused, fit to be shown."""
    return shown(message[1:].decode("utf-8", "replace")) or "it does not say why"
