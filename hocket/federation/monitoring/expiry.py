"""Certificates that run out before a run does: links refuse them from that moment on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hocket.errors import BadPlan
from hocket.federation.plan.plan import FederationPlan
from hocket.links.keys.identity import expires

SOON = timedelta(days=30)
"""Before a certificate expires it is warned of, whatever a run takes."""


@dataclass(frozen=True)
class Expiry:
    """A member whose certificate runs out."""

    name: str
    when: datetime
    days: int
    """From now; below zero once it has happened."""

    @property
    def words(self) -> str:
        """What happens when, and what to do about it."""
        happens = "expired" if self.days < 0 else "expires"
        how_far = "" if self.days < 0 else f", in {self.days} day{'s' * (self.days != 1)}"
        return (
            f"The certificate of {self.name} {happens} on {self.when:%Y-%m-%d}{how_far}: a link that breaks after that "
            f"is not opened again. {self.name} makes a new one with hocket peer renew, in the middle of a run, too."
        )


def expiring(
    plan: FederationPlan,
    *,
    within: timedelta = SOON,
    now: datetime | None = None,
    without: Collection[str] = (),
) -> list[Expiry]:
    """Members whose certificates run out within this time, the first of them first."""
    now = now or datetime.now(UTC)
    ends = {card.name: expires(card.certificate_pem) for card in plan.cards if card.name not in without}
    first = sorted(ends.items(), key=lambda one: one[1])
    return [Expiry(name, when, (when - now).days) for name, when in first if when <= now + within]


def refuse_expiring(plan: FederationPlan, days: int, *, now: datetime | None = None) -> None:
    """Refuse a plan for a run of so many days in which a certificate runs out."""
    if days < 1:
        raise BadPlan(f"a run takes at least a day of the calendar, not {days}; say how many with --days")
    found = expiring(plan, within=timedelta(days=days), now=now)
    if found:
        ends = ", ".join(f"{one.name} on {one.when:%Y-%m-%d}" for one in found)
        raise BadPlan(
            f"certificates run out within the {days} days that the run may take: {ends}; each makes a new card with "
            f"hocket peer renew --days {days + 30}, and the plan is drawn up with it"
        )
