"""Who is in a plan, a line each. Not as a table: a fingerprint that is cut short could not be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan


def members_in_words(plan: FederationPlan) -> Iterator[str]:
    """Every member's agent number, name, fingerprint and address, and whether it has signed."""
    width = max(map(len, plan.names))
    for agent, card in enumerate(plan.cards):
        signed = "signed" if card.name in plan.signatures else "not signed"
        yield f"{agent:>2} {card.name:<{width}}  {card.fingerprint}  {card.address or 'dials only'}, {signed}"
