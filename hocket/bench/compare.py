"""`compare`: algorithms on problems and networks, for several seeds, in as few compiled programs as shapes allow."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import title_of
from hocket.bench.comparison import Cell, Comparison
from hocket.bench.cost import ProgramShape, RoundCost, cost_of
from hocket.bench.metrics import MEASURED, MESSAGES, BenchGauge
from hocket.engines.prepare import prepare
from hocket.engines.progress import Bar
from hocket.engines.side_by_side import check_drawn, play_together
from hocket.engines.simulator import table_length
from hocket.engines.solver import check_measure
from hocket.engines.sweep import as_seeds, named
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.adjacency import is_matrix
from hocket.networks.neighbour_tables import SharedLayout
from hocket.networks.network import Network, network_asked
from hocket.problems.problem import Problem
from hocket.rationals import whole
from hocket.runs.channel import Channel
from hocket.runs.job import Job, is_certified
from hocket.steps import AUTO, Step

BUDGETS = ("rounds", "gradients", "messages", "bytes")
MOST_ROUNDS = 1_000_000
"""However far a budget would last."""

AnyStep = Step | float | Callable[[int], float] | Literal["auto"]


class PreparedRun(NamedTuple):
    """An algorithm on a problem and network, ready to be played."""

    place: tuple[str, str]
    name: str
    job: Job
    program: Any
    outline: ProgramShape
    cost: RoundCost


def compare(
    problems: Problem | Sequence[Problem] | Mapping[str, Problem],
    networks: Network | Sequence[Network] | Mapping[str, Network],
    algorithms: Algorithm | Sequence[Algorithm] | Mapping[str, Algorithm],
    *,
    seeds: int | Iterable[int] = 10,
    rounds: int | None = None,
    budget: Mapping[str, float] | None = None,
    step: AnyStep | Mapping[str, AnyStep] = AUTO,
    start: Any = None,
    measure: Literal["sample", "exact"] = "sample",
    channel: Channel | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run every algorithm on every problem and network, for every seed, and lay the results side by side.

    Problems, networks and algorithms are lists, or dicts by the names that tables and figures use. Give `rounds`, the
    same for all, or a `budget` such as {"bytes": 1e6}, {"gradients": 500} or {"messages": 1000}: what one agent may
    spend, in the mean over agents, and every algorithm gets as many rounds as that allows. `step` is "auto", one for
    all, or a dict by algorithm.

    Where the gap of all agents would take more than a tenth of a run to measure, it is taken over those farthest from
    the mean: `looked_at` stands beside every gap, over how many of the `agents` it is. `measure="exact"` takes all.

    Algorithms that differ in numbers alone are played in one compiled call, together with all seeds; networks of
    equally many agents share its program, and so do problems that differ in numbers alone. A run that diverges is
    marked, an algorithm that refuses a problem or network is listed in `refused`, and problems and networks of
    different sizes are `left_out`. With a `channel` messages are lost and late, for each seed otherwise, and counted
    as they were sent, received and lost.
    """
    check_measure(measure)
    networks = network_asked(networks) if is_matrix(networks) or hasattr(networks, "edges") else networks
    asked = _Question(
        named(problems, lambda one: "problem", "problems"),
        named(networks, lambda one: network_asked(one).name, "networks"),
        named(algorithms, title_of, "algorithms"),
        as_seeds(seeds),
        _budget(rounds, budget),
        step,
        start,
        channel,
    )
    return asked.played(exact=measure == "exact", progress=progress)


class _Question(NamedTuple):
    """A comparison as it was asked for."""

    problems: Mapping[str, Problem]
    networks: Mapping[str, Network]
    algorithms: Mapping[str, Algorithm]
    seeds: list[int]
    budget: Mapping[str, float]
    step: Any
    start: Any
    channel: Channel | None

    def check(self) -> None:
        kinds: Any = ((self.problems, Problem), (self.networks, Network), (self.algorithms, Algorithm))
        for many, kind in kinds:
            for name, one in many.items():
                if not isinstance(one, kind):
                    fix = f"; write {one.__name__}()" if isinstance(one, type) else ""
                    raise BadInput(f"{name} is {one!r}, and no {kind.__name__.lower()}{fix}")
        if isinstance(self.step, Mapping):
            unknown = [name for name in self.step if name not in self.algorithms]
            if unknown:
                raise BadInput(
                    f"step= is given for {unknown[0]!r}; the algorithms are {', '.join(self.algorithms)}"
                )

    def places(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Problems and networks that go together, and those that do not."""
        every = list(itertools.product(self.problems, self.networks))
        fit = [(one, two) for one, two in every if self.problems[one].n == self.networks[two].n]
        other = [place for place in every if place not in fit]
        for which, many in enumerate((self.problems, self.networks)):
            for name, thing in many.items():
                if all(place[which] != name for place in fit):
                    what, partner = ("problem", "network") if which == 0 else ("network", "problem")
                    raise BadInput(
                        f"the {what} {name!r} has {thing.n} agents, and no {partner} has as many; give one, or leave "
                        "it out"
                    )
        return fit, other

    def played(self, *, exact: bool, progress: bool | None) -> Comparison:
        self.check()
        began = time.monotonic()
        fit, other = self.places()
        rooms = self.rooms()
        bar = Bar(len(fit) * len(self.algorithms) * len(self.seeds), show=progress, of="runs")
        cells: list[Cell] = []
        refused: dict[tuple[str, str, str], str] = {}
        programs: set[Any] = set()
        compiling, done = 0.0, 0
        with jax.enable_x64(True):
            try:
                for place in fit:
                    for program, entries in self.prepared(place, rooms, refused):
                        programs.add(program)
                        found, spent = self._together(entries, exact)
                        cells += found
                        compiling += spent
                        done += len(found) * len(self.seeds)
                        bar.update(done, gap=float(np.median(found[0].measured["gap"][:, -1])))
            finally:
                bar.close()
        if not cells:
            raise BadAlgorithm(f"none of the algorithms can be run: {next(iter(refused.values()))}")
        order = {name: i for i, name in enumerate(self.algorithms)}
        where = {place: i for i, place in enumerate(fit)}
        cells.sort(key=lambda cell: (where[cell.place], order[cell.algorithm]))
        return Comparison(
            cells=tuple(cells),
            seeds=tuple(self.seeds),
            programs=len(programs),
            seconds=time.monotonic() - began,
            compiling=compiling,
            refused=refused,
            left_out=tuple(other),
        )

    def rooms(self) -> dict[str, SharedLayout | None]:
        """For each network a layout that it shares with all others of its size."""
        alike: dict[tuple[int, int], list[Network]] = {}
        for network in self.networks.values():
            alike.setdefault((network.n, network.period), []).append(network)
        return {
            name: SharedLayout.around(alike[network.n, network.period])
            if len(alike[network.n, network.period]) > 1
            else None
            for name, network in self.networks.items()
        }

    def prepared(
        self,
        place: tuple[str, str],
        rooms: Mapping[str, SharedLayout | None],
        refused: dict[tuple[str, str, str], str],
    ) -> list[tuple[Any, list[PreparedRun]]]:
        """All algorithms on one problem and network: those that share a program and its rounds together."""
        groups: dict[Any, list[PreparedRun]] = {}
        for name in self.algorithms:
            try:
                entry = self._entry(place, name, rooms[place[1]])
            except BadInput as error:
                refused[(*place, name)] = str(error)
                continue
            groups.setdefault((entry.outline, entry.job.rounds), []).append(entry)
        return [(_identity(outline, entries), entries) for (outline, _), entries in groups.items()]

    def _entry(self, place: tuple[str, str], name: str, room: SharedLayout | None) -> PreparedRun:
        problem, network = self.problems[place[0]], self.networks[place[1]]
        algorithm = self.algorithms[name]
        check_drawn(algorithm)
        step = self.step.get(name, AUTO) if isinstance(self.step, Mapping) else self.step
        known: dict[str, Any] = {
            "step": step,
            "seed": self.seeds[0],
            "start": self.start,
            "channel": self.channel,
        }
        job = Job.asked(problem, network, algorithm, rounds=int(self.budget.get("rounds", 1)), **known)
        best = problem.best
        optimum = np.full(problem.dim, np.nan) if best is None or best.x is None else np.asarray(best.x)
        gauge = BenchGauge(np.asarray(optimum, dtype=np.float64))
        shared = room if job.own_network is network else None
        program = prepare(job, job.algorithm, averaging=False, gauge=gauge, room=shared)
        outline = ProgramShape.of(program)
        cost = cost_of(outline, job.own_network)
        rounds = min(*(cost.affordable(what, limit) for what, limit in self.budget.items()), MOST_ROUNDS)
        if rounds < 1:
            what, limit = next(iter(self.budget.items()))
            raise BadInput(f"a budget of {limit:g} {what} is less than {name} needs for one round")
        if rounds != job.rounds:
            job = Job.asked(problem, network, algorithm, rounds=int(rounds), **known)
        return PreparedRun(place, name, job, program, outline, cost)

    def _together(self, entries: list[PreparedRun], exact: bool) -> tuple[list[Cell], float]:
        """Play algorithms that share a program, for all seeds at once."""
        jobs = [entry.job for entry in entries]
        played = play_together(jobs, [entry.program for entry in entries], self.seeds, exact=exact)
        each = played.seconds / jobs[0].rounds / played.finite.size
        columns = {"regret": "mean_gap"}
        cells = [
            Cell(
                problem=entry.place[0],
                network=entry.place[1],
                algorithm=entry.name,
                agents=entry.job.own_network.n,
                step=str(entry.job.step),
                rounds=played.rounds,
                measured={
                    name: played.measured[columns.get(name, name)][i]
                    for name in ("looked_at", *MEASURED, *MESSAGES)
                },
                finite=played.finite[i],
                cost=entry.cost,
                seconds=each,
                at_home=is_certified(entry.job),
            )
            for i, entry in enumerate(entries)
        ]
        return cells, played.compiling


def _identity(outline: ProgramShape, entries: Sequence[PreparedRun]) -> Any:
    """What tells compiled programs apart: also how many runs lie side by side, and their tables of steps."""
    return outline, len(entries), len({entry.job.step for entry in entries}), table_length(entries[0].job)


def _budget(rounds: int | None, budget: Mapping[str, float] | None) -> dict[str, float]:
    """How far every algorithm may go."""
    if (rounds is None) == (budget is None):
        raise BadInput('give rounds=1000, or a budget such as {"bytes": 1e6}: one of the two')
    asked = {"rounds": whole("rounds", rounds)} if budget is None else dict(budget)
    unknown = [what for what in asked if what not in BUDGETS]
    if unknown or not asked:
        raise BadInput(
            f"there is no budget of {unknown[0] if unknown else 'nothing'}; name {', '.join(BUDGETS)}"
        )
    for what, limit in asked.items():
        if not limit >= 1:
            raise BadInput(f"{what} = {limit}; a run needs at least one round")
    return {what: float(limit or 0) for what, limit in asked.items()}
