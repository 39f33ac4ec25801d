"""What the two ends of a link tell each other when a stream opens, beside their certificates, and whether it fits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hocket import __version__
from hocket.links.shown import shown

INSTANCE = re.compile("[0-9a-f]{16}")
EPOCH = re.compile("[0-9]{1,18}")


class Stamp(NamedTuple):
    """Which process speaks for a member: one with a later epoch has the later journal."""

    epoch: int
    """Raised by the journal at every start."""
    instance: str
    """Sixteen random hex digits; no two processes have the same."""

    @classmethod
    def read(cls, theirs: Mapping[str, str]) -> Stamp | None:
        """The stamp in an introduction, if there is one."""
        epoch, instance = theirs.get("hocket-epoch", ""), theirs.get("hocket-instance", "")
        if not EPOCH.fullmatch(epoch) or not INSTANCE.fullmatch(instance):
            return None
        return cls(int(epoch), instance)

    def goes_before(self, other: Stamp) -> bool:
        """Whether a stream of this process takes the place of the other's: its own earlier one, or an older copy's."""
        return self.instance == other.instance or self.epoch > other.epoch


@dataclass(frozen=True)
class Introduction:
    """What one member says about itself."""

    name: str
    plan: str
    """The hash of the plan; both ends of a link must have the same."""
    stamp: Stamp
    version: str = __version__

    def to(self, neighbour: str) -> tuple[tuple[str, str], ...]:
        """The words with which it turns to a neighbour."""
        return (
            ("hocket-from", self.name),
            ("hocket-to", neighbour),
            ("hocket-plan", self.plan),
            ("hocket-version", self.version),
            ("hocket-epoch", str(self.stamp.epoch)),
            ("hocket-instance", self.stamp.instance),
        )

    def complaint(self, neighbour: str, theirs: Mapping[str, str]) -> str | None:
        """Why a neighbour whose certificate is right is still not talked to."""
        claimed, meant = (shown(theirs.get(key, "none"), 64) for key in ("hocket-from", "hocket-to"))
        if claimed != neighbour:
            return f"the certificate of {neighbour} came with the name {claimed}; one of them is not its own"
        if meant != self.name:
            return f"{neighbour} wanted to speak with {meant}, and this is {self.name}; check its addresses"
        if theirs.get("hocket-plan") != self.plan:
            return (
                f"{neighbour} has another plan ({shown(theirs.get('hocket-plan', 'none')[:16])}…, here "
                f"{self.plan[:16]}…); compare the files, and run the one that everybody signed"
            )
        version = theirs.get("hocket-version", "none")
        if _minor(version) != _minor(self.version):
            return (
                f"{neighbour} has hocket {shown(version, 32)}, and {self.name} has {self.version}; install the same "
                "version on both"
            )
        if Stamp.read(theirs) is None:
            return (
                f"{neighbour} does not say which of its processes it is; install the same version of hocket"
            )
        return None


def _minor(version: str) -> list[str]:
    """What must be the same at both ends; releases that differ only in the third number understand each other."""
    return version.split(".")[:2]
