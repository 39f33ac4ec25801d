"""`hocket peer sign`: this member's consent to a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import (
    HomeOption,
    audited,
    folder_of,
    members_in_words,
    objectives_in_words,
    open_identity,
)
from hocket.cli.peer.consent import obtain
from hocket.federation.home import Home

if TYPE_CHECKING:
    from hocket.federation.ledger import Served
    from hocket.federation.plan import FederationPlan
    from hocket.federation.plan_audit import PlanAudit


def sign(
    plan: Annotated[Path, Parameter(help="The plan to sign; the signature is added to the file.")],
    /,
    *copies: Annotated[
        Path, Parameter(help="Copies that others have signed: their signatures are taken over.")
    ],
    yes: Annotated[bool, Parameter(negative=(), help="Sign without being asked.")] = False,
    accept_unsafe: Annotated[
        bool, Parameter(negative=(), help="Accept a plan that exposes its members, too.")
    ] = False,
    home: HomeOption = None,
) -> Answer:
    """Audit a plan as this member, show what it means, and sign it if you say so.

    Compare the fingerprint of the plan, and of every member, by voice before you sign. A floor of your own, in
    floor.toml in this member's folder, refuses plans that fall below it.
    """
    from hocket.federation.consent import check_floor, keep_consent, read_floor
    from hocket.federation.plan_file import read_plan, write_plan

    (agreed, folder), mine = folder_of(plan, home), Home.at(home)
    floor = read_floor(mine)
    agreed.check_certificates(without=folder.dropped)
    identity = open_identity(mine.identity)
    agreed.check_names(identity)
    for copy in copies:
        agreed = agreed.with_signatures_of(read_plan(copy))
    runs, before = _runs(mine, agreed)
    others = sorted({one.algorithm for one in before} - {agreed.algorithm_section.name})
    found = audited(agreed, runs=runs)
    check_floor(floor, agreed, found, file=mine.floor)
    elsewhere = _elsewhere(mine, agreed.task.dataset)
    terms = [
        *_terms(agreed, found),
        *_warning(agreed.task.dataset, others),
        *_named_otherwise(elsewhere),
        f"Your floor: {floor.words}; met ({mine.floor})"
        if mine.floor.exists()
        else f"Your floor: none ({mine.floor} would set one)",
        f"Fingerprint, to compare by voice: {agreed.fingerprint}",
    ]
    obtain(identity.name, plan, terms, problems=found.problems, yes=yes, accept_unsafe=accept_unsafe)
    agreed = agreed.signed_by(identity)
    write_plan(agreed, plan)
    keep_consent(agreed, folder, found)
    if not agreed.unsigned:
        agreed.check_signatures()
    waiting = ", ".join(agreed.unsigned)
    data = {
        "plan": str(plan),
        "hash": agreed.hash.hex(),
        "fingerprint": agreed.fingerprint,
        "signed": [name for name in agreed.names if name in agreed.signatures],
        "unsigned": list(agreed.unsigned),
        "other_algorithms": others,
        "other_data": elsewhere,
        **found.to_json(),
    }
    words = [
        *(terms if yes else ()),  # whoever was asked has read them
        "",
        f"Signed as {identity.name}: {plan}",
        f"Still to sign: {waiting}" if waiting else f"Everybody has signed. Next: hocket peer check {plan}",
    ]
    return Answer(data, words)


def _terms(plan: FederationPlan, found: PlanAudit) -> list[str]:
    """Who takes part in what, what the audit says, and what it would refuse."""
    task, run = plan.task, plan.run
    return [
        *members_in_words(plan),
        f"{task.name}: {run.rounds:,} rounds of {plan.algorithm_section.name} on the data {task.dataset}, "
        f"{task.dimension:,} numbers",
        objectives_in_words(plan),
        "",
        *found.words,
        f"With this one, {task.dataset} has served {found.worst.runs:,} run{'s' * (found.worst.runs > 1)} here.",
        *(f"Accepted by whoever signs: {problem}" for problem in found.problems),
    ]


def _warning(dataset: str, others: list[str]) -> list[str]:
    """An estimate counts all runs as runs of this plan, which those of another algorithm may be worse than."""
    if not others:
        return []
    return [
        f"Earlier runs on {dataset} were of {', '.join(others)}: the estimate counts them as runs of this plan, and "
        + ("dgd gave everything away." if "dgd" in others else "audit those by themselves too.")
    ]


def _elsewhere(home: Home, dataset: str) -> dict[str, int]:
    """How many runs the other datasets in this home have served."""
    from hocket.federation.ledger import Ledger

    return {name: len(Ledger(path).runs) for name, path in home.ledgers.items() if name != dataset}


def _named_otherwise(elsewhere: dict[str, int]) -> list[str]:
    """The same data under two names would be counted as two."""
    if not elsewhere:
        return []
    known = ", ".join(f"{name} ({runs:,} run{'s' * (runs != 1)})" for name, runs in elsewhere.items())
    return [
        f"Other data in this home: {known}. If these are the same data, use one name: runs are counted by name."
    ]


def _runs(home: Home, plan: FederationPlan) -> tuple[int, tuple[Served, ...]]:
    """How many runs these data will have served with this one, and those so far; a plan that is signed again in the
    middle of its run is not a run more."""
    from hocket.federation.ledger import Ledger
    from hocket.federation.run_folder import RunFolder

    before = Ledger(home.ledger(plan.task.dataset)).runs
    begun = RunFolder(home.run(plan.run_hash)).journal.exists()
    return max(1, len(before) + (not begun)), before
