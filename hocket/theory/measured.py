"""What a kept run really did, in the words of the lemmas: δ_k, η²_k, ξ²_k, f(x̄_k), averages and noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput, NotRecorded
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.run import Run
from hocket.steps import Step

Series = Float[np.ndarray, " rounds"]
States = Float[np.ndarray, "rounds agents dim"]


@dataclass(frozen=True, eq=False)
class Measured:
    """A run of K rounds as the lemmas see it. Row k − 1 is round k."""

    problem: Problem
    network: Network
    step: Step
    path: Float[np.ndarray, "states agents dim"]
    """x_1 … x_{K+1}."""

    @property
    def rounds(self) -> int:
        return len(self.path) - 1

    @cached_property
    def alpha(self) -> Series:
        return self.step.table(1, self.rounds)

    @cached_property
    def mean(self) -> Float[np.ndarray, "states dim"]:
        """x̄_1 … x̄_{K+1}."""
        return self.path.mean(axis=1)

    @cached_property
    def spread(self) -> Float[np.ndarray, " states"]:
        """max_j ‖δ_k^j‖."""
        return np.linalg.norm(self.path - self.mean[:, None], axis=2).max(axis=1)

    @property
    def size(self) -> float:
        """The largest ‖x‖² summed over agents: what rounding in η² is relative to."""
        return float((self.path**2).sum(axis=(1, 2)).max() + (self.optimum**2).sum() * self.network.n)

    @cached_property
    def optimum(self) -> Float[np.ndarray, " dim"]:
        """x*, the y of Lemma 2."""
        best = self.problem.best
        if best is None or best.x is None:
            raise BadInput("the optimum x* is not known; declare optimum= on the problem")
        return np.asarray(best.x, dtype=np.float64)

    @cached_property
    def distance(self) -> Float[np.ndarray, " states"]:
        """η²_k = Σ_j ‖x_k^j − x*‖²."""
        return ((self.path - self.optimum) ** 2).sum(axis=(1, 2))

    @property
    def mixed_distance(self) -> Series:
        """ξ²_k = Σ_j ‖v̂_k^j − x*‖², after mixing without noise."""
        return ((mixed(self.network, self.path[:-1]) - self.optimum) ** 2).sum(axis=(1, 2))

    @property
    def value_at_mean(self) -> Series:
        """f(x̄_k)."""
        return totals(self.problem, self.mean[:-1])

    @cached_property
    def value_of_average(self) -> Series:
        """max_j f(x̂_T^j) of the time averages over the first T rounds."""
        weights = self.alpha[:, None, None]
        averages = np.cumsum(weights * self.path[:-1], axis=0) / np.cumsum(weights, axis=0)
        values = totals(self.problem, averages.reshape(-1, self.problem.dim))
        return values.reshape(self.rounds, -1).max(axis=1)


def measure(run: Run) -> Measured:
    """Open a kept run."""
    if run.path is None:
        raise NotRecorded("this run kept no states; run it again with keep='path' or keep='transcript'")
    if run.problem is None or run.step is None:
        raise NotRecorded("a run loaded from disk has no objectives; monitor it where it was run")
    return Measured(run.problem, run.network, run.step, np.asarray(run.path, dtype=np.float64))


def mixed(network: Network, rows: States) -> States:
    """B_k applied to the rows of round k, k = 1, 2, …"""
    out = np.empty_like(rows)
    for phase in range(network.period):
        out[phase :: network.period] = network.B_at(phase + 1) @ rows[phase :: network.period]
    return out


def mixed_noise(run: Run, alpha: Series) -> Series:
    """max_j ‖e_k^j‖ of every round: what noise added to an agent's mix, in units of a gradient."""
    if run.transcript is None or run.path is None:
        raise NotRecorded("this run kept no messages; run it again with keep='transcript'")
    words, states = np.asarray(run.transcript.words[0]), np.asarray(run.path)[:-1]
    if words.ndim == 3:
        added = mixed(run.network, words - states)
    else:
        added = np.zeros_like(states)
        weight = [run.network.B_at(phase + 1) for phase in range(run.network.period)]
        phases = np.arange(len(states)) % run.network.period
        for j in range(run.network.n):
            for slot, i in enumerate(run.network.neighbours(j)):
                share = np.array([B[i, j] for B in weight])[phases]
                added[:, i] += share[:, None] * (words[:, j, slot] - states[:, j])
    return np.linalg.norm(added, axis=2).max(axis=1) / alpha


def totals(problem: Problem, points: Float[np.ndarray, "points dim"]) -> Float[np.ndarray, " points"]:
    """f = Σ_j f_j at many points."""
    with jax.enable_x64(True):
        pooled = jax.tree.map(jnp.asarray, problem.pooled().astype(np.float64))
        return problem.n * np.asarray(_means(pooled, jnp.asarray(points)))


@eqx.filter_jit
def _means(pooled: Problem, points: Any) -> Any:
    return jax.lax.map(pooled.total, points, batch_size=1024)
