"""`hocket peer status`, `stop` and `drop`: looking after a member that runs."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.opening import HomeOption, open_identity
from hocket.errors import BadConfig, LinkError

PlanFile = Annotated[Path, Parameter(help="The plan that is run.")]
PATIENCE = 30.0


def status(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Say how this member's run stands: its round, for whom it waits and why, and what it measured last."""
    from hocket.cli.peer.joining import folder_of

    folder = folder_of(plan, home)[1]
    found = folder.status()
    found["running"] = folder.running
    state = "finished" if found["finished"] else "running" if found["running"] else "stopped"
    words = [f"{found['member']} is {state}, in round {found['round']:,} of {found['rounds']:,}."]
    words += [
        f"Waiting for {name} for {found['waiting_seconds']:.0f} s: {why}"
        for name, why in found["waiting_for"].items()
    ]
    words += [f"{name}: {value:.6g}" for name, value in found["measured"].items()]
    if found["dropped"]:
        words += [f"Dropped: {', '.join(found['dropped'])}", *found["verdict"]]
    # JSON has no word for what is not finite.
    finite = {name: value if math.isfinite(value) else None for name, value in found["measured"].items()}
    return Answer(found | {"measured": finite}, words)


def stop(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Stop this member's process cleanly; `hocket peer run` goes on later where it was.

    The process finds the request in its folder: nothing is sent to a process whose number may be another's by now.
    """
    from hocket.cli.peer.joining import folder_of

    folder = folder_of(plan, home)[1]
    found = folder.status()
    if not folder.running:
        raise BadConfig(f"{found['member']} is not running; there is nothing to stop")
    folder.ask_to_stop()
    deadline = time.monotonic() + PATIENCE
    while folder.running:
        if time.monotonic() > deadline:
            raise LinkError(
                f"{found['member']} has not stopped within {PATIENCE:g} s; a long gradient may keep it, wait on: it "
                "stops as soon as it sees the request"
            )
        time.sleep(0.1)
    at = folder.status()["round"]
    return Answer({"member": found["member"], "round": at}, [f"{found['member']} stopped in round {at:,}."])


def drop(
    plan: PlanFile,
    name: Annotated[str, Parameter(help="The member that is to be dropped.")],
    /,
    *,
    home: HomeOption = None,
) -> Answer:
    """Vote to go on without a member that will not come back; every survivor's operator must vote.

    What remains is audited with the leaver counted as a colluder beside those the plan expects: read the verdict
    before you vote.
    """
    from hocket.cli.peer.joining import folder_of
    from hocket.federation.home import Home
    from hocket.federation.leaving import check_leaver
    from hocket.federation.ledger import Ledger
    from hocket.federation.surviving import judge_survivors

    agreed, folder = folder_of(plan, home)
    place = Home.at(home)
    voter = open_identity(place.identity).name
    before = folder.status() if folder.begun else {}
    gone = frozenset({name, *before.get("dropped", ())})
    check_leaver(agreed, voter, gone)
    now = int(before.get("round", 0))
    runs = max(1, len(Ledger(place.ledger(agreed.task.dataset)).runs))
    verdict = judge_survivors(agreed, dict.fromkeys(gone, now), runs=runs)
    folder.make()
    (folder.votes / f"{name}.vote").touch()
    data: dict[str, Any] = {"voter": voter, "leaver": name, **verdict.to_json()}
    data["verdict"] = data.pop("words")
    others = ", ".join(one for one in verdict.remaining if one != voter)
    words = [
        *verdict.words,
        f"{voter} votes to drop {name}. It happens when {others} have voted too; "
        "the running process signs the vote and sends it on.",
    ]
    return Answer(data, words)
