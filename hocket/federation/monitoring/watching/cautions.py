"""What an operator should hear of, though the run goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hocket.federation.monitoring.expiry import SOON, expiring
from hocket.federation.monitoring.watching.wording import duration
from hocket.federation.plan.plan import FederationPlan

QUIET = 10.0
"""Seconds without a word of its own process after which it is said."""


def troubles(status: Mapping[str, Any]) -> Iterator[str]:
    """What an operator should hear of, though the run goes on."""
    if status["dropped"]:
        yield f"Dropped: {', '.join(status['dropped'])}"
        yield from status["verdict"]
    if status.get("stays_for"):
        yield f"All is done; it stays for {', '.join(status['stays_for'])}, who may not have heard all of it."
    if status.get("drop_refused"):
        yield f"Voted, and not dropped: {status['drop_refused']}"
    if status.get("rule"):
        yield status["rule"]
    if status.get("votes_against_me"):
        against = ", ".join(status["votes_against_me"])
        yield f"Voted to go on without this member: {against}. Speak with them; here it counts for nothing."
    for name, version in status.get("other_versions", {}).items():
        yield f"{name} has hocket {version}, another release than this member's; install the same."


def expiry_warnings(
    plan: FederationPlan,
    status: Mapping[str, Any],
    *,
    seconds_left: float | None = None,
    now: float | None = None,
) -> list[str]:
    """Certificates that run out soon, or before the run is likely to end; nothing once it has ended."""
    if status["finished"]:
        return []
    moment = datetime.now(UTC) if now is None else datetime.fromtimestamp(now, UTC)
    within = SOON if seconds_left is None else max(SOON, timedelta(seconds=seconds_left))
    return [one.words for one in expiring(plan, within=within, now=moment, without=status["dropped"])]


def said_nothing(member: str, seconds: float) -> list[str]:
    """A process that does not say how it stands any more, though it is there."""
    if seconds < QUIET:
        return []
    return [f"{member}'s process has said nothing for {duration(seconds)}: a long gradient may keep it."]
