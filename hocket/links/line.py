"""A line to one neighbour: how its ends introduce themselves, the stream that carries it now, and what waits on it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hocket import __version__
from hocket.links.text import shown, spelled
from hocket.links.tls import grpc

INSTANCE = re.compile("[0-9a-f]{16}")
EPOCH = re.compile("[0-9]{1,18}")
HASH = re.compile("[0-9a-f]{64}")


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
            # The other end shows this, too: it says nothing of "here".
            return (
                f"{neighbour} and {self.name} run different plans ({_fingerprint(theirs.get('hocket-plan', 'none'))}… "
                f"and {_fingerprint(self.plan)}…); stop the older one, and run the plan that everybody signed last"
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


def _fingerprint(plan: str) -> str:
    """The first words of a plan's fingerprint, as `sign` shows it; the text as it is where it is no hash."""
    return spelled(bytes.fromhex(plan)[:6]) if HASH.fullmatch(plan) else shown(plan[:16])


def _minor(version: str) -> list[str]:
    """What must be the same at both ends; releases that differ only in the third number understand each other."""
    return version.split(".")[:2]


WORDS = 4
"""Messages of the largest size that ever came that may wait."""
SMALL_BYTES = 4 << 20
"""Bytes of other messages that may wait beside these."""
MOST_MESSAGES = 4096
"""However small: a thousand members' numbers, several times over."""


class Room:
    """What waits in one place on one link: so many messages, and so many bytes; who brings more waits as well.

    An honest neighbour never fills it. It cannot go on without our messages, so that two of its own wait for us, and
    when it connects again these are sent once more: four at the most, all of one size. Beside them there are
    handshakes, rosters and votes, some for each member of the plan, of which every one is a few kilobytes at most.
    """

    def __init__(self) -> None:
        self.messages = self.bytes = 0
        """What waits now."""
        self._largest = 0
        self._closed = False
        self._changed = asyncio.Event()

    def take(self, size: int) -> bool:
        """Take room for a message of so many bytes, if there is any now."""
        self._largest = max(self._largest, size)
        full = self.messages >= MOST_MESSAGES or self.bytes + size > WORDS * self._largest + SMALL_BYTES
        if full and not self._closed:
            return False
        self.messages += 1
        self.bytes += size
        return True

    async def enter(self, size: int) -> None:
        """Wait until there is room for a message of so many bytes, and take it."""
        while not self.take(size):
            self._changed.clear()
            await self._changed.wait()

    def leave(self, size: int) -> None:
        """A message of so many bytes waits no longer."""
        self.messages -= 1
        self.bytes -= size
        self._changed.set()

    def close(self) -> None:
        """Nobody waits here any more: what they bring is lost with the stream."""
        self._closed = True
        self._changed.set()

    def __str__(self) -> str:
        return f"{self.messages:,} messages of {self.bytes:,} bytes"


ANOTHER_SPEAKS = grpc.StatusCode.ALREADY_EXISTS
"""Ends the stream of a process beside which another one speaks for the same member: it must not come back."""
CAME_BACK = grpc.StatusCode.ABORTED
"""Ends a stream whose own process has opened another."""


@dataclass(frozen=True)
class Neighbour:
    """One end of a link as the other end knows it."""

    name: str
    certificate: bytes
    """PEM; the only one accepted on this link."""
    host: str
    """The name that the certificate is made out to."""
    address: str | None = None
    """host:port to dial, or unix: and a file; None where the neighbour dials us."""


@dataclass
class Stream:
    """One stream to a neighbour."""

    theirs: Mapping[str, str]
    """What the other end said about itself."""
    peer: str = ""
    """Where it comes from."""
    outgoing: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue[bytes])
    """What is still to be sent."""
    unsent: Room = field(default_factory=Room)
    talking: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    replaced: asyncio.Event = field(default_factory=asyncio.Event)
    ending: tuple[grpc.StatusCode, str] | None = None
    """With what it ends once it is replaced by another."""

    @property
    def stamp(self) -> Stamp:
        stamp = Stamp.read(self.theirs)
        assert stamp is not None
        return stamp

    def replace(self, code: grpc.StatusCode, words: str) -> None:
        """Have it ended by the one who carries it."""
        self.ending = code, words
        self.replaced.set()

    def __str__(self) -> str:
        return f"epoch {self.stamp.epoch} at {self.peer}"


@dataclass
class Line:
    """The current stream to one neighbour, if there is one."""

    neighbour: Neighbour
    stream: Stream | None = None
    unread: Room = field(default_factory=Room)
    """What it said that nobody has read yet, over whichever stream."""

    @contextlib.contextmanager
    def carried_by(self, stream: Stream) -> Generator[None]:
        """Let this be the current stream until it ends, or another takes its place."""
        self.stream = stream
        try:
            yield
        finally:
            stream.unsent.close()
            if self.stream is stream:
                self.stream = None


def make_way(line: Line, stream: Stream) -> str | None:
    """End a neighbour's earlier stream in favour of this one, or say why this one must not be."""
    there, name = line.stream, line.neighbour.name
    if there is None:
        return None
    if not stream.stamp.goes_before(there.stamp):
        return f"another process speaks for {name}: {there}; this one is {stream}"
    if stream.stamp.instance == there.stamp.instance:
        there.replace(CAME_BACK, f"{name} opened another stream")
    else:
        there.replace(ANOTHER_SPEAKS, f"another process speaks for {name}: {stream}; this one is {there}")
    return None
