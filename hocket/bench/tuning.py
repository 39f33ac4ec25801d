"""`tune`: the step and the parameters that come nearest to the optimum within a budget, and the curve around them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.bench.compare import compare
from hocket.bench.comparison import Cell
from hocket.bench.ranking import ROUNDING
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.network import Network, network_asked
from hocket.problems.problem import Problem
from hocket.runs.tidy import frame_of, write_rows
from hocket.steps import Constant, Power, Step, as_step

FACTORS = tuple(2.0**k for k in range(-2, 6))
"""Of the step that the algorithm would take by itself; proved steps are often ten times too careful."""
FURTHER = 3
"""How many more steps are tried at once beyond an edge."""
WIDENED = 4
"""How often that is done at most."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A step and parameters, and how well they did."""

    step: Step
    size: float
    """The number that is tuned: a constant step, or a of a/(k + b)^p."""
    parameters: dict[str, Any]
    algorithm: Algorithm
    cell: Cell | None
    """None where the algorithm refuses them."""
    why_not: str = ""

    @property
    def gap(self) -> float:
        """The median of the last gaps over seeds; infinite where runs diverged."""
        return math.inf if self.cell is None else float(np.median(_finite(self.cell.gap[:, -1])))

    def rounds_to(self, goal: float) -> float:
        """The median of the rounds to a gap; infinite if it is above that again in the end."""
        if self.cell is None or not self.gap <= goal:
            return math.inf
        return float(np.median(self.cell.reached(goal, relative=False)))

    def score(self, goal: float | None) -> tuple[float, float]:
        """What is made small: rounds to the goal, or the last gap; then how low the gap is throughout."""
        if self.cell is None:
            return math.inf, math.inf
        relative = _finite(self.cell.relative_gap)
        throughout = float(np.mean(np.log(np.clip(relative, ROUNDING, 1e30))))
        if goal is not None and math.isfinite(rounds := self.rounds_to(goal)):
            return rounds - 1e9, throughout  # to arrive is better than not to
        return max(float(np.median(relative[:, -1])), ROUNDING), throughout


@dataclass(frozen=True, eq=False)
class Tuning:
    """All candidates that were tried, and the best of them."""

    candidates: tuple[Trial, ...]
    chosen: Trial
    goal: float | None
    widened: int
    """How often the grid of steps was widened because the best lay at its edge."""
    at_edge: bool
    """Whether the best lies at the edge of the grid all the same: a better one may lie beyond."""
    programs: int
    seconds: float

    @property
    def best(self) -> dict[str, Any]:
        """The best step and parameters, and the gap that they reach."""
        return {"step": self.chosen.size, **self.chosen.parameters, "gap": self.chosen.gap}

    @property
    def at_home(self) -> bool:
        """Whether noise is certified, and gaps are what members would keep to themselves."""
        return any(one.cell is not None and one.cell.at_home for one in self.candidates)

    @property
    def step(self) -> Step:
        """The best step, to be handed to `solve`. It was chosen by everybody's objectives, so no certificate is about a
        run on data that were tuned on: tune on others."""
        return self.chosen.step

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm with the best parameters, to be handed to `solve`."""
        return self.chosen.algorithm

    def rows(self) -> list[dict[str, Any]]:
        """A row per candidate: its step and parameters, the median of the last gap and its 10 to 90 % band over seeds,
        how many seeds diverged, and whether it is the best."""
        rows: list[dict[str, Any]] = []
        for one in self.candidates:
            last = np.array([math.inf]) if one.cell is None else _finite(one.cell.gap[:, -1])
            low, high = np.quantile(last, (0.1, 0.9), method="nearest")
            rows.append(
                {
                    "step": one.size,
                    **one.parameters,
                    "gap": one.gap,
                    "low": float(low),
                    "high": float(high),
                    "diverged": 0 if one.cell is None else int((~one.cell.finite).sum()),
                    "best": one is self.chosen,
                    "refused": one.why_not,
                    "stays_at_home": self.at_home,
                }
            )
        return rows

    def frame(self) -> Any:
        """The rows as a pandas frame."""
        return frame_of(self.rows())

    def save(self, path: str | Path) -> Path:
        """Write the rows into a file that ends in .csv or .json."""
        return write_rows(self.rows(), path)

    def figure(self, path: str | Path | None = None) -> Any:
        """The last gap against the step, and the best run against rounds; see `Comparison.figure`."""
        from hocket.bench.figures import written
        from hocket.bench.tuning_figure import curve

        return written(curve(self), path)

    def __repr__(self) -> str:
        chosen = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.best.items()
        )
        edge = ", at the edge of what was tried" if self.at_edge else ""
        mark = " (stays at home, as no certificate is about it)" if self.at_home else ""
        return f"<Tuning over {len(self.candidates)} candidates in {self.programs} programs: {chosen}{mark}{edge}>"


def tune(
    problem: Problem,
    network: Network,
    algorithm: Algorithm,
    *,
    rounds: int | None = None,
    budget: Mapping[str, float] | None = None,
    step: Sequence[Step | float] | None = None,
    around: Step | None = None,
    seeds: int | Iterable[int] = 5,
    goal: float | None = None,
    largest: str | None = None,
    start: Any = None,
    progress: bool | None = None,
    **parameters: Sequence[Any],
) -> Tuning:
    """Try steps and parameters, and take those with the least gap when the budget is spent.

    Without `step=[…]` the grid lies `around` a step, by default what the algorithm would take by itself, from a quarter
    to 32 times that: of a constant, or of a in a/(k + b)^p. A best step at the edge of a grid of numbers widens the
    grid, up to four times; `at_edge` says where that did not help. Parameters are the algorithm's own, `sd=[1, 10]` or
    `local_steps=[1, 4]`: numbers share a compiled program, what is compiled in has one each.

    With a `goal`, a gap, the fewest rounds to it win. Noise is tuned the other way round: `largest="sd"` takes the
    largest sd with which the goal is still reached.
    """
    if largest is not None and (goal is None or largest not in parameters):
        raise BadInput(
            f"largest={largest!r} takes the largest {largest} that still reaches a goal; give goal=1e-6, say, and "
            f"{largest}=[…]"
        )
    network = network_asked(network)
    variants = _variants(algorithm, parameters)
    base = Constant(1.0) if step is not None else around or algorithm.configure(problem, network, None)[1]
    new = (
        [as_step(one) for one in step]
        if step is not None
        else [_sized(base, float(getattr(base, "a", 1.0)) * factor) for factor in FACTORS]
    )
    if not new:
        raise BadInput("step = []; give the steps to try, step=[0.1, 0.2]")
    widens = step is None or (len(new) > 1 and all(type(one) is Constant for one in new))
    tried: list[Trial] = []
    asked: dict[str, Any] = {"rounds": rounds, "budget": budget, "seeds": seeds, "start": start}
    programs, seconds, widened = 0, 0.0, 0
    while True:
        found, spent = _try(problem, network, variants, new, asked | {"progress": progress})
        tried += found
        programs, seconds = programs + spent[0], seconds + spent[1]
        chosen = _choose(tried, goal, largest)
        sizes = sorted({one.size for one in tried})
        edge = len(sizes) > 1 and chosen.size in (sizes[0], sizes[-1]) and math.isfinite(chosen.gap)
        if not (edge and widens) or widened == WIDENED:
            break
        ratio = sizes[1] / sizes[0] if chosen.size == sizes[0] else sizes[-1] / sizes[-2]
        outward = 1 / ratio if chosen.size == sizes[0] else ratio
        new = [_sized(base, chosen.size * outward ** (k + 1)) for k in range(FURTHER)]
        widened += 1
    places = {id(algorithm): place for place, (_, algorithm) in enumerate(variants)}
    order = sorted(tried, key=lambda one: (places[id(one.algorithm)], one.size))
    return Tuning(tuple(order), chosen, goal, widened, edge, programs, seconds)


def _try(
    problem: Problem,
    network: Network,
    variants: list[tuple[dict[str, Any], Algorithm]],
    steps: Sequence[Step],
    asked: dict[str, Any],
) -> tuple[list[Trial], tuple[int, float]]:
    """Every step with every variant, side by side."""
    candidates = {
        f"{place}": (step, *variant)
        for place, (variant, step) in enumerate(itertools.product(variants, steps))
    }
    found = compare(
        {"problem": problem},
        {"network": network},
        {name: algorithm for name, (_, _, algorithm) in candidates.items()},
        step={name: step for name, (step, _, _) in candidates.items()},
        **asked,
    )
    place = "problem", "network"
    tried = [
        Trial(
            step,
            float(getattr(step, "a", index)),
            values,
            algorithm,
            found.cell(*place, name),
            found.refused.get((*place, name), ""),
        )
        for index, (name, (step, values, algorithm)) in enumerate(candidates.items())
    ]
    return tried, (found.programs, found.seconds)


def _choose(tried: list[Trial], goal: float | None, largest: str | None) -> Trial:
    if largest is not None and goal is not None:
        arrived = [one for one in tried if math.isfinite(one.rounds_to(goal))]
        if arrived:
            most = max(one.parameters[largest] for one in arrived)
            tried = [one for one in arrived if one.parameters[largest] == most]
    return min(tried, key=lambda one: one.score(goal))


def _variants(algorithm: Algorithm, parameters: Mapping[str, Any]) -> list[tuple[dict[str, Any], Algorithm]]:
    fields = {field.name for field in dataclasses.fields(algorithm)}
    for name, values in parameters.items():
        if name not in fields:
            raise BadAlgorithm(
                f"{type(algorithm).__name__} has no {name} to tune; it has {', '.join(sorted(fields)) or 'none'}"
            )
        if isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
            raise BadInput(f"{name} = {values!r}; give the values to try, {name}=[…]")
    combinations = [
        dict(zip(parameters, one, strict=True)) for one in itertools.product(*parameters.values())
    ]
    return [(values, dataclasses.replace(algorithm, **values)) for values in combinations]


def _sized(base: Step, size: float) -> Step:
    """The same kind of steps, larger or smaller."""
    return Power(size, base.b, base.p) if isinstance(base, Power) else Constant(size)


def _finite(gaps: np.ndarray) -> np.ndarray:
    """Gaps, infinite where they are not known any more."""
    return np.where(np.isnan(gaps), np.inf, gaps)
