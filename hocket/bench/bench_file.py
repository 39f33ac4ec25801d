"""A comparison as a TOML file: named problems, networks and algorithms, and what each may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from hocket.algorithm import Algorithm
from hocket.bench.compare import compare
from hocket.bench.comparison import GOAL, Comparison
from hocket.config.own_algorithm import read_any_algorithm
from hocket.config.problems import read_problem
from hocket.config.section import Section, check
from hocket.config.sections import NetworkSection, read_step
from hocket.errors import BadConfig, BadInput, nearest
from hocket.files import read_text, toml_tables
from hocket.links.text import is_table
from hocket.networks.network import Network
from hocket.problems.problem import Problem

LONGEST = 10_000_000
"""Bytes of a file."""
SECTIONS = ("bench", "problems", "networks", "algorithms")
Built = TypeVar("Built")


class BudgetSection(Section):
    """What one agent may spend, in the mean over agents."""

    rounds: float | None = Field(None, ge=1, description="a number of rounds")
    gradients: float | None = Field(None, ge=1, description="a number of gradients")
    messages: float | None = Field(None, ge=1, description="a number of messages sent")
    bytes: float | None = Field(None, ge=1, description="a number of bytes sent")


class BenchSection(Section):
    """How long, how often, and what counts as having arrived."""

    rounds: int | None = Field(None, ge=1, description="a whole number of rounds, at least 1")
    seeds: int = Field(10, ge=1, description="how many seeds, a whole number")
    goal: float = Field(
        GOAL, gt=0, lt=1, description="the part of the gap at the start that counts as arrived"
    )
    start: float | list[float] | list[list[float]] | None = Field(
        None, description="a number, a list with one per coordinate (of one: per agent), or a row per agent"
    )
    measure: Literal["sample", "exact"] = Field(
        "sample", description="sample, the gap over as many agents as is cheap, or exact, over all"
    )
    title: str = Field("", description="a title for the page")


@dataclass(frozen=True, eq=False)
class BenchFile:
    """A comparison that was read and built, ready to be run."""

    problems: dict[str, Problem]
    networks: dict[str, Network]
    algorithms: dict[str, Algorithm]
    steps: dict[str, Any]
    bench: BenchSection
    budget: dict[str, float] | None
    text: str
    """As it stands in the file."""

    def run(self, *, progress: bool | None = None) -> Comparison:
        """Run the comparison."""
        return compare(
            self.problems,
            self.networks,
            self.algorithms,
            seeds=self.bench.seeds,
            rounds=self.bench.rounds,
            budget=self.budget,
            step=self.steps,
            start=self.bench.start,
            measure=self.bench.measure,
            progress=progress,
        )


def read_bench(path: Path) -> BenchFile:
    """Read and build a comparison; every error names the file, the section and the key."""
    try:
        text = read_text(path, LONGEST)
    except FileNotFoundError:
        raise BadConfig(f"there is no file {path}; name a file that describes a comparison") from None
    try:
        return parse_bench(text, base=path.parent)
    except BadInput as error:
        raise BadConfig(f"{path}: {error}") from error


def parse_bench(text: str, *, base: Path) -> BenchFile:
    """A comparison from its text."""
    tables = toml_tables(text)
    for name in tables:
        if name not in SECTIONS:
            raise BadConfig(
                f"there is no section [{name}]{nearest(name, SECTIONS)}; a comparison has "
                f"{', '.join(f'[{one}]' for one in SECTIONS)}"
            )
    bench = dict(tables.get("bench", {}))
    budget = bench.pop("budget", None)
    section = check(BenchSection, "bench", bench)
    if (section.rounds is None) == (budget is None):
        raise BadConfig("[bench] needs rounds = 1000, or budget = { bytes = 1e6 }: one of the two")
    limits = (
        None if budget is None else check(BudgetSection, "bench.budget", budget).model_dump(exclude_none=True)
    )
    steps: dict[str, Any] = {}
    return BenchFile(
        problems=_each(tables, "problems", lambda table: read_problem(table).build(base)),
        networks=_each(tables, "networks", partial(_network, base)),
        algorithms=_each(tables, "algorithms", partial(_algorithm, base), steps),
        steps=steps,
        bench=section,
        budget=limits,
        text=text,
    )


def _each(
    tables: Mapping[str, Any],
    what: str,
    build: Callable[[Any], Built],
    steps: dict[str, Any] | None = None,
) -> dict[str, Built]:
    """What a section names, built one by one; steps that stand beside algorithms are put apart."""
    given = tables.get(what)
    if not is_table(given) or not given:
        raise BadConfig(f"the section [{what}] is missing; name one at least, [{what}.mine]")
    built: dict[str, Built] = {}
    for name, entry in given.items():
        try:
            if steps is not None and is_table(entry) and "step" in entry:
                steps[name] = read_step(entry["step"]).build()
                entry = {key: value for key, value in entry.items() if key != "step"}
            built[name] = build(entry)
        except BadInput as error:
            raise BadConfig(f"[{what}.{name}]: {error}") from error
    return built


def _network(base: Path, entry: Any) -> Network:
    table = {"topology": entry} if isinstance(entry, str) else entry
    return check(NetworkSection, "network", table).build(base)


def _algorithm(base: Path, entry: Any) -> Algorithm:
    table = {"name": entry} if isinstance(entry, str) else entry
    if not is_table(table):
        raise BadConfig("write the name of an algorithm, or a table with its name and parameters")
    return read_any_algorithm(table, base).build()
