"""Links through relays: which of a plan's are, how a member opens them, and whom a relay admits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hocket.errors import BadConfig, BadInput
from hocket.federation.cards import Card, read_card
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_file import read_plan
from hocket.links.channel import GrpcChannels
from hocket.links.events import Channels
from hocket.links.identity import Identity, expires
from hocket.links.relay.call import Call
from hocket.links.relay.forwarder import Orders
from hocket.links.relay.forwarding import Forwarding, RelayedChannels
from hocket.links.relay.outbound import RelayName
from hocket.links.relay.pipes import need_websockets
from hocket.links.relay.server import Admission, Guest
from hocket.machine import LOOPBACK, held_ports


def relay_orders(plan: FederationPlan, identity: Identity, named: str, proxy: Path) -> Orders | None:
    """What a member's forwarder is to do under a plan of this hash; None where every link is direct."""
    name = identity.name
    through = {other: plan.relays(name, other) for other in plan.neighbours(name)}
    relayed = {other: relays for other, relays in through.items() if relays}
    if not relayed:
        return None
    if any(RelayName(relay).scheme != "tcp" for relays in relayed.values() for relay in relays):
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
) -> Channels:
    """Links of which some lead through relays: gRPC dials and listens on loopback, a forwarder does the rest."""
    forwarding = await Forwarding.start(orders)
    try:
        elsewhere = {name: f"{LOOPBACK}:{port}" for name, port in forwarding.ports.items()}
        with held_ports(1) as [free]:
            port = free if listen is None else int(listen.rpartition(":")[2])
            channels = await opening(listen or f"{LOOPBACK}:{free}", elsewhere)
        if orders.diallers:
            forwarding.listening_at(port)  # not before: who dials would find nobody
        return RelayedChannels(channels, forwarding)
    except BaseException:
        await forwarding.close()
        raise


def relays_used(channels: Channels) -> dict[str, str]:
    """By neighbour that is connected through one now, the relay."""
    return dict(channels.through) if isinstance(channels, RelayedChannels) else {}


def admitted(places: Sequence[Path]) -> tuple[Admission, tuple[Card, ...], tuple[FederationPlan, ...]]:
    """Whom a relay admits: the members of these plans, on their links, and those of cards in these folders, among
    themselves; with the cards and the plans that were read."""
    plans: dict[str, FederationPlan] = {}
    loose: dict[str, Card] = {}
    for place in places:
        if place.is_dir():
            for file in sorted(place.glob("*.toml")):
                card = read_card(file)
                if loose.setdefault(card.name, card) != card:
                    raise BadInput(f"two cards are made out to {card.name}; give the relay one of them")
        else:
            plan = read_plan(place)
            plans[plan.hash.hex()] = plan
    if not plans and not loose:
        raise BadConfig(
            "a relay admits nobody without --admit: name a plan's file, or a folder of members' cards"
        )
    cards = (*loose.values(), *(card for plan in plans.values() for card in plan.cards))
    until = {card.certificate: expires(card.certificate_pem) for card in cards}

    def guest(card: Card, links: int, plan: str = "") -> Guest | None:
        valid = datetime.now(UTC) < until[card.certificate]
        return Guest(card.certificate_pem, links, plan) if valid else None

    def admit(call: Call) -> Guest | None:
        plan = plans.get(call.plan)
        if plan is not None:
            _, listener, dialler = call.link
            if call.speaker not in plan.names or dialler not in plan.awaits(listener):
                return None
            return guest(plan.card(call.speaker), len(plan.neighbours(call.speaker)), call.plan)
        if {call.speaker, call.other} <= loose.keys() and call.speaker != call.other:
            return guest(loose[call.speaker], len(loose) - 1)
        return None

    return admit, cards, tuple(plans.values())


def relay_names(given: Sequence[str], cards: Sequence[Card]) -> frozenset[str]:
    """What a relay is called on cards: as its operator says, or else as the cards do, if they name one machine."""
    if given:
        return frozenset(RelayName(name).text for name in given)
    named = {relay for card in cards for relay in card.relays}
    if len({RelayName(relay).host for relay in named}) != 1:
        found = ", ".join(sorted(named)) or "no relay at all"
        raise BadConfig(
            f"the cards name {found}; say with --name which of them this relay is, as it stands on the cards"
        )
    return frozenset(named)
