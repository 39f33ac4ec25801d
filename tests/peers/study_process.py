"""One member of a study as a process, slowly: every exchange of every sum can be met by anybody who kills it.

Its arguments are the folder of all members and its name; STUDY_PAUSE in the environment says how slowly.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from hocket.federation.plan.plan_file import read_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Peer
from hocket.federation.state.home import Home
from hocket.federation.workloads.study import StudyTask
from hocket.files import toml_tables
from hocket.links.keys.identity import Identity
from hocket.studies.spec.study import parse_study

from .confession import confess_words
from .study_case import tables

PAUSE = float(os.environ.get("STUDY_PAUSE", "0.2"))

if __name__ == "__main__":
    folder, name = Path(sys.argv[1]), sys.argv[2]
    plan, home = read_plan(folder / "plan.toml"), Home(folder / name)
    assert plan.study is not None
    carried = Peer._carried

    async def slowly(self: Peer, *args: Any) -> Any:
        await asyncio.sleep(PAUSE)
        return await carried(self, *args)

    Peer._carried = slowly  # type: ignore[method-assign]
    if "CONFESS" in os.environ:
        confess_words(name)
    task = StudyTask(parse_study(toml_tables(plan.study)), tables(plan.names)[name], name)
    asyncio.run(take_part(Member(plan, Identity.load(home.identity), task, home, linger=120.0)))
