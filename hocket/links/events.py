"""What an engine hears from its links: who joined, who was lost, and what was said.

Any `Channels` will do for an engine: `hocket.links.channel` speaks gRPC over mutual TLS, `hocket.links.memory` stays
inside one process, for tests.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Joined(NamedTuple):
    """A neighbour is connected, and is who it claims to be; nothing sent before has certainly arrived."""

    neighbour: str
    version: str = ""
    """The neighbour's hocket version."""


class Lost(NamedTuple):
    """A neighbour's connection ended, or could not be made."""

    neighbour: str
    reason: str


class Heard(NamedTuple):
    """Bytes from a neighbour, whole and authenticated."""

    neighbour: str
    message: bytes


Event = Joined | Lost | Heard
NOBODY = Lost("", "")
"""What a nudge is heard as."""


class Channels(Protocol):
    """All links of one member."""

    async def send(self, neighbour: str, message: bytes) -> None:
        """Hand a message over; lost if the neighbour is not connected, which `Joined` will say again."""
        ...

    async def receive(self) -> Event:
        """The next thing that happens on any link."""
        ...

    def nudge(self) -> None:
        """Let `receive` return, if need be with the loss of nobody, so that whoever waits looks up."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...
