"""Unequal amounts of data per agent, padded and weighted."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from hocket.errors import BadProblem
from hocket.problems.objective import Name, Reduction


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
