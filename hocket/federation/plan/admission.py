"""Whom a relay admits: the members of plans on their links, and those of cards among themselves.

Of a plan a relay needs its hash, its cards and its links, and none of what members compute; so it reads the file as it
stands, if all members have signed just that. Any other file is read as members read it, which takes seconds more.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from hocket.errors import BadConfig, BadInput, HocketError
from hocket.federation.plan.cards import Card, card_from, read_card
from hocket.federation.plan.plan_hash import LABEL, LONGEST, PURPOSE, SIGNATURES, hash_of
from hocket.files import read_text, toml_tables
from hocket.links.keys.identity import expires, verify
from hocket.links.relay.call import Call
from hocket.links.relay.outbound import RelayName
from hocket.links.relay.server import Admission, Guest


class Outline(NamedTuple):
    """What a relay knows of a plan."""

    hash: str
    cards: Mapping[str, Card]
    links: frozenset[tuple[str, str]]
    """Who dials, and who is dialled."""

    def count(self, name: str) -> int:
        """How many links a member has."""
        return sum(name in link for link in self.links)


def outline(path: Path) -> Outline:
    """What a relay needs of a plan; what is wrong with it is said as to its members."""
    try:
        tables = toml_tables(read_text(path, LONGEST))
        signatures = tables.pop(SIGNATURES)
        found = _outlined(tables)
        if found.cards and all(
            _has_signed(card, found.hash, signatures[name]) for name, card in found.cards.items()
        ):
            return found
    except (HocketError, OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    from hocket.federation.plan.plan_file import read_plan

    plan = read_plan(path)
    return _outlined(plan.tables())


def _outlined(tables: Mapping[str, Any]) -> Outline:
    cards = {name: card_from(table, f"cards.{name}") for name, table in tables["cards"].items()}
    if any(card.name != name for name, card in cards.items()):
        raise BadConfig("a plan's cards are not under their members' names; ask for the plan that was signed")
    links = frozenset(
        (cards[dialler].name, cards[other].name) for dialler, other in tables["network"]["links"]
    )
    return Outline(hash_of(LABEL, tables).hex(), cards, links)


def _has_signed(card: Card, hashed: str, signature: str) -> bool:
    given = base64.b64decode(signature, validate=True)
    return verify(card.certificate_pem, bytes.fromhex(hashed), PURPOSE, given)


def admitted(places: Sequence[Path]) -> tuple[Admission, tuple[Card, ...], tuple[Outline, ...]]:
    """Whom a relay admits: the members of these plans, on their links, and those of cards in these folders, among
    themselves; with the cards and the plans that were read."""
    plans: dict[str, Outline] = {}
    loose: dict[str, Card] = {}
    for place in places:
        if place.is_dir():
            for file in sorted(place.glob("*.toml")):
                card = read_card(file)
                if loose.setdefault(card.name, card) != card:
                    raise BadInput(f"two cards are made out to {card.name}; give the relay one of them")
        else:
            plan = outline(place)
            plans[plan.hash] = plan
    if not plans and not loose:
        raise BadConfig(
            "a relay admits nobody without --admit: name a plan's file, or a folder of members' cards"
        )
    cards = (*loose.values(), *(card for plan in plans.values() for card in plan.cards.values()))
    until = {card.certificate: expires(card.certificate_pem) for card in cards}

    def guest(card: Card, links: int, plan: str = "") -> Guest | None:
        valid = datetime.now(UTC) < until[card.certificate]
        return Guest(card.certificate_pem, links, plan) if valid else None

    def admit(call: Call) -> Guest | None:
        plan = plans.get(call.plan)
        if plan is not None:
            _, listener, dialler = call.link
            if (dialler, listener) not in plan.links:
                return None
            return guest(plan.cards[call.sender], plan.count(call.sender), call.plan)
        if {call.sender, call.other} <= loose.keys() and call.sender != call.other:
            return guest(loose[call.sender], len(loose) - 1)
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
