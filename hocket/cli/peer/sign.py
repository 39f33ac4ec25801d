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

    agreed = read_plan(plan)
    agreed.check_certificates()
    mine = Home.at(home)
    identity = open_identity(mine.identity)
    agreed = agreed.signed_by(identity)
    found = audit_plan(
        agreed,
        runs=_runs(mine, agreed.task.dataset) + 1,
        watch=lambda asked: track(asked, "Auditing", console=aside(), transient=True),
    )
    for copy in copies:
        agreed = agreed.with_signatures_of(read_plan(copy))
    write_plan(agreed, plan)
    if not agreed.unsigned:
        agreed.check_signatures()
    waiting = ", ".join(agreed.unsigned)
    data = {
        "plan": str(plan),
        "hash": agreed.hash.hex(),
        "fingerprint": agreed.fingerprint,
        "signed": [name for name in agreed.names if name in agreed.signatures],
        "unsigned": list(agreed.unsigned),
        **found.to_json(),
    }
    words = [
        *members_in_words(agreed),
        "",
        *found.words,
        *(f"Accepted by whoever signs: {problem}" for problem in found.problems),
        "",
        f"Signed as {identity.name}: {plan}",
        f"Fingerprint, to compare by voice: {agreed.fingerprint}",
        f"Still to sign: {waiting}" if waiting else f"Everybody has signed. Next: hocket peer check {plan}",
    ]
    return Answer(data, words)


def _runs(home: Home, dataset: str) -> int:
    """How many runs this member's data have served already: a run more is a run more to average."""
    from hocket.links.keepsakes import Keepsakes

    path = home.keepsakes(dataset)
    if not path.exists():
        return 0
    kept = Keepsakes.open(path, dataset)
    try:
        return kept.runs
    finally:
        kept.close()
