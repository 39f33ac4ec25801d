"""`hocket peer status` and `stop`: looking after a member that runs."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import HomeOption, folder_of, waiting_in_words
from hocket.errors import BadConfig, LinkError

PlanFile = Annotated[Path, Parameter(help="The plan that is run.")]
PATIENCE = 30.0


def status(plan: PlanFile, /, *, home: HomeOption = None) -> Answer:
    """Say how this member's run stands: its round, for whom it waits and why, whether it has converged, and what it
    measured last.
    """
    from hocket.federation.at_home import MARK, kept_at_home
    from hocket.federation.standing import standing_of
    from hocket.federation.watching.cautions import expiry_warnings, troubles
    from hocket.federation.watching.snapshot import played

    agreed, folder = folder_of(plan, home)
    found = folder.status()
    found["running"] = folder.running
    state = "finished" if found["finished"] else "running" if found["running"] else "stopped"
    standing, warnings = standing_of(agreed, found), expiry_warnings(agreed, found)
    words = [
        f"{found['member']} is {state}, in round {found['round']:,} of {found['rounds']:,}."
        if agreed.study is None
        else f"{found['member']} is {state}, after {played(agreed, found):,} sums.",
        f"How it stands: {standing.words}.",
        *standing.why,
    ]
    words += waiting_in_words(found["waiting_for"], found["waiting_seconds"])
    words += [
        f"{name} is connected through the relay {relay}." for name, relay in found.get("relays", {}).items()
    ]
    own = kept_at_home(agreed, found["measured"])
    words += [
        f"{name}: {value:.6g}{f' ({MARK})' * (name in own)}" for name, value in found["measured"].items()
    ]
    words += [*troubles(found), *warnings]
    # JSON has no word for what is not finite.
    finite = {name: value if math.isfinite(value) else None for name, value in found["measured"].items()}
    stands = {"kind": standing.kind, "words": standing.words}
    shown = {"measured": finite, "at_home": own, "standing": stands, "warnings": warnings}
    return Answer(found | shown, words)


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
