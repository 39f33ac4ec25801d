"""A whole configuration: read, built, and kept in the folder of its run.

The folder holds the configuration and all that it refers to, so that it reproduces itself.
"""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from hocket import __version__
from hocket.algorithm import derives_step
from hocket.config.files import dumps, found, sha256
from hocket.config.own_algorithm import kept_by_place, read_any_algorithm
from hocket.config.problems import FromData, FromPython, ProblemSection, read_problem
from hocket.config.section import AnySection, check
from hocket.config.sections import (
    AlgorithmSection,
    ChannelSection,
    NetworkSection,
    RunSection,
    StepSection,
    read_step,
)
from hocket.errors import BadConfig, BadInput, nearest
from hocket.files import read_text, toml_tables
from hocket.links.text import is_table
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.job import Job
from hocket.steps import DEFAULT_STEP

Built = TypeVar("Built")
SECTIONS = ("problem", "network", "algorithm", "step", "run", "channel")
DEFAULTS: dict[str, dict[str, Any]] = {"step": dataclasses.asdict(DEFAULT_STEP)}
"""Sections that may be left out, and what stands for them then."""
OPTIONAL = ("channel",)
"""Sections in whose place nothing stands."""
ASKED_OF_SOLVE = {"keep", "measure", "tolerance"}
"""Keys of `[run]` that decide what is kept and measured, not what is played."""
CONFIG = "config.toml"
INPUTS = "inputs"
LONGEST = 100_000_000
"""Bytes of a configuration: it may hold coefficients and links of many agents."""
COPIED = 100_000_000
"""Bytes up to which data are copied into the folder; larger files are named by place and fingerprint."""


@dataclass(frozen=True)
class Config:
    """A checked configuration. File names in it are relative to `base`."""

    problem: ProblemSection
    network: NetworkSection
    algorithm: AlgorithmSection
    step: StepSection
    run: RunSection
    base: Path
    source: str = "configuration"
    """What errors call it."""
    channel: ChannelSection | None = None

    def build(self) -> dict[str, Any]:
        """Everything that `hocket.solve` takes, ready to be handed over."""
        subject = self._subject()
        self._job(subject)
        return subject | self.run.model_dump()

    def job(self) -> Job:
        """What is played: with the step that the algorithm derives, where it is left to it."""
        return self._job(self._subject())

    def _subject(self) -> dict[str, Any]:
        problem, network = self.build_problem(), self.build_network()
        algorithm = self._built("algorithm", self.algorithm.build)
        step = self._built("step", self.step.build)
        subject = {"problem": problem, "network": network, "algorithm": algorithm, "step": step}
        if self.channel is not None:
            subject |= {"channel": self._built("channel", self.channel.build)}
        return subject

    def _job(self, subject: dict[str, Any]) -> Job:
        # What fits together only as a whole, such as the start and the set, is refused here as well.
        asked = self.run.model_dump(exclude=ASKED_OF_SOLVE)
        return self._built("run", lambda: Job.asked(**subject, **asked))

    def build_problem(self) -> Problem:
        """What is to be solved."""
        return self._built("problem", lambda: self.problem.build(self.base))

    def build_network(self) -> Network:
        """Who talks to whom."""
        return self._built("network", lambda: self.network.build(self.base))

    def tables(self) -> dict[str, dict[str, Any]]:
        """The configuration as plain tables, every default written out."""
        given = {name: getattr(self, name) for name in SECTIONS}
        return {name: part.model_dump(exclude_none=True) for name, part in given.items() if part is not None}

    def text(self) -> str:
        """The configuration as TOML, every default written out."""
        return dumps(self.tables())

    def _built(self, section: str, build: Callable[[], Built]) -> Built:
        """What a section describes; an error says which file and section it comes from."""
        try:
            return build()
        except BadInput as error:
            known = str(error).startswith(f"[{section}")
            raise BadConfig(f"{self.source}: {'' if known else f'[{section}] '}{error}") from error


def read_config(path: Path, instead: Mapping[str, Any] | None = None) -> Config:
    """Read and check a configuration file; every error names the file, the section and the key.
    Sections of `instead` take the place of the file's."""
    try:
        text = read_text(path, LONGEST)
    except FileNotFoundError:
        raise BadConfig(f"there is no file {path}; name a configuration file or a run's folder") from None
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    try:
        tables = toml_tables(text)
    except BadConfig as error:
        raise BadConfig(f"{path} is {error}; mend that line") from None
    return parse_config({**tables, **(instead or {})}, base=path.parent, source=str(path))


def parse_config(tables: Mapping[str, Any], *, base: Path, source: str = "configuration") -> Config:
    """Check a configuration that is already in tables."""
    if isinstance(tables.get("algorithm"), str):  # one without parameters, in a line
        tables = {**tables, "algorithm": {"name": tables["algorithm"]}}
    complaints = [*_misplaced(tables)]

    def read(name: str, reader: Callable[[Mapping[str, Any]], AnySection]) -> AnySection | None:
        table = tables.get(name, DEFAULTS.get(name))
        try:
            return reader(table) if is_table(table) else None
        except BadConfig as error:
            complaints.extend(str(error).splitlines())

    problem = read("problem", read_problem)
    network = read("network", partial(check, NetworkSection, "network"))
    algorithm = read("algorithm", partial(read_any_algorithm, base=base))
    if "step" not in tables and algorithm is not None and _derives_step(algorithm):
        tables = {**tables, "step": {"auto": True}}
    step = read("step", read_step)
    run = read("run", partial(check, RunSection, "run"))
    channel = read("channel", partial(check, ChannelSection, "channel"))
    # A section that is not there has been complained of.
    if complaints or not (problem and network and algorithm and step and run):
        raise BadConfig("\n".join(f"{source}: {complaint}" for complaint in complaints))
    return Config(problem, network, algorithm, step, run, base, source, channel)


def _derives_step(section: AlgorithmSection) -> bool:
    try:
        return derives_step(section.build())
    except BadInput:  # complained of where the whole is built
        return False


def _misplaced(tables: Mapping[str, Any]) -> Iterator[str]:
    known = ", ".join(f"[{name}]" for name in SECTIONS)
    for name, table in tables.items():
        if name in SECTIONS and not isinstance(table, dict):
            yield f"{name} is not a section; write [{name}] on a line of its own, and its keys below"
        elif name not in SECTIONS and isinstance(table, dict):
            yield f"there is no section [{name}]{nearest(name, SECTIONS)}; the sections are {known}"
        elif name not in SECTIONS:
            yield f"the key {name!r} stands before any section; the sections are {known}"
    for name in SECTIONS:
        if name not in tables and name not in DEFAULTS and name not in OPTIONAL:
            yield f"the section [{name}] is missing; the sections are {known}"


def new_folder(name: str, out: Path | None = None) -> Path:
    """An empty folder: `out`, which must hold nothing yet, or the first free runs/<name>-<number>."""
    if out is None:
        numbered = (Path("runs") / f"{name}-{number}" for number in count(1))
        return next(folder for folder in numbered if _made(folder))
    if out.exists() and not out.is_dir():
        raise BadConfig(f"{out} is a file; name a new folder")
    if out.is_dir() and any(out.iterdir()):
        fix = f"go on with it ({command(out)}), or " if (out / CONFIG).is_file() else ""
        raise BadConfig(f"{out} is not empty; {fix}name a new folder")
    out.mkdir(parents=True, exist_ok=True)
    return out


def open_folder(config: Config, name: str, out: Path | None = None) -> tuple[Path, Config]:
    """A new folder for a run of this configuration, and the configuration as it is kept there."""
    folder = new_folder(name, out)
    config = _keep_inputs(config, folder)
    # The configuration comes last: a folder that has one is complete.
    (folder / CONFIG).write_text(
        f"# Written by hocket {__version__}; to run this again: {command(folder)}\n\n{config.text()}",
        encoding="utf-8",
    )
    return folder, config


def command(path: Path) -> str:
    """What to type to run a configuration file or a folder."""
    return f"hocket solve {shlex.quote(str(path))}"


def reopen_folder(folder: Path) -> Config:
    """The configuration of a run's folder."""
    if not (folder / CONFIG).is_file():
        raise BadConfig(
            f"{folder} is not the folder of a run: it has no {CONFIG}; name a configuration file instead"
        )
    return read_config(folder / CONFIG)


def _keep_inputs(config: Config, folder: Path) -> Config:
    """The configuration with its data copied into the folder, and with its code referred to where it lies.

    Code is not copied, since it may import or read what lies beside it; its fingerprint tells if it changes.
    """
    problem, network, algorithm = config.problem, config.network, kept_by_place(config.algorithm)
    if isinstance(problem, FromData):
        path = found(config.base, problem.data, "[problem] data")
        if path.stat().st_size <= COPIED:
            problem = problem.model_copy(update={"data": _copy(path, folder)})
        else:
            problem = problem.model_copy(update={"data": str(path.resolve()), "sha256": sha256(path)})
    elif isinstance(problem, FromPython):
        path, name = problem.named(config.base)
        problem = problem.model_copy(update={"python": f"{path.resolve()}:{name}", "sha256": sha256(path)})
    if network.edges_file is not None:
        path = found(config.base, network.edges_file, "[network] edges_file")
        network = network.model_copy(update={"edges_file": _copy(path, folder)})
    return dataclasses.replace(config, problem=problem, network=network, algorithm=algorithm, base=folder)


def _copy(path: Path, folder: Path) -> str:
    (folder / INPUTS).mkdir(exist_ok=True)
    shutil.copyfile(path, folder / INPUTS / path.name)
    return f"{INPUTS}/{path.name}"


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True
