"""`hocket peer run`: this member's part in a run, from the first round or from wherever it stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hocket.cli.answer import Answer, aside
from hocket.cli.options import SignedPlan
from hocket.cli.peer.common import (
    USUAL,
    MemberOptions,
    WaitingNotes,
    folder_of,
    member_of,
    read_elsewhere_in_words,
)
from hocket.errors import Interrupted
from hocket.links.text import quoted

PROMPT = 2.0
"""Seconds within which neighbours who are as far as this member are done, too."""

LINGER = 600.0
"""Seconds to stay for slower neighbours, if nothing is said of it."""

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.peer import Finished
    from hocket.federation.state.run_folder import RunFolder


def run(
    plan: SignedPlan,
    /,
    *,
    asked: MemberOptions = USUAL,
    linger: float | None = None,
    metrics_port: int | None = None,
    vouch: bool = False,
) -> Answer:
    """Take part in the run of a plan; after a crash or a stop the same command goes on where it was.

    Only the last, mixed and masked state is written out for publication: this member's own state would reveal its
    last gradient.

    Args:
        linger: Seconds to stay for slower neighbours at the end: 600, or 0 where all was done before this command.
        metrics_port: Port on loopback at which Prometheus finds /metrics.
        vouch: This home was moved, or power was lost: its files are the newest, and no copy has sent anything since.
    """
    aside().print(f"Reading {plan}")  # before libraries are loaded, which may take long
    from hocket.federation.state.signed_rows import SignedRows, unbound

    agreed, folder = folder_of(plan, asked.home, algorithm=asked.algorithm)
    if linger is None and folder.begun and folder.status()["finished"]:
        return _over(agreed, folder)
    stay = LINGER if linger is None else linger
    member = member_of(plan, asked, linger=stay, metrics_port=metrics_port, vouched=vouch)
    aside().print(f"{member.name} takes part in {plan}, in {member.folder.path}")
    for line in _changed_cards(member):
        aside().print(line)
    for line in member.workload.remarks():
        aside().print(line)
    if member.plan.study is not None and SignedRows.read(member.folder.path) is None:
        aside().print(unbound(member.plan))
    for line in read_elsewhere_in_words(member.plan):
        aside().print(line)
    results: list[Finished] = []
    try:
        finished = asyncio.run(_until_stopped(member, results))
    except (asyncio.CancelledError, KeyboardInterrupt):
        if not results:
            at = member.folder.status()["round"]
            raise Interrupted(f"stopped in round {at}; go on with the same command", round=at) from None
        finished = results[0]
    return _answer(member.plan, member.folder, finished.waiting_for)


def _changed_cards(member: Member) -> list[str]:
    """What changed about other members since this run last went on, all of which this member has signed."""
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.known_keys import changes_between

    if not member.folder.plan.exists():
        return []
    before = read_plan(member.folder.plan, member.home.own_code)
    others = [card for card in member.plan.cards if card.name != member.name]
    return changes_between(before.cards, others, member.plan.names)


def _over(plan: FederationPlan, folder: RunFolder) -> Answer:
    """The result of a run that was over before this command."""
    found = _answer(plan, folder, ())
    stays = (
        "Another process of this member still stays for slower neighbours; hocket peer stop ends it."
        if folder.running
        else f"If a neighbour still needs this member, add --linger {LINGER:g}."
    )
    return Answer(found.data, [f"This run was finished before: nothing was sent. {stays}", *found.words])


def _stays(member: Member, finished: Finished) -> None:
    """Print the result while this member still stays for others."""
    for line in _answer(member.plan, member.folder, finished.waiting_for).words:
        if isinstance(line, str):
            aside().print(line)
    aside().print(
        f"{member.name} stays for up to {member.linger or 0:g} s, as neighbours may not have received all its "
        "messages. Ctrl-C ends that, and loses nothing"
    )


async def _until_stopped(member: Member, results: list[Finished]) -> Finished:
    """The run, which a signal ends as cleanly as its last round does; its result is known before it ends."""
    from hocket.engines.progress import Bar
    from hocket.federation.monitoring.at_home import stays_at_home
    from hocket.federation.runtime.participation import take_part

    running, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert running is not None
    loop.add_signal_handler(signal.SIGTERM, running.cancel)
    bar = Bar(member.plan.run.rounds, show=None)
    shown = () if stays_at_home(member.plan, "loss") else ("loss",)

    def say(line: str) -> None:
        bar.close()  # which the next round opens again
        aside().print(line)

    def watch(played: Any, session: Any) -> None:
        measured = {name: session.measured[name] for name in shown if name in session.measured}
        lag = max(session.conversation.arrivals.values(), default=0.0)
        bar.update(
            played.k,
            **measured,
            disagreement=played.disagreement,
            lag=lag,
            MB=session.conversation.bytes_sent / 1e6,
        )

    later: list[asyncio.TimerHandle] = []

    def found(finished: Finished) -> None:
        results.append(finished)
        later.append(loop.call_later(PROMPT, _stays, member, finished))

    try:
        return await take_part(member, watch=watch, found=found, waits=WaitingNotes(say).look)
    finally:
        for one in later:
            one.cancel()
        bar.close()


def _answer(plan: FederationPlan, folder: RunFolder, late: Sequence[str]) -> Answer:
    if plan.study is not None:
        return _findings(plan, folder, late)
    from hocket.federation.monitoring.at_home import may_be_shown
    from hocket.federation.monitoring.convergence import diagnosis_of

    published = next(iter(sorted(folder.path.glob("published.*"))), folder.published)
    status = folder.status()
    data = {
        "member": status["member"],
        "rounds": plan.run.rounds,
        "published": str(published),
        "folder": str(folder.path),
        "waiting_for": list(late),
        "dropped": status["dropped"],
        "measured": may_be_shown(plan, status["measured"]),
    }
    standing = diagnosis_of(plan, status)
    stands = [f"Its state is {standing.words}.", *standing.why]
    words = [
        f"{status['member']} has finished {plan.run.rounds:,} rounds.",
        *([] if standing.kind == "unknown" else stands),  # of a run that was over before this command began
        *_together(plan, folder),
        f"Published: {published} (mixed and masked; this member's own state stays in its journal)",
    ]
    return Answer(data, [*words, *_late(late)])


def _late(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    late = ", ".join(names)
    return [
        f"Not done yet: {late}. If one of them needs this member again, run the same command with --linger "
        f"{LINGER:g}."
    ]


def _findings(plan: FederationPlan, folder: RunFolder, late: Sequence[str]) -> Answer:
    """What a study found, the answer first."""
    from hocket.federation.state.run_folder import read_json
    from hocket.studies.results.results import COEFFICIENTS, PAGE, RESULTS
    from hocket.studies.results.seen import DIFFERENCE

    data, status = read_json(folder.path / RESULTS), folder.status()
    dropped, left = status["dropped"], ", ".join(status["dropped"])
    words = [
        *coefficients_in_words(data),
        f"{status['member']} has the results of {quoted(plan.task.name)}, after {data['totals']} secure sums "
        f"over {len(plan.names) - len(dropped)} members; no other number of any member was shown.",
        *([f"It was restarted without {left}. {DIFFERENCE.format(left=left)}."] if dropped else []),
        *_together(plan, folder),
        f"Results: {folder.path / PAGE}, and for programs {RESULTS} and {COEFFICIENTS} beside it",
        *_late(late),
    ]
    return Answer(data, words)


def _together(plan: FederationPlan, folder: RunFolder) -> list[str]:
    """What is promised over all runs on this member's data; it stays here, as it names other runs."""
    from hocket.federation.audit.certificate_check import account_with
    from hocket.federation.audit.plan_certificate import certificate_of_plan
    from hocket.federation.audit.study_audit import judge_plan
    from hocket.federation.state.earlier_runs import earlier_runs

    earlier = earlier_runs(folder.home, plan)
    if plan.study is not None:
        account = judge_plan(plan, earlier=earlier).account
        return [] if account is None else [*account.words]
    dropped = folder.status()["dropped"]
    found = certificate_of_plan(plan, leavers=[plan.agent(name) for name in dropped])
    return [] if found is None else [*account_with(plan, found, earlier, dropped=dropped).words]


def coefficients_in_words(data: Mapping[str, Any]) -> list[Any]:
    """The table of coefficients, if there is one."""
    from hocket.report.tables import Table
    from hocket.studies.results.tables import number, p_value

    found: Mapping[str, Any] = data.get("coefficients") or {}
    columns = ("estimate", "se", "z", "p", "low", "high")
    rows = tuple(
        (term, *(p_value(one[key]) if key == "p" else number(one[key]) for key in columns))
        for term, one in found.items()
    )
    numbers = frozenset(range(1, len(columns) + 1))
    return [Table(("term", *columns), rows, str(data.get("formula", "")), numbers)] if rows else []
