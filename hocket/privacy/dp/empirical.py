"""What is found of μ and ε when two worlds are really told apart: lower bounds with confidence, to hold certificates
against.

A test gives every run a score, larger where the second world is the more likely one. How often it errs among so many
runs bounds, with confidence, how well any test can do, from below. By the definition of differential privacy alone that
is a bound on ε; for a mechanism known to be Gaussian it is one on μ, and a far better one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from hocket.errors import BadInput

Scores = Float[np.ndarray, " runs"]


@dataclass(frozen=True)
class Told:
    """How well two worlds were told apart."""

    first: Scores
    """Scores of runs in the first world."""
    second: Scores
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            scores = np.asarray(getattr(self, name))
            if scores.ndim != 1 or len(scores) < 4 or not np.isfinite(scores).all():
                raise BadInput(
                    f"the scores of the {name} world must be four finite numbers or more, in a row"
                )
        if not 0.5 < self.confidence < 1:
            raise BadInput(f"confidence = {self.confidence}; choose it between 0.5 and 1")

    @property
    def mu(self) -> float:
        """μ of normal scores: the distance of their means, in deviations."""
        return float((self.second.mean() - self.first.mean()) / self._spread)

    @property
    def interval(self) -> tuple[float, float]:
        """A confidence interval for μ of normal scores, for many runs: both means and their deviation are estimated."""
        n, m = len(self.first), len(self.second)
        sd = np.sqrt(1 / n + 1 / m + self.mu**2 / (2 * (n + m)))
        reach = float(stats.norm.ppf((1 + self.confidence) / 2) * sd)
        return self.mu - reach, self.mu + reach

    def mu_bound(self, threshold: float = 0.0) -> float:
        """μ is at least this, if the mechanism is Gaussian: by how often scores are on the wrong side of a threshold.

        Clopper and Pearson's bounds on both errors, each at half the confidence left. For likelihood ratios the
        threshold zero is as good as any; for other scores choose it beforehand.
        """
        wrong, missed = self._errors(threshold, self.first, self.second)
        return max(0.0, float(-stats.norm.ppf(wrong) - stats.norm.ppf(missed)))

    def epsilon_bound(self, delta: float) -> float:
        """ε at δ is at least this, whatever the mechanism, by the definition of differential privacy.

        The threshold is chosen on one half of the runs, and errors are counted on the other; both ways round, of which
        the better is taken, each at half of what may fail.
        """
        if not 0 <= delta < 1:
            raise BadInput(f"delta = {delta}; it is a probability: choose it below 1")
        halves = [(scores[::2], scores[1::2]) for scores in (self.first, self.second)]
        careful, found = replace(self, confidence=(1 + self.confidence) / 2), 0.0
        for (first, count_first), (second, count_second) in (halves, [pair[::-1] for pair in halves]):
            thresholds = np.quantile(np.concatenate([first, second]), np.linspace(0.005, 0.995, 199))
            chosen = [careful._epsilon(one, first, second, delta) for one in thresholds]
            best = thresholds[int(np.argmax(chosen))]
            found = max(found, careful._epsilon(best, count_first, count_second, delta))
        return found

    def _epsilon(self, threshold: float, first: Scores, second: Scores, delta: float) -> float:
        """From false alarms α and misses β: e^ε ≥ (1 − δ − β)/α, and the same with the worlds exchanged."""
        wrong, missed = self._errors(threshold, first, second)
        ratios = ((1 - delta - missed) / wrong, (1 - delta - wrong) / missed)
        return float(np.log(max(*ratios, np.finfo(float).tiny)))

    def _errors(self, threshold: float, first: Scores, second: Scores) -> tuple[float, float]:
        """Upper bounds on how often the first world is taken for the second, and the other way."""
        tail = (1 - self.confidence) / 2
        counts = ((first > threshold).sum(), len(first)), ((second <= threshold).sum(), len(second))
        wrong, missed = (1.0 if k == n else stats.beta.ppf(1 - tail, k + 1, n - k) for k, n in counts)
        return float(wrong), float(missed)

    @property
    def _spread(self) -> float:
        """The deviation of scores within a world."""
        n, m = len(self.first), len(self.second)
        squares: Any = (n - 1) * self.first.var(ddof=1) + (m - 1) * self.second.var(ddof=1)
        return float(np.sqrt(squares / (n + m - 2)))

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"μ = {self.mu:.4f}, between {low:.4f} and {high:.4f} with confidence {self.confidence:g}, from "
            f"{len(self.first):,} and {len(self.second):,} runs"
        )
