"""The attendance of a run: a fresh number from every member, signed and passed on along the links.

A plan can be run again by members who lost their journals; then names, keys and the plan's hash are the same as before.
Whatever is signed for one run therefore names the numbers of those who are to believe it: each looks for its own, which
it drew by itself for this run alone, and so nothing from another run is ever taken for new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hocket.federation.plan.plan import FederationPlan
from hocket.links.keys.identity import Identity, verify
from hocket.links.wire import Frame, Kind

PURPOSE = b"hocket/roster/1"
"""What members sign their numbers for."""
NUMBER_BYTES = 16
UNKNOWN = bytes(NUMBER_BYTES)
"""In the place of a member who was never heard of."""


class RosterEntry(NamedTuple):
    """One member's number."""

    name: str
    number: bytes
    signature: bytes


@dataclass
class Roster:
    """All numbers that one member knows, its own first. It signs anew whenever its process starts, so that a member
    with a renewed certificate is believed under the new plan."""

    plan: FederationPlan
    identity: Identity
    number: bytes
    """This member's own: its journal made it."""
    entries: dict[str, RosterEntry] = field(default_factory=dict[str, RosterEntry])

    def __post_init__(self) -> None:
        me = self.identity.name
        signature = self.identity.sign(_message(self.plan, me, self.number), PURPOSE)
        self.entries[me] = RosterEntry(me, self.number, signature)

    def frames(self) -> Iterator[Frame]:
        """What a neighbour who connects should know."""
        return map(self.frame, self.entries.values())

    def frame(self, entry: RosterEntry) -> Frame:
        """An entry as it travels."""
        return Frame(
            Kind.ROSTER, self.plan.run_hash, parts=(entry.name.encode(), entry.number, entry.signature)
        )

    def take(self, frame: Frame, source: str) -> RosterEntry | None:
        """The entry in a message if it is news and its member signed it. The first one stands, so that no old entry
        drives a new one out, unless the member itself says another."""
        parts = frame.plain(3)
        if parts is None:
            return None
        name, number, signature = parts
        found = RosterEntry(name.decode(errors="replace"), number, signature)
        known = self.entries.get(found.name)
        if found.name not in self.plan.names or len(number) != NUMBER_BYTES:
            return None
        if known is not None and (known.number == number or source != found.name):
            return None
        message = _message(self.plan, found.name, number)
        if not verify(self.plan.card(found.name).certificate_pem, message, PURPOSE, signature):
            return None
        self.entries[found.name] = found
        return found

    def missing(self, without: Collection[str]) -> list[str]:
        """Members who were not heard of yet, leaving out some."""
        return [name for name in self.plan.names if name not in self.entries and name not in without]

    def numbers(self) -> bytes:
        """Everybody's numbers in the order of the plan: what a signature for this run is bound to."""
        known = {name: entry.number for name, entry in self.entries.items()}
        return b"".join(known.get(name, UNKNOWN) for name in self.plan.names)

    def includes_me(self, numbers: bytes) -> bool:
        """Whether the member that wrote these numbers meant the run in which this member is now."""
        place = NUMBER_BYTES * self.plan.agent(self.identity.name)
        right_length = len(numbers) == NUMBER_BYTES * len(self.plan.names)
        return right_length and numbers[place : place + NUMBER_BYTES] == self.number


def _message(plan: FederationPlan, name: str, number: bytes) -> bytes:
    return plan.run_hash + number + name.encode()
