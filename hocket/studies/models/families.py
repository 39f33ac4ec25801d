"""Families of generalised linear models: how the mean follows from η, and how far an outcome is from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaln, xlogy

Vector = Float[np.ndarray, " rows"]
EDGE = 1e-15
"""How near to 0 or 1 a fitted probability may come."""


@dataclass(frozen=True)
class Link:
    """What of the mean is linear."""

    eta: Callable[[Vector], Vector]
    mu: Callable[[Vector], Vector]
    slope: Callable[[Vector], Vector]
    """dμ/dη at μ."""


LINKS = {
    "logit": Link(
        lambda mu: np.log(mu) - np.log1p(-mu),
        lambda eta: np.clip(1 / (1 + np.exp(-np.clip(eta, -700, 700))), EDGE, 1 - EDGE),
        lambda mu: mu * (1 - mu),
    ),
    "log": Link(np.log, lambda eta: np.exp(np.clip(eta, -700, 700)), lambda mu: mu),
    "inverse": Link(lambda mu: 1 / mu, lambda eta: 1 / np.where(eta == 0, np.nan, eta), lambda mu: -(mu**2)),
}


@dataclass(frozen=True)
class LikelihoodFamily:
    """One family with one link."""

    link: Link
    start: Callable[[Vector, float], Vector]
    """Means to begin from, near each row's own outcome; of outcomes and their joint mean."""
    variance: Callable[[Vector], Vector]
    """The variance of an outcome at μ, in units of the dispersion."""
    deviance: Callable[[Vector, Vector], Vector]
    """Twice the log-likelihood that a row falls short of a perfect fit, of y and μ."""
    constants: Callable[[Vector, Vector], Vector]
    """What the log-likelihood needs to know of outcomes and weights, beside deviance, rows and total weight."""
    ratio: str = ""
    """What exp(coefficient) is called, where it is anything."""
    bend: Callable[[Vector, Vector], Vector] | None = None
    """By what factor the likelihood bends otherwise than it is expected to, in each row, of y and μ."""
    free_dispersion: bool = False
    """Whether the dispersion is estimated, not 1."""
    positive: bool = False
    """Whether no other means are allowed; where the link does not see to it."""
    separable: bool = False
    """Whether a column can drive fitted means to an edge that no coefficient reaches."""
    most_weight: float | None = None
    """What a row's part in the information is at most, of its columns' products; None where nothing bounds it."""
    most_pull: float | None = None
    """The same of its part in the score."""

    def allowed(self, mu: Vector) -> Bool[np.ndarray, " rows"]:
        """Which means this family can have."""
        return np.isfinite(mu) & (mu > 0) if self.positive else np.isfinite(mu)

    def log_likelihood(self, deviance: float, constants: float, weight: float) -> float:
        """From totals."""
        if not self.free_dispersion:
            return constants - deviance / 2
        # Gamma, with the dispersion at deviance / weight, as R has it.
        phi = deviance / weight
        kernel = -deviance / 2 - weight - constants
        return (
            kernel / phi + (1 / phi - 1) * constants - weight * (np.log(phi) / phi + float(gammaln(1 / phi)))
        )


def _binomial_constants(y: Vector, weights: Vector) -> Vector:
    # In how many ways a share of trials comes about: one, of a yes or a no.
    ways = gammaln(weights + 1) - gammaln(weights * y + 1) - gammaln(weights * (1 - y) + 1)
    return ways + weights * (xlogy(y, y) + xlogy(1 - y, 1 - y))


def _gamma(link: str) -> LikelihoodFamily:
    """Positive numbers whose deviation grows with their mean, such as costs or lengths of stay."""
    return LikelihoodFamily(
        LINKS[link],
        start=lambda y, mean: (y + mean) / 2,
        variance=lambda mu: mu**2,
        deviance=lambda y, mu: 2 * (y / mu - 1 - np.log(y / mu)),
        constants=lambda y, weights: weights * np.log(y),
        ratio="ratio of means" if link == "log" else "",
        bend=(lambda y, mu: y / mu) if link == "log" else None,
        free_dispersion=True,
        positive=True,
    )


FAMILIES = {
    # Yes or no, or a share of `weights` trials.
    ("binomial", "logit"): LikelihoodFamily(
        LINKS["logit"],
        start=lambda y, mean: (y + 0.5) / 2,
        variance=lambda mu: mu * (1 - mu),
        deviance=lambda y, mu: 2 * (xlogy(y, y) - xlogy(y, mu) + xlogy(1 - y, 1 - y) - xlogy(1 - y, 1 - mu)),
        constants=_binomial_constants,
        ratio="odds ratio",
        separable=True,
        most_weight=0.25,
        most_pull=1.0,
    ),
    ("poisson", "log"): LikelihoodFamily(
        LINKS["log"],
        start=lambda y, mean: (y + mean) / 2,
        variance=lambda mu: mu,
        deviance=lambda y, mu: 2 * (xlogy(y, y) - xlogy(y, mu) - (y - mu)),
        constants=lambda y, weights: weights * (xlogy(y, y) - y - gammaln(y + 1)),
        ratio="rate ratio",
        separable=True,
    ),
    ("gamma", "log"): _gamma("log"),
    ("gamma", "inverse"): _gamma("inverse"),
}
"""By the names of family and link in a study."""
