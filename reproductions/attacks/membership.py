"""Membership inference: whether a sample was trained on, from a model that somebody sees.

A model fits its own samples better than others. How much better depends on the sample too, so its loss is compared with
the loss under reference models that were trained on other data (difficulty calibration, Watson et al. 2022): a first
order of the likelihood-ratio test. The threshold is calibrated on samples of which the attacker knows, since a member
of the coalition has samples of its own in the training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from hocket.errors import BadInput
from hocket.learning.data.dataset import Dataset
from hocket.learning.models import Model

RESAMPLED = 1000
Scores = Float[np.ndarray, " samples"]


def losses(model: Model, x: Float[np.ndarray, " dim"], data: Dataset) -> Scores:
    """The loss of a model on every sample."""
    return np.asarray(model.loss(model.scores(x, data.inputs), jnp.asarray(data.labels)), np.float64)


def membership_scores(
    model: Model,
    x: Float[np.ndarray, " dim"],
    data: Dataset,
    *,
    references: Sequence[Float[np.ndarray, " dim"]] = (),
) -> Scores:
    """How much a model looks as if it was trained on each sample; higher is more.
    Without references it is minus the loss, with them the loss that they have in addition.
    """
    expected = np.mean([losses(model, one, data) for one in references], axis=0) if len(references) else 0.0
    return expected - losses(model, x, data)


@dataclass(frozen=True, eq=False)
class Separation:
    """Scores of samples that were trained on and of others."""

    members: Scores
    others: Scores

    def __post_init__(self) -> None:
        for name in ("members", "others"):
            if not len(getattr(self, name)):
                raise BadInput(f"there are no scores of {name}; give at least one of either kind")

    @property
    def auc(self) -> float:
        """The probability that a member scores above another sample: 0.5 for guessing, 1 for certainty."""
        m, n = len(self.members), len(self.others)
        ranks = rankdata(np.concatenate([self.members, self.others]))[:m]
        return float((ranks.sum() - m * (m + 1) / 2) / (m * n))

    @property
    def threshold(self) -> float:
        """Where to cut for the largest advantage on these samples."""
        cuts = np.concatenate([self.members, self.others])
        return float(cuts[np.argmax([self.advantage(cut) for cut in cuts])])

    def advantage(self, threshold: float) -> float:
        """The rate of hits minus the rate of false alarms at a threshold: 0 for guessing, 1 for certainty."""
        return float(np.mean(self.members >= threshold) - np.mean(self.others >= threshold))


@dataclass(frozen=True)
class Rate:
    """A number over several runs."""

    mean: float
    spread: float
    """Standard deviation over runs."""
    low: float
    """Bounds of a 95 % bootstrap interval of the mean, over runs and over samples within them."""
    high: float

    @staticmethod
    def of(each: Float[np.ndarray, " runs"], drawn: Any) -> Rate:
        """Of a number per run, with the interval that holds 95 % of what was drawn."""
        low, high = np.quantile(drawn, [0.025, 0.975])
        spread = float(each.std(ddof=1)) if len(each) > 1 else 0.0
        return Rate(float(each.mean()), spread, float(low), float(high))


def auc_rate(runs: Sequence[Sequence[Separation]], *, seed: int = 0) -> Rate:
    """The mean AUC over runs, in each of which one or several targets were attacked; with a bootstrap interval."""
    rng = np.random.default_rng(seed)
    each = np.array([np.mean([attack.auc for attack in run]) for run in runs])
    redrawn = np.array([np.mean([_resampled(attack, rng) for attack in run], axis=0) for run in runs])
    picked = rng.integers(len(runs), size=(RESAMPLED, len(runs)))
    means = redrawn[picked, rng.integers(RESAMPLED, size=picked.shape)].mean(axis=1)
    return Rate.of(each, means)


def _resampled(attack: Separation, rng: np.random.Generator) -> Float[np.ndarray, " resampled"]:
    """AUCs of samples drawn again, with replacement: every pair counts as often as both of it were drawn."""
    m, n = len(attack.members), len(attack.others)
    ahead = (1 + np.sign(attack.members[:, None] - attack.others)) / 2
    members, others = (rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLED) for size in (m, n))
    return np.sum((members @ ahead) * others, axis=1) / (m * n)
