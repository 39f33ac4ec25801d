"""Whose key is whose, as this member has signed before: a card that was swapped shows, in whatever plan it comes.

A name is known by the keys under which this member accepted it. Another key is believed if the last known one has
signed it (`hocket peer renew`), or if this member's operator accepts it by name, having compared its fingerprint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hocket.errors import BadConfig, BadInput, BadPlan
from hocket.federation.plan.cards import Card, card_from
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import read_json, write_json
from hocket.links.keys.identity import expires


@dataclass(frozen=True)
class Change:
    """What is new about a member."""

    words: str
    is_refused: bool = False


@dataclass(frozen=True)
class KnownKeys:
    """The keys that a home knows."""

    path: Path

    @classmethod
    def of(cls, home: Home) -> KnownKeys:
        """Those of a member's home."""
        return cls(home.known_keys)

    def accept(self, cards: Iterable[Card], me: str, accepted: Collection[str] = ()) -> list[str]:
        """What changed since these members were last known, in words; refuses a changed key that nobody vouches for."""
        known = [given[-1] for name, given in self._read().items() if name != me]
        return changes_between(known, cards, accepted)

    def check_accepted(self, plan: FederationPlan, me: str) -> None:
        """Refuse a plan with a key that this member has never accepted for a name that it knows."""
        known = self._read()
        strange = [
            card.name
            for card in plan.cards
            if card.name != me
            and card.name in known
            and card.certificate not in [one.certificate for one in known[card.name]]
        ]
        if strange:
            raise BadPlan(
                f"this home knows {', '.join(strange)} by another key than this plan has, and has not accepted the new "
                "one; read what changed, and sign the plan here: hocket peer sign PLAN"
            )

    def check_not_older(self, plan: FederationPlan, last: FederationPlan) -> None:
        """Refuse a plan that has a key which was renewed in the one by which its run went on last: anybody who stole
        the key has that plan, signed by all, as well."""
        known = {name: [one.certificate for one in given] for name, given in self._read().items()}
        older = [
            card.name
            for card in plan.cards
            for kept in [known.get(card.name, [])]
            for newer in [last.card(card.name).certificate]
            if card.certificate in kept and newer in kept and kept.index(card.certificate) < kept.index(newer)
        ]
        if older:
            raise BadPlan(
                f"this run went on under a later plan, in which the key of {', '.join(older)} is a newer one; run that "
                f"plan (fingerprint {last.fingerprint}). If it is this older one that all go back to, sign it here "
                "again: hocket peer sign PLAN"
            )

    def remember(self, cards: Iterable[Card]) -> None:
        """Know these members by these cards from now on."""
        known = self._read()
        for card in cards:
            before = [one for one in known.get(card.name, []) if one.certificate != card.certificate]
            known[card.name] = [*before, card]
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(
            self.path, {name: [card.table() for card in cards] for name, cards in sorted(known.items())}
        )

    def _read(self) -> dict[str, list[Card]]:
        """By name, the cards that were accepted, the newest last."""
        if not self.path.exists():
            return {}
        try:
            tables = read_json(self.path)
            known = {name: [card_from(one, name) for one in given] for name, given in tables.items()}
            if all(given and all(card.name == name for card in given) for name, given in known.items()):
                return known
        except (BadInput, TypeError):
            pass
        raise BadConfig(
            f"{self.path} is damaged, and tells no more by which keys you know other members; restore it from a "
            "backup, or move it away and compare all fingerprints by voice before you sign again"
        )


def changes_between(before: Iterable[Card], now: Iterable[Card], accepted: Collection[str] = ()) -> list[str]:
    """What differs between the cards of these members, in words; refuses a key for which nobody vouches."""
    known = {card.name: card for card in before}
    found = [_change(known[card.name], card, accepted) for card in now if card.name in known]
    refused = [one.words for one in found if one is not None and one.is_refused]
    if refused:
        raise BadPlan("\n".join(refused))
    return [one.words for one in found if one is not None]


def _change(before: Card, now: Card, accepted: Collection[str]) -> Change | None:
    """What differs between two cards of one member, in words; None if nothing does that anybody asks for."""
    name = now.name
    if before.certificate == now.certificate:
        if before.found_at == now.found_at:
            return None
        return Change(
            f"CHANGED: {name} was found at {before.found_at}, and is found at {now.found_at} now; its key is as it was"
        )
    keys = f"the key of {name} was {before.fingerprint} and is {now.fingerprint} now"
    if now.is_renewed_by(before.certificate_pem):
        until = expires(before.certificate_pem)
        # Late renewals are usual; but nobody guards a key for ever that opens nothing any more.
        late = f", and expired on {until:%Y-%m-%d}: ask {name} by voice whether it is its own"
        signed = "renewed: the old key has signed the new one"
        return Change(f"CHANGED: {keys}; {signed}{late if until < datetime.now(UTC) else ''}")
    if name in accepted:
        return Change(f"CHANGED: {keys}; its old key has not signed it, and you accept it")
    return Change(
        f"CHANGED: {keys}. Its old key has not signed the new one, so that anybody may have put it there. Ask {name} "
        f"by voice for its fingerprint; if it is the new one, add --accept-key {name}",
        is_refused=True,
    )
