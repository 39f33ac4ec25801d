"""Whether every neighbour can be reached and is who it claims, before a run begins."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hocket.federation.member import Member
from hocket.federation.relays import relays_used
from hocket.links.events import Joined, Lost


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


async def reach_neighbours(member: Member, wait: float) -> dict[str, Reached]:
    """Open all links, and see who is there within so many seconds. Nothing of the run is said."""
    plan = member.plan
    found = {
        name: Reached(False, "", "", "", plan.card(name).fingerprint) for name in plan.neighbours(member.name)
    }
    channels = await member.open_channels()
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
        await asyncio.sleep(1.0)  # so that neighbours see us too
        await channels.close()
    return found
