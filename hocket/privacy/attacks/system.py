"""All that views say about the parameters of some objectives, as equations to be solved by least squares."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.privacy.attacks.equations import Equations
from hocket.privacy.attacks.least_squares import Rows
from hocket.privacy.families import Family
from hocket.privacy.topology.connectivity import honest_components
from hocket.problems.sets import FeasibleSet

SILENT = 1e-9
"""Part of the loudest combination's noise below which a combination of residuals counts as free of noise."""
EDGE = 1e-9
"""Part of the points' size up to which a step that ends beyond X counts as one that ends on its edge."""
Key = Hashable
"""Names a vector of parameters: an agent, or a record that was added to its data."""
Use = Literal["everything", "sums"]


class Heard(NamedTuple):
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

    heard: Sequence[Heard]
    families: Mapping[Key, Family]
    feasible: FeasibleSet | None = None
    """X, if projections are to be taken into account."""
    cut: Float[np.ndarray, "rounds agents dim"] | None = None
    """Where a step that X cut short ended; infinite where none was cut, NaN where that is open. None: as u has it."""
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
        every = [(one.run, source) for one in self.heard for source in one.equations.sources]
        first, dim = sum(family.size for family in self.families.values()), self.dim
        return {source: first + dim * row for row, source in enumerate(dict.fromkeys(every))}

    @property
    def dim(self) -> int:
        """Coordinates of a word."""
        return self.heard[0].equations.dim

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return sum(family.size for family in self.families.values()) + self.dim * len(self.draws)

    @property
    def linear(self) -> bool:
        """Whether one solution is all it takes."""
        return self.feasible is None and all(family.linear for family in self.families.values())

    @cached_property
    def combinations(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By view: which combinations of residuals are looked at, (rounds, rows, agents), and the noise in each."""
        return [_combinations(one.equations, self.use) for one in self.heard]

    def tiers(self, u: Float[np.ndarray, " unknowns"], *, floor: float = 0.0) -> Tiers:
        """The equations around u, for a change of it; `floor` blurs all of them alike, for a first look."""
        parts = [self._rows(number, u, floor) for number in range(len(self.heard))]
        a, b, sd, silent = (np.concatenate(part) for part in zip(*parts, strict=True))
        a, b = a / sd[:, None], b / sd
        kept = list(range(self.size - self.dim * len(self.draws), self.size))
        before = Rows(np.eye(self.size)[kept], -u[kept])
        return Tiers(Rows(a[silent], b[silent]), Rows(a[~silent], b[~silent]), before)

    def _rows(self, number: int, u: np.ndarray, floor: float) -> tuple[np.ndarray, ...]:
        equations = self.heard[number].equations
        weights, noise = self.combinations[number]
        model, slopes = self.modelled(number, u)
        a = np.einsum("kra,kadu->krdu", weights, slopes)
        b = np.einsum("kra,kad->krd", weights, equations.values - model)
        length = np.linalg.norm(weights, axis=2)
        silent = noise <= SILENT * np.maximum(noise.max(initial=0.0), np.finfo(np.float64).tiny)
        sd = np.where(silent, equations.rounding[:, None] * length, noise)
        sd = np.sqrt(sd**2 + (floor * length) ** 2)
        silent = silent & (floor == 0)
        flat = [np.repeat(part.reshape(-1), self.dim) for part in (sd, silent)]
        a, b = a.reshape(-1, self.size), b.reshape(-1)
        told = np.isfinite(b)  # nothing is made of steps that X may have cut short or not
        return a[told], b[told], *(part[told] for part in flat)

    def modelled(self, number: int, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residuals of one view as u has them, but for fresh noise, and their derivatives."""
        equations, objectives, _ = self.heard[number]
        rounds, agents, dim = equations.values.shape
        model, slopes = np.zeros((rounds, agents, dim)), np.zeros((rounds, agents, dim, self.size))
        for a, agent in enumerate(equations.agents):
            for key in objectives[agent]:
                place, family = self.places[key], self.families[key]
                model[:, a] += family.gradients(equations.at[:, a], u[place])
                slopes[:, a, :, place] += family.jacobians(equations.at[:, a], u[place])
        shares = self.kept_shares(number)
        offsets = shares @ u
        if self.feasible is None:
            return model + offsets, slopes + shares
        if equations.inside:
            return _projected(self.feasible, equations, model + offsets, slopes + shares)
        model, slopes = _projected(self.feasible, equations, model, slopes, self.cut)
        return model + offsets, slopes + shares

    def kept_shares(self, number: int) -> Float[np.ndarray, "rounds agents dim unknowns"]:
        """What draws that were made once do to the residuals of one view."""
        equations, _, run = self.heard[number]
        shares = np.zeros((*equations.values.shape, self.size))
        for q, source in enumerate(equations.sources):
            first = self.draws[run, source]
            for d in range(self.dim):
                shares[:, :, d, first + d] = equations.kept[:, :, q, d]
        return shares

    @property
    def typical(self) -> float:
        """The size of the residuals: what a change of gradients is compared with."""
        values = np.concatenate([one.equations.values.ravel() for one in self.heard])
        return float(np.sqrt(np.mean(values**2))) or 1.0

    @property
    def loudest(self) -> float:
        """The largest noise in any combination of residuals."""
        return max(float(noise.max(initial=0.0)) for _, noise in self.combinations)

    def scale(self, u: np.ndarray) -> Float[np.ndarray, " unknowns"]:
        """How much of each unknown changes gradients by as much as residuals are large."""
        slopes = np.concatenate(
            [self.modelled(i, u)[1].reshape(-1, self.size) for i in range(len(self.heard))]
        )
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


def _projected(
    feasible: FeasibleSet,
    equations: Equations,
    model: np.ndarray,
    slopes: np.ndarray,
    cut: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The step that was really taken, (v − P(v − αg)) / α, in place of the gradient g, and its derivatives."""
    alpha = equations.alpha[:, None, None]
    if cut is not None:
        taken = (equations.at - np.where(np.isfinite(cut), cut, np.nan)) / alpha
        free = np.isinf(cut)
        return np.where(free, model, taken), np.where(free[..., None], slopes, 0.0)
    aimed = equations.at - alpha * model
    with jax.enable_x64(True):
        flat = jnp.asarray(aimed.reshape(-1, equations.dim))
        reached = np.asarray(jax.vmap(feasible.project)(flat)).reshape(model.shape)
        turned = np.asarray(jax.vmap(jax.jacfwd(feasible.project))(flat))
    taken = (equations.at - reached) / alpha
    # On the edge itself a fit may rest against X: that is no step that was cut short, and shows no noise.
    inside = np.abs(aimed - reached).max(axis=2) <= EDGE * np.abs(aimed).max(initial=1.0)
    turned = np.where(
        inside[..., None, None], np.eye(equations.dim), turned.reshape(*model.shape, equations.dim)
    )
    return np.where(inside[..., None], model, taken), np.einsum("kade,kaeu->kadu", turned, slopes)
