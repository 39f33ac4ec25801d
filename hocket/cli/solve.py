"""`hocket solve`: one configuration, one run, one folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hocket.cli.answer import Answer, aside
from hocket.cli.options import Out, SetParameters
from hocket.errors import BadConfig, Diverged, Interrupted
from hocket.files import json_value

if TYPE_CHECKING:
    import numpy as np

    from hocket.config import Config
    from hocket.runs.run import Run


def solve(
    problem: Path,
    /,
    *,
    out: Out = None,
    algorithm: str | None = None,
    parameters: SetParameters = None,
    engine: Literal["simulator", "cluster"] = "simulator",
) -> Answer:
    """Solve the problem that a file describes, or repeat or resume the run in a folder.

    The folder gets the configuration, the run, its measurements, a figure and a report. After Ctrl-C, name
    the folder to go on from where the run was. A configuration with a python key, or with an algorithm in a file of
    your own, runs that file.

    Args:
        problem: A configuration file, or the folder of a run to repeat or resume.
        algorithm: In place of the file's: dgd, extra, …, or one of your own, FILE.py:CLASS.
        engine: One device, or all devices of all processes that Slurm, MPI or cluster run started.
    """
    from hocket.config import open_folder, read_config, reopen_folder

    here = _Here(engine)
    if problem.is_dir():
        given = [name for name, value in (("out", out), ("algorithm", algorithm)) if value is not None]
        if given:
            raise BadConfig(
                f"{problem} is a run's folder and gets its own results again; leave --{given[0]} away"
            )
        folder, config = problem, reopen_folder(problem)
        asked = here.asked(config)
        here.note(f"Taking up the run in {folder}")
    else:
        config = read_config(problem, _in_place_of_the_files(algorithm, parameters))
        asked = here.asked(config)  # what cannot be run leaves no folder behind
        folder, config = here.agreed(lambda: open_folder(config, problem.stem, out), config)
        here.note(f"Solving {problem} in {folder}")
    earlier = _stored_states(folder)
    run = _run_in(folder, config, asked, here)
    if not here.writes:
        return Answer({"folder": str(folder)}, ["Process 0 has the answer."])
    # Compared as bytes: bit for bit, even where a state is not a number.
    return _answer(run, folder, None if earlier is None else earlier.tobytes() == run.x.tobytes())


def _in_place_of_the_files(algorithm: str | None, parameters: list[str] | None) -> dict[str, Any]:
    """The section [algorithm] as it was typed, if it was."""
    from hocket.config.own_algorithm import is_own, own_parts, parameters_in

    if algorithm is None:
        if parameters:
            raise BadConfig(
                f"--set {parameters[0]} is of --algorithm; name it, or set it in the file's [algorithm]"
            )
        return {}
    if is_own(algorithm):  # seen from here, and not from the configuration's folder
        file, name = own_parts(algorithm)
        algorithm = f"{Path(file).expanduser().absolute()}:{name}"
    return {"algorithm": {"name": algorithm, **parameters_in(parameters)}}


class _Here:
    """This process among those that play a run: with the simulator, the only one."""

    def __init__(self, engine: str):
        self.engine = engine
        self.writes = True
        if engine == "cluster":
            import jax

            from hocket.engines.cluster import join

            join()  # before a problem is built, which computes
            self.writes = jax.process_index() == 0  # pyright: ignore[reportUnknownMemberType]

    def asked(self, config: Config) -> dict[str, Any]:
        """What `hocket.solve` is handed."""
        asked = config.build() | {"engine": self.engine}
        if self.engine == "cluster" and asked["keep"] != "metrics":
            raise BadConfig(
                f"{config.source}: [run] keep = {asked['keep']!r}, but a cluster keeps measurements only; leave it out"
            )
        return asked

    def agreed(self, opened: Callable[[], tuple[Path, Config]], config: Config) -> tuple[Path, Config]:
        """The folder that one process opens for all."""
        if self.engine != "cluster":
            return opened()
        from hocket.engines.cluster.processes import told_by_first

        folder, refused = None, None
        if self.writes:
            try:
                folder, config = opened()
            except BadConfig as error:
                refused = str(error)
        folder, refused = told_by_first((str(folder), refused))
        if refused is not None:
            raise BadConfig(refused)
        return Path(folder), config

    def note(self, words: str) -> None:
        """A note for the person watching."""
        if self.writes:
            aside().print(words)


def _run_in(folder: Path, config: Config, asked: dict[str, Any], here: _Here) -> Run:
    """Play the run and write everything about it into its folder; the checkpoint goes once all is written."""
    from hocket.config import command
    from hocket.engines.checkpoint import Checkpoint
    from hocket.engines.solver import solve as play

    kept = asked["keep"] == "metrics"
    again = (
        f"go on with: {command(folder)}" if kept else f"nothing was kept; start again with: {command(folder)}"
    )
    try:
        run = play(**asked, checkpoint=folder if kept else None)
        if here.writes:
            _write(run, folder, config)
    except Diverged as error:
        if error.run is not None and here.writes:
            _write(error.run, folder, config)
        raise Diverged(f"{error}; see {folder / 'report.html'}", round=error.round, run=error.run) from error
    except Interrupted as error:
        raise Interrupted(
            f"interrupted after round {error.round} of {config.run.rounds}; {again}", round=error.round
        ) from error
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {again}", round=0) from None
    if here.writes:
        Checkpoint(folder).path.unlink(missing_ok=True)
    return run


def _write(run: Run, folder: Path, config: Config) -> None:
    from hocket.cli.report import write_page
    from hocket.report.exposure import audit_of

    run.save(folder)
    write_page(run, folder, config, audit_of(run))


def _stored_states(folder: Path) -> np.ndarray | None:
    """The result of an earlier run in this folder."""
    from hocket.runs.storage import read_arrays

    path = folder / "run.npz"
    return read_arrays(path)["x"] if path.is_file() else None


def _answer(run: Run, folder: Path, same_bits: bool | None) -> Answer:
    from hocket.report.folder import PAGE

    data = json_value((folder / "run.json").read_text(encoding="utf-8")) | {
        "mean": run.mean.tolist(),
        "same_bits": same_bits,
        "folder": str(folder),
        "report": str(folder / PAGE),
    }
    return Answer(data, lines_for(run, folder, same_bits))


def lines_for(run: Run, folder: Path, same_bits: bool | None) -> list[Any]:
    """What people read about a run in its folder."""
    from hocket.report.folder import PAGE
    from hocket.report.tables import result_table

    repeated = {
        None: [],
        True: ["The states are those of the earlier run in this folder, bit for bit."],
        False: ["The states differ from the earlier run in this folder: other software, device or inputs."],
    }
    return [result_table(run), *repeated[same_bits], f"Report: {folder / PAGE}"]
