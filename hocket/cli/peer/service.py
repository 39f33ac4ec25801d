"""`hocket peer service`: a member that runs unattended, for systemd or without it."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside
from hocket.cli.peer.common import DataOption, HomeOption, TaskOption, check_brought, refuse_existing
from hocket.cli.table_options import AS_IT_IS, TableOptions
from hocket.errors import BadConfig
from hocket.federation.home import Home
from hocket.machine import running


def service(
    plan: Annotated[Path, Parameter(help="The plan that everybody has signed.")],
    /,
    *,
    task: TaskOption = None,
    data: DataOption = None,
    reading: TableOptions = AS_IT_IS,
    listen: Annotated[str | None, Parameter(help="As for run.")] = None,
    linger: Annotated[
        float, Parameter(help="Seconds to stay for slower neighbours when all is done: a day.")
    ] = 86_400.0,
    metrics_port: Annotated[int | None, Parameter(help="As for run.")] = None,
    system: Annotated[
        bool, Parameter(negative=(), help="A service of the machine's, in place of one of this user's own.")
    ] = False,
    user: Annotated[
        str | None,
        Parameter(help="With --system: who it runs as; by default whoever asks.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="File for the unit; printed if left out.")
    ] = None,
    home: HomeOption = None,
) -> Answer:
    """Write a systemd unit that runs this member's part of a plan unattended, and say how to do without systemd.

    It starts again after a crash or a restart of the machine, and goes on where it was. After `hocket peer stop`, when
    all is done, or when a person has to decide, it stays stopped. Nothing secret is in the unit.
    """
    from hocket.federation.plan_file import read_plan
    from hocket.federation.service_unit import Service
    from hocket.links.identity import is_under_passphrase

    if out is not None:
        refuse_existing(out, "unit")
    if user is not None and not system:
        raise BadConfig("--user is for a service of the machine's; add --system, or leave --user away")
    agreed, place = read_plan(plan), Home(Home.at(home).folder.expanduser().absolute())
    agreed.agent(place.owner)
    check_brought(agreed, task, data, reading)
    command = running("hocket", "peer", "run", str(plan.absolute()), isolated=task is None)
    command += _brought(task, data)
    command += reading.words()
    command += ["--linger", f"{linger:g}"]
    command += [] if listen is None else ["--listen", listen]
    command += [] if metrics_port is None else ["--metrics-port", str(metrics_port)]
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
        f"Its words: journalctl {'' if system else '--user '}-u {found.name}",
        "Without systemd, the same by a shell, as from cron's @reboot:",
        f"  {found.loop()}",
    ]
    if out is None:
        # So that the unit can be written to a file by whoever reads standard output.
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
