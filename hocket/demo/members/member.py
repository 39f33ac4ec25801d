"""One member of the demonstration, as a process: `python -m hocket.demo.members.member FOLDER NAME`.

Its secrets come from an escrow, so that the run can be replayed; a real member's come from the operating system.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hocket.demo.members.digits import member_task
from hocket.errors import HocketError
from hocket.federation.plan.plan_file import read_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.links.handshake import SeedEscrow
from hocket.links.keys.identity import Identity

ESCROW = SeedEscrow(20171)
"""Everybody knows it: the demonstration hides nothing."""


def member(folder: Path, name: str) -> Member:
    """A member whose home is in the demonstration's folder."""
    plan, home = read_plan(folder / "plan.toml"), Home(folder / name)
    task = member_task(plan.agent(name))
    return Member(plan, Identity.load(home.identity), task, home, linger=60.0, secrets=ESCROW)


def main() -> int:
    """Run one member to its end."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    try:
        asyncio.run(take_part(member(folder, name)))
    except HocketError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
