"""`sweep`: many runs of one job at once, over seeds, parameters, steps and networks, in as few programs as can be."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.engines.compiled.program import Program
from hocket.engines.prepare import prepare
from hocket.engines.progress import Bar
from hocket.engines.side_by_side import LaneResults, check_drawn, play_together
from hocket.engines.solver import check_measure
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.neighbour_tables import SharedLayout
from hocket.networks.network import Network, network_asked
from hocket.problems.problem import Problem
from hocket.rationals import whole
from hocket.runs.channel import Channel
from hocket.runs.job import Job, check_seed, describe
from hocket.runs.run import Messages, history_stays, marked
from hocket.runs.theorems import Claim, claim
from hocket.runs.tidy import frame_of, write_rows
from hocket.steps import Constant, Step, as_step


@dataclass(frozen=True, eq=False)
class Sweep:
    """Many runs side by side. Leading axes are networks, steps and parameters as far as they are swept, then seeds."""

    axes: dict[str, tuple[Any, ...]]
    """The values along each leading axis, by name: `network`, `step`, swept parameters, `seed`."""
    x: Float[np.ndarray, "*axes agents dim"]
    time_average: Float[np.ndarray, "*axes agents dim"] | None
    history: dict[str, np.ndarray]
    """`round` (points,), and measurements of shape (*axes, points) as in `Run.history`."""
    finite: np.ndarray
    """Whether each run stayed finite to the end."""
    claim: Claim
    settings: dict[str, Any]
    seconds: float = 0.0
    """That all runs took together, compilation aside."""
    count_messages: Callable[[], Messages] | None = field(default=None, repr=False)

    @property
    def gap(self) -> np.ndarray:
        """Every run's last gap."""
        return self.history["gap"][..., -1]

    @cached_property
    def messages(self) -> Messages:
        """Messages from agent to agent in every run: how many were sent, received and lost."""
        assert self.count_messages is not None
        return self.count_messages()

    @property
    def disagreement(self) -> np.ndarray:
        """Every run's last disagreement."""
        return self.history["disagreement"][..., -1]

    def rows(self) -> list[dict[str, Any]]:
        """A row for every point of every run: the values of all axes, the round, what was measured, and `diverged`."""
        rounds = self.history["round"].tolist()
        columns = {name: values for name, values in self.history.items() if name != "round"}
        mark = {"stays_at_home": True} if history_stays(self.settings) else {}
        rows: list[dict[str, Any]] = []
        for place in np.ndindex(self.finite.shape):
            at = {name: values[i] for (name, values), i in zip(self.axes.items(), place, strict=True)}
            measured = {name: values[place].tolist() for name, values in columns.items()}
            diverged = not self.finite[place]
            rows += [
                at | {"round": k} | {name: values[i] for name, values in measured.items()}
                | {"diverged": diverged} | mark
                for i, k in enumerate(rounds)
            ]  # fmt: skip
        return rows

    def frame(self) -> Any:
        """The rows as a pandas frame."""
        return frame_of(self.rows())

    def save(self, path: str | Path) -> Path:
        """Write the rows into a file that ends in .csv or .json."""
        return write_rows(self.rows(), path)

    def __repr__(self) -> str:
        name, on = self.settings["algorithm"]["name"], self.settings["network"]["name"]
        size = " × ".join(
            f"{len(values)} {axis}{'s' * (len(values) != 1)}" for axis, values in self.axes.items()
        )
        where = "" if "network" in self.axes else f" on {on}"
        lost = int((~self.finite).sum())
        broken = f", {lost} of {self.finite.size} diverged" if lost else ""
        known = self.gap[self.finite & np.isfinite(self.gap)]
        gap = f"median gap {np.median(known):.3g}" if known.size else "gap unknown"
        gap += marked(self.settings)
        return f"<Sweep of {name}{where}: {size}, {self.history['round'][-1]} rounds, {gap}{broken}>"


def sweep(
    problem: Problem,
    network: Network | None = None,
    algorithm: Algorithm | None = None,
    *,
    rounds: int,
    seeds: int | Iterable[int] = range(20),
    networks: Sequence[Network] | Mapping[str, Network] | None = None,
    step: Step
    | float
    | Callable[[int], float]
    | Literal["auto"]
    | Sequence[Step | float | Literal["auto"]] = "auto",
    start: Any = None,
    dtype: Any = np.float64,
    grad_at: str = "mixed",
    measure: Literal["sample", "exact"] = "sample",
    time_average: bool = True,
    progress: bool | None = None,
    channel: Channel | None = None,
    **parameters: Sequence[float],
) -> Sweep:
    """Run an algorithm for every seed and every combination of networks, steps and its parameters.

    Parameters are the algorithm's own numbers, `delta=[1, 10]` or `persistent=[0.2, 0.5]`; `step=[0.1, 0.2]` sweeps
    steps, `networks=[…]` in place of a network over networks. All runs on one network are one compiled call, and
    networks of equally many agents share its program. Steps that are derived are so for each variant and network. A run
    of a sweep draws the same noise as the single run with that seed, and `measure` is as for `solve`. Runs that stop
    being finite are marked, not raised. `seeds=5` stands for range(5).
    """
    check_measure(measure)
    if algorithm is None:
        raise BadInput("a sweep needs an algorithm; give algorithm=hk.Dgd(), say")
    numbers = as_seeds(seeds)
    swept = _networks(network, networks)
    steps = list(step) if isinstance(step, list | tuple) else [step]
    if not steps:
        raise BadInput("step = []; give the steps to sweep over, step=[0.1, 0.2]")
    axes: dict[str, tuple[Any, ...]] = {"network": tuple(swept)} if networks is not None else {}
    if isinstance(step, list | tuple):
        axes["step"] = tuple(map(_shown_step, steps))
    levels = {name: _axis(name, values) for name, values in parameters.items()}
    axes |= levels | {"seed": tuple(numbers)}
    variants = [
        vary(algorithm, dict(zip(levels, values, strict=True)))
        for values in itertools.product(*levels.values())
    ]
    asked: dict[str, Any] = {
        "rounds": rounds,
        "start": start,
        "dtype": dtype,
        "grad_at": grad_at,
        "channel": channel,
    }
    jobs = [
        [
            Job.asked(problem, one, variant, step=size, seed=numbers[0], **asked)
            for size in steps
            for variant in variants
        ]
        for one in swept.values()
    ]
    room = SharedLayout.around([row[0].own_network for row in jobs]) if len(jobs) > 1 else None
    bar = Bar(rounds, show=progress)

    def tell(done: int, gap: float, disagreement: float) -> None:
        bar.update(done, gap=gap, disagreement=disagreement)

    with jax.enable_x64(jobs[0][0].dtype == np.float64):
        try:
            played = [
                play_together(
                    row,
                    _prepared(row, averaging=time_average, room=room),
                    numbers,
                    exact=measure == "exact",
                    tell=tell,
                )
                for row in jobs
            ]
        finally:
            bar.close()
    return _gathered(jobs[0][0], played, axes)


def _prepared(row: Sequence[Job], *, averaging: bool, room: SharedLayout | None) -> list[Program]:
    """One program's layout for each job of a row; where some have no noise, they draw zeros."""
    drawn = next((drawn for job in row if (drawn := job.draws(job.algorithm))), {})
    return [prepare(job, job.algorithm, averaging=averaging, room=room, beside=drawn) for job in row]


def _gathered(job: Job, played: list[LaneResults], axes: dict[str, tuple[Any, ...]]) -> Sweep:
    """One sweep of what was played network by network."""
    shape = tuple(len(values) for values in axes.values())

    def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
        whole = np.stack(parts)
        return whole.reshape(shape + whole.shape[3:])

    averages = [one.time_average for one in played if one.time_average is not None]
    return Sweep(
        axes=axes,
        x=joined([one.x for one in played]),
        time_average=joined(averages) if averages else None,
        history={"round": played[0].rounds}
        | {name: joined([one.measured[name] for one in played]) for name in played[0].measured},
        finite=joined([one.finite for one in played]),
        claim=claim(job),
        settings=describe(job) | {"axes": {name: list(values) for name, values in axes.items()}},
        seconds=sum(one.seconds for one in played),
        count_messages=lambda: Messages.counted(
            *map(joined, zip(*(one.messages for one in played), strict=True))
        ),
    )


def as_seeds(seeds: int | Iterable[int]) -> list[int]:
    """The seeds that were asked for: a number stands for that many, from 0 on."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        seeds = range(whole("seeds", seeds))
    numbers = list(seeds)
    if not numbers:
        raise BadInput("a sweep needs at least one seed; give seeds=5, or a list of them")
    for seed in numbers:
        check_seed(seed)
    return numbers


def named(many: Any, name: Callable[[Any], str], what: str) -> dict[str, Any]:
    """Things by name: as they were given, or as each calls itself, where several do so with a number behind it."""
    if isinstance(many, Mapping):
        given = {str(key): value for key, value in many.items()}
    elif isinstance(many, Iterable):
        given, seen = {}, {}
        for one in many:
            called = name(one)
            seen[called] = seen.get(called, 0) + 1
            given[called if seen[called] == 1 else f"{called} ({seen[called]})"] = one
    else:
        given = {name(many): many}
    if not given:
        raise BadInput(f"there are no {what}; give one at least")
    return given


def _networks(one: Any, many: Any) -> dict[str, Network]:
    """The networks that are swept over, by name."""
    if isinstance(one, list | tuple):
        raise BadInput(
            "a list of networks is, for solve, one network whose links vary; say what is meant: networks=[…] to sweep "
            "over them, or hk.Network.varying([…])"
        )
    if (one is None) == (many is None):
        raise BadInput("a sweep is on one network, or over networks=[…]; give one of the two")
    if many is None:
        one = network_asked(one)
        return {one.name: one}
    return named(many, lambda network: network_asked(network).name, "networks")


def _shown_step(step: Any) -> Any:
    """A step as a value along an axis."""
    if isinstance(step, str):
        return step
    step = as_step(step)
    return float(step.a) if isinstance(step, Constant) else str(step)


def _axis(name: str, values: Any) -> tuple[float, ...]:
    """The values that a parameter takes in turn."""
    if isinstance(values, str) or not isinstance(values, Iterable) or not (axis := tuple(values)):
        raise BadInput(f"{name} = {values!r}; give the values to sweep over, {name}=[…]")
    return tuple(float(value) for value in axis)


def vary(algorithm: Algorithm, values: Mapping[str, float]) -> Algorithm:
    """An algorithm with other numbers."""
    fields = {field.name for field in dataclasses.fields(algorithm) if not field.metadata.get("static")}
    fields -= {"given"}
    unknown = sorted(set(values) - fields)
    if unknown:
        raise BadAlgorithm(
            f"{type(algorithm).__name__} has no number called {unknown[0]} to sweep over; "
            f"it has {', '.join(sorted(fields)) or 'none'}"
        )
    check_drawn(algorithm)
    return dataclasses.replace(algorithm, **values)
