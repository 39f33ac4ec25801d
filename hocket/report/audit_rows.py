"""An audit in a handful of rows that a person can read: who is known how well, and to whom."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.privacy import Audit
from hocket.privacy.audit import text
from hocket.privacy.audit.findings import Finding
from hocket.privacy.profile import profile
from hocket.privacy.wording import judged, listed
from hocket.report.tables import Table

MOST = 6
"""Rows that are read; what is beyond is in the raw table."""


def readable_rows(audit: Audit) -> Table:
    """Of one algorithm a row per member, the most exposed first; of several, a row for each."""
    labels = {one.label for one in audit.findings}
    return _by_member(audit) if len(labels) == 1 else _by_algorithm(audit)


def _by_algorithm(audit: Audit) -> Table:
    alone = [one for one in audit.findings if one.threat == "coalition"]
    rows = tuple(
        (one.label, _listed(audit, one.coalition), _best_known(audit, one), _basis(one)) for one in alone
    )
    return Table(
        ("under", "to the coalition", "most exposed", "by"),
        rows[:MOST],
        caption="Who is known how well, by algorithm",
    )


def _best_known(audit: Audit, one: Finding) -> str:
    if one.exact:
        return f"{_listed(audit, one.exact)}: known exactly"
    if one.basis == "theorem":
        return "nobody but in sums with others"
    return f"{_listed(audit, [one.weakest])}: {judged(one.least, one.gradient_size)}"


def _basis(one: Finding) -> str:
    if one.basis == "theorem":
        return "a theorem" + (", on a condition" if one.claim.assumed else "")
    return "an estimate" + (", with a caveat" if profile(one.option.stands_for).open_anyway else "")


def _by_member(audit: Audit) -> Table:
    by = {one.threat: one for one in audit.findings}
    alone, tapped = by["coalition"], by["states"]
    agents = sorted(alone.leakage.honest, key=lambda j: (j not in alone.exact, alone.leakage.sd[j]))
    shown = agents if len(agents) <= MOST else agents[: MOST - 1]
    rows = [_row(audit, alone, tapped, agent) for agent in shown]
    if len(shown) < len(agents):
        rest = len(agents) - len(shown)
        rows.append((f"and {rest} more", "no better than these", *[""] * (len(rows[0]) - 2)))
    them = _listed(audit, alone.coalition)
    head = ("whose gradient", f"to {them} alone", "to an eavesdropper on all links", "in time")
    if audit.measured:
        head = (*head, "attacked in this run")
    return Table(head, tuple(rows), caption=f"Who is known how well, under {alone.label}, by {_basis(alone)}")


def _row(audit: Audit, alone: Finding, tapped: Finding, agent: int) -> tuple[str, ...]:
    with_tap = "is one of those who collude"
    if agent not in tapped.coalition:
        to = "" if tapped.coalition == alone.coalition else f"to {_listed(audit, tapped.coalition)}: "
        with_tap = to + text.fate(tapped, agent)
    row = (_listed(audit, [agent]), text.fate(alone, agent), with_tap, text.in_time(alone, agent))
    return (*row, _attacked(audit, agent)) if audit.measured else row


def _attacked(audit: Audit, agent: int) -> str:
    """The best that an attack made of this agent, beside the truth where that is at hand."""
    aimed = [one for one in audit.measured if one.attack.target == (agent,)]
    if not aimed:
        targets = {agent for one in audit.measured for agent in one.attack.target}
        return "in sums with others only" if agent in targets else "is one of those who attack"
    best = min(aimed, key=lambda one: float("inf") if one.error is None else one.error)
    if best.surprising:
        return f"{best.attack.name} attack: of no use, since what it assumes is not so"
    if best.attack.estimate is None:
        return f"{best.attack.name} attack: nothing found"
    how = text.how_known(best) or (
        "known exactly" if best.attack.exact else f"±{best.attack.typical_sd:.3g} predicted"
    )
    return f"{best.attack.name} attack: {how}"


def attack_rows(audit: Audit) -> Table | None:
    """Every attack that was tried on a run, what it came to and what it predicts; None where there was no run."""
    if not audit.tried:
        return None
    together: dict[tuple[str, str], list[str]] = {}
    for one in audit.tried:  # those that do not apply for the same reason share a row
        together.setdefault((text.result(one, audit.network.labels), text.predicted(one)), []).append(
            one.name
        )
    rows = tuple((", ".join(names), *said) for said, names in together.items())
    return Table(("attack", "came to", "predicted, and true"), rows, caption="Every attack tried on this run")


def _listed(audit: Audit, agents: Sequence[int]) -> str:
    return listed(agents, audit.network.labels)
