"""What a comparison found: a cell for every problem, network and algorithm; as tables, rankings and figures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from hocket.bench.cost import RoundCost, Spending
from hocket.bench.metrics import MEASURED, MESSAGES
from hocket.errors import BadInput
from hocket.privacy.wording import counted
from hocket.report.tables import Table, plain
from hocket.runs.tidy import frame_of, write_rows

if TYPE_CHECKING:
    from hocket.bench.ranking import Ranking

GOAL = 1e-6
"""The part of the gap at the start at which a run counts as having arrived, unless told otherwise."""
Place = tuple[str, str]
"""A problem and a network, by name."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One algorithm on one problem and network, for all seeds."""

    problem: str
    network: str
    algorithm: str
    step: str
    """The step sizes, and where they are derived, from what."""
    rounds: Int[np.ndarray, " points"]
    measured: dict[str, Float[np.ndarray, "seeds points"]]
    finite: np.ndarray
    """For every seed whether the run stayed finite."""
    cost: RoundCost
    seconds: float
    """One round of one run, in the company of all that were played with it."""
    at_home: bool = False
    """Whether the algorithm's noise is certified, and these measurements are what members would keep to themselves."""
    agents: int = 0
    """How many there are; gaps are over `looked_at` of them, those farthest from the mean."""

    @property
    def place(self) -> Place:
        return self.problem, self.network

    @property
    def gap(self) -> Float[np.ndarray, "seeds points"]:
        """Gaps; infinite throughout where a run diverged, from the first that is not finite on."""
        gap = self.measured["gap"]
        return np.where(np.isnan(gap) & ~self.finite[:, None], np.inf, gap)

    @property
    def looked_at(self) -> int:
        """Over how many agents the gap is taken, where it is over the fewest."""
        counts = self.measured.get("looked_at")
        return self.agents if counts is None else int(np.min(counts))

    @property
    def relative_gap(self) -> Float[np.ndarray, "seeds points"]:
        """Gaps as parts of the gap at the start, never below rounding; of the largest where the start is an optimum."""
        gap = self.gap
        largest = np.max(np.where(np.isfinite(gap), gap, 0.0), axis=1, keepdims=True)
        unit = np.where(gap[:, :1] > 0, gap[:, :1], np.where(largest > 0, largest, 1.0))
        return np.maximum(gap / unit, 1e-16)

    def messages(self, what: str, fair: Mapping[str, np.ndarray]) -> Float[np.ndarray, "seeds points"]:
        """Messages as the channel counted them; without one, as many as every agent sends."""
        counted = self.measured.get(what)
        if counted is None or np.isnan(counted).all():
            return np.broadcast_to(fair[what], (len(self.finite), len(self.rounds)))
        return counted

    def spent(self, what: Spending) -> Float[np.ndarray, " points"]:
        """What one agent, or for seconds one run, has spent at each point."""
        if what == "seconds":
            return self.seconds * self.rounds
        return np.asarray(self.cost.spent(what, self.rounds), dtype=np.float64)

    def reached(self, goal: float, what: Spending = "rounds", *, relative: bool = True) -> np.ndarray:
        """What every run had spent after the round in which its gap first was at the goal; infinite if it never was.

        Between two measured rounds the logarithm of the gap is taken to fall evenly.
        """
        gaps = self.relative_gap if relative else self.gap
        rounds = np.array([_crossed(gap, self.rounds, goal) for gap in gaps])
        if what == "seconds":
            return self.seconds * rounds
        return np.asarray(self.cost.spent(what, rounds), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Algorithms on problems and networks, for several seeds, and what each of them cost."""

    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    programs: int
    """Different compiled programs that were needed."""
    seconds: float
    """That all of it took, compilation included."""
    compiling: float
    """Of these, seconds until programs were compiled."""
    refused: Mapping[tuple[str, str, str], str] = field(default_factory=dict[tuple[str, str, str], str])
    """Why an algorithm was not run on a problem and network, where it was not."""
    left_out: tuple[Place, ...] = ()
    """Problems and networks of different sizes, which do not go together."""

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.problem for cell in self.cells))

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.network for cell in self.cells))

    @property
    def algorithms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.algorithm for cell in self.cells))

    @property
    def places(self) -> tuple[Place, ...]:
        """The problems and networks that go together."""
        return tuple(dict.fromkeys(cell.place for cell in self.cells))

    @property
    def runs(self) -> int:
        """How many runs were compared."""
        return len(self.cells) * len(self.seeds)

    @property
    def partly(self) -> str:
        """That gaps are not over all agents, where that is so, and what to do about it; empty where they are."""
        few = [cell for cell in self.cells if cell.looked_at < cell.agents]
        if not few:
            return ""
        least = min(few, key=lambda cell: cell.looked_at / cell.agents)
        return (
            f"Gaps are over as few as {least.looked_at:,} of {least.agents:,} agents, those farthest from the mean, "
            'and those of all may be larger: take measure="exact" (column looked_at).'
        )

    @property
    def at_home(self) -> str:
        """That gaps of certified algorithms stay at home; empty where none is certified."""
        names = list(dict.fromkeys(cell.algorithm for cell in self.cells if cell.at_home))
        if not names:
            return ""
        return (
            f"Of {', '.join(names)}, whose noise is certified: gaps are measured on members' own states and "
            "objectives, which no certificate is about. In a run on data they stay at home (stays_at_home in the rows)."
        )

    def cell(self, problem: str, network: str, algorithm: str) -> Cell | None:
        """One algorithm on one problem and network; None where it was not run."""
        wanted = problem, network, algorithm
        return next((one for one in self.cells if (*one.place, one.algorithm) == wanted), None)

    def only(
        self,
        *,
        problems: Iterable[str] | str | None = None,
        networks: Iterable[str] | str | None = None,
        algorithms: Iterable[str] | str | None = None,
    ) -> Comparison:
        """The part of the comparison with these names."""
        cells = self.cells
        for what, names in (("problem", problems), ("network", networks), ("algorithm", algorithms)):
            if names is not None:
                wanted = {names} if isinstance(names, str) else set(names)
                known = {getattr(cell, what) for cell in self.cells}
                if missing := sorted(wanted - known):
                    raise BadInput(
                        f"there is no {what} {missing[0]!r} in this comparison; it has {', '.join(sorted(known))}"
                    )
                cells = tuple(cell for cell in cells if getattr(cell, what) in wanted)
        return dataclasses.replace(self, cells=cells)

    def rows(self, *, last: bool = False) -> list[dict[str, Any]]:
        """A row per problem, network, algorithm, seed and measured round; with `last` the last round's alone.

        Gradients, proximal maps, messages and bytes are what one agent spent so far, in the mean over agents; seconds
        are one run's share of the compiled call. A run that stopped being finite is marked `diverged`.
        """
        return list(self._rows(last))

    def _rows(self, last: bool) -> Iterator[dict[str, Any]]:
        for cell in self.cells:
            rounds, seconds = cell.rounds, cell.spent("seconds")
            spent = {
                "gradients": cell.spent("gradients"),
                "proxes": cell.cost.proxes * rounds,
                "functions": 0.0 * rounds,  # agents ask for gradients; values are measured, by nobody of them
                "bytes": cell.spent("bytes"),
                "seconds": seconds,
            }
            fair: dict[str, np.ndarray] = dict(
                zip(MESSAGES, (cell.spent("messages"), cell.spent("messages"), 0.0 * rounds), strict=True)
            )
            points = [len(rounds) - 1] if last else range(len(rounds))
            for place, seed in enumerate(self.seeds):
                for point in points:
                    yield {
                        "problem": cell.problem,
                        "network": cell.network,
                        "algorithm": cell.algorithm,
                        "seed": seed,
                        "round": int(rounds[point]),
                        "gap": float(cell.measured["gap"][place, point]),
                        "looked_at": int(cell.measured["looked_at"][place, point]),
                        "agents": cell.agents,
                        **{name: float(cell.measured[name][place, point]) for name in MEASURED[1:]},
                        **{name: float(cell.messages(name, fair)[place, point]) for name in MESSAGES},
                        **{name: float(values[point]) for name, values in spent.items()},
                        "diverged": not bool(cell.finite[place]),
                        "stays_at_home": cell.at_home,
                    }

    def frame(self, *, last: bool = False) -> Any:
        """The rows as a pandas frame."""
        return frame_of(self._rows(last))

    def save(self, path: str | Path, *, last: bool = False) -> Path:
        """Write the rows into a file that ends in .csv or .json."""
        return write_rows(self._rows(last), path)

    def ranking(self, by: Spending | None = None, *, goal: float = GOAL, relative: bool = True) -> Ranking:
        """The algorithms in order, with confidence: by what they spend until the gap is at the goal, or where `by` is
        left out by their last gap. A goal is a part of the gap at the start, or if not `relative` a gap."""
        from hocket.bench.ranking import rank

        return rank(self, by, goal=goal, relative=relative)

    def table(self, *, goal: float = GOAL, relative: bool = True) -> Table:
        """A line per algorithm: the median over all runs of the last gap, and of what it took to come to the goal."""
        from hocket.bench.ranking import summary

        return summary(self, goal=goal, relative=relative)

    def figure(self, path: str | Path | None = None, *, goal: float = GOAL) -> Any:
        """Gaps against rounds, bytes, gradients and time, and performance profiles; written to a .svg or .png file if
        one is named, and a `Drawing` in any case."""
        from hocket.bench.figures import overview, written

        return written(overview(self, goal=goal), path)

    def page(self, path: str | Path, **said: Any) -> Path:
        """Write a page about the comparison: one HTML file that needs nothing else."""
        from hocket.bench.page import write_page

        return write_page(self, Path(path), **said)

    def __repr__(self) -> str:
        sizes = (
            counted(len(names), word)
            for names, word in (
                (self.algorithms, "algorithm"),
                (self.problems, "problem"),
                (self.networks, "network"),
                (self.seeds, "seed"),
            )
        )
        lost = sum(int((~cell.finite).sum()) for cell in self.cells)
        broken = f", {lost:,} diverged" if lost else ""
        refused = f", {len(self.refused)} not run" if self.refused else ""
        return (
            f"<Comparison of {', '.join(sizes)}: {counted(self.runs, 'run')} in {counted(self.programs, 'program')}, "
            f"{plain(self.seconds)} s{broken}{refused}>"
        )


def _crossed(gap: np.ndarray, rounds: np.ndarray, goal: float) -> float:
    """The first round after which a gap is at the goal."""
    at = np.flatnonzero(gap <= goal)
    if not at.size:
        return math.inf
    now = int(at[0])
    before, after = gap[max(now - 1, 0)], max(gap[now], np.finfo(np.float64).tiny)
    if now == 0 or not np.isfinite(before) or before <= after:
        return float(rounds[now])
    part = math.log(before / goal) / math.log(before / after)
    return float(np.ceil(rounds[now - 1] + part * (rounds[now] - rounds[now - 1]) - 1e-9))
