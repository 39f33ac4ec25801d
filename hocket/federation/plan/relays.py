"""Links through relays: which of a plan's are, and how a member opens them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from hocket.federation.plan.plan import FederationPlan
from hocket.links.channel import GrpcChannels
from hocket.links.events import Channels
from hocket.links.keys.identity import Identity
from hocket.links.relay.forwarder import Orders
from hocket.links.relay.forwarding import Forwarding, LogEvent, RelayedChannels
from hocket.links.relay.pipe import need_websockets


def relay_orders(plan: FederationPlan, identity: Identity, named: str, proxy: Path) -> Orders | None:
    """What a member's forwarder is to do under a plan of this hash; None where every link is direct."""
    name = identity.name
    through = {other: plan.relays(name, other) for other in plan.neighbours(name)}
    relayed = {other: relays for other, relays in through.items() if relays}
    if not relayed:
        return None
    need_websockets()
    dialled = plan.dials(name)
    return Orders(
        identity,
        named,
        relays=plan.card(name).relays,
        diallers=tuple(other for other in relayed if other not in dialled),
        dialled={other: relays for other, relays in relayed.items() if other in dialled},
        kept_proxy=proxy,
    )


async def through_relays(
    orders: Orders,
    listen: str | None,
    opening: Callable[[str | None, Mapping[str, str]], Awaitable[GrpcChannels]],
    log: LogEvent,
) -> Channels:
    """Links of which some lead through relays: gRPC uses sockets in a private folder, a forwarder does the rest."""
    forwarding = await Forwarding.start(orders, log)
    try:
        orders = forwarding.orders
        address = listen or orders.listening_at
        channels = await opening(address, {name: orders.dialled_at(name) for name in orders.dialled})
        if orders.diallers:
            forwarding.listens_at(address)  # not before: who dials would find nobody
        return RelayedChannels(channels, forwarding)
    except BaseException:
        await forwarding.close()
        raise


def relays_used(channels: Channels) -> dict[str, str]:
    """By neighbour that is connected through one now, the relay."""
    return dict(channels.through) if isinstance(channels, RelayedChannels) else {}
