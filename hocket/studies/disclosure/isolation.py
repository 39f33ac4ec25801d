"""Whether sums over sets of rows add up to a sum over a few: sets that were analysed before, and those of now.

Rows that are in the same sets are an atom: no sum tells them apart. A combination of sums is one of atoms, and isolates
a few rows if it is zero on all atoms but such as have few rows together. Which combinations there are is a question of
linear algebra, whatever number of sets takes part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import null_space

MOST_TRIED = 20_000
"""Combinations that are looked at; where there would be more, the answer is that few rows may be isolated."""
ZERO = 1e-9


@dataclass(frozen=True)
class Isolated:
    """A combination of sums that is about a few rows."""

    rows: int
    sets: tuple[int, ...]
    """Which sets take part, by place; empty where too many combinations would have to be looked at."""


def isolated(
    sets: Bool[np.ndarray, "sets rows"], new: Sequence[int], fewest: int, *, alone: bool = True
) -> Isolated | None:
    """A combination in which a new set takes part, and that is about fewer rows than `fewest`, but about some.

    Without `alone`, combinations of more than two new sets by themselves are left to anybody who sees all members'
    rows.

    >>> isolated(np.array([[1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool), [1], 2)
    Isolated(rows=1, sets=(0, 1))
    """
    pair = _pair(sets, new, fewest)
    if pair is not None or not len(new):
        return pair
    atoms, sizes = _atoms(sets)
    few = sizes < fewest
    if not few.any():
        return None
    # Combinations of sets that are zero on every atom of many rows; then what they are on the others.
    quiet = null_space(atoms[:, ~few].T) if (~few).any() else np.eye(len(atoms))
    space = _basis(quiet.T @ atoms[:, few])
    if comb(space.shape[1], max(len(space) - 1, 0)) > MOST_TRIED:
        return Isolated(1, ())
    earlier = np.delete(np.arange(len(sets)), list(new))
    for rows, vector in sorted(_small(space, sizes[few], fewest), key=lambda one: one[0]):
        whole = np.zeros(len(sizes))
        whole[few] = vector
        known = _solves(atoms[earlier], whole)  # before: then nothing is added
        if not known and (alone or not _solves(atoms[list(new)], whole)):
            weights = np.linalg.lstsq(atoms.T, whole, rcond=None)[0]
            return Isolated(rows, tuple(np.flatnonzero(np.abs(weights) > ZERO).tolist()))
    return None


def _atoms(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each way in which a row is in some of the sets, and how many rows are so; but for rows that are in none."""
    codes = np.zeros(sets.shape[1], dtype=np.int64)
    for one in sets:  # rows that were told apart stay so: a number for each way so far
        codes = np.unique(2 * codes + one, return_inverse=True)[1]
    _, first, sizes = np.unique(codes, return_index=True, return_counts=True)
    atoms = sets[:, first]
    there = atoms.any(axis=0)
    return atoms[:, there].astype(np.float64), sizes[there]


def _pair(sets: np.ndarray, new: Sequence[int], fewest: int) -> Isolated | None:
    for place in new:
        differ = (sets ^ sets[place]).sum(axis=1)
        for other in np.flatnonzero((differ > 0) & (differ < fewest)).tolist():
            return Isolated(int(differ[other]), (other, place))
    return None


def _basis(vectors: Float[np.ndarray, "some atoms"]) -> Float[np.ndarray, "rank atoms"]:
    if not vectors.size:
        return vectors[:0]
    _, values, right = np.linalg.svd(vectors, full_matrices=False)
    return right[values > ZERO * max(values[0], 1.0)]


def _small(space: np.ndarray, sizes: np.ndarray, fewest: int) -> Iterator[tuple[int, np.ndarray]]:
    """Vectors of a space whose support has few rows: the smallest are zero on one coordinate fewer than dimensions."""
    dimensions, count = space.shape
    for zeros in combinations(range(count), dimensions - 1) if dimensions else ():
        weights = null_space(space[:, list(zeros)].T) if zeros else np.ones((1, 1))
        if weights.shape[1] == 1:
            vector = weights[:, 0] @ space
            vector = np.where(np.abs(vector) > ZERO, vector, 0.0)
            rows = int(sizes[vector != 0].sum())
            if 0 < rows < fewest:
                yield rows, vector


def _solves(sets: np.ndarray, vector: np.ndarray) -> bool:
    if not len(sets):
        return False
    weights = np.linalg.lstsq(sets.T, vector, rcond=None)[0]
    return bool(np.abs(sets.T @ weights - vector).max() <= ZERO)
