"""Whether every neighbour can be reached and is who it claims, before a run begins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hocket.federation.plan.relays import relays_used
from hocket.links.events import Joined, Lost

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.runtime.member import Member

PATIENCE = 3.0
"""Seconds of waiting before it is said for whom: anybody who looks on is told within five."""


class Reached(NamedTuple):
    """What became of one link."""

    connected: bool
    reason: str
    """Why not, as far as it is known."""
    version: str
    relay: str
    """Through which it was reached; empty where directly, or not at all."""
    fingerprint: str
    """Of the certificate that the plan pins for it, to compare by voice."""


@dataclass
class Reaching:
    """For whom a member waits that opens its links, and why."""

    found: dict[str, Reached]
    since: float

    @property
    def waiting_seconds(self) -> float:
        return time.monotonic() - self.since

    def waiting_for(self) -> dict[str, str]:
        if self.waiting_seconds < PATIENCE:
            return {}
        return {name: one.reason for name, one in self.found.items() if not one.connected}


def not_yet(plan: FederationPlan, name: str, neighbour: str) -> str:
    """What a member says of a neighbour of which nothing has come."""
    if neighbour not in plan.awaits(name):
        return f"no answer yet ({plan.card(neighbour).found_at})"
    return (
        f"has not dialled this member yet ({plan.card(name).found_at}): it does not run, runs another plan, or does "
        "not reach this address"
    )


async def reach_neighbours(
    member: Member, wait: float, *, waits: Callable[[Reaching], None] = lambda _: None
) -> dict[str, Reached]:
    """Open all links, and see who is there within so many seconds. Nothing of the run is said.

    `waits` is called once a second, until everybody is there.
    """
    plan = member.plan
    found = {
        name: Reached(False, not_yet(plan, member.name, name), "", "", plan.card(name).fingerprint)
        for name in plan.neighbours(member.name)
    }
    channels = await member.open_channels()
    looking = asyncio.create_task(_look(Reaching(found, time.monotonic()), waits))
    try:
        async with asyncio.timeout(wait):
            while not all(one.connected for one in found.values()):
                event = await channels.receive()
                before = found[event.neighbour]
                if isinstance(event, Joined):
                    found[event.neighbour] = before._replace(
                        connected=True,
                        reason="",
                        version=event.version,
                        relay=relays_used(channels).get(event.neighbour, ""),
                    )
                elif isinstance(event, Lost) and not before.connected:
                    found[event.neighbour] = before._replace(reason=event.reason)
    except TimeoutError:
        pass
    finally:
        looking.cancel()
        await asyncio.sleep(1.0)  # so that neighbours see us too
        await channels.close()
    return found


async def _look(reaching: Reaching, waits: Callable[[Reaching], None]) -> None:
    while True:
        waits(reaching)
        await asyncio.sleep(1.0)
