"""One member of a test federation as a process; its arguments are the federation's folder and its name."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hocket.federation.plan.plan_file import read_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.links.keys.identity import Identity

from .confession import confessing
from .federation_case import ESCROW
from .quadratic import task_of


def take_part_as(folder: Path, name: str) -> None:
    """One member, from wherever it stands to the end."""
    plan, home = read_plan(folder / "plan.toml"), Home(folder / name)
    asyncio.run(
        take_part(
            Member(
                plan,
                Identity.load(home.identity),
                confessing(task_of(plan.agent(name)), name),
                home,
                linger=120.0,
                secrets=ESCROW,
            )
        )
    )


if __name__ == "__main__":
    take_part_as(Path(sys.argv[1]), sys.argv[2])
