"""One member of a test federation as a process; its arguments are the federation's folder and its name."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hocket.federation.home import Home
from hocket.federation.member import Member
from hocket.federation.participation import take_part
from hocket.federation.plan_file import read_plan
from hocket.links.identity import Identity

from .federation_case import ESCROW
from .quadratic import task_of

if __name__ == "__main__":
    folder, name = Path(sys.argv[1]), sys.argv[2]
    plan, home = read_plan(folder / "plan.toml"), Home(folder / name)
    asyncio.run(
        take_part(
            Member(
                plan,
                Identity.load(home.identity),
                task_of(plan.agent(name)),
                home,
                linger=120.0,
                secrets=ESCROW,
            )
        )
    )
