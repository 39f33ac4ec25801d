"""Algorithms in order, and how sure that order is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from hocket.bench.cost import Spending
from hocket.errors import BadInput
from hocket.privacy.wording import counted
from hocket.report.tables import Table, plain

if TYPE_CHECKING:
    from hocket.bench.comparison import Comparison

DRAWS = 2000
"""Bootstrap samples."""
ROUNDING = 1e-12
"""Last gaps below this part of the gap at the start are taken as equal: what is left is rounding."""


@dataclass(frozen=True)
class Ranked:
    """One algorithm's place."""

    algorithm: str
    rank: float
    """The mean of its ranks, 1 being the best."""
    low: float
    high: float
    """Ends of the 95 % interval of that mean."""
    best: float
    """The share of runs in which nobody was better."""
    arrived: float
    """The share of runs that came to the goal; of all that stayed finite where the last gap is ranked."""


@dataclass(frozen=True)
class Ranking:
    """The algorithms from the best on.

    In every problem, network and seed the algorithms are ranked; equal ones share their ranks. Intervals are by
    bootstrap: pairs of problem and network are drawn with replacement, and seeds within them, 2,000 times.
    """

    by: str
    """What is ranked, in words."""
    places: tuple[Ranked, ...]
    pairs: int
    """Problems and networks that went into it."""
    seeds: int
    p_value: float | None
    """Friedman's, that all are equally good, over the pairs' medians; None for fewer than three of either."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names, the best first."""
        return tuple(one.algorithm for one in self.places)

    def rows(self) -> list[dict[str, Any]]:
        """A row per algorithm, the best first."""
        return [dict(vars(one)) for one in self.places]

    @property
    def table(self) -> Table:
        """As people read it."""
        rows = tuple(
            (
                one.algorithm,
                f"{one.rank:.2f}",
                f"{one.low:.2f} to {one.high:.2f}",
                f"{one.best:.0%}",
                f"{one.arrived:.0%}",
            )
            for one in self.places
        )
        head = "algorithm", "mean rank", "95 % interval", "nobody better", "arrived"
        return Table(head, rows, caption=f"Ranking by {self.by}", numeric=frozenset({1, 2, 3, 4}))

    @property
    def method(self) -> str:
        """How sure it is, and how that was worked out."""
        over = "pairs of problem and network, and seeds within them" if self.pairs > 1 else "seeds"
        one = "" if self.pairs > 1 else " With one pair, nothing is said of other problems or networks."
        test = (
            ""
            if self.p_value is None
            else f" Friedman's test that all are equally good: p = {self.p_value:.2g}."
        )
        return (
            f"Ranks in {counted(self.pairs * self.seeds, 'block')}; intervals by bootstrap over {over}, {DRAWS:,} "
            f"draws.{one}{test}"
        )

    def __str__(self) -> str:
        width = max(len(one.algorithm) for one in self.places)
        lines = [
            f"{one.algorithm:{width}}  {one.rank:5.2f}  [{one.low:.2f}, {one.high:.2f}]"
            for one in self.places
        ]
        return "\n".join([f"mean rank by {self.by}, with 95 % intervals", *lines])


def rank(comparison: Comparison, by: Spending | None, *, goal: float, relative: bool) -> Ranking:
    """Rank the algorithms of a comparison; see `Comparison.ranking`."""
    scores = np.stack([*_scores(comparison, by, goal, relative)])
    blocks = stats.rankdata(scores, axis=2)
    best = (scores == scores.min(axis=2, keepdims=True)) & np.isfinite(scores)
    means, first, arrived = (one.mean(axis=(0, 1)) for one in (blocks, best, np.isfinite(scores)))
    columns = np.stack([means, *_interval(blocks), first, arrived], axis=1).tolist()
    places = [Ranked(name, *row) for name, row in zip(comparison.algorithms, columns, strict=True)]
    gap = f"{plain(goal)} of the gap at the start" if relative else f"a gap of {plain(goal)}"
    return Ranking(
        by="the last gap" if by is None else f"{by} to {gap}",
        places=tuple(sorted(places, key=lambda one: one.rank)),
        pairs=scores.shape[0],
        seeds=scores.shape[1],
        p_value=_friedman(np.median(scores, axis=1)),
    )


def _scores(
    comparison: Comparison, by: Spending | None, goal: float, relative: bool
) -> Iterator[Float[np.ndarray, "seeds algorithms"]]:
    """For every pair of problem and network what is ranked, the less the better; infinite for who was not run."""
    nothing = np.full(len(comparison.seeds), math.inf)
    for place in comparison.places:
        found: list[np.ndarray] = []
        for name in comparison.algorithms:
            cell = comparison.cell(*place, name)
            if cell is None:
                found.append(nothing)
                continue
            if np.isnan(cell.measured["gap"][:, 0]).any():
                raise BadInput(
                    f"the optimum of {place[0]!r} is not known, and algorithms are ranked by their gap to it; declare "
                    "optimum= of the problem, or leave it out with only(problems=…)"
                )
            if by is None:
                found.append(np.where(cell.finite, np.maximum(cell.relative_gap[:, -1], ROUNDING), math.inf))
            else:
                found.append(cell.reached(goal, by, relative=relative))
        yield np.stack(found, axis=1)


def _interval(blocks: Float[np.ndarray, "pairs seeds algorithms"]) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % interval of every algorithm's mean rank."""
    pairs, seeds, _ = blocks.shape
    rng = np.random.default_rng(0)
    means = np.stack(
        [
            blocks[rng.integers(pairs, size=pairs)[:, None], rng.integers(seeds, size=(pairs, seeds))].mean(
                axis=(0, 1)
            )
            for _ in range(DRAWS)
        ]
    )
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return low, high


def _friedman(medians: Float[np.ndarray, "pairs algorithms"]) -> float | None:
    ranks = stats.rankdata(medians, axis=1)
    pairs, algorithms = ranks.shape
    if pairs < 3 or algorithms < 3 or (ranks == ranks[:, :1]).all():
        return None
    return float(stats.friedmanchisquare(*ranks.T).pvalue)


def summary(comparison: Comparison, *, goal: float, relative: bool) -> Table:
    """A line per algorithm, the best by rounds first; see `Comparison.table`."""
    ranking = rank(comparison, "rounds", goal=goal, relative=relative)
    rows: list[tuple[str, ...]] = []
    for name in ranking.algorithms:
        cells = [cell for cell in comparison.cells if cell.algorithm == name]
        last = np.concatenate([cell.gap[:, -1] for cell in cells])
        lost = sum(int((~cell.finite).sum()) for cell in cells)
        spendings: tuple[Spending, ...] = ("rounds", "gradients", "bytes")
        spent = [
            float(np.median(np.concatenate([cell.reached(goal, what, relative=relative) for cell in cells])))
            for what in spendings
        ]
        medians = (plain(value) if math.isfinite(value) else "–" for value in spent)
        rows.append(
            (name, plain(float(np.median(last))), *medians, f"{lost:,} of {last.size:,}" if lost else "none")
        )
    arrived = f"{plain(goal)} of the first gap" if relative else f"a gap of {plain(goal)}"
    return Table(
        ("algorithm", "last gap", "rounds", "gradients", "bytes", "diverged"),
        tuple(rows),
        caption=f"Medians over all runs: the last gap, and what one agent spent until {arrived}"
        + (f". {more}" if (more := " ".join(filter(None, (comparison.partly, comparison.at_home)))) else ""),
        numeric=frozenset({1, 2, 3, 4, 5}),
    )
