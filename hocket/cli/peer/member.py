"""A member at work, for commands: its plan, its identity and its task, and the audit of its plan.

This loads what is heavy, so commands import it when they run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.cli.answer import aside
from hocket.cli.peer.common import open_identity
from hocket.config.files import blaming, load_name
from hocket.errors import BadConfig
from hocket.federation.home import Home
from hocket.federation.member import Member
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_audit import MOST_SECONDS, PlanAudit, audit_plan, audit_seconds
from hocket.federation.plan_file import read_plan
from hocket.federation.run_folder import RunFolder
from hocket.federation.task import Task

SOON = 2.0
"""Seconds that nobody need be told of."""


def member_of(plan: Path, task: str, home: Path | None, **options: Any) -> Member:
    """The member whose home this is, ready to take part."""
    place = Home.at(home)
    return Member(read_plan(plan), open_identity(place.identity), load_task(task), place, **options)


def folder_of(plan: Path, home: Path | None) -> tuple[FederationPlan, RunFolder]:
    """A plan, and where this member runs it."""
    agreed = read_plan(plan)
    return agreed, RunFolder(Home.at(home).run(agreed.run_hash))


def load_task(named: str) -> Task:
    """The task that FILE.py:NAME names."""
    file, _, name = named.rpartition(":")
    if not file:
        raise BadConfig(f"--task {named} names no file; write FILE.py:NAME, such as mine.py:task")
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadConfig(f"--task {named}: there is no file {path}; name it as seen from {Path.cwd()}")
    made = load_name(path, name, kind="task")
    if not isinstance(made, Task) and callable(made):
        with blaming(path):
            made = made()
    if not isinstance(made, Task):
        raise BadConfig(
            f"{name} in {path} gives a {type(made).__name__}; a task has dimension, start(seed) and "
            "gradient(x, k, h, rng), or is made by hocket.federation.task.GradientTask"
        )
    return made


def audited(plan: FederationPlan, *, runs: int = 1) -> PlanAudit:
    """The plan's audit, with a sign of life on standard error while it goes on."""
    console, seconds = aside(), audit_seconds(plan, runs=runs)
    what = f"Auditing {plan.run.rounds:,} rounds of {len(plan.names)} members"
    if SOON < seconds <= MOST_SECONDS:
        what += f", about {seconds:.0f} s"
        if not console.is_terminal:
            console.print(what)
    with console.status(what):
        return audit_plan(plan, runs=runs)
