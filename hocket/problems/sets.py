"""Feasible sets X: where the states of the agents must lie.

`project` is array-agnostic and maps under `vmap`; the rest is for the host. Bounds are kept as float64, so
that they may change without recompiling anything; an exact run uses the very same bounds, as fractions.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jax.core import Tracer
from jaxtyping import Float, Shaped

from hocket.errors import BadProblem
from hocket.rationals import is_exact, matching

TOLERANCE = 1e-9
"""How far outside counts as inside: above rounding after many float64 steps, below anything meant."""


def _number(value: Any) -> Any:
    """A bound as float64; tracers stay what they are."""
    return value if isinstance(value, Tracer) else np.asarray(value, dtype=np.float64)


def _like(value: Any, x: Any) -> Any:
    """A bound in the library and precision of `x`, so that float64 bounds leave a float32 state float32."""
    return matching(value, x) if is_exact(x) else x.__array_namespace__().asarray(value, dtype=x.dtype)


def _traced(*values: Any) -> bool:
    return any(isinstance(value, Tracer) for value in values)


def _shown(value: Any) -> str:
    return np.array2string(np.asarray(value), threshold=6, separator=", ")


class FeasibleSet(eqx.Module):
    """A closed convex set of vectors."""

    bounded: ClassVar[bool] = True
    """The theorems need a bounded set."""

    @abstractmethod
    def project(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        """The point of the set nearest to `x`."""

    @abstractmethod
    def contains(self, x: Shaped[Any, "*rows dim"], tol: float = TOLERANCE) -> Any:
        """Whether `x` lies in the set, up to `tol`; one answer per row where there are rows."""

    @abstractmethod
    def diameter(self, dim: int) -> float:
        """The largest distance between two points of the set."""

    @abstractmethod
    def radius(self, dim: int) -> float:
        """The largest norm ‖x‖ of a point of the set."""

    @abstractmethod
    def bounding_box(self, dim: int) -> tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " dim"]]:
        """The smallest and the largest value of every coordinate over the set."""

    @abstractmethod
    def enclosing_ball(self, dim: int) -> tuple[Float[np.ndarray, " dim"], float]:
        """Centre and radius of the smallest ball around the set."""

    @abstractmethod
    def inflated(self, by: float) -> FeasibleSet:
        """A set that holds every point within `by` of this one: where noise can carry a state."""

    def check_dim(self, dim: int) -> None:
        """Refuse bounds that are meant for another dimension."""


class Box(FeasibleSet):
    """Every coordinate between its own low and high.

    The choice for the paper's examples and for exact runs: projecting is clipping, and rational.
    """

    low: Any = eqx.field(converter=_number)
    high: Any = eqx.field(converter=_number)

    def __check_init__(self) -> None:
        if _traced(self.low, self.high):
            return
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound.ndim > 1:
                raise BadProblem(f"{name} of a Box has shape {bound.shape}; give one number or one vector")
            if not np.isfinite(bound).all():
                raise BadProblem(
                    f"{name} of a Box is {_shown(bound)}; give finite bounds, or Everywhere() for none"
                )
        if self.low.ndim == self.high.ndim == 1 and self.low.shape != self.high.shape:
            raise BadProblem(
                f"low of a Box has {len(self.low)} coordinates and high {len(self.high)}; make them equal"
            )
        low, high = np.broadcast_arrays(self.low, self.high)
        for place in np.argwhere(~(low < high)):
            where = f"coordinate {place[0]} of a Box: " if place.size else "Box: "
            bounds = f"low {low[tuple(place)]} is not below high {high[tuple(place)]}"
            raise BadProblem(f"{where}{bounds}; swap them or widen the box")

    def project(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        return x.__array_namespace__().clip(x, _like(self.low, x), _like(self.high, x))

    def contains(self, x: Shaped[Any, "*rows dim"], tol: float = TOLERANCE) -> Any:
        return np.all((x >= self.low - tol) & (x <= self.high + tol), axis=-1)

    def diameter(self, dim: int) -> float:
        low, high = self.bounding_box(dim)
        return float(np.linalg.norm(high - low))

    def radius(self, dim: int) -> float:
        low, high = self.bounding_box(dim)
        return float(np.linalg.norm(np.maximum(abs(low), abs(high))))

    def bounding_box(self, dim: int) -> tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " dim"]]:
        return np.broadcast_to(self.low, dim), np.broadcast_to(self.high, dim)

    def enclosing_ball(self, dim: int) -> tuple[Float[np.ndarray, " dim"], float]:
        low, high = self.bounding_box(dim)
        return (low + high) / 2, self.diameter(dim) / 2

    def inflated(self, by: float) -> Box:
        return Box(self.low - _margin(by), self.high + by)

    def check_dim(self, dim: int) -> None:
        for bound in (self.low, self.high):
            if bound.ndim == 1 and len(bound) != dim:
                raise BadProblem(
                    f"the Box has {len(bound)} coordinates and the problem {dim}; make them equal"
                )

    def __str__(self) -> str:
        return f"Box({_shown(self.low)}, {_shown(self.high)})"


class Ball(FeasibleSet):
    """Every point within `radius` of a centre, in the Euclidean norm.

    The choice for learning, where a bound on the weights is wanted and coordinates mean nothing.
    """

    size: Any = eqx.field(converter=_number)
    center: Any = eqx.field(converter=_number)

    def __init__(self, radius: Any, center: Any = 0.0):
        self.size = radius
        self.center = center

    def __check_init__(self) -> None:
        if _traced(self.size, self.center):
            return
        if self.size.ndim or not (np.isfinite(self.size) and self.size > 0):
            raise BadProblem(f"radius of a Ball is {_shown(self.size)}; give one positive, finite number")
        if self.center.ndim > 1 or not np.isfinite(self.center).all():
            raise BadProblem(f"center of a Ball is {_shown(self.center)}; give one finite number or vector")

    def project(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        size, center = _like(self.size, x), _like(self.center, x)
        away = x - center
        if is_exact(x):
            if (away * away).sum() <= size[()] ** 2:
                return x
            raise BadProblem(f"the projection on {self} is irrational in general; use a Box for exact runs")
        xp = x.__array_namespace__()
        norm = xp.sqrt(xp.sum(away * away))
        return xp.where(norm <= size, x, center + away * (size / xp.maximum(norm, size)))

    def contains(self, x: Shaped[Any, "*rows dim"], tol: float = TOLERANCE) -> Any:
        away = np.asarray(x - self.center, dtype=np.float64)
        return np.linalg.norm(away, axis=-1) <= self.size + tol

    def diameter(self, dim: int) -> float:
        return 2 * float(self.size)

    def radius(self, dim: int) -> float:
        return float(self.size + np.linalg.norm(np.broadcast_to(self.center, dim)))

    def bounding_box(self, dim: int) -> tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " dim"]]:
        return np.broadcast_to(self.center - self.size, dim), np.broadcast_to(self.center + self.size, dim)

    def enclosing_ball(self, dim: int) -> tuple[Float[np.ndarray, " dim"], float]:
        return np.broadcast_to(self.center, dim), float(self.size)

    def inflated(self, by: float) -> Ball:
        return Ball(self.size + _margin(by), self.center)

    def check_dim(self, dim: int) -> None:
        if self.center.ndim == 1 and len(self.center) != dim:
            raise BadProblem(
                f"the Ball's center has {len(self.center)} coordinates and the problem {dim}; make them equal"
            )

    def __str__(self) -> str:
        return f"Ball({_shown(self.size)}, center={_shown(self.center)})"


class Simplex(FeasibleSet):
    """Coordinates that are not negative and sum to `total`.

    The choice for shares, mixtures and probabilities.
    """

    total: Any = eqx.field(converter=_number, default=1.0)

    def __check_init__(self) -> None:
        if _traced(self.total):
            return
        if self.total.ndim or not (np.isfinite(self.total) and self.total > 0):
            raise BadProblem(f"total of a Simplex is {_shown(self.total)}; give one positive, finite number")

    def project(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        xp = x.__array_namespace__()
        # Moving all coordinates alike changes nothing; with the largest at zero no digits cancel below.
        x = x - xp.max(x)
        descending = xp.flip(xp.sort(x))
        # The threshold is where the surplus of the k largest, shared among them, is largest.
        surplus = xp.cumsum(descending) - _like(self.total, x)
        threshold = xp.max(surplus / xp.arange(1, x.shape[0] + 1, dtype=x.dtype))
        return xp.maximum(x - threshold, 0)

    def contains(self, x: Shaped[Any, "*rows dim"], tol: float = TOLERANCE) -> Any:
        return np.all(x >= -tol, axis=-1) & (abs(np.sum(x, axis=-1) - float(self.total)) <= tol)

    def diameter(self, dim: int) -> float:
        return math.sqrt(2) * float(self.total) if dim > 1 else 0.0

    def radius(self, dim: int) -> float:
        return float(self.total)

    def bounding_box(self, dim: int) -> tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " dim"]]:
        lowest = self.total if dim == 1 else 0.0
        return np.full(dim, lowest, dtype=np.float64), np.full(dim, self.total, dtype=np.float64)

    def enclosing_ball(self, dim: int) -> tuple[Float[np.ndarray, " dim"], float]:
        return np.full(dim, self.total / dim), float(self.total) * math.sqrt(1 - 1 / dim)

    def inflated(self, by: float) -> FeasibleSet:
        return Ball(self.total + by) if _margin(by) else self

    def __str__(self) -> str:
        return f"Simplex({_shown(self.total)})"


class Everywhere(FeasibleSet):
    """No constraint at all.

    The choice for comparing with unconstrained methods; no theorem of the paper covers it.
    """

    bounded: ClassVar[bool] = False

    def project(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        return x

    def contains(self, x: Shaped[Any, "*rows dim"], tol: float = TOLERANCE) -> Any:
        return np.isfinite(np.asarray(x, dtype=np.float64)).all(axis=-1)

    def diameter(self, dim: int) -> float:
        return math.inf

    def radius(self, dim: int) -> float:
        return math.inf

    def bounding_box(self, dim: int) -> tuple[Float[np.ndarray, " dim"], Float[np.ndarray, " dim"]]:
        return np.full(dim, -math.inf), np.full(dim, math.inf)

    def enclosing_ball(self, dim: int) -> tuple[Float[np.ndarray, " dim"], float]:
        return np.zeros(dim), math.inf

    def inflated(self, by: float) -> Everywhere:
        return self

    def __str__(self) -> str:
        return "Everywhere()"


def _margin(by: float) -> float:
    if not (math.isfinite(by) and by >= 0):
        raise BadProblem(f"a set can be inflated by a finite distance of zero or more, not by {by}")
    return by
