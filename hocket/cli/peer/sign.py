"""`hocket peer sign`: this member's consent to a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import AcceptKey, Data, HomeFolder, OwnAlgorithm, TableOptions
from hocket.cli.peer.common import (
    audited,
    brings,
    check_kept,
    data_in_words,
    folder_of,
    members_in_words,
    objectives_in_words,
    open_identity,
    own_task,
    still_to_do,
)
from hocket.cli.peer.consent import obtain
from hocket.federation.state.home import Home
from hocket.links.text import quoted

if TYPE_CHECKING:
    from hocket.federation.audit.study_audit import PlanVerdict
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.plan.policy import Policy
    from hocket.federation.state.earlier_runs import EarlierRun
    from hocket.federation.state.signed_rows import SignedRows
    from hocket.federation.workloads.task import Task
    from hocket.links.keys.identity import Identity

NOT_SEEN = (
    "Whether the data are those of earlier runs was not checked: for that, sign with {brings} as for run."
)

VERIFIABLE = (
    "LOOK: verifiable = true: members that follow gradients keep their noise keys and steps after the run. Anybody who "
    "gets those of a member (hocket peer disclose writes them; so does a stolen disk) and received its messages knows "
    "its gradients."
)


@Parameter(name="*")
@dataclass(frozen=True)
class SignOptions(TableOptions):
    """What a member brings to a plan that it signs, and what it agrees to beforehand."""

    yes: bool = False
    """Sign without being asked."""
    accept_unsafe: bool = False
    """Accept a plan that exposes its members, too."""
    task: str | None = None
    """FILE.py:NAME as for run: refuse now what run would, of data that changed or are too large."""
    data: Data = None
    accept_key: AcceptKey = ()


ASK = SignOptions()
"""Nothing is agreed to beforehand."""


def sign(
    plan: Path,
    /,
    *copies: Path,
    asked: SignOptions = ASK,
    algorithm: OwnAlgorithm = None,
    home: HomeFolder = None,
) -> Answer:
    """Audit a plan as this member, show what it means, and sign it if you agree.

    Compare the fingerprint of the plan, and of every member, by voice before you sign. Your local policy, in
    policy.toml in this member's folder, refuses plans and studies that are below it. You see which members' keys and
    addresses changed since you last signed; a changed key that its old key has not signed is refused.

    Args:
        plan: The plan to sign; the signature is added to the file.
        copies: Copies that others have signed: their signatures are taken over.
    """
    place = Home.at(home)
    identity_of = partial(open_identity, place.identity)
    return sign_as(identity_of, plan, copies, asked=asked, home=place, algorithm=algorithm)


def sign_as(
    identity_of: Callable[[], Identity],
    plan: Path,
    copies: Sequence[Path] = (),
    *,
    asked: SignOptions,
    home: Home,
    algorithm: str | None = None,
) -> Answer:
    """The same with an identity at hand, or one that is opened once the plan is known to be worth it."""
    from hocket.federation.plan.own_code import OwnCode
    from hocket.federation.plan.plan_file import read_plan, write_plan
    from hocket.federation.plan.policy import check_policy, read_policy
    from hocket.federation.state.consent import keep_consent
    from hocket.federation.state.digests import row_digests, salted_digest
    from hocket.federation.state.earlier_runs import earlier_runs
    from hocket.federation.state.known_keys import KnownKeys
    from hocket.federation.state.signed_rows import rows_to_sign
    from hocket.federation.workloads.task_checks import check_task

    (agreed, folder), mine = folder_of(plan, home.folder, algorithm=algorithm), home
    policy = read_policy(mine)
    agreed.check_certificates(without=mine.accounts.left(agreed.run_hash.hex()))
    identity = identity_of()
    agreed.check_names(identity)
    keys = KnownKeys.of(mine)
    changed = keys.accept(agreed.cards, identity.name, asked.accept_key)
    for copy in copies:
        agreed = agreed.with_signatures_of(read_plan(copy, OwnCode(loaded=agreed.algorithm_section)))
    nothing = asked.task is asked.data is None
    brought = None if nothing else own_task(agreed, identity.name, asked.task, asked.data, asked)
    if brought is not None and agreed.study is None:
        check_task(brought, agreed)
    digest, rows = salted_digest(mine, brought), row_digests(mine, brought)
    earlier = earlier_runs(mine, agreed, data=digest, rows=rows)
    others = sorted({one.served.algorithm for one in earlier} - {agreed.algorithm_section.name})
    found = audited(agreed, earlier=earlier)
    check_policy(policy, agreed, found, file=mine.policy)
    unseen = check_kept(agreed, identity.name, mine, digest, found.history)
    accounts = mine.accounts
    elsewhere = {name: len(accounts.runs(name)) for name in accounts.datasets if name != agreed.task.dataset}
    bound = rows_to_sign(mine, brought)
    terms = [
        *changed,
        *_terms(agreed, found),
        *unseen,
        _bound_in_words(agreed, bound),
        *(_not_seen(agreed, mine) if brought is None else data_in_words(agreed, brought, digest, mine)),
        *_named_otherwise(elsewhere, earlier, looked=bool(len(rows))),
        f"Your policy: {policy.words}; met ({mine.policy})"
        if mine.policy.exists()
        else f"Your policy: none ({mine.policy} would set one)",
        *_unmatched(policy, brought),
        f"Fingerprint, to compare by voice: {agreed.fingerprint}",
    ]
    obtain(
        identity.name, plan, terms, problems=found.problems, yes=asked.yes, accept_unsafe=asked.accept_unsafe
    )
    agreed = agreed.signed_by(identity)
    write_plan(agreed, plan)
    keys.remember(agreed.cards)
    keep_consent(agreed, folder, found, bound)
    mine.own_code.keep(agreed.algorithm_section)
    if not agreed.unsigned:
        agreed.check_signatures()
    answer = {
        "plan": str(plan),
        "hash": agreed.hash.hex(),
        "fingerprint": agreed.fingerprint,
        "signed": [name for name in agreed.names if name in agreed.signatures],
        "unsigned": list(agreed.unsigned),
        "other_algorithms": others,
        "other_data": elsewhere,
        "changed": changed,
        **found.to_json(),
    }
    words = [
        *(terms if asked.yes else ()),  # who was asked has read them
        "",
        f"Signed as {identity.name}: {plan}",
        still_to_do(agreed, plan, begun=folder.begun),
    ]
    return Answer(answer, words)


def _terms(plan: FederationPlan, found: PlanVerdict) -> list[str]:
    """Who takes part in what, the audit, and what it would refuse."""
    from hocket.federation.audit.study_audit import study_of
    from hocket.studies.spec.study_in_words import study_in_words

    task, run = plan.task, plan.run
    return [
        *members_in_words(plan),
        f"{quoted(task.name)}: secure sums over all members on the data {task.dataset}"
        if plan.study is not None
        else f"{quoted(task.name)}: {run.rounds:,} rounds of {plan.algorithm_section.name} on the data {task.dataset}, "
        f"{task.dimension:,} numbers",
        objectives_in_words(plan),
        *([VERIFIABLE] if run.verifiable else []),
        "",
        *([] if plan.study is None else [*study_in_words(study_of(plan)), ""]),
        *found.words,
        f"With this one, {task.dataset} has served {found.runs:,} run{'s' * (found.runs > 1)} here.",
        *(f"Accepted by each signer: {problem}" for problem in found.problems),
    ]


def _bound_in_words(plan: FederationPlan, bound: SignedRows | None) -> str:
    from hocket.federation.state.signed_rows import unbound

    if bound is None:
        return unbound(plan)
    rows = f"{len(bound.cells):,} rows that the study uses" if bound.columns else "data as they are"
    return f"Your signature binds the {rows}: run refuses others."


def _unmatched(policy: Policy, brought: Task | None) -> list[str]:
    """Names in a policy that no column has: one with another name would be read all the same."""
    from hocket.federation.workloads.study import StudyTask

    if not isinstance(brought, StudyTask):
        return []
    return [f"Check your policy: {one}." for one in policy.unmatched(brought.table.columns)]


def _not_seen(plan: FederationPlan, home: Home) -> list[str]:
    from hocket.federation.workloads.study import told_before
    from hocket.studies.disclosure.releases import Releases

    return [NOT_SEEN.format(brings=brings(plan)), *told_before(Releases(home.accounts).all)]


def _named_otherwise(elsewhere: dict[str, int], earlier: Sequence[EarlierRun], *, looked: bool) -> list[str]:
    """Other data in this home, and whether they are the same, as far as anybody can tell."""
    if not elsewhere:
        return []
    known = ", ".join(f"{name} ({runs:,} run{'s' * (runs != 1)})" for name, runs in elsewhere.items())
    found = dict.fromkeys(one.dataset for one in earlier if one.dataset and not one.assumed)
    assumed = dict.fromkeys(one.dataset for one in earlier if one.assumed)
    if assumed and not found:
        noticed = (
            f"Whether {' and '.join(assumed)} shares rows with these cannot be known: in the promise over all runs "
            "together it is counted as if it did. "
            "Rows are compared if tasks give them (data=) and you sign with --task."
        )
    elif found:
        noticed = f"The same data, or rows of them, under another name: {' and '.join(found)}; counted above."
    elif looked:
        noticed = (
            "None of them has a row that is equal to one of these in every number; rows that were rounded, scaled or "
            "given other columns would not be noticed, nor rows of runs that kept none."
        )
    else:
        noticed = (
            "Whether they share records with these was not checked. If they are the same data, use one name."
        )
    return [f"Other data in this home: {known}. {noticed}"]
