"""Objectives: their interface, any loss that JAX can differentiate, averages and weighted sums, and samples.

Agents may hold unequally many samples: these are padded, and weighted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.problems.sets import FeasibleSet

Reduction = Literal["sum", "mean"]
Name = Callable[[int], str]
"""What to call an agent in an error."""


class KnownObjective(NamedTuple):
    """One agent's objective, known as a whole and not by its gradients alone; called, it gives these."""

    objective: Objective
    data: PyTree

    def __call__(self, x: Shaped[Any, " dim"]) -> Shaped[Any, " dim"]:
        return self.objective.gradient(x, self.data)


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

    def least_curvature(self, data: PyTree, feasible: FeasibleSet, dim: int) -> float | None:
        """The least that any f_j bends up in any direction on the set, negative where one bends down; None where nobody
        knows."""
        return None

    def degree(self, data: PyTree) -> int | None:
        """The highest power in any agent's objective; None where it is not a polynomial."""
        return None

    def objective_class(self, data: PyTree) -> ObjectiveClass:
        """The class that every agent's objective is of, as far as it can be derived from its form."""
        return ANY

    def quadratic(self, data: Any, dim: int) -> Shaped[np.ndarray, "records width"] | None:
        """What each record of one agent adds to the coefficients of a quadratic, laid out as those of
        `hocket.problems.Quadratic`; None where the objective is none, or nobody knows."""
        return None

    def constants(self, data: PyTree, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        """L ≥ ‖∇f_j(x)‖ and N, the Lipschitz constant of ∇f_j, for every j on the set; None where unknown."""
        return None, None

    def classified(self, x: Shaped[Any, " dim"], data: PyTree) -> tuple[Any, Any, Any] | None:
        """For one agent's samples, whether x puts each into the positive class, whether it is in it, and whether it is
        a sample at all; None where the objective tells no classes apart."""
        return None


class Average(Objective):
    """The mean over agents of one objective.

    What pooling falls back on where nothing more compact is known. Data: those of all agents, stacked.
    """

    each: Objective

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return jnp.mean(jax.vmap(self.each.value, in_axes=(None, 0))(x, data))


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

    def least_curvature(self, data: PyTree, feasible: FeasibleSet, dim: int) -> float | None:
        known = [
            part.least_curvature(entry, feasible, dim)
            for part, entry in zip(self.parts, data[1], strict=True)
        ]
        # Data have a leading axis of agents, of whom there is one.
        shares = np.asarray(data[0], dtype=np.float64).ravel()
        bends = [share * least for share, least in zip(shares, known, strict=True) if least is not None]
        return float(sum(bends)) if len(bends) == len(known) else None

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


class Samples(NamedTuple):
    """What agents hold, sample by sample: (agents, samples, ...), or (samples, ...) for one agent.

    An agent's objective is Σ_i weight_i · (loss of sample i). The weight is 0 on padding; on data it is 1
    where the objective is a sum and 1/count where it is a mean.
    """

    values: PyTree
    weight: Float[Any, "*agents samples"]

    def flattened(self) -> Samples:
        """The samples of all n agents as one agent's, each weighing 1/n of what it did."""
        agents = len(self.weight)
        merged = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), self.values)
        return Samples(merged, self.weight.reshape(-1) / agents)


def from_stacked(values: PyTree, reduction: Reduction, name: Name) -> Samples:
    """Samples where every agent has equally many: leaves (agents, samples, ...)."""
    shapes = {np.shape(leaf)[:2] for leaf in jax.tree.leaves(values)}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise BadProblem(
            f"the data lead with axes {sorted(shapes)}; every array must lead with the same (agents, samples)"
        )
    agents, count = next(iter(shapes))
    if not count:
        raise BadProblem(f"{name(0)} has no samples; give every agent at least one")
    return Samples(values, np.full((agents, count), 1.0 if reduction == "sum" else 1 / count))


def from_agents(entries: list[PyTree], reduction: Reduction, name: Name) -> Samples:
    """Samples from one entry per agent, each with leaves (samples, ...) of the agent's own length."""
    counts = [_count(entry, name(j)) for j, entry in enumerate(entries)]
    longest = max(counts)
    padded = [jax.tree.map(lambda leaf: _pad(leaf, longest), entry) for entry in entries]
    weight = np.zeros((len(entries), longest))
    for j, count in enumerate(counts):
        weight[j, :count] = 1.0 if reduction == "sum" else 1 / count
    return Samples(stacked(padded, name), weight)


def stacked(entries: list[PyTree], name: Name) -> PyTree:
    """One entry per agent, stacked leaf by leaf along a new leading axis."""
    first = jax.tree.structure(entries[0])
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(entries[0])]
    for j, entry in enumerate(entries):
        if jax.tree.structure(entry) != first:
            raise BadProblem(
                f"the data of {name(j)} are built differently from those of {name(0)}; make them alike"
            )
        own = [np.shape(leaf) for leaf in jax.tree.leaves(entry)]
        if own != shapes:
            raise BadProblem(
                f"the data of {name(j)} have shapes {own}, those of {name(0)} {shapes}; make them equal, "
                'or state reduction="mean" or "sum" of a loss per sample'
            )
    return jax.tree.map(lambda *leaves: np.stack(leaves), *entries)


def largest_eigenvalue(features: Any, weight: Any) -> Float[np.ndarray, " agents"]:
    """The largest eigenvalue of Σ_i weight_i a_i a_iᵀ for each agent, a_i the rows of its features."""
    scaled = np.asarray(features, dtype=np.float64) * np.sqrt(np.asarray(weight))[:, :, None]
    flipped = scaled.transpose(0, 2, 1)
    # AAᵀ and AᵀA share their largest eigenvalue: take the smaller.
    gram = scaled @ flipped if scaled.shape[1] <= scaled.shape[2] else flipped @ scaled
    return np.maximum(np.linalg.eigvalsh(gram)[:, -1], 0.0)


def _count(entry: PyTree, agent: str) -> int:
    counts = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(entry)}
    if len(counts) != 1 or counts == {()}:
        raise BadProblem(
            f"the arrays of {agent} lead with axes {sorted(counts)}; each needs one row per sample"
        )
    (count,) = next(iter(counts))
    if not count:
        raise BadProblem(f"{agent} has no samples; give it at least one, or leave it out")
    return count


def _pad(leaf: Any, length: int) -> np.ndarray:
    """Fill up with the first sample: unlike that of zeros its loss is finite, so that weight 0 removes it."""
    leaf = np.asarray(leaf)
    return np.concatenate([leaf, np.repeat(leaf[:1], length - len(leaf), axis=0)])


class Loss(Objective):
    """f_j(x) = fn(x, data_j), or fn(x) where there are no data.

    The choice for models of your own. With a reduction, `fn(x, sample)` is the loss of one sample, and agents
    may hold unequally many of them.
    """

    fn: Callable[..., Any] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        if self.reduction is None:
            return self.fn(x) if data is None else self.fn(x, data)
        return data.weight @ jax.vmap(self.fn, in_axes=(None, 0))(x, data.values)

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        slope = jax.grad(self.value)(x, data)
        # An infinite slope must not be clipped into a box as if nothing had happened: 0 · ∞ is NaN, and that is found.
        return slope + 0 * slope

    def prepared(self, data: PyTree, dim: int, name: Name) -> PyTree:
        one = jax.tree.map(lambda leaf: leaf[0], data)
        with jax.enable_x64(True):
            try:
                result = jax.eval_shape(self.value, jnp.zeros(dim), one)
            except Exception as error:
                raise BadProblem(
                    f"the loss of {name(0)} fails on x of shape ({dim},) and its data: {error}; "
                    "it must be written in JAX and take (x, data_j)"
                ) from error
        if getattr(result, "shape", None) != () or not np.issubdtype(result.dtype, np.floating):
            raise BadProblem(f"the loss of {name(0)} returns {result}; it must return one real number")
        return data

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        return (self, data.flattened()) if isinstance(data, Samples) else super().pooled(data)
