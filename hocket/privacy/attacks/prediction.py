"""What parameters make of the residuals of a view, and what a change of them would: compiled once for all fits alike.

Agents whose objectives differ by numbers alone are computed side by side, so that what is compiled does not grow with
the network; and numbers are arguments, so that another run, or another beginning, compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from hocket.privacy.families import Family
from hocket.problems.sets import FeasibleSet

EDGE = 1e-9
"""Part of the points' size up to which a step that ends beyond X counts as one that ends on its edge."""


class Term(NamedTuple):
    """One objective of one agent: where its parameters stand among all unknowns."""

    agent: int
    family: Family
    place: slice


class Alike(eqx.Module):
    """Gradients of one form, a row for each objective."""

    gradient: Callable[[Any, Any], Any]
    """The form; whatever numbers it has are stacked over the rows."""
    agents: Int[Any, " rows"]
    places: Int[Any, "rows size"]

    def gradients(self, at: Any, theta: Any) -> Any:
        """∇f at every point of every row, (rows, rounds, dim)."""
        return eqx.filter_vmap(self._gradients)(self.gradient, at, theta)

    def jacobians(self, at: Any, theta: Any) -> Any:
        """What a change of θ does to them, (rows, rounds, dim, size)."""
        return eqx.filter_vmap(self._jacobians)(self.gradient, at, theta)

    @staticmethod
    def _gradients(gradient: Any, at: Any, theta: Any) -> Any:
        return jax.vmap(gradient, in_axes=(0, None))(at, theta)

    @staticmethod
    def _jacobians(gradient: Any, at: Any, theta: Any) -> Any:
        return jax.vmap(jax.jacfwd(gradient, argnums=1), in_axes=(0, None))(at, theta)


class Prediction(eqx.Module):
    """Residuals of one view as a function of all unknowns, but for fresh noise."""

    groups: tuple[Alike, ...]
    at: Float[Any, "rounds agents dim"]
    alpha: Float[Any, " rounds"]
    shares: Float[Any, "rounds agents dim unknowns"]
    """What draws that were made once do to the residuals."""
    feasible: FeasibleSet | None
    """X, where steps that it cut short are to be taken into account."""
    inside: bool = eqx.field(static=True)
    """Whether noise is part of the gradient that is followed, and so is cut short along with it."""

    def __call__(self, u: Float[Any, " unknowns"]) -> tuple[Any, Any]:
        """The residuals, (rounds, agents, dim), and their derivatives by the unknowns."""
        model, slopes = self._gradients(u)
        offsets = self.shares @ u
        if self.feasible is None:
            return model + offsets, slopes + self.shares
        if self.inside:
            return self._taken(self.feasible, model + offsets, slopes + self.shares)
        model, slopes = self._taken(self.feasible, model, slopes)
        return model + offsets, slopes + self.shares

    def cut(self, u: Float[Any, " unknowns"]) -> Any:
        """Which coordinates of which steps X cuts short, (rounds, agents, dim)."""
        model, _ = self._gradients(u)
        model = model + self.shares @ u if self.inside else model
        aimed = self.at - self.alpha[:, None, None] * model
        return jnp.abs(aimed - self._nearest(aimed)) > EDGE * jnp.abs(aimed).max(initial=1.0)

    def _gradients(self, u: Any) -> tuple[Any, Any]:
        model, slopes = jnp.zeros(self.at.shape), jnp.zeros((*self.at.shape, len(u)))
        for one in self.groups:
            at, theta = self.at[:, one.agents].swapaxes(0, 1), u[one.places]
            model = model.at[:, one.agents].add(one.gradients(at, theta).swapaxes(0, 1))
            change = one.jacobians(at, theta).transpose(0, 3, 1, 2)
            slopes = slopes.at[:, one.agents[:, None], :, one.places].add(change)
        return model, slopes

    def _nearest(self, points: Any) -> Any:
        if self.feasible is None:
            return points
        return jax.vmap(self.feasible.project)(points.reshape(-1, points.shape[-1])).reshape(points.shape)

    def _taken(self, feasible: FeasibleSet, model: Any, slopes: Any) -> tuple[Any, Any]:
        """The step that was really taken, (v − P(v − αg)) / α, in place of the gradient g, and its derivatives."""
        alpha = self.alpha[:, None, None]
        aimed = self.at - alpha * model
        reached, dim = self._nearest(aimed), self.at.shape[2]
        turned = jax.vmap(jax.jacfwd(feasible.project))(aimed.reshape(-1, dim)).reshape(*model.shape, dim)
        # On the edge itself a fit may rest against X: that is no step that was cut short, and shows no noise.
        within = jnp.abs(aimed - reached).max(axis=2) <= EDGE * jnp.abs(aimed).max(initial=1.0)
        turned = jnp.where(within[..., None, None], jnp.eye(dim), turned)
        taken = jnp.where(within[..., None], model, (self.at - reached) / alpha)
        return taken, jnp.einsum("kade,kaeu->kadu", turned, slopes)


class Combined(eqx.Module):
    """Some combinations of the residuals of one view, round by round."""

    prediction: Prediction
    values: Float[Any, "rounds agents dim"]
    weights: Float[Any, "rounds rows agents"]

    def __call__(self, u: Float[Any, " unknowns"]) -> tuple[Any, Any]:
        """Rows a and what they should come to, b, for a change of u: a · change ≈ b."""
        model, slopes = self.prediction(u)
        a = jnp.einsum("kra,kadu->krdu", self.weights, slopes)
        b = jnp.einsum("kra,kad->krd", self.weights, self.values - model)
        return a.reshape(-1, len(u)), b.reshape(-1)


class Weighed(eqx.Module):
    """All rows of several views, each divided by its deviation, and what is known beforehand of some unknowns."""

    parts: tuple[Combined, ...]
    sd: tuple[Float[Any, " rows"], ...]
    kept: Int[Any, " kept"]
    """Unknowns that are of deviation one beforehand."""

    def __call__(self, u: Float[Any, " unknowns"]) -> tuple[Any, Any]:
        """Rows a and what they should come to, b, for a change of u: a · change ≈ b."""
        rows = [part(u) for part in self.parts]
        a = [a / sd[:, None] for (a, _), sd in zip(rows, self.sd, strict=True)]
        b = [b / sd for (_, b), sd in zip(rows, self.sd, strict=True)]
        return jnp.concatenate([*a, jnp.eye(len(u))[self.kept]]), jnp.concatenate([*b, -u[self.kept]])


def alike(terms: Sequence[Term]) -> tuple[Alike, ...]:
    """Objectives sorted by form: those in one group differ by numbers alone."""
    groups: list[list[Term]] = []
    for term in terms:
        near = next((group for group in groups if _same_form(group[0].family, term.family)), None)
        if near is None:
            groups.append([term])
        else:
            near.append(term)
    return tuple(_side_by_side(group) for group in groups)


def _side_by_side(group: list[Term]) -> Alike:
    parts = [eqx.partition(term.family.gradient, eqx.is_array) for term in group]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(numbers for numbers, _ in parts))
    places = [np.arange(term.place.start, term.place.stop) for term in group]
    agents = np.array([term.agent for term in group])
    return Alike(eqx.combine(stacked, parts[0][1]), agents, np.stack(places))


def _same_form(one: Family, other: Family) -> bool:
    if one.gradient is other.gradient:
        return one.size == other.size
    (a, form), (b, other_form) = (eqx.partition(each.gradient, eqx.is_array) for each in (one, other))
    shapes = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(part)] for part in (a, b)]
    return one.size == other.size and shapes[0] == shapes[1] and bool(eqx.tree_equal(form, other_form))


@eqx.filter_jit
def _called(part: Any, u: Any) -> Any:
    return part(u)


@eqx.filter_jit
def _cut(part: Prediction, u: Any) -> Any:
    return part.cut(u)


def rows_at(part: Combined, u: Float[np.ndarray, " unknowns"]) -> tuple[np.ndarray, np.ndarray]:
    """The rows around u."""
    with jax.enable_x64(True):
        a, b = _called(part, jnp.asarray(u, float))
        return np.asarray(a), np.asarray(b)


def slopes_at(part: Prediction, u: Float[np.ndarray, " unknowns"]) -> np.ndarray:
    """The derivatives of all residuals at u, (rounds, agents, dim, unknowns)."""
    with jax.enable_x64(True):
        return np.asarray(_called(part, jnp.asarray(u, float))[1])


def cut_at(part: Prediction, u: Float[np.ndarray, " unknowns"]) -> np.ndarray:
    """Which coordinates of which steps X cuts short if u is right, (rounds, agents, dim)."""
    with jax.enable_x64(True):
        return np.asarray(_cut(part, jnp.asarray(u, float)))
