"""Samples fitted to totals: what sums at many points tell of few samples, once the form of the model is public.

Theorem T says that a coalition knows the sum over the honest and nothing else. But a sum of functions can tell what it
is made of: where agents hold few samples, gradients of their joint objective at several points are equations about all
of them. Whose a sample is they do not tell: two agents with the same label may be exchanged, and no sum changes.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from hocket.learning.shards import Shards
from hocket.privacy.attacks import total_attack
from hocket.runs.run import Run
from reproductions.attacks.knowledge import features
from reproductions.attacks.sample_fits import sample_forms

STARTS = 6
"""Guesses from which a fit begins; the best one counts."""
Samples = dict[int, Float[np.ndarray, " numbers"]]


def fit_sums(run: Run, coalition: set[int], *, seed: int = 0) -> Samples:
    """One sample for each honest agent, such that all gradients of their sum are as they were seen."""
    attack, forms = total_attack(run.view(coalition)), sample_forms(run)
    assert attack.at is not None
    assert attack.estimate is not None
    at, seen = attack.at, attack.estimate
    ends = np.cumsum([forms[j].size for j in attack.target])[:-1]

    def off(theta: np.ndarray) -> np.ndarray:
        parts = zip(attack.target, np.split(theta, ends), strict=True)
        return (sum(forms[j].gradients(at, one) for j, one in parts) - seen).ravel()

    def slopes(theta: np.ndarray) -> np.ndarray:
        parts = zip(attack.target, np.split(theta, ends), strict=True)
        return np.concatenate([forms[j].jacobians(at, one) for j, one in parts], axis=2).reshape(
            seen.size, -1
        )

    rng = np.random.default_rng(seed)
    guesses = [np.concatenate([forms[j].guess(rng) for j in attack.target]) for _ in range(STARTS)]
    descend: Any = least_squares  # whose types know slopes by name only
    best = min((descend(off, one, slopes) for one in guesses), key=lambda fit: fit.cost)
    return dict(zip(attack.target, np.split(best.x, ends), strict=True))


def error_of_samples(found: Samples, shards: Shards) -> float:
    """How far samples are from the true ones, as a part of their size, no matter who holds them: by the best
    assignment."""
    truth = np.array([features(shards.parts[j])[0] for j in found])
    off = np.linalg.norm(np.array([*found.values()])[:, None] - truth, axis=2) / np.linalg.norm(truth, axis=1)
    honest = range(len(truth))
    return float(min(np.mean(off[list(order), honest]) for order in permutations(honest)))
