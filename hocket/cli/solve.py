"""`hocket solve`: one configuration, one run, one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer, aside
from hocket.errors import BadConfig, Diverged, Interrupted

if TYPE_CHECKING:
    import numpy as np

    from hocket.config import Config
    from hocket.run import Run


def solve(
    problem: Annotated[
        Path, Parameter(help="A configuration file, or the folder of a run to repeat or resume.")
    ],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="Folder to write to; by default the next free runs/NAME-1, …")
    ] = None,
) -> Answer:
    """Solve the problem that a file describes, or repeat or resume the run in a folder.

    The folder gets the configuration, the run, its measurements, a figure and a report. After Ctrl-C, name
    the folder to go on from where the run was. A configuration with a python key runs that file.
    """
    from hocket.config import open_folder, read_config, reopen_folder

    if problem.is_dir():
        if out is not None:
            raise BadConfig(f"{problem} is a run's folder and gets its own results again; leave --out away")
        folder, config = problem, reopen_folder(problem)
        asked = config.build()
        aside().print(f"Taking up the run in {folder}")
    else:
        config = read_config(problem)
        asked = config.build()  # what cannot be run leaves no folder behind
        folder, config = open_folder(config, problem.stem, out)
        aside().print(f"Solving {problem} in {folder}")
    earlier = _stored_states(folder)
    run = _run_in(folder, config, asked)
    # Compared as bytes: bit for bit, even where a state is not a number.
    return _answer(run, folder, None if earlier is None else earlier.tobytes() == run.x.tobytes())


def _run_in(folder: Path, config: Config, asked: dict[str, Any]) -> Run:
    """Play the run and write everything about it into its folder; the checkpoint goes once all is written."""
    from hocket.config import command
    from hocket.engines.checkpoint import Checkpoint
    from hocket.solving import solve as play

    kept = asked["keep"] == "metrics"
    again = (
        f"go on with: {command(folder)}" if kept else f"nothing was kept; start again with: {command(folder)}"
    )
    try:
        run = play(**asked, checkpoint=folder if kept else None)
        _write(run, folder, config)
    except Diverged as error:
        if error.run is not None:
            _write(error.run, folder, config)
        raise Diverged(f"{error}; see {folder / 'report.html'}", round=error.round, run=error.run) from error
    except Interrupted as error:
        raise Interrupted(
            f"interrupted after round {error.round} of {config.run.rounds}; {again}", round=error.round
        ) from error
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {again}", round=0) from None
    Checkpoint(folder).path.unlink(missing_ok=True)
    return run


def _write(run: Run, folder: Path, config: Config) -> None:
    from hocket.config import command
    from hocket.report.folder import write_report

    run.save(folder)
    write_report(run, folder, configuration=config.text(), command=command(folder))


def _stored_states(folder: Path) -> np.ndarray | None:
    """The result of an earlier run in this folder."""
    from hocket.storage import read_arrays

    path = folder / "run.npz"
    return read_arrays(path)["x"] if path.is_file() else None


def _answer(run: Run, folder: Path, same_bits: bool | None) -> Answer:
    from hocket.report.folder import PAGE
    from hocket.report.tables import result_table

    page = folder / PAGE
    data = json.loads((folder / "run.json").read_text(encoding="utf-8")) | {
        "mean": run.mean.tolist(),
        "same_bits": same_bits,
        "folder": str(folder),
        "report": str(page),
    }
    repeated = {
        None: [],
        True: ["The states are those of the earlier run in this folder, bit for bit."],
        False: ["The states differ from the earlier run in this folder: other software, device or inputs."],
    }
    return Answer(data, [result_table(run), *repeated[same_bits], f"Report: {page}"])
