"""All that views say about the parameters of some objectives: what parameters make of residuals, as least squares.

What parameters make of the residuals of a view, and a change of them, is compiled once for all fits alike: agents whose
objectives differ by numbers alone are computed side by side, so that what is compiled does not grow with the network;
and numbers are arguments, so that another run, or another beginning, compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from hocket.privacy.attacks.equations import Equations
from hocket.privacy.attacks.least_squares import Rows
from hocket.privacy.families import Family
from hocket.privacy.graph.connectivity import honest_components
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


SILENT = 1e-9
"""Part of the loudest combination's noise below which a combination of residuals counts as free of noise."""
Key = Hashable
"""Names a vector of parameters: an agent, or a record that was added to its data."""
Use = Literal["everything", "sums"]


class Received(NamedTuple):
    """One view's equations, and the objectives that each agent's gradient is the sum of."""

    equations: Equations
    objectives: Mapping[int, Sequence[Key]]
    run: int = 0
    """Noise that was drawn once is the same in views of one run, and in runs that kept it."""


class Tiers(NamedTuple):
    """Rows without noise, rows with it, and what is known beforehand of noise that was drawn once."""

    exact: Rows
    noisy: Rows
    before: Rows


@dataclass(frozen=True, eq=False)
class System:
    """Equations about the parameters of some objectives and about noise that was drawn once."""

    received: Sequence[Received]
    families: Mapping[Key, Family]
    feasible: FeasibleSet | None = None
    """X, if projections are to be taken into account."""
    use: Use = "everything"
    """All combinations of residuals, or none but sums over whole honest components."""

    @cached_property
    def places(self) -> dict[Key, slice]:
        """Where each vector of parameters stands among the unknowns."""
        ends = np.cumsum([0, *(family.size for family in self.families.values())]).tolist()
        return {key: slice(*ends[row : row + 2]) for row, key in enumerate(self.families)}

    @cached_property
    def draws(self) -> dict[Any, int]:
        """Where each kept draw's coordinates begin among the unknowns."""
        every = [(one.run, source) for one in self.received for source in one.equations.sources]
        first, dim = sum(family.size for family in self.families.values()), self.dim
        return {source: first + dim * row for row, source in enumerate(dict.fromkeys(every))}

    @property
    def dim(self) -> int:
        """Coordinates of a word."""
        return self.received[0].equations.dim

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return sum(family.size for family in self.families.values()) + self.dim * len(self.draws)

    @property
    def linear(self) -> bool:
        """Whether one solution is all it takes."""
        return self.feasible is None and self.straight

    @property
    def straight(self) -> bool:
        """Whether one solution is all it takes once it is known which steps X cut short."""
        return all(family.linear for family in self.families.values())

    @cached_property
    def combinations(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By view: which combinations of residuals are looked at, (rounds, rows, agents), and the noise in each."""
        return [_combinations(one.equations, self.use) for one in self.received]

    @cached_property
    def predictions(self) -> tuple[Prediction, ...]:
        """By view: its residuals as a function of the unknowns."""
        return tuple(self._prediction(number) for number in range(len(self.received)))

    def _prediction(self, number: int) -> Prediction:
        equations, objectives, _ = self.received[number]
        terms = [
            Term(a, self.families[key], self.places[key])
            for a, agent in enumerate(equations.agents)
            for key in objectives[agent]
        ]
        shares = self.kept_shares(number)
        return Prediction(
            alike(terms), equations.at, equations.alpha, shares, self.feasible, equations.inside
        )

    @cached_property
    def combined(self) -> tuple[Combined, ...]:
        """By view: the combinations of residuals that are looked at."""
        every = zip(self.predictions, self.received, self.combinations, strict=True)
        return tuple(Combined(model, one.equations.values, weights) for model, one, (weights, _) in every)

    def tiers(self, u: Float[np.ndarray, " unknowns"]) -> Tiers:
        """The equations around u, for a change of it."""
        parts = [rows_at(one, u) for one in self.combined]
        a, b = (np.concatenate(part) for part in zip(*parts, strict=True))
        sd, silent = (np.concatenate(part) for part in zip(*self._deviations, strict=True))
        a, b = a / sd[:, None], b / sd
        before = Rows(np.eye(self.size)[self.kept], -u[self.kept])
        return Tiers(Rows(a[silent], b[silent]), Rows(a[~silent], b[~silent]), before)

    @property
    def kept(self) -> Int[np.ndarray, " kept"]:
        """Which unknowns are noise that was drawn once."""
        return np.arange(self.size - self.dim * len(self.draws), self.size)

    def blurred(self, floor: float) -> Weighed:
        """The equations, all of them with some noise more: what a fit that is still far off should be led by."""
        lengths = [np.repeat(np.linalg.norm(w, axis=2).reshape(-1), self.dim) for w, _ in self.combinations]
        sd = [np.hypot(sd, floor * by) for (sd, _), by in zip(self._deviations, lengths, strict=True)]
        return Weighed(self.combined, tuple(sd), self.kept)

    @cached_property
    def _deviations(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By view: the noise or, where there is none, the rounding in every row, and whether there is none."""
        found = []
        for (weights, noise), one in zip(self.combinations, self.received, strict=True):
            length = np.linalg.norm(weights, axis=2)
            silent = noise <= SILENT * np.maximum(noise.max(initial=0.0), np.finfo(np.float64).tiny)
            sd = np.where(silent, one.equations.rounding[:, None] * length, noise)
            found.append(tuple(np.repeat(part.reshape(-1), self.dim) for part in (sd, silent)))
        return found

    def kept_shares(self, number: int) -> Float[np.ndarray, "rounds agents dim unknowns"]:
        """What draws that were made once do to the residuals of one view."""
        equations, _, run = self.received[number]
        shares = np.zeros((*equations.values.shape, self.size))
        for q, source in enumerate(equations.sources):
            first = self.draws[run, source]
            for d in range(self.dim):
                shares[:, :, d, first + d] = equations.kept[:, :, q, d]
        return shares

    @property
    def typical(self) -> float:
        """The size of the residuals: what a change of gradients is compared with."""
        values = np.concatenate([one.equations.values.ravel() for one in self.received])
        return float(np.sqrt(np.mean(values**2))) or 1.0

    @property
    def loudest(self) -> float:
        """The largest noise in any combination of residuals."""
        return max(float(noise.max(initial=0.0)) for _, noise in self.combinations)

    def scale(self, u: np.ndarray) -> Float[np.ndarray, " unknowns"]:
        """How much of each unknown changes gradients by as much as residuals are large."""
        slopes = np.concatenate([slopes_at(one, u).reshape(-1, self.size) for one in self.predictions])
        effect = np.sqrt(np.mean(slopes**2, axis=0))
        return np.divide(self.typical, effect, out=np.ones(self.size), where=effect > 0)


def _combinations(equations: Equations, use: Use) -> tuple[np.ndarray, np.ndarray]:
    if use == "sums":
        view = equations.view
        parts = [
            part
            for part in honest_components(view.network, view.coalition)
            if set(part) <= {*equations.agents}
        ]
        rows = np.array([np.isin(equations.agents, part) for part in parts], dtype=np.float64)
        weights = np.broadcast_to(rows, (len(equations.rounds), *rows.shape))
        return weights, np.linalg.norm(weights @ equations.fresh, axis=2)
    agents = len(equations.agents)
    square = np.zeros((len(equations.rounds), agents, max(agents, equations.fresh.shape[2])))
    square[:, :, : equations.fresh.shape[2]] = equations.fresh  # as many singular values as agents
    axes, noise, _ = np.linalg.svd(square, full_matrices=False)
    return axes.swapaxes(1, 2), noise
