"""`hocket peer drop`: this member's vote to go on without others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.cli.answer import Answer
from hocket.cli.options import HomeFolder
from hocket.cli.peer.common import folder_of, open_identity
from hocket.errors import UnsafePlan
from hocket.federation.state.home import Home


def drop(plan: Path, /, *names: str, accept_unsafe: bool = False, home: HomeFolder = None) -> Answer:
    """Vote to go on without members that will not come back; every survivor's operator must vote.

    The survivors are audited with the leavers counted as colluders beside those the plan expects. If that is not safe,
    nothing is voted unless you accept it; and a run that others' votes would make unsafe stops and asks for the same.

    Args:
        plan: The plan that is run.
        names: The members that are to be dropped.
        accept_unsafe: Go on even if the survivors are less protected than was agreed.
    """
    from hocket.federation.audit.survivors import judge_survivors
    from hocket.federation.membership.votes import check_leaver
    from hocket.federation.plan.policy import read_policy
    from hocket.federation.state.earlier_runs import earlier_runs

    if not names:
        raise UnsafePlan("nobody was named; write hocket peer drop PLAN NAME")
    agreed, folder = folder_of(plan, home)
    place = Home.at(home)
    voter = open_identity(place.identity).name
    before = folder.status() if folder.begun else {}
    gone = frozenset({*names, *before.get("dropped", ())})
    check_leaver(agreed, voter, gone)
    last = dict.fromkeys(gone, int(before.get("round", 0)))
    verdict = judge_survivors(agreed, last, earlier=earlier_runs(place, agreed), policy=read_policy(place))
    if not verdict.safe and not accept_unsafe:
        refused = "What remains is not safe: nothing was voted; add --accept-unsafe, or begin a new plan"
        raise UnsafePlan("\n".join([*verdict.words, refused]))
    folder.make()
    if accept_unsafe:
        folder.accept(gone)
    for name in names:
        (folder.votes / f"{name}.vote").touch()
    data: dict[str, Any] = {"voter": voter, "leavers": sorted(names), **verdict.to_json()}
    data["verdict"] = data.pop("words")
    others = ", ".join(one for one in verdict.remaining if one != voter)
    words = [
        *verdict.words,
        f"{voter} votes to drop {', '.join(sorted(names))}. It happens when {others} have voted too; the running "
        "process signs the vote and sends it on.",
    ]
    return Answer(data, words)
