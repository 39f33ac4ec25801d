"""`hocket peer status` and `stop`: looking after a member that runs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import HomeOption, folder_of
from hocket.errors import BadConfig, LinkError

PlanFile = Annotated[Path, Parameter(help="The plan that is run.")]
PATIENCE = 30.0


def status(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Say how this member's run stands: its round, for whom it waits and why, and what it measured last."""
    folder = folder_of(plan, home)[1]
    found = folder.status()
    found["running"] = folder.running
    state = "finished" if found["finished"] else "running" if found["running"] else "stopped"
    words = [f"{found['member']} is {state}, in round {found['round']:,} of {found['rounds']:,}."]
    words += [
        f"Waiting for {name} for {found['waiting_seconds']:.0f} s: {why}"
        for name, why in found["waiting_for"].items()
    ]
    words += [
        f"{name} is connected through the relay {relay}." for name, relay in found.get("relays", {}).items()
    ]
    words += [f"{name}: {value:.6g}" for name, value in found["measured"].items()]
    if found["dropped"]:
        words += [f"Dropped: {', '.join(found['dropped'])}", *found["verdict"]]
    words += _trouble(found)
    # JSON has no word for what is not finite.
    finite = {name: value if math.isfinite(value) else None for name, value in found["measured"].items()}
    return Answer(found | {"measured": finite}, words)


def stop(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Stop this member's process cleanly; `hocket peer run` goes on later where it was.

    The process finds the request in its folder: nothing is sent to a process whose number may be another's by now.
    """
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


def _trouble(found: dict[str, Any]) -> Iterator[str]:
    """What an operator should hear of, though the run goes on."""
    if found.get("drop_refused"):
        yield f"Voted, and not dropped: {found['drop_refused']}"
    if found.get("votes_against_me"):
        against = ", ".join(found["votes_against_me"])
        yield f"Voted to go on without this member: {against}. Speak with them; here it counts for nothing."
    for name, version in found.get("other_versions", {}).items():
        yield f"{name} has hocket {version}, another release than this member's; install the same."
