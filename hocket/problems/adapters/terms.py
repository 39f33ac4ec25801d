"""What costs of another library are made of, and the problem that says the same.

Adapters take costs apart into these terms. Where all agents' terms are of one form that hocket has, the problem is in
that form, with its constants, its optimum and its compiled rounds; else costs are called as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Objective
from hocket.problems.penalty import L1
from hocket.problems.problem import Problem
from hocket.problems.quadratic import Quadratic, quadratic_width
from hocket.problems.sets import FeasibleSet
from hocket.problems.standard import least_squares, logistic

AGREE = 1e-6
"""How far gradients of one objective may be apart, of two libraries with sums in another order."""
SAME = 1e-12
"""Weights of a regulariser that differ by this part are one weight."""


@dataclass
class Terms:
    """One agent's objective as a sum: ½ xᵀHx + qᵀx, records, (l2/2) ‖x‖², l1 ‖x‖₁; constants are left out."""

    dim: int
    squares: list[tuple[np.ndarray, np.ndarray, float]] = field(default_factory=list[Any])
    """(rows, targets, weight) of weight · mean of ½ (aᵀx − b)²."""
    classes: list[tuple[np.ndarray, np.ndarray, float]] = field(default_factory=list[Any])
    """(rows, labels, weight) of weight · mean of log(1 + exp(−y aᵀx))."""
    bend: np.ndarray | None = None
    slope: np.ndarray | None = None
    l2: float = 0.0
    l1: float = 0.0
    unknown: str = ""
    """The first part whose form nobody recognised."""

    def add_quadratic(self, bend: np.ndarray, slope: np.ndarray, weight: float) -> None:
        """Take ½ xᵀHx + qᵀx in."""
        bend = weight * (bend + bend.T) / 2
        self.bend = bend if self.bend is None else self.bend + bend
        self.slope = weight * slope if self.slope is None else self.slope + weight * slope

    @property
    def is_squares(self) -> bool:
        return len(self.squares) == 1 and not self.classes and self.bend is None and self.squares[0][2] > 0

    @property
    def is_classes(self) -> bool:
        alone = len(self.classes) == 1 and not self.squares and self.bend is None
        return alone and self.classes[0][2] == 1.0

    def coefficients(self) -> np.ndarray:
        """All but ‖x‖₁ as a quadratic, by its coefficients."""
        bend = self.l2 * np.eye(self.dim) if self.bend is None else self.bend + self.l2 * np.eye(self.dim)
        slope = np.zeros(self.dim) if self.slope is None else self.slope.copy()
        for rows, targets, weight in self.squares:
            bend = bend + weight * rows.T @ rows / len(rows)
            slope = slope - weight * rows.T @ targets / len(rows)
        p, q = np.triu_indices(self.dim)
        found = np.concatenate([slope, np.where(p == q, 0.5, 1.0) * bend[p, q]])
        assert len(found) == quadratic_width(self.dim)
        return found


@dataclass(frozen=True)
class Whole:
    """One agent's cost as its library has it: what is called where its form is not recognised."""

    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    smoothness: float | None = None
    convex: bool | None = None


def assembled(
    terms: Sequence[Terms], costs: Sequence[Whole], *, feasible: FeasibleSet, whose: str
) -> Problem:
    """The problem of all agents: in a form of hocket's own where one fits them all, else by calling their costs."""
    dims = sorted({one.dim for one in terms})
    if len(dims) != 1:
        raise BadProblem(
            f"the costs of {whose} are for {dims} coordinates; give those of one problem, an agent each"
        )
    (dim,) = dims
    own = _recognised(terms, dim, feasible)
    return own if own is not None and _agrees(own, costs) else _called(costs, dim, feasible)


def _agrees(problem: Problem, costs: Sequence[Whole]) -> bool:
    """Whether every agent's gradient is its cost's: another release may mean something else by the same name."""
    x = np.random.default_rng(0).normal(size=problem.dim)
    kink = problem.penalty.weight * np.sign(x) if isinstance(problem.penalty, L1) else 0.0
    return all(
        np.allclose(problem.gradient(j, x) + kink, cost.gradient(x), rtol=AGREE, atol=AGREE)
        for j, cost in enumerate(costs)
    )


def _recognised(terms: Sequence[Terms], dim: int, feasible: FeasibleSet) -> Problem | None:
    """The problem in a form of hocket's own; None where none fits all agents."""
    l1, l2 = (_shared([getattr(one, name) for one in terms]) for name in ("l1", "l2"))
    if any(one.unknown for one in terms) or l1 is None:
        return None
    prox = L1(l1) if l1 > 0 else None
    if l2 is not None and all(one.is_squares for one in terms):
        scaled = [(np.sqrt(weight), rows, targets) for one in terms for rows, targets, weight in one.squares]
        return least_squares(
            [root * rows for root, rows, _ in scaled],
            [root * targets for root, _, targets in scaled],
            l2=l2,
            reduction="mean",
            feasible=feasible,
            prox=prox,
        )
    if l2 is not None and all(one.is_classes for one in terms):
        rows, labels = ([one.classes[0][place] for one in terms] for place in (0, 1))
        return logistic(rows, labels, l2=l2, reduction="mean", feasible=feasible, prox=prox)
    if not any(one.classes for one in terms):
        data = np.stack([one.coefficients() for one in terms])
        return Problem(Quadratic(), data, feasible=feasible, dim=dim, prox=prox)
    return None


def _called(costs: Sequence[Whole], dim: int, feasible: FeasibleSet) -> Problem:
    bends = [one.smoothness for one in costs]
    known = [bend for bend in bends if bend is not None and np.isfinite(bend)]
    objective: Objective = Called(tuple(one.value for one in costs), tuple(one.gradient for one in costs))
    return Problem(
        objective,
        np.arange(len(costs)),
        feasible=feasible,
        dim=dim,
        convex=True if all(one.convex for one in costs) else None,
        smoothness=max(known) if known and len(known) == len(bends) else None,
    )


def _shared(weights: Sequence[float]) -> float | None:
    """The weight that all have; None where they differ or one is negative, which no penalty may be."""
    first = weights[0]
    alike = all(abs(one - first) <= SAME * max(1.0, abs(first)) for one in weights)
    return float(first) if alike and first >= 0 else None


class Called(Objective):
    """f_j(x) and ∇f_j(x) by calling a function of NumPy arrays for each.

    The fallback for costs whose form nobody recognised: it goes back to Python in every round, so it is as slow as they
    are, and nothing but what is declared is known of it. Data: the number of each agent's function.
    """

    functions: tuple[Callable[[np.ndarray], float], ...] = eqx.field(static=True)
    gradients: tuple[Callable[[np.ndarray], np.ndarray], ...] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return self._call(self.functions, (), x, data)

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        return self._call(self.gradients, x.shape, x, data)

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        members = [int(j) for j in np.asarray(data)]

        def value(x: np.ndarray) -> float:
            return float(np.mean([self.functions[j](x) for j in members]))

        def gradient(x: np.ndarray) -> np.ndarray:
            return np.mean([self.gradients[j](x) for j in members], axis=0)

        return Called((value,), (gradient,)), np.asarray(0)

    def _call(self, those: tuple[Callable[[np.ndarray], Any], ...], shape: Any, x: Any, data: Any) -> Any:
        def here(x: Any, j: Any) -> np.ndarray:
            point = np.asarray(x, dtype=np.float64)
            return np.asarray(those[int(j)](point), dtype=x.dtype).reshape(shape)

        if isinstance(x, np.ndarray):
            return here(x, data)
        form = jax.ShapeDtypeStruct(shape, x.dtype)
        return jax.pure_callback(here, form, x, data, vmap_method="sequential")
