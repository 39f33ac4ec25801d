"""Penalties: convex terms that every agent adds to its objective, known by their proximal maps.

A penalty need not be smooth, and mostly is not: the l1 norm makes coordinates exactly zero. It is public, and the same
for all agents. Where agents would project onto X they take its proximal map as well, so that no algorithm is written
for it.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Objective
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.problems.sets import Box, Everywhere, FeasibleSet
from hocket.rationals import is_exact, matching


def _weight(value: Any) -> np.ndarray:
    weight = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise BadProblem(f"a penalty of weight {value} is no penalty; give finite numbers of zero or more")
    return weight


def _like(value: Any, x: Any) -> Any:
    return matching(value, x) if is_exact(x) else x.__array_namespace__().asarray(value, dtype=x.dtype)


class Penalty(eqx.Module):
    """A convex term r(x) that every agent adds to its own objective, so that n r(x) is added to their sum."""

    coordinatewise: ClassVar[bool] = True
    """Whether it is a sum over coordinates: then on a box its proximal map and the projection follow each other."""

    @abstractmethod
    def value(self, x: Shaped[Any, " dim"]) -> Any:
        """r(x)."""

    @abstractmethod
    def prox(self, x: Shaped[Any, " dim"], step: Any) -> Shaped[Any, " dim"]:
        """The y that minimises r(y) + ‖y − x‖²/(2 step)."""

    def kinks(self, dim: int) -> Float[np.ndarray, " dim"] | None:
        """The weights of its kinks where these are all along the axes, and the rest of it is smooth; else None."""
        return None

    def check(self, feasible: FeasibleSet, dim: int) -> None:
        """Refuse a set on which the proximal map of both together is not known."""
        if isinstance(feasible, Everywhere) or (self.coordinatewise and isinstance(feasible, Box)):
            return
        allowed = "Box or Everywhere" if self.coordinatewise else "Everywhere"
        raise BadProblem(
            f"{type(self).__name__} on {feasible} has no proximal map that is known; take {allowed}"
        )


class L1(Penalty):
    """r(x) = Σ_c weight_c |x_c|: the lasso's, which makes coordinates zero. One weight, or one per coordinate."""

    weight: Any = eqx.field(converter=_weight)

    def value(self, x: Shaped[Any, " dim"]) -> Any:
        return (_like(self.weight, x) * abs(x)).sum()

    def prox(self, x: Shaped[Any, " dim"], step: Any) -> Shaped[Any, " dim"]:
        return _shrunk(x, step * _like(self.weight, x))

    def kinks(self, dim: int) -> Float[np.ndarray, " dim"] | None:
        return np.broadcast_to(self.weight, dim)

    def check(self, feasible: FeasibleSet, dim: int) -> None:
        super().check(feasible, dim)
        if np.shape(self.weight) not in ((), (dim,)):
            raise BadProblem(
                f"there are {np.shape(self.weight)} weights for {dim} coordinates; give one, or one for each"
            )


class ElasticNet(Penalty):
    """r(x) = l1 ‖x‖₁ + (l2/2) ‖x‖²: the lasso's, and a pull to zero that keeps correlated columns together."""

    l1: Any = eqx.field(converter=_weight)
    l2: Any = eqx.field(converter=_weight)

    def value(self, x: Shaped[Any, " dim"]) -> Any:
        return _like(self.l1, x) * abs(x).sum() + _like(self.l2, x) * (x * x).sum() / 2

    def prox(self, x: Shaped[Any, " dim"], step: Any) -> Shaped[Any, " dim"]:
        return _shrunk(x, step * _like(self.l1, x)) / (1 + step * _like(self.l2, x))

    def kinks(self, dim: int) -> Float[np.ndarray, " dim"] | None:
        return np.broadcast_to(self.l1, dim)


class GroupLasso(Penalty):
    """r(x) = weight Σ_g √|g| ‖x_g‖: groups of coordinates become zero together, such as the levels of a factor."""

    coordinatewise: ClassVar[bool] = False

    weight: Any = eqx.field(converter=_weight)
    groups: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    """Which coordinates belong together; those in no group are not penalised."""

    def value(self, x: Shaped[Any, " dim"]) -> Any:
        return _like(self.weight, x) * sum(self._norm(x, group) for group in self.groups)

    def prox(self, x: Shaped[Any, " dim"], step: Any) -> Shaped[Any, " dim"]:
        xp = x.__array_namespace__()
        for group in self.groups:
            part, norm = x[np.asarray(group)], self._norm(x, group)
            bound = step * _like(self.weight, x) * len(group)  # norm has a factor √|g| already
            shrunk = part * xp.maximum(0.0, 1.0 - bound / xp.maximum(norm, np.finfo(np.float64).tiny))
            x = _with(x, np.asarray(group), shrunk)
        return x

    def _norm(self, x: Any, group: tuple[int, ...]) -> Any:
        part = x[np.asarray(group)]
        square = len(group) * (part * part).sum()
        # The root of zero has no slope, and differentiating it none that is a number.
        return ((square > 0) * square + (square == 0)) ** 0.5 * (square > 0)

    def check(self, feasible: FeasibleSet, dim: int) -> None:
        super().check(feasible, dim)
        members = [*itertools.chain.from_iterable(self.groups)]
        if len({*members}) != len(members) or not all(0 <= one < dim for one in members):
            raise BadProblem(
                f"groups {self.groups} overlap, or name coordinates that are not among 0 to {dim - 1}"
            )


class Proximal(Penalty):
    """A penalty of your own: its value and its proximal map (x, step) -> y, array in and array out."""

    coordinatewise: ClassVar[bool] = False

    of: Callable[[Any], Any] = eqx.field(static=True)
    map: Callable[[Any, Any], Any] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"]) -> Any:
        return self.of(x)

    def prox(self, x: Shaped[Any, " dim"], step: Any) -> Shaped[Any, " dim"]:
        return self.map(x, step)


class Penalised(Objective):
    """An objective and a penalty in one function, as a solver for one place takes it: with kinks."""

    smooth: Objective
    penalty: Penalty

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return self.smooth.value(x, data) + self.penalty.value(x)

    def convex(self, data: PyTree, feasible: FeasibleSet, dim: int) -> bool | None:
        return self.smooth.convex(data, feasible, dim) or None

    def least_curvature(self, data: PyTree, feasible: FeasibleSet, dim: int) -> float | None:
        return self.smooth.least_curvature(data, feasible, dim)

    def objective_class(self, data: PyTree) -> ObjectiveClass:
        return ANY

    def classified(self, x: Shaped[Any, " dim"], data: PyTree) -> tuple[Any, Any, Any] | None:
        return self.smooth.classified(x, data)


def _shrunk(x: Any, by: Any) -> Any:
    """Every coordinate brought nearer to zero, and no farther than that."""
    return x - (abs(x) > by) * (by * ((x > 0) * 1 - (x < 0) * 1)) - (abs(x) <= by) * x


def _with(x: Any, places: np.ndarray, values: Any) -> Any:
    if isinstance(x, np.ndarray):
        changed = x.copy()
        changed[places] = values
        return changed
    return jnp.asarray(x).at[places].set(values)
