"""The interface of an objective, and averages and weighted sums of objectives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree, Shaped

from hocket.problems.sets import FeasibleSet

# The interface of an objective, and the mean over agents of any objective.

Reduction = Literal["sum", "mean"]
Name = Callable[[int], str]
"""What to call an agent in an error."""


class Objective(eqx.Module):
    """A family of functions f(x; data): every agent of a group has the same function and its own data.

    `value` and `gradient` are for one agent, and array-agnostic where they can be. The other methods are for
    the host and take the data of all agents, stacked along a leading axis; an objective may do without them.
    """

    exact: ClassVar[bool] = False
    """Whether value and gradient also work on fractions."""

    reduction: Reduction | None = eqx.field(static=True, default=None, kw_only=True)
    """How an agent's samples become one number; None where its data are not samples."""

    @abstractmethod
    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        """f_j(x), given agent j's data."""

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        """∇f_j(x), by differentiating `value` unless a subclass knows better."""
        return jax.grad(self.value)(x, data)

    def local(self, data: PyTree) -> Any:
        """How an agent with these data descends by itself (`hocket.agent.Local`); None for one gradient step."""
        return None

    def prepared(self, data: PyTree, dim: int, name: Name) -> PyTree:
        """The data checked, and in the form that `value` expects; errors call agents by `name`."""
        return data

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        """(1/n) Σ_j f_j as one agent's objective and data, as compact as it can be."""
        return (Average(self) if jax.tree.leaves(data) else self), data

    def convex(self, data: PyTree, feasible: FeasibleSet, dim: int) -> bool | None:
        """Whether every f_j is convex on the set; None where nobody knows."""
        return None

    def degree(self, data: PyTree) -> int | None:
        """The highest power in any agent's objective; None where it is not a polynomial."""
        return None

    def constants(self, data: PyTree, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        """L ≥ ‖∇f_j(x)‖ and N, the Lipschitz constant of ∇f_j, for every j on the set; None where unknown."""
        return None, None


class Average(Objective):
    """The mean over agents of one objective.

    What pooling falls back on where nothing more compact is known. Data: those of all agents, stacked.
    """

    each: Objective

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return jnp.mean(jax.vmap(self.each.value, in_axes=(None, 0))(x, data))


# Weighted sums of different objectives.


class WeightedSum(Objective):
    """Σ_g share_g · f_g(x), with shares that sum to one.

    What agents with objectives of different kinds are pooled into. Data: (shares, one entry per part).
    """

    parts: tuple[Objective, ...]

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        shares, entries = data
        return sum(shares[g] * part.value(x, entries[g]) for g, part in enumerate(self.parts))

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        shares, entries = data
        return sum(shares[g] * part.gradient(x, entries[g]) for g, part in enumerate(self.parts))

    def convex(self, data: PyTree, feasible: FeasibleSet, dim: int) -> bool | None:
        known = [part.convex(entry, feasible, dim) for part, entry in zip(self.parts, data[1], strict=True)]
        # A part that bends down may be outweighed by the others.
        return True if all(known) else None

    def constants(self, data: PyTree, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        bounds = [
            part.constants(entry, feasible, dim) for part, entry in zip(self.parts, data[1], strict=True)
        ]
        slopes, bends = zip(*bounds, strict=True)
        return largest_known(slopes), largest_known(bends)


def largest_known(bounds: tuple[float | None, ...]) -> float | None:
    """What bounds every term; None as soon as one is unknown."""
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None
