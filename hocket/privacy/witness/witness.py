"""The proof of Theorem 2, carried out on a run: other objectives and other noise that look the same to a coalition."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.engines.solver import solve
from hocket.privacy.graph.connectivity import check_hiding
from hocket.privacy.plain_values import plain_values
from hocket.privacy.witness.alternatives import Alternative, Fill, alternative
from hocket.privacy.witness.functions import Functions, opened
from hocket.privacy.wording import braced, counted, named
from hocket.problems import Polynomial
from hocket.problems.problem import Problem
from hocket.problems.standard import polynomials
from hocket.rationals import is_exact
from hocket.runs.run import Run
from hocket.runs.view import View


@dataclass(frozen=True, eq=False)
class Witness:
    """A second run with other objectives and other noise functions, and how the coalition's two views compare."""

    coalition: tuple[int, ...]
    other: Alternative
    """The other objectives and noise functions, exact."""
    run: Run
    """The second run."""
    exact: bool
    """Whether both runs are in rational arithmetic, so that equality is a proof."""
    same_functions: bool
    """Whether every f̂_j is the same polynomial in both, up to the constants that no gradient shows."""
    equal: bool
    """Whether everything the coalition sees is the same, number by number."""
    difference: float
    """The largest difference between the two views; 0 where they are equal."""
    compared: int
    """Numbers in a view."""
    same_states: bool
    """Whether all states of all agents are the same, so that even a wiretap on everybody sees no difference."""
    not_convex: tuple[int, ...]
    """Agents whose second objective is not convex on X, as the theorems on convergence ask."""

    @property
    def convex(self) -> bool:
        """Whether no objective of the second run is known to bend down on X."""
        return not self.not_convex

    @property
    def within_bound(self) -> bool:
        """Whether the algorithm could have drawn the noise."""
        return self.other.within_bound

    def __str__(self) -> str:
        other, rounds = self.other, counted(self.run.rounds, "round")
        if self.equal:
            found = f"all {self.compared:,} numbers it sees in {rounds} are equal"
        else:
            found = f"of {self.compared:,} numbers it sees in {rounds} none differs by more than {self.difference:.2g}"
        tells = "cannot tell" if self.same_functions and (self.equal or not self.exact) else "CAN tell"
        lines = [
            f"coalition {braced(self.coalition)} {tells} whether {named(other.agents)} had the objectives of the run "
            f"or the false ones: {found}, in {'exact arithmetic' if self.exact else 'floating point'}",
            f"every f̂_j is {'the same' if self.same_functions else 'NOT the same'} polynomial in both runs",
            f"the noise reaches {other.largest_noise:.3g} in a coefficient; with bound {other.bound:g} "
            f"the algorithm {'could' if self.within_bound else 'would not'} have drawn it: that bound leaves each "
            f"coefficient of their sum open by {other.width:g}",
            "all objectives are convex on X"
            if self.convex
            else f"not convex on X: the objectives of {named(self.not_convex)}",
        ]
        if other.absorbing:
            lines.insert(2, f"the difference is absorbed by {named(other.absorbing)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers, without the runs."""
        compared = ("exact", "same_functions", "equal", "difference", "compared", "same_states")
        found = plain_values(self, "coalition", *compared, "convex", "not_convex")
        return found | self.other.to_json() | {"rounds": self.run.rounds}


def witness(
    run: Run, coalition: Iterable[int], objectives: Mapping[int, Any], *, fill: Fill = "random", seed: int = 0
) -> Witness:
    """Show that a function-sharing run could have had other objectives, for all that a coalition has seen of it.
    For believing P2, or for showing it: run with engine="exact" for a proof, in floating point for long runs.

    `objectives` gives some honest agents false polynomials, as ascending coefficients; the others of each component
    touched absorb the difference evenly. The noise is solved for along a spanning tree. On other links it is
    arbitrary, drawn from `seed`, or with fill="least" chosen so that the largest of all is as small as possible.
    """
    first = opened(run)
    members = check_hiding(coalition, run.network.n)
    other = alternative(first, members, objectives, fill=fill, seed=seed)
    second = _play_again(run, other.functions)
    equal, difference, compared = _compare(run.view(set(members)), second.view(set(members)))
    hats, other_hats = first.obfuscated, other.functions.obfuscated
    return Witness(
        coalition=tuple(sorted(members)),
        other=other,
        run=second,
        exact=is_exact(np.asarray(second.path)),
        same_functions=bool((hats[:, 1:] == other_hats[:, 1:]).all()),
        equal=equal,
        difference=difference,
        compared=compared,
        same_states=np.array_equal(np.asarray(run.path), np.asarray(second.path)),
        not_convex=_not_convex(other.functions.objectives, second.problem),
    )


def _play_again(run: Run, other: Functions) -> Run:
    """The same job with other objectives and other noise, in the arithmetic of the first run."""
    assert run.path is not None
    assert run.step is not None
    exact = is_exact(run.path)
    dtype = object if exact else np.float64
    hidden = other.dealt.powers + 1
    table = other.noise[:, :, :hidden].reshape(1, len(other.noise), 2, -1).astype(dtype)
    # An alternative may take more noise than the bound: what it takes is told beside it, and no bound is stated here.
    unbounded = {} if getattr(other.algorithm, "bound", None) is None else {"bound": 0.0}
    return solve(
        polynomials(list(other.objectives.astype(dtype)), feasible=run.problem.feasible, dim=other.dim),
        run.network,
        dataclasses.replace(other.algorithm, given=table, **unbounded),
        rounds=len(run.path) - 1,
        step=run.step,
        seed=run.settings["seed"],
        start=run.path[0],
        keep="transcript",
        engine="exact" if exact else "simulator",
        dtype=run.settings["dtype"],
        grad_at=run.settings["grad_at"],
    )


def _compare(first: View, second: View) -> tuple[bool, float, int]:
    """Whether two views are equal, their largest difference, and how many numbers were compared."""
    equal, difference, compared = True, 0.0, 0
    for one, other in zip(_numbers(first), _numbers(second), strict=True):
        compared += one.size
        if not np.array_equal(one, other):
            equal = False
            difference = max(difference, float(abs(one - other).max()))
    return equal, difference, compared


def _numbers(view: View) -> Iterator[np.ndarray]:
    """Everything a coalition sees, in one order: words, noise on its links, its own states."""
    for table in (*view.words, *view.noise.values()):
        for link in sorted(table):
            yield table[link][table[link] == table[link]]  # NaN, unequal to itself, stands for silence
    yield from (view.states[member] for member in sorted(view.states))


def _not_convex(held: np.ndarray, problem: Problem) -> tuple[int, ...]:
    floats = held.astype(np.float64)
    return tuple(
        agent
        for agent in range(len(floats))
        if Polynomial().convex(floats[agent : agent + 1], problem.feasible, problem.dim) is False
    )
