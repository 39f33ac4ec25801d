"""Least squares in two tiers: equations that only rounding blurs first, then those with noise in them.

An equation without noise weighs 10²⁸ times as much as one with noise. In one system the light ones would be lost to
rounding, so they are solved for in the null space of the heavy ones, which is where they have a say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

PINNED = 1e-3
"""Rounding, as a part of what would change the gradients by their own size, up to which a direction counts as known
exactly: of agents whose points differ by rounding alone it leaves all of it, else many digits less."""
NEVER = 1e-9
"""Part of the strongest direction below which noisy equations say nothing about another: rounding squared is less."""
ROUNDINGS = 1e3
"""Misfit, in units of expected rounding, up to which equations without noise count as solved."""
JUNK = 10.0
"""Units of rounding, per row or column, that a product of matrices may be off by."""
OPEN = 1e-6
"""Share of an undetermined direction above which a number counts as undetermined itself."""

SETTLED = 1e-2
"""Part of what each equation misses by that another round must change to be worth it."""
ALONE = 1e-6
"""How far from one the weight of a row in its own fit must be for others to bear it out."""


class Rows(NamedTuple):
    """Equations a · u ≈ b, each divided by its deviation."""

    a: Float[np.ndarray, "rows unknowns"]
    b: Float[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class Solution:
    """The best u, and what is left open of it."""

    u: Float[np.ndarray, " unknowns"]
    factor: Float[np.ndarray, "unknowns known"]
    """The covariance of u is factor factorᵀ."""
    null: Float[np.ndarray, "unknowns open"]
    """Directions of which not even what is known beforehand says anything."""
    free: Float[np.ndarray, "unknowns open"]
    """Directions of which no equation says anything."""
    scale: Float[np.ndarray, " unknowns"]
    """What change of each unknown matters."""

    def sd(self, of: Float[np.ndarray, "*any unknowns"]) -> Float[np.ndarray, "*any"]:
        """The deviation of some linear functions of u; infinite where nothing is known of one."""
        size = np.linalg.norm(of * self.scale, axis=-1)
        return np.where(
            np.linalg.norm(of @ self.null, axis=-1) > OPEN * size,
            np.inf,
            np.linalg.norm(of @ self.factor, axis=-1),
        )

    def determined(self, of: Float[np.ndarray, "*any unknowns"]) -> np.ndarray:
        """Whether the equations alone, by rank, determine some linear functions of u."""
        size = np.linalg.norm(of * self.scale, axis=-1)
        return np.linalg.norm(of @ self.free, axis=-1) <= OPEN * size

    @property
    def rank(self) -> int:
        """How many directions the equations determine."""
        return len(self.u) - self.free.shape[1]


def solve(exact: Rows, noisy: Rows, before: Rows, scale: Float[np.ndarray, " unknowns"]) -> Solution:
    """The least squares solution; `before` are rows of what is known beforehand, which do not count for the rank."""
    known, null = _first_tier(exact.a * scale)
    start = known.solve(exact.b)
    weak = _weakly(Rows(exact.a * scale @ null, exact.b - exact.a * scale @ start), known.sizes)
    light = stacked(weak, Rows(noisy.a * scale @ null, noisy.b - noisy.a * scale @ start))
    rows = stacked(light, Rows(before.a * scale @ null, before.b - before.a * scale @ start))
    inner, open_ = _split(rows.a, NEVER)
    y = inner.solve(rows.b)
    _, free = _split(light.a, NEVER)
    factor = np.hstack([known.axes / known.sizes, null @ (inner.axes / inner.sizes)])
    column = scale[:, None]
    return Solution(
        u=scale * (start + null @ y),
        factor=column * factor,
        null=column * (null @ open_),
        free=column * (null @ free),
        scale=scale,
    )


class _Known(NamedTuple):
    """Directions that some rows determine, by singular values."""

    left: np.ndarray
    sizes: np.ndarray
    axes: np.ndarray

    def solve(self, b: np.ndarray) -> np.ndarray:
        return self.axes @ ((self.left.T @ b) / self.sizes)


def _weakly(rows: Rows, strong: np.ndarray) -> Rows:
    """What heavy rows say weakly of the rest, to be kept beside the light ones; not what rounding makes of them."""
    junk = JUNK * np.finfo(np.float64).eps * max(rows.a.shape) * float(strong.max(initial=0.0))
    known, _ = _cut(rows.a, max(junk, np.finfo(np.float64).tiny))
    return Rows(known.sizes[:, None] * known.axes.T, known.left.T @ rows.b)


def stacked(*parts: Rows) -> Rows:
    """All rows in one."""
    return Rows(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _first_tier(a: np.ndarray) -> tuple[_Known, np.ndarray]:
    return _cut(a, 1 / PINNED)


def _split(a: np.ndarray, part: float) -> tuple[_Known, np.ndarray]:
    largest = float(np.linalg.norm(a, 2)) if a.size else 0.0
    return _cut(a, max(part * largest, np.finfo(np.float64).tiny))


def _cut(a: np.ndarray, least: float) -> tuple[_Known, np.ndarray]:
    """Directions with singular values of at least this, and an orthonormal basis of the others."""
    if len(a) > a.shape[1]:
        q, r = np.linalg.qr(a)
        left, sizes, axes = np.linalg.svd(r)
        left = q @ left
    else:
        left, sizes, axes = np.linalg.svd(a)
    rank = int(np.count_nonzero(sizes >= least))
    return _Known(left[:, :rank], sizes[:rank], axes[:rank].T), axes[rank:].T


def agreeing(exact: Rows) -> np.ndarray:
    """Rows without noise that agree with each other: all, unless some steps were cut short."""
    everything = np.ones(len(exact.b), dtype=bool)
    if not len(exact.b):
        return everything
    size = np.linalg.norm(exact.a, axis=0)
    size = np.where(size > 0, size, 1.0)
    found = np.linalg.lstsq(exact.a / size, exact.b, rcond=1e-14)[0]
    if np.sqrt(np.mean((exact.b - exact.a / size @ found) ** 2)) <= ROUNDINGS:
        return everything
    agree = _consensus(exact)
    rank = np.linalg.matrix_rank(exact.a[agree] / size) if agree.any() else 0
    # As many rows as unknowns always agree: it takes more of them to mean anything.
    return agree if agree.sum() > rank + 1 and 2 * agree.sum() > len(agree) else everything


def checked(exact: Rows, scale: Float[np.ndarray, " unknowns"]) -> np.ndarray:
    """Rows without noise that others bear out: a row that alone tells of some direction holds whatever it says.

    Where X may have cut steps short, such a row agrees with another explanation of its round just as well.
    """
    known, _ = _first_tier(exact.a * scale)
    return np.asarray((known.left**2).sum(axis=1) < 1 - ALONE)


def _consensus(rows: Rows, *, rounds: int = 60) -> np.ndarray:
    """Which equations agree with each other, where some may be plainly wrong: least absolute errors, by reweighting.

    A step that was moved back into X follows another equation, and shows by missing what the others agree on.
    """
    weight, miss, settled = np.ones(len(rows.b)), np.zeros(len(rows.b)), 0
    for _ in range(rounds):
        root = np.sqrt(weight)
        size = np.linalg.norm(rows.a * root[:, None], axis=0)
        size = np.where(size > 0, size, 1.0)
        found = np.linalg.lstsq(rows.a * root[:, None] / size, rows.b * root, rcond=1e-13)[0] / size
        before, miss = miss, np.abs(rows.b - rows.a @ found)
        weight = 1 / np.maximum(miss, 1.0)
        settled = settled + 1 if np.allclose(before, miss, rtol=SETTLED, atol=1.0) else 0
        if settled == 3:
            break
    return np.asarray(miss <= ROUNDINGS)
