"""A study that somebody was dropped from: those who stay begin it anew, from its first sum and among themselves.

Sums so far hold the leaver's rows, and nobody can take them off; so the only result that equals the pooled fit of those
who stay is one that has never heard of the leaver. Nothing of the earlier attempt is used: those who stay have a plan
of their own, the signed one without the leaver, and with it another tree, other keys, other masks and another journal.
Its hash names the attempt in everything that is said, derived or written, so that masks are bound to the members that
are left; who has not heard of the drop yet says things that the others pass over, and is told by the votes.

Whether that may be is the signed plan's word (`on_drop`), since it costs the leaver: a question that was answered with
it and again without it shows what it gave, see `seen.DIFFERENCE`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hocket.errors import RunStopped
from hocket.federation.plan.plan import Dial, FederationPlan
from hocket.federation.runtime.member import Member
from hocket.federation.workloads.needs import needs
from hocket.links.journals.journal import Journal
from hocket.studies.results.seen import DIFFERENCE


class Restart(Exception):
    """Somebody was dropped: those who stay begin anew."""


def remaining_plan(plan: FederationPlan, left: Collection[str]) -> FederationPlan:
    """The plan of those who stay: the same in everything but for the leavers, whose weights go to the diagonal."""
    if not left:
        return plan
    stay = [agent for agent, name in enumerate(plan.names) if name not in left]
    place = {agent: new for new, agent in enumerate(stay)}
    gone = [agent for agent in range(len(plan.names)) if agent not in place]
    links = [Dial(place[i], place[j]) for i, j in plan.links if i in place and j in place]
    weights = [
        [
            math.fsum([plan.weights[i][i], *(plan.weights[i][leaver] for leaver in gone)])
            if i == j
            else plan.weights[i][j]
            for j in stay
        ]
        for i in stay
    ]
    return replace(
        plan,
        cards=tuple(plan.cards[agent] for agent in stay),
        links=tuple(links),
        weights=tuple(map(tuple, weights)),
        signatures={},
    )


def refused_or_begun_anew(plan: FederationPlan, left: Collection[str], round: int) -> Exception:
    """What becomes of a run with sums when these are dropped."""
    if needs(plan.algorithm).restarts:
        return Restart()
    names = ", ".join(sorted(left))
    return RunStopped(
        f"{names} was dropped, and no sum over all members can be taken without it. Nothing more was said: plan again "
        f"without it, if {names} agrees to what that shows. {DIFFERENCE.format(left=names)}. A study's plan can say "
        "beforehand that those who stay begin anew: hocket peer plan --on-drop restart",
        round=round,
    )


@contextmanager
def seat(member: Member, journal: Journal) -> Generator[tuple[Member, Journal]]:
    """The member and the journal of the present attempt: those of the run itself while nobody has left a sum."""
    left = journal.ballots.left
    if not needs(member.plan.algorithm).sums or not left:
        yield member, journal
        return
    if not needs(member.plan.algorithm).restarts:
        raise refused_or_begun_anew(member.plan, left, journal.round)
    again = replace(member, plan=remaining_plan(member.plan, left), whole=member.plan)
    file = member.folder.path / f"journal-{again.plan.run_hash.hex()[:16]}.db"
    with Journal.open(file, again.plan.run_hash, vouched=member.vouched) as own:
        yield again, own


def left_of(member: Member) -> Sequence[str]:
    """Who is missing from this member's attempt."""
    whole = member.plan if member.whole is None else member.whole
    return [name for name in whole.names if name not in member.plan.names]
