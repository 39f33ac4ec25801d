"""Several gradient steps between two exchanges, as members of a federation take them, in the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx

from hocket.problems import Objective
from hocket.problems.problem import Problem
from hocket.problems.sets import FeasibleSet


class Stepping(Objective):
    """Another objective, whose agents take several gradient steps between two exchanges, as members do."""

    inner: Objective
    steps: int = eqx.field(static=True)

    def value(self, x: Any, data: Any) -> Any:
        return self.inner.value(x, data)

    def gradient(self, x: Any, data: Any) -> Any:
        return self.inner.gradient(x, data)

    def pooled(self, data: Any) -> tuple[Objective, Any]:
        return self.inner.pooled(data)

    def convex(self, data: Any, feasible: FeasibleSet, dim: int) -> bool | None:
        return self.inner.convex(data, feasible, dim)

    def constants(self, data: Any, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        return self.inner.constants(data, feasible, dim)

    def local(self, data: Any) -> Any:
        if self.steps == 1:
            return None

        def descend(
            v: Any, k: Any, *, step: Any, feasible: FeasibleSet, plus: Callable[[Any], Any] | None
        ) -> Any:
            for _ in range(self.steps):
                slope = (
                    self.inner.gradient(v, data) if plus is None else self.inner.gradient(v, data) + plus(v)
                )
                v = feasible.project(v - step / self.steps * slope)
            return v

        return descend


def stepping(problem: Problem, steps: int) -> Problem:
    """A problem of one kind of objective, whose agents take so many local steps."""
    (group,) = problem.groups
    return eqx.tree_at(lambda one: one.groups[0].objective, problem, Stepping(group.objective, steps))
