"""The reference optimum: what runs are measured against.

Found in float64 by solvers that share no code with the algorithms under test, and verified twice: by the fixed-point
residual ‖x − P_X(x − ∇F(x)/N)‖ of the mean objective F = (1/n) Σ_j f_j, which is zero at stationary points only, and,
where the sum is convex, by a duality gap, without which no optimum is called certain. Where there is a penalty, its
proximal map stands in place of P_X: a solver for smooth functions stops beside a kink and calls that a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float, PyTree

from hocket.problems import LeastSquares, Objective, Polynomial
from hocket.problems.duality_gap import duality_gap
from hocket.problems.sets import Ball, Box, Everywhere, Simplex

if TYPE_CHECKING:
    from hocket.problems.problem import Problem

SLSQP_LIMIT = 64
"""SLSQP factors dense matrices in every step: beyond this dimension projected gradients are faster."""
PRECISION = 1e-10
"""The residual, relative to the size of x, at which polishing stops: values are off by about its square."""
POLISHING_STEPS = 10_000
TOLERANCE = 1e-6
"""The error, relative to 1 + |value|, up to which an optimum is certain."""
PATIENCE = 500
"""Polishing steps without progress before rounding is taken to be the limit."""
NUDGE = 1e-150
"""Where gradients are taken for a coordinate at its kink: what a library says at zero itself is its own choice."""

EXACT = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-13, "maxcor": 20}

Vector = Float[np.ndarray, " dim"]


@dataclass(frozen=True)
class Optimum:
    """The least value of Σ_j f_j on the feasible set, and how it is known."""

    x: Vector | None
    """A minimiser; None where only the value was declared."""
    value: float
    solver: str
    residual: float | None
    """How far one projected gradient step on the mean objective moves x."""
    certain: bool
    """False where convexity is not known, or where no certificate shows that the value is right to TOLERANCE."""
    error: float | None = None
    """What the certificate says: no point of X near x has a sum that is lower by more than this (`duality_gap`). None
    where there is none: what was declared, and polynomials, all of whose stationary points were compared."""


def given_optimum(problem: Problem) -> Optimum | None:
    """What the user declared, if anything."""
    if problem.known_value is not None:
        return Optimum(None, float(problem.known_value), "declared", None, certain=True)
    if problem.known_point is None:
        return None
    x = np.asarray(problem.known_point)
    with jax.enable_x64(True):
        residual = _Mean(problem).residual(x)
    return Optimum(x, problem.total(x), "declared", residual, certain=True)


def reference_optimum(problem: Problem) -> Optimum | None:
    """Solve the pooled problem.

    None where it falls without bound, where it is neither convex nor a polynomial in each coordinate, or where it is
    not even finite at the start.
    """
    pooled = problem.pooled()
    objective, data = pooled.groups[0].objective, pooled.groups[0].data_of(0)
    separate = isinstance(problem.feasible, Box | Everywhere) or problem.dim == 1
    convex = problem.sum_convex
    with jax.enable_x64(True):
        if isinstance(objective, Polynomial) and separate:
            x = objective.least(data, problem.feasible, problem.dim)
            if np.isnan(x).any():
                return None
            # To compile it takes longer than all that is asked of it here.
            residual = _Mean(problem, compiled=False).residual(x)
            return Optimum(x, problem.total(x), "roots of the derivative", residual, certain=True)
        mean = _Mean(problem)
        if convex is False or not mean.finite_somewhere:
            return None  # a run of such a problem says which agent is to blame, and when
        x, solver = _solve(mean, objective, data)
        x = _polish(mean, x)
        if mean.kinked:
            sharper = _on_orthant(mean, x)
            x = min((x, sharper, _polish(mean, sharper)), key=mean.gap)
        return _certified(problem, mean, x, solver, convex=bool(convex))


def _certified(problem: Problem, mean: _Mean, x: Vector, solver: str, *, convex: bool) -> Optimum:
    """The optimum, certain if a duality gap shows that it is one."""
    value = problem.total(x)
    error = problem.n * mean.gap(x) if convex else None
    certain = error is not None and error <= TOLERANCE * (1 + abs(value))
    return Optimum(x, value, solver, mean.residual(x), certain, error)


class _Mean:
    """The mean objective as SciPy wants it: NumPy in, NumPy out, compiled in between unless that is not worth it."""

    def __init__(self, problem: Problem, *, compiled: bool = True):
        pooled = problem.pooled().astype(np.float64)
        self.feasible, self.dim = problem.feasible, problem.dim
        self.objective = pooled.groups[0].objective
        data = pooled.groups[0].data_of(0)
        self.data = jax.device_put(data) if compiled else data
        self.evaluate = _value_and_gradient if compiled else _evaluated
        self.penalty, self.curvature = problem.penalty, problem.strong_convexity or 0.0
        along_axes = None if self.penalty is None else self.penalty.kinks(self.dim)
        self.weights = np.zeros(self.dim) if along_axes is None else along_axes
        self.general = self.penalty is not None and along_axes is None
        plain = self.penalty is None
        self.smoothness = (pooled.constants().N or problem.constants().N) if plain else None

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        """Value and gradient."""
        with np.errstate(all="ignore"):  # what is not finite is seen by its value, compiled or not
            value, gradient = self.evaluate(self.objective, x, self.data)
        return float(value), np.asarray(gradient, dtype=np.float64)

    @property
    def start(self) -> Vector:
        """Where solvers begin: the feasible point nearest to zero."""
        return self.feasible.project(np.zeros(self.dim))

    @property
    def finite_somewhere(self) -> bool:
        """Whether there is a value to begin with."""
        return bool(np.isfinite(self(self.start)[0]))

    @property
    def kinked(self) -> bool:
        """Whether it has an l1 part."""
        return bool(self.weights.any())

    @property
    def composite(self) -> bool:
        """Whether steps on it are proximal."""
        return self.kinked or self.general

    def gradient(self, x: Vector) -> Vector:
        """Of all but what steps take by its proximal map."""
        if self.general:
            return np.asarray(_gradient(self.objective.smooth, x, self.data), dtype=np.float64)  # type: ignore[attr-defined]
        if not self.kinked:
            return self(x)[1]
        x = np.where((x == 0) & (self.weights > 0), NUDGE, x)
        return self(x)[1] - self.weights * np.sign(x)

    def stepped(self, x: Vector, slope: Vector, curvature: float) -> Vector:
        """x after a step of length 1/curvature against the slope, the l1 part and the set taken into account."""
        if self.general:
            assert self.penalty is not None
            return self.feasible.project(np.asarray(self.penalty.prox(x - slope / curvature, 1 / curvature)))
        x, weights = x - slope / curvature, self.weights / curvature
        if not self.kinked:
            return self.feasible.project(x)
        return self.feasible.project(np.sign(x) * np.maximum(np.abs(x) - weights, 0.0) + 0.0)  # no −0

    def residual(self, x: Vector) -> float:
        """How far one projected, or proximal, step of length 1/N moves x."""
        curvature = self.smoothness or _curvature(self, x)
        return float(np.linalg.norm(x - self.stepped(x, self.gradient(x), curvature)))

    def gap(self, x: Vector) -> float:
        """What no point near x is better by, if it is convex."""
        if self.general:
            return self._strong_gap(x)
        return duality_gap(self, x, self.feasible, self.weights)

    def _strong_gap(self, x: Vector) -> float:
        """By strong convexity: a proximal step from x leads to a point with a subgradient s, F − F* ≤ ‖s‖²/2μ there."""
        if self.curvature <= 0:
            return np.inf
        bend = 1.1 * _curvature(self, x)
        there = self.stepped(x, self.gradient(x), bend)
        slope = bend * (x - there) + self.gradient(there) - self.gradient(x)
        return max(self(x)[0] - self(there)[0], 0.0) + float(slope @ slope) / (2 * self.curvature)


@eqx.filter_jit
def _gradient(objective: Objective, x: Any, data: PyTree) -> Any:
    return objective.gradient(x, data)


def _evaluated(objective: Objective, x: Any, data: PyTree) -> tuple[Any, Any]:
    return objective.value(x, data), objective.gradient(x, data)


_value_and_gradient = eqx.filter_jit(_evaluated)


def _solve(mean: _Mean, objective: Objective, data: PyTree) -> tuple[Vector, str]:
    """A minimiser by the solver that suits the objective and the set."""
    feasible, start = mean.feasible, mean.start
    if mean.composite:
        return start, "accelerated proximal gradient"
    if isinstance(objective, LeastSquares):
        (rows, targets), _ = data
        if objective.shrinkage:  # as rows that pull every coordinate to zero
            rows = np.vstack([rows, np.sqrt(objective.shrinkage) * np.eye(mean.dim)])
            targets = np.append(targets, np.zeros(mean.dim))
        free = np.linalg.lstsq(rows, targets)[0]
        if feasible.contains(free, 0.0):
            return free, "linear least squares"
    if isinstance(feasible, Box):
        return _l_bfgs(
            mean, start, bounds=list(zip(*feasible.bounding_box(mean.dim), strict=True))
        ), "L-BFGS-B"
    if isinstance(feasible, Ball | Everywhere):
        free = _l_bfgs(mean, start)
        if feasible.contains(free, 0.0):
            return free, "L-BFGS-B"
        start = feasible.project(free) if np.isfinite(free).all() else start
    if isinstance(feasible, Ball | Simplex) and mean.dim <= SLSQP_LIMIT:
        return feasible.project(_slsqp(mean, start)), "SLSQP"
    return start, "accelerated projected gradient"


def _l_bfgs(mean: _Mean, start: Vector, bounds: Any = None) -> Vector:
    return scipy.optimize.minimize(mean, start, jac=True, method="L-BFGS-B", bounds=bounds, options=EXACT).x


def _on_orthant(mean: _Mean, x: Vector) -> Vector:
    """The minimiser where no coordinate leaves its side of zero, from x on: there an l1 part is linear."""
    low, high = mean.feasible.bounding_box(mean.dim)
    signs, kinks = np.sign(x), mean.weights > 0
    low, high = np.where(kinks & (signs >= 0), 0.0, low), np.where(kinks & (signs <= 0), 0.0, high)

    def value(y: Vector) -> tuple[float, Vector]:
        return mean(y)[0], mean.gradient(y) + mean.weights * signs

    bounds = list(zip(low, high, strict=True))
    found = scipy.optimize.minimize(value, x, jac=True, method="L-BFGS-B", bounds=bounds, options=EXACT).x
    found = mean.feasible.project(found)
    return found if mean(found)[0] <= mean(x)[0] else x


def _slsqp(mean: _Mean, start: Vector) -> Vector:
    feasible, bounds = mean.feasible, None
    if isinstance(feasible, Ball):
        center, radius = feasible.enclosing_ball(mean.dim)
        constraint = {
            "type": "ineq",
            "fun": lambda x: radius**2 - (x - center) @ (x - center),
            "jac": lambda x: -2 * (x - center),
        }
    else:
        low, high = feasible.bounding_box(mean.dim)
        constraint = {"type": "eq", "fun": lambda x: x.sum() - high[0], "jac": np.ones_like}
        bounds = list(zip(low, high, strict=True))
    options = {"maxiter": 1_000, "ftol": 1e-15}
    found = scipy.optimize.minimize(
        mean, start, jac=True, method="SLSQP", bounds=bounds, constraints=[constraint], options=options
    )
    return found.x if np.isfinite(found.x).all() else start


def _polish(mean: _Mean, x: Vector) -> Vector:
    """Accelerated projected, or proximal, gradients with restarts, down to PRECISION or as far as rounding goes."""
    curvature = 1.1 * _curvature(mean, x)
    ahead, momentum, least, waited = x, 1.0, np.inf, 0
    for _ in range(POLISHING_STEPS):
        slope = mean.gradient(ahead)
        while True:
            new = mean.stepped(ahead, slope, curvature)
            move = new - ahead
            if (mean.gradient(new) - slope) @ move <= curvature * (move @ move) or not np.isfinite(curvature):
                break
            curvature *= 2
        size = np.linalg.norm(move)
        least, waited = (size, 0) if size < least else (least, waited + 1)
        if size <= PRECISION * (1 + np.linalg.norm(new)) or waited > PATIENCE:
            return new
        if (ahead - new) @ (new - x) > 0:  # overshot: forget the momentum
            momentum, ahead = 1.0, new
        else:
            grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead, momentum = new + (momentum - 1) / grown * (new - x), grown
        x = new
    return x


def _curvature(mean: _Mean, x: Vector) -> float:
    """The largest curvature at x, by power iteration on differences of gradients; 1 where there is none."""
    base, reach = mean.gradient(x), 1e-6 * (1 + np.linalg.norm(x))
    direction, found = np.random.default_rng(0).normal(size=mean.dim), 0.0
    for _ in range(30):
        direction /= np.linalg.norm(direction)
        bend = (mean.gradient(x + reach * direction) - base) / reach
        found = float(np.linalg.norm(bend))
        if not found > 1e-9 * np.linalg.norm(base):
            return max(found, 1.0)
        direction = bend
    return found
