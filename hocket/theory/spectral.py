"""Our own finite-time bound: the paper's proof with the spectral norm of the weights in place of θβ^k.

With φ_1 = ‖δ_1‖_F and φ_{k+1} = λ φ_k + α_k √n (L + e), for any step and every agent,

    gap ≤ nL Σα_kφ_k/Σα_k
          + [η₁² + Σ{α_k² n (L+e)² + 2α_k((L+e)√n λφ_k + N√n·diam·(λφ_k + α_k√n e))}] / (2Σα_k).

The bound depends on the step through four sums only, so it costs nothing to ask it again with another noise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

from hocket.steps import Step

BLOCK = 1 << 18
"""Rounds summed at once: some megabytes, however many rounds there are."""

QUANTITIES = ("n", "lam", "L", "N", "noise", "diameter", "eta1_sq", "phi1")


class Sums(NamedTuple):
    """Sums over rounds 1 … T, as numbers or for every T of a block."""

    steps: Any
    """Σ α_k."""
    squares: Any
    """Σ α_k²."""
    start: Any
    """Σ α_k λ^{k−1}: what is left of the start's disagreement."""
    drift: Any
    """Σ α_k ψ_k with ψ_1 = 0, ψ_{k+1} = λψ_k + α_k: what a unit of drift in every step adds."""


def spectral_terms(sums: Sums, numbers: dict[str, float]) -> dict[str, Any]:
    """The bound term by term; they add up to it."""
    n, lam, L, N, e, diameter, eta1_sq, phi1 = (numbers[name] for name in QUANTITIES)
    push, root = L + e, math.sqrt(n)
    weighted = phi1 * sums.start + root * push * sums.drift  # Σ α_k φ_k
    return {
        "start": eta1_sq / (2 * sums.steps),
        "steps": n * push**2 * sums.squares / (2 * sums.steps),
        "agreement": n * L * weighted / sums.steps,
        "mixing": (push + N * diameter) * root * lam * weighted / sums.steps,
        "noise": n * N * diameter * e * sums.squares / sums.steps,
    }


def sums_after(step: Step, lam: float, rounds: int) -> Sums:
    """The sums over all rounds."""
    ((_, last),) = deque(sums_by_round(step, lam, rounds), maxlen=1)
    return Sums(*(float(column[-1]) for column in last))


def sums_by_round(step: Step, lam: float, rounds: int) -> Iterator[tuple[int, Sums]]:
    """The sums for every T = 1 … rounds, in blocks: the first T of a block, and its sums."""
    totals, left, drift = Sums(0.0, 0.0, 0.0, 0.0), 1.0, 0.0
    for first in range(1, rounds + 1, BLOCK):
        alpha = step.table(first, min(first + BLOCK - 1, rounds))
        powers = left * lam ** np.arange(len(alpha) + 1)
        # ψ_{k+1} = λψ_k + α_k, from the ψ that the block before left behind.
        after = np.asarray(lfilter([1.0], [1.0, -lam], alpha, zi=[lam * drift])[0])
        psi = np.concatenate([[drift], after[:-1]])
        columns = (alpha, alpha**2, alpha * powers[:-1], alpha * psi)
        block = Sums(*(total + np.cumsum(column) for total, column in zip(totals, columns, strict=True)))
        yield first, block
        totals = Sums(*(float(column[-1]) for column in block))
        left, drift = float(powers[-1]), float(after[-1])
