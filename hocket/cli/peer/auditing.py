"""The audit of a plan on the command line: whoever waits for it is told for how long."""

from __future__ import annotations

from hocket.cli.answer import aside
from hocket.federation.auditing import MOST_SECONDS, PlanAudit, audit_plan, audit_seconds
from hocket.federation.plan import FederationPlan

SOON = 2.0
"""Seconds that nobody need be told of."""


def audited(plan: FederationPlan, *, runs: int = 1) -> PlanAudit:
    """The plan's audit, with a sign of life on standard error while it goes on."""
    console, seconds = aside(), audit_seconds(plan, runs=runs)
    what = f"Auditing {plan.run.rounds:,} rounds of {len(plan.names)} members"
    if SOON < seconds <= MOST_SECONDS:
        what += f", about {seconds:.0f} s"
        if not console.is_terminal:
            console.print(what)
    with console.status(what):
        return audit_plan(plan, runs=runs)
