"""`hocket peer status`, `stop` and `drop`: looking after a member that runs."""

from __future__ import annotations

import os
import signal
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

    found = folder_of(plan, home)[1].status()
    found["running"] = _alive(found["pid"])
    state = "finished" if found["finished"] else "running" if found["running"] else "stopped"
    words = [f"{found['member']} is {state}, in round {found['round']:,} of {found['rounds']:,}."]
    words += [
        f"Waiting for {name} for {found['waiting_seconds']:.0f} s: {why}"
        for name, why in found["waiting_for"].items()
    ]
    words += [f"{name}: {value:.6g}" for name, value in found["measured"].items()]
    if found["dropped"]:
        words += [f"Dropped: {', '.join(found['dropped'])}", *found["verdict"]]
    return Answer(found, words)


def stop(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Stop this member's process cleanly; `hocket peer run` goes on later where it was."""
    from hocket.cli.peer.joining import folder_of

    folder = folder_of(plan, home)[1]
    found = folder.status()
    if not _alive(found["pid"]):
        raise BadConfig(f"{found['member']} is not running; there is nothing to stop")
    os.kill(found["pid"], signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while folder.status()["pid"] is not None and _alive(found["pid"]):
        if time.monotonic() > deadline:
            raise LinkError(
                f"process {found['pid']} has not stopped within {PATIENCE:g} s; a long gradient may keep it, wait on"
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

    What remains is audited with the leaver counted as a colluder: read the verdict before you vote.
    """
    from hocket.cli.peer.joining import folder_of
    from hocket.federation.home import Home
    from hocket.federation.leaving import judge_survivors, vote
    from hocket.links.wire import pack

    agreed, folder = folder_of(plan, home)
    mine = vote(agreed, open_identity(Home.at(home).identity), name)
    verdict = judge_survivors(agreed, frozenset({name}))
    folder.make()
    part = folder.votes / f"{name}.part"
    part.write_bytes(pack(mine.frame(agreed.hash)))
    part.rename(folder.votes / f"{name}.vote")
    data: dict[str, Any] = {"voter": mine.voter, "leaver": name, "verdict": list(verdict.words)}
    others = ", ".join(one for one in verdict.remaining if one != mine.voter)
    words = [
        *verdict.words,
        f"{mine.voter} votes to drop {name}. It happens when {others} have voted too; "
        "the running process sends the vote on.",
    ]
    return Answer(data, words)


def _alive(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
