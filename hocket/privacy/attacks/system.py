"""All that views say about the parameters of some objectives, as equations to be solved by least squares."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hocket.privacy.attacks.equations import Equations
from hocket.privacy.attacks.least_squares import Rows
from hocket.privacy.attacks.prediction import Combined, Prediction, Term, Weighed, alike, rows_at, slopes_at
from hocket.privacy.families import Family
from hocket.privacy.topology.connectivity import honest_components
from hocket.problems.sets import FeasibleSet

SILENT = 1e-9
"""Part of the loudest combination's noise below which a combination of residuals counts as free of noise."""
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
        return self.feasible is None and self.straight

    @property
    def straight(self) -> bool:
        """Whether one solution is all it takes once it is known which steps X cut short."""
        return all(family.linear for family in self.families.values())

    @cached_property
    def combinations(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By view: which combinations of residuals are looked at, (rounds, rows, agents), and the noise in each."""
        return [_combinations(one.equations, self.use) for one in self.heard]

    @cached_property
    def predictions(self) -> tuple[Prediction, ...]:
        """By view: its residuals as a function of the unknowns."""
        return tuple(self._prediction(number) for number in range(len(self.heard)))

    def _prediction(self, number: int) -> Prediction:
        equations, objectives, _ = self.heard[number]
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
        every = zip(self.predictions, self.heard, self.combinations, strict=True)
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
        for (weights, noise), one in zip(self.combinations, self.heard, strict=True):
            length = np.linalg.norm(weights, axis=2)
            silent = noise <= SILENT * np.maximum(noise.max(initial=0.0), np.finfo(np.float64).tiny)
            sd = np.where(silent, one.equations.rounding[:, None] * length, noise)
            found.append(tuple(np.repeat(part.reshape(-1), self.dim) for part in (sd, silent)))
        return found

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
