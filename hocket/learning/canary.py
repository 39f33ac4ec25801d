"""A canary: how large ε is at least, measured on the mechanism that DP-SGD really runs.

An account promises that ε is at most so much. This is the other side: one sample is the worst there can be, its
gradient as long as clipping allows; the mechanism is run many times with it and many times with its opposite in its
place, and a likelihood-ratio test tells which it was. An attacker that well informed errs rarely only where ε is large,
so its error rates bound ε from below (Kairouz, Oh and Viswanath 2015; Jagielski, Ullman and Oprea 2020). A bound above
the promise shows that the promise is broken; one below it proves nothing, least of all that nobody could do better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import beta

from hocket.errors import BadInput
from hocket.learning.baselines import Clipping, DpSgd
from hocket.learning.batches import Shard, subsets
from hocket.learning.minibatches import Minibatches
from hocket.learning.models import Model

PLACE = 0
"""Of the canary among the samples."""
CANDIDATES = 400
"""Thresholds that are tried on the first half of the trials."""
Scores = Float[np.ndarray, " trials"]


@dataclass(frozen=True)
class Canary:
    """What a canary showed of a promise of (ε, δ)."""

    stated: float
    """ε as it is promised."""
    failure: float
    """δ."""
    epsilon: float
    """A lower confidence bound on ε at this δ; zero if nothing was shown."""
    confidence: float
    """With which the bound holds."""
    trials: int
    """Runs with the canary, and as many with its opposite."""

    @property
    def broken(self) -> bool:
        """Whether the promise is refuted."""
        return self.epsilon > self.stated

    def __str__(self) -> str:
        verdict = "the promise is broken" if self.broken else "nothing speaks against the promise"
        return (
            f"ε is at least {self.epsilon:.2f} at δ = {self.failure:g} ({self.confidence:.0%} confidence, "
            f"{self.trials:,} runs each), stated {self.stated:g}: {verdict}"
        )


def canary_bound(
    private: DpSgd,
    *,
    samples: int = 16,
    batch: int = 1,
    steps: int = 4,
    trials: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    subsets_known: bool = False,
    noise: float = 1.0,
) -> Canary:
    """A lower confidence bound on the ε of DP-SGD, from many short runs on one agent with so many samples.
    Use it to see whether a stated ε is a lie; it can refute a promise and never prove one.

    The attacker sees every noisy gradient, knows all samples but one, and has two guesses for that. The best threshold
    is chosen on one half of the runs and judged on the other, by Clopper and Pearson's intervals. With
    `subsets_known` it also knows which samples each step drew, as it would if they followed from a public seed; `noise`
    multiplies what the account asks for. Both are there to break the promise, and the bound then shows it.

    Of n trials at most about ln(n/8) can be shown, so a large ε is never reached: test small ones.
    """
    if not 1 <= batch <= samples or steps < 1:
        raise BadInput(
            f"samples = {samples}, batch = {batch}, steps = {steps}; draw at least one and at most all"
        )
    if trials < 100 or not 0 < confidence < 1:
        raise BadInput(
            f"trials = {trials}, confidence = {confidence}; run at least 100, between 0 and 1 sure of it"
        )
    sigma = private.sigma(samples=samples, batch=batch, steps=steps)
    runs = [
        _released(private.clip, noise * sigma, sign, samples, batch, steps, keys)
        for sign, keys in zip((1.0, -1.0), _keys(seed, trials), strict=True)
    ]
    chance = None if subsets_known else batch / samples
    with_it, without = (
        _likelihood_ratios(seen, drawn, private.clip, noise * sigma, chance) for seen, drawn in runs
    )
    found = epsilon_bound(with_it, without, failure=private.failure, confidence=confidence)
    return Canary(private.epsilon, private.failure, found, confidence, trials)


def epsilon_bound(with_it: Scores, without: Scores, *, failure: float, confidence: float = 0.95) -> float:
    """A lower confidence bound on ε from scores of independent runs on two adjacent data sets.

    Larger scores should mean the first. In a mechanism of (ε, δ) the rates of hits and of false alarms of every test
    obey hits ≤ e^ε · false alarms + δ, and so do those of the test that says the opposite.
    """
    half = len(with_it) // 2
    candidates = np.quantile(np.concatenate([with_it[:half], without[:half]]), np.linspace(0, 1, CANDIDATES))
    # The test and its opposite, of which one half of the runs picks the better; a level for each of two rates.
    level = (1 - confidence) / 2
    sides = [
        (with_it, without, candidates),
        (-np.asarray(without), -np.asarray(with_it), -candidates),
    ]
    tried = [
        (_at(hits[:half], alarms[:half], one, failure, level), side, one)
        for side, (hits, alarms, marks) in enumerate(sides)
        for one in marks
    ]
    _, side, threshold = max(tried)
    hits, alarms, _ = sides[side]
    return max(0.0, _at(hits[half:], alarms[half:], threshold, failure, level))


def _at(hits: Scores, alarms: Scores, threshold: float, failure: float, level: float) -> float:
    """What one threshold shows: the smallest hit rate and the largest rate of false alarms that are believable."""
    hit, alarm = np.count_nonzero(hits > threshold), np.count_nonzero(alarms > threshold)
    low = float(beta.ppf(level, hit, len(hits) - hit + 1)) if hit else 0.0
    high = float(beta.ppf(1 - level, alarm + 1, len(alarms) - alarm)) if alarm < len(alarms) else 1.0
    return math.log((low - failure) / high) if low > failure else -math.inf


def _keys(seed: int, trials: int) -> Any:
    """Keys for every run, of both kinds: pairs of words, as the mechanism takes them."""
    words = np.random.default_rng(seed).integers(2**32, size=(2, trials, 2), dtype=np.uint32)
    return [jnp.asarray(half) for half in words]


def _released(
    clip: float, sigma: float, sign: float, samples: int, batch: int, steps: int, keys: Any
) -> tuple[Float[np.ndarray, "trials steps"], Bool[np.ndarray, "trials steps"]]:
    """The sums of clipped gradients that every run releases, noise and all, and whether the canary was drawn."""
    inputs = np.zeros((samples, 1), np.float32)
    inputs[PLACE] = 2 * sign * clip  # twice as long as clipping leaves it
    shard = Shard(inputs, np.zeros(samples, np.int32), np.int32(samples), np.int32(0))
    model = Model(lambda p, x: x * p, jnp.zeros(1), name="canary", loss=lambda outputs, _: outputs[:, 0])
    return _played(jax.tree.map(jnp.asarray, shard), model, Clipping(clip, sigma), steps, batch, keys)


def _played(
    shard: Shard, model: Model, clipping: Clipping, steps: int, batch: int, keys: Any
) -> tuple[np.ndarray, np.ndarray]:
    @eqx.filter_jit
    def all_runs(keys: Any) -> tuple[Any, Any]:
        def one(key: Any) -> tuple[Any, Any]:
            objective = Minibatches(model, key, steps, batch, 0.0, clipping)
            means = objective.gradients(jnp.zeros(1), shard, 1)[:, 0]
            drawn = subsets((key[0], key[1]), shard, 0, steps, batch)
            return batch * means, jnp.any(drawn == PLACE, axis=1)

        return jax.lax.map(one, keys, batch_size=min(1000, len(keys)))

    seen, drawn = all_runs(keys)
    return np.asarray(seen, np.float64), np.asarray(drawn)


def _likelihood_ratios(
    seen: Float[np.ndarray, "trials steps"],
    drawn: Bool[np.ndarray, "trials steps"],
    clip: float,
    sigma: float,
    chance: float | None,
) -> Scores:
    """The logarithm of how much likelier each run is with the canary; `chance` that it is drawn, None if known."""
    if sigma == 0:
        return seen.sum(axis=1)
    if chance is None:
        return (2 * clip / sigma**2) * np.where(drawn, seen, 0.0).sum(axis=1)

    def log_density(mean: float) -> np.ndarray:
        aside = np.log1p(-chance) - seen**2 / (2 * sigma**2) if chance < 1 else -np.inf
        return np.logaddexp(aside, np.log(chance) - (seen - mean) ** 2 / (2 * sigma**2))

    return (log_density(clip) - log_density(-clip)).sum(axis=1)
