"""A line to one neighbour: the stream that carries it now, what waits on it, and which of two streams it shall be."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hocket.links.introduction import Stamp
from hocket.links.room import Room
from hocket.links.tls import grpc

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
    """host:port to dial; None where the neighbour dials us."""


@dataclass
class Stream:
    """One stream to a neighbour."""

    theirs: Mapping[str, str]
    """What the other end said about itself."""
    peer: str = ""
    """Where it comes from."""
    outgoing: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
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
        """Have it ended; whoever carries it does so."""
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
    def carried_by(self, stream: Stream) -> Iterator[None]:
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
