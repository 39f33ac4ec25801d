"""What an engine receives from its links: who joined, who was lost, and messages.

Any `Channels` will do for an engine: `hocket.links.channel` speaks gRPC over mutual TLS; tests have some that stay in
one process.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Joined(NamedTuple):
    """A neighbour is connected, and is who it claims to be; nothing sent before has certainly arrived."""

    neighbour: str
    version: str = ""
    """The neighbour's hocket version."""
    epoch: int = 0
    """How often the neighbour had been started, by its journal."""
    instance: str = ""
    """Which of its processes it is, in sixteen hex digits."""


class Lost(NamedTuple):
    """A neighbour's connection ended, or could not be made."""

    neighbour: str
    reason: str


class Displaced(NamedTuple):
    """A neighbour talks to another process of this member, and will not talk to this one again."""

    neighbour: str
    reason: str


class Received(NamedTuple):
    """Bytes from a neighbour, whole and authenticated."""

    neighbour: str
    message: bytes


Event = Joined | Lost | Displaced | Received
NOBODY = Lost("", "")
"""What a nudge is received as."""


class Channels(Protocol):
    """All links of one member."""

    async def send(self, neighbour: str, message: bytes) -> None:
        """Hand a message over; lost if the neighbour is not connected, which `Joined` will say again.

        Waits while too much is under way already; an error if the neighbour reads nothing of it."""
        ...

    async def receive(self) -> Event:
        """The next thing that happens on any link."""
        ...

    def nudge(self) -> None:
        """Let `receive` return, if need be with the loss of nobody, so that the one who waits looks up."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...
