"""`hocket cluster`: one run in many processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cyclopts import App

from hocket.cli.answer import Answer
from hocket.cli.options import Out, add, flags
from hocket.errors import BadConfig, BadInput, ClusterError, Interrupted
from hocket.files import json_value

EXAMPLE = "cluster run --processes 2 problem.toml"


def run(problem: Path, /, *, processes: int, out: Out = None) -> Answer:
    """Start processes on this machine that play one run together, and watch over them.

    The run is that of hocket solve, to the same numbers. When a process is lost all are ended; name the folder to go
    on from the checkpoint, with as many processes as you like. On many machines let Slurm or MPI start hocket solve
    --engine cluster. A script calls hocket.solve with engine="cluster" in every process.

    Args:
        problem: A configuration file, the folder of a run to repeat or resume, or a Python script.
        processes: How many processes to start on this machine.
    """
    from hocket.cli.solve import lines_for
    from hocket.engines.cluster.local_processes import run_together
    from hocket.runs.storage import load_run

    if processes < 1:
        raise BadConfig(f"--processes {processes}; start at least one")
    if not problem.exists():
        raise BadConfig(f"there is no {problem}; name a configuration file, a run's folder or a script")
    if problem.suffix == ".py":
        return _script(problem, processes)
    asked = flags({"out": out, "engine": "cluster"})
    ended = run_together(["hocket", "solve", str(problem), *asked, "--json"], processes)
    data = _read(ended.output)
    if "error" in data or not ended.well:
        _complain(data.get("error", {}))
    folder = Path(data["folder"])
    return Answer(data | {"processes": processes}, lines_for(load_run(folder), folder, data["same_bits"]))


def _script(script: Path, processes: int) -> Answer:
    from hocket.engines.cluster.local_processes import run_together

    ended = run_together(["hocket.engines.cluster", str(script)], processes)
    if not ended.well:
        raise ClusterError(f"{script} failed in process 0 (exit code {ended.codes[0]}); see above")
    data = {"script": str(script), "processes": processes, "output": ended.output}
    return Answer(data, [ended.output.rstrip("\n")])


def _read(output: str) -> dict[str, Any]:
    """What process 0 answered; it may have been ended before it could."""
    try:
        return json_value(output)
    except json.JSONDecodeError:
        return {}


def _complain(error: dict[str, str]) -> None:
    """Pass on what was wrong; process 0 has printed it already, where it is not JSON that was asked for."""
    message = error.get("message", "the processes ended without an answer; see what they printed")
    if error.get("kind") == "Interrupted":
        raise Interrupted(message, round=0)
    raise (BadInput if error.get("kind", "").startswith("Bad") else ClusterError)(message)


cluster = App(
    name="cluster",
    help="Spread the agents of one run over many processes.",
    help_epilogue=f"Example: hocket {EXAMPLE}",
)
add(cluster, run, EXAMPLE)
