"""`hocket peer sign`: this member's consent to a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.peer.members import members_in_words
from hocket.cli.peer.opening import HomeOption, open_identity

if TYPE_CHECKING:
    from hocket.federation.home import Home
    from hocket.federation.ledger import Served
    from hocket.federation.plan import FederationPlan


def sign(
    plan: Annotated[Path, Parameter(help="The plan to sign; the signature is added to the file.")],
    /,
    *copies: Annotated[
        Path, Parameter(help="Copies that others have signed: their signatures are taken over.")
    ],
    home: HomeOption = None,
) -> Answer:
    """Audit a plan as this member, and sign it.

    Compare the fingerprint of the plan, and of every member, by voice before you sign.
    """
    from rich.progress import track

    from hocket.federation.auditing import audit_plan
    from hocket.federation.home import Home
    from hocket.federation.plan_file import read_plan, write_plan
    from hocket.federation.run_folder import RunFolder, write_json

    agreed, mine = read_plan(plan), Home.at(home)
    folder = RunFolder(mine.run(agreed.run_hash))
    agreed.check_certificates(without=folder.dropped)
    identity = open_identity(mine.identity)
    agreed = agreed.signed_by(identity)
    runs, before = _runs(mine, agreed)
    others = sorted({one.algorithm for one in before} - {agreed.algorithm_section.name})
    found = audit_plan(
        agreed,
        runs=runs,
        watch=lambda asked: track(asked, "Auditing", console=aside(), transient=True),
    )
    for copy in copies:
        agreed = agreed.with_signatures_of(read_plan(copy))
    write_plan(agreed, plan)
    folder.make()
    write_json(folder.audit, found.to_json())
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
        **found.to_json(),
    }
    words = [
        *members_in_words(agreed),
        "",
        *found.words,
        *_warning(agreed.task.dataset, others),
        *(f"Accepted by whoever signs: {problem}" for problem in found.problems),
        "",
        f"Signed as {identity.name}: {plan}",
        f"Fingerprint, to compare by voice: {agreed.fingerprint}",
        f"Still to sign: {waiting}" if waiting else f"Everybody has signed. Next: hocket peer check {plan}",
    ]
    return Answer(data, words)


def _warning(dataset: str, others: list[str]) -> list[str]:
    """An estimate counts all runs as runs of this plan, which those of another algorithm may be worse than."""
    if not others:
        return []
    return [
        f"Earlier runs on {dataset} were of {', '.join(others)}: the estimate counts them as runs of this plan, and "
        + ("dgd gave everything away." if "dgd" in others else "audit those by themselves too.")
    ]


def _runs(home: Home, plan: FederationPlan) -> tuple[int, tuple[Served, ...]]:
    """How many runs these data will have served with this one, and those so far; a plan that is signed again in the
    middle of its run is not a run more."""
    from hocket.federation.ledger import Ledger
    from hocket.federation.run_folder import RunFolder

    before = Ledger(home.ledger(plan.task.dataset)).runs
    begun = RunFolder(home.run(plan.run_hash)).journal.exists()
    return max(1, len(before) + (not begun)), before
