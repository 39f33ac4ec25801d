"""Reading a whole configuration, and building what it describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.config.algorithms import AlgorithmSection, read_algorithm
from hocket.config.networks import NetworkSection
from hocket.config.problems import ProblemSection, read_problem
from hocket.config.runs import RunSection, StepSection, read_step
from hocket.config.section import check, nearest
from hocket.config.toml import dumps, loads
from hocket.engines.solver import DEFAULT_STEP
from hocket.errors import BadConfig, BadInput
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.job import Job

SECTIONS = {
    "problem": read_problem,
    "network": lambda table: check(NetworkSection, "network", table),
    "algorithm": read_algorithm,
    "step": read_step,
    "run": lambda table: check(RunSection, "run", table),
}
DEFAULTS: dict[str, dict[str, Any]] = {"step": dataclasses.asdict(DEFAULT_STEP)}
"""Sections that may be left out."""
ASKED_OF_SOLVE = {"keep", "measure", "tolerance"}
"""Keys of `[run]` that decide what is kept and measured, not what is played."""


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

    def build(self) -> dict[str, Any]:
        """Everything that `hocket.solve` takes, ready to be handed over."""
        asked = {
            "problem": self.build_problem(),
            "network": self.build_network(),
            "algorithm": self._built("algorithm", self.algorithm.build),
            "step": self._built("step", self.step.build),
            **self.run.model_dump(exclude=ASKED_OF_SOLVE),
        }
        # What fits together only as a whole, such as the start and the set, is refused here as well.
        self._built("run", lambda: Job.asked(**asked))
        return asked | self.run.model_dump(include=ASKED_OF_SOLVE)

    def build_problem(self) -> Problem:
        """What is to be solved."""
        return self._built("problem", lambda: self.problem.build(self.base))

    def build_network(self) -> Network:
        """Who talks to whom."""
        return self._built("network", lambda: self.network.build(self.base))

    def tables(self) -> dict[str, dict[str, Any]]:
        """The configuration as plain tables, every default written out."""
        return {name: getattr(self, name).model_dump(exclude_none=True) for name in SECTIONS}

    def text(self) -> str:
        """The configuration as TOML, every default written out."""
        return dumps(self.tables())

    def _built(self, section: str, build: Any) -> Any:
        """What a section describes; an error says which file and section it comes from."""
        try:
            return build()
        except BadInput as error:
            known = str(error).startswith(f"[{section}")
            raise BadConfig(f"{self.source}: {'' if known else f'[{section}] '}{error}") from error


def read_config(path: Path) -> Config:
    """Read and check a configuration file; every error names the file, the section and the key."""
    try:
        tables = loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadConfig(f"there is no file {path}; name a configuration file or a run's folder") from None
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadConfig(
            f"{path} is not text in UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from None
    except BadConfig as error:
        raise BadConfig(f"{path} is {error}; mend that line") from None
    return parse_config(tables, base=path.parent, source=str(path))


def parse_config(tables: Mapping[str, Any], *, base: Path, source: str = "configuration") -> Config:
    """Check a configuration that is already in tables."""
    complaints = [*_misplaced(tables)]
    sections = {}
    for name, read in SECTIONS.items():
        table = tables.get(name, DEFAULTS.get(name))
        if not isinstance(table, dict):
            continue
        try:
            sections[name] = read(table)
        except BadConfig as error:
            complaints += str(error).splitlines()
    if complaints:
        raise BadConfig("\n".join(f"{source}: {complaint}" for complaint in complaints))
    return Config(**sections, base=base, source=source)


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
        if name not in tables and name not in DEFAULTS:
            yield f"the section [{name}] is missing; the sections are {known}"
