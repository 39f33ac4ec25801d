"""`hocket peer run`: this member's part in a run, from the first round or from wherever it stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.peer.common import USUAL, MemberOptions, member_of
from hocket.errors import Interrupted

PROMPT = 2.0
"""Seconds within which neighbours who are as far as this member are done, too."""

if TYPE_CHECKING:
    from hocket.federation.engine.peer import Finished
    from hocket.federation.member import Member


def run(
    plan: Annotated[Path, Parameter(help="The plan that everybody has signed.")],
    /,
    *,
    asked: MemberOptions = USUAL,
    linger: Annotated[
        float, Parameter(help="Seconds to stay for slower neighbours when all is done.")
    ] = 600.0,
    metrics_port: Annotated[
        int | None, Parameter(help="Port on loopback at which Prometheus finds /metrics.")
    ] = None,
    vouch: Annotated[
        bool,
        Parameter(
            negative=(),
            help="This home was moved, or power was lost: its files are the newest, and no copy has spoken since.",
        ),
    ] = False,
) -> Answer:
    """Take part in the run of a plan; after a crash or a stop the same command goes on where it was.

    Only the last, mixed and masked state is written out for publication: this member's own state would give its
    last gradient away.
    """
    from hocket.federation.data_digest import unchecked
    from hocket.federation.signed_rows import UNBOUND, SignedRows

    member = member_of(plan, asked, linger=linger, metrics_port=metrics_port, vouched=vouch)
    aside().print(f"{member.name} takes part in {plan}, in {member.folder.path}")
    for line in unchecked(member.data) if member.plan.study is None else ():
        aside().print(line)
    if member.plan.study is not None and SignedRows.read(member.folder.path) is None:
        aside().print(UNBOUND)
    results: list[Finished] = []
    try:
        finished = asyncio.run(_until_stopped(member, results))
    except (asyncio.CancelledError, KeyboardInterrupt):
        if not results:
            at = member.folder.status()["round"]
            raise Interrupted(f"stopped in round {at}; go on with the same command", round=at) from None
        finished = results[0]
    return _answer(member, finished)


def _stays(member: Member, finished: Finished) -> None:
    """The result is there, and somebody is stayed for: whoever looks on need not wait for that."""
    for line in _answer(member, finished).words:
        if isinstance(line, str):
            aside().print(line)
    aside().print(
        f"{member.name} stays for up to {member.linger or 0:g} s, as neighbours may not have heard all that it said. "
        "Ctrl-C ends that, and loses nothing"
    )


async def _until_stopped(member: Member, results: list[Finished]) -> Finished:
    """The run, which a signal ends as cleanly as its last round does; its result is known before it ends."""
    from hocket.engines.progress import Bar
    from hocket.federation.participation import take_part

    running, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert running is not None
    loop.add_signal_handler(signal.SIGTERM, running.cancel)
    bar = Bar(member.plan.run.rounds, show=None)

    def watch(played: Any, presence: Any) -> None:
        measured = {name: presence.measured[name] for name in ("loss",) if name in presence.measured}
        lag = max(presence.conversation.arrivals.values(), default=0.0)
        bar.update(
            played.k,
            **measured,
            disagreement=played.disagreement,
            lag=lag,
            MB=presence.conversation.bytes_said / 1e6,
        )

    later: list[asyncio.TimerHandle] = []

    def found(finished: Finished) -> None:
        results.append(finished)
        later.append(loop.call_later(PROMPT, _stays, member, finished))

    try:
        return await take_part(member, watch=watch, found=found)
    finally:
        for one in later:
            one.cancel()
        bar.close()


def _stands(member: Member, status: Mapping[str, Any]) -> list[str]:
    from hocket.federation.standing import standing_of

    found = standing_of(member.plan, status)
    if found.kind == "unknown":  # a run that was over before this command began
        return []
    return [f"Its state is {found.words}.", *found.why]


def _answer(member: Member, finished: Finished) -> Answer:
    if member.plan.study is not None:
        return _findings(member, finished)
    published = next(iter(sorted(member.folder.path.glob("published.*"))), member.folder.published)
    status = member.folder.status()
    data = {
        "member": member.name,
        "rounds": member.plan.run.rounds,
        "published": str(published),
        "folder": str(member.folder.path),
        "waiting_for": list(finished.waiting_for),
        "dropped": status["dropped"],
        "measured": status["measured"],
    }
    words = [
        f"{member.name} has finished {member.plan.run.rounds:,} rounds.",
        *_stands(member, status),
        f"Published: {published} (mixed and masked; this member's own state stays in its journal)",
    ]
    return Answer(data, [*words, *_late(finished)])


def _late(finished: Finished) -> list[str]:
    if not finished.waiting_for:
        return []
    late = ", ".join(finished.waiting_for)
    return [f"Not done yet: {late}. If one of them needs this member again, run the same command."]


def _findings(member: Member, finished: Finished) -> Answer:
    """What a study found, the answer first."""
    from hocket.federation.run_folder import read_json
    from hocket.studies.results import COEFFICIENTS, PAGE, RESULTS
    from hocket.studies.seen import DIFFERENCE

    folder = member.folder.path
    data, dropped = read_json(folder / RESULTS), member.folder.status()["dropped"]
    left = ", ".join(dropped)
    words = [
        *coefficients_in_words(data),
        f"{member.name} has the results of {member.plan.task.name}, after {data['totals']} sums over "
        f"{len(member.plan.names) - len(dropped)} members; no other number of anybody's was shown.",
        *([f"It was begun anew without {left}. {DIFFERENCE.format(left=left)}."] if dropped else []),
        *_together(member),
        f"Results: {folder / PAGE}, and for programs {RESULTS} and {COEFFICIENTS} beside it",
        *_late(finished),
    ]
    return Answer(data, words)


def _together(member: Member) -> list[str]:
    """What is promised over all that this member's data have told; it stays here, as it names other runs."""
    from hocket.federation.member_report import before_in
    from hocket.federation.plan_verdict import judge_plan
    from hocket.federation.run_folder import read_json

    earlier = before_in(read_json(member.folder.about), member.home.own_code)
    account = judge_plan(member.plan, earlier=earlier).account
    return [] if account is None else [*account.words]


def coefficients_in_words(data: Mapping[str, Any]) -> list[Any]:
    """The table of coefficients, if there is one."""
    from hocket.report.tables import Table
    from hocket.studies.results_tables import number, p_value

    found: Mapping[str, Any] = data.get("coefficients") or {}
    columns = ("estimate", "se", "z", "p", "low", "high")
    rows = tuple(
        (term, *(p_value(one[key]) if key == "p" else number(one[key]) for key in columns))
        for term, one in found.items()
    )
    numbers = frozenset(range(1, len(columns) + 1))
    return [Table(("term", *columns), rows, str(data.get("formula", "")), numbers)] if rows else []
