"""`hocket peer check`: everything that can be known before round 1."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hocket.cli.answer import Answer, aside
from hocket.cli.options import SignedPlan
from hocket.cli.peer.common import (
    USUAL,
    MemberOptions,
    WaitingNotes,
    check_kept,
    data_in_words,
    member_of,
    objectives_in_words,
    read_elsewhere_in_words,
)
from hocket.errors import JournalError

if TYPE_CHECKING:
    from hocket.federation.monitoring.reachability import Reached
    from hocket.federation.runtime.member import Member


def check(plan: SignedPlan, /, *, asked: MemberOptions = USUAL, wait: float = 30.0) -> Answer:
    """Check the plan, this member's card in it, the task, its data, and every link, without beginning the run.

    What run would refuse, check refuses: other data or links than noise is kept for, or more runs than were signed for.

    Have the others run or check at the same time: a neighbour that is not there cannot be reached. The exit code is 0
    only where everybody was.

    Args:
        wait: Seconds to wait for neighbours, who run or check as well.
    """
    aside().print(f"Reading {plan}")  # before libraries are loaded, which may take long
    from hocket.federation.monitoring.reachability import reach_neighbours
    from hocket.federation.state.signed_rows import check_signed_rows
    from hocket.report.tables import Table

    member = member_of(plan, asked)
    member.check()
    check_signed_rows(member.home, member.task, member.folder.path)
    history = _history(member)
    unseen = check_kept(member.plan, member.name, member.home, member.data, history)
    repeatable = member.workload.is_repeatable()
    aside().print(f"Waiting up to {wait:g} s for {', '.join(member.plan.neighbours(member.name))}")
    reached = asyncio.run(reach_neighbours(member, wait, waits=WaitingNotes(aside().print).look))
    missing = [name for name, one in reached.items() if not one.connected]
    found = {
        "member": member.name,
        "plan": member.plan.hash.hex(),
        "fingerprint": member.plan.fingerprint,
        "dimension": member.task.dimension,
        "objectives": str(member.plan.objectives),
        "repeatable": repeatable,
        "data_checked": bool(member.data),
        "neighbours": {name: one._asdict() for name, one in reached.items()},
        "ready": not missing,
        "not_reached": missing,
    }
    rows = tuple((name, _state(one), one.version, one.fingerprint) for name, one in reached.items())
    words = [
        f"The plan is signed by all {len(member.plan.names)} members; compare its fingerprint by voice: "
        f"{member.plan.fingerprint}",
        f"This member is {member.name}, fingerprint {member.identity.fingerprint}",
        _fits(member, repeatable),
        *read_elsewhere_in_words(member.plan),
        objectives_in_words(member.plan),
        *unseen,
        *data_in_words(member.plan, member.task, member.data, member.home, earlier=True),
        *history,
        Table(("neighbour", "link", "version", "fingerprint"), rows, caption="Links"),
        _ready(missing, len(reached)),
    ]
    return Answer(found, words, code=1 if missing else 0)


def _ready(missing: Sequence[str], neighbours: int) -> str:
    if not missing:
        return "Ready."
    reached = f"{neighbours - len(missing)} of {neighbours} neighbours"
    return (
        f"Not ready: {'nobody' if len(missing) == neighbours else reached} reached. Missing: {', '.join(missing)}. "
        "Have them check or run at the same time, and check again."
    )


def _fits(member: Member, repeatable: bool) -> str:
    if member.plan.study is not None:
        from hocket.federation.workloads.study import StudyTask

        assert isinstance(member.task, StudyTask)
        check, _ = member.task.checked
        return f"The table fits the study: {check.kept:,} of {check.rows:,} rows are kept."
    return f"The task has the plan's {member.task.dimension:,} numbers, and is " + (
        "repeatable: a crash leaves no trace."
        if repeatable
        else "not repeatable: after a crash it goes on consistently, but not bit for bit."
    )


def _history(member: Member) -> tuple[str, ...]:
    """What runs on these data showed before; refuses a run that was not signed for, or that is begun twice."""
    from hocket.federation.state.accounts import BEGUN
    from hocket.federation.state.consent import check_consent

    plan = member.plan
    before = member.home.accounts.runs(plan.task.dataset)
    if not any(one.plan == plan.run_hash.hex() for one in before):
        found = check_consent(plan, member.home, member.folder, data=member.data, rows=member.rows)
        return () if found is None else found.history
    if not member.folder.journal.exists():
        raise JournalError(BEGUN)
    return ()  # a run that was begun goes on as it was signed


def _state(one: Reached) -> str:
    if not one.connected:
        return one.reason
    return "connected, and who it claims" + (f", through the relay {one.relay}" if one.relay else "")
