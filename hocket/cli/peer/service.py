"""`hocket peer service`: a member that runs unattended, for systemd or without it."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.options import (
    AS_IT_IS,
    OUT,
    Data,
    HomeFolder,
    SignedPlan,
    TableOptions,
    Task,
    flags,
    refuse_existing,
)
from hocket.cli.peer.common import check_brought
from hocket.errors import BadConfig
from hocket.federation.state.home import Home
from hocket.machine import running


def service(
    plan: SignedPlan,
    /,
    *,
    task: Task = None,
    data: Data = None,
    reading: TableOptions = AS_IT_IS,
    listen: str | None = None,
    linger: float = 86_400.0,
    metrics_port: int | None = None,
    system: bool = False,
    user: str | None = None,
    out: Annotated[Path | None, Parameter(name=OUT)] = None,
    home: HomeFolder = None,
) -> Answer:
    """Write a systemd unit that runs this member's part of a plan unattended, and how to do without systemd.

    It starts again after a crash or a restart of the machine, and goes on where it was. After `hocket peer stop`, when
    all is done, or when a person has to decide, it stays stopped. Nothing secret is in the unit.

    Args:
        listen: As for run.
        linger: Seconds to stay for slower neighbours when all is done: a day.
        metrics_port: As for run.
        system: A service of the machine's, in place of one of this user's own.
        user: With --system: the user it runs as; by default the one that asks.
        out: File for the unit; printed if left out.
    """
    from hocket.federation.monitoring.service_unit import Service
    from hocket.federation.plan.plan_file import read_plan
    from hocket.links.keys.identity import is_under_passphrase

    if out is not None:
        refuse_existing(out, "unit")
    if user is not None and not system:
        raise BadConfig("--user is for a service of the machine's; add --system, or leave --user away")
    agreed, place = read_plan(plan), Home(Home.at(home).folder.expanduser().absolute())
    agreed.agent(place.owner)
    check_brought(agreed, task, data, reading)
    command = running("hocket", "peer", "run", str(plan.absolute()), isolated=task is None)
    command += [*_brought(task, data), *reading.flags()]
    command += flags({"linger": f"{linger:g}", "listen": listen, "metrics_port": metrics_port})
    found = Service(
        place.owner,
        agreed.task.name,
        agreed.run_hash.hex(),
        [*command, "--home", str(place.folder)],
        Path.cwd(),
        user=(user or getpass.getuser()) if system else None,
        passphrase=place.folder / "passphrase.cred" if is_under_passphrase(place.identity) else None,
    )
    unit = found.unit()
    if out is not None:
        out.write_text(unit, encoding="utf-8")
    steps = found.install(out or Path(found.name))
    how = [
        "To have systemd run it from now on:",
        *(f"  {step}" for step in steps),
        f"Its log: journalctl {'' if system else '--user '}-u {found.name}",
        "Without systemd, the same by a shell, as from cron's @reboot:",
        f"  {found.loop()}",
    ]
    if out is None:
        # Standard output is the unit alone, so that it can be written to a file.
        for line in how:
            aside().print(line)
    data_of = {
        "name": found.name,
        "unit": unit,
        "file": None if out is None else str(out),
        "install": steps,
        "without_systemd": found.loop(),
    }
    return Answer(data_of, [unit.rstrip()] if out is None else [f"Unit: {out}", *how])


def _brought(task: str | None, data: Path | None) -> list[str]:
    """What the member brings, by its whole path: a service is started from anywhere."""
    if data is not None:
        if not data.is_file():
            raise BadConfig(f"--data {data}: there is no such file; name it as seen from {Path.cwd()}")
        return ["--data", str(data.absolute())]
    file, _, name = str(task).rpartition(":")
    path = Path(os.path.abspath(Path(file).expanduser()))
    if not file or not path.is_file():
        raise BadConfig(
            f"--task {task}: there is no file {path}; write FILE.py:NAME, as seen from {Path.cwd()}"
        )
    return ["--task", f"{path}:{name}"]
