"""Families of generalised linear models: how the mean follows from η, and how far an outcome is from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaln, xlogy

Vector = Float[np.ndarray, " rows"]
EDGE = 1e-15
"""How near to 0 or 1 a fitted probability may come."""


class Family(ABC):
    """One family with one link."""

    ratio: ClassVar[str] = ""
    """What exp(coefficient) is called, where it is anything."""
    free_dispersion: ClassVar[bool] = False
    """Whether the dispersion is estimated, not 1."""
    separable: ClassVar[bool] = False
    """Whether a column can drive fitted means to an edge that no coefficient reaches."""
    most_weight: ClassVar[float | None] = None
    """What a row's part in the information is at most, of its columns' products; None where nothing bounds it."""
    most_pull: ClassVar[float | None] = None
    """The same of its part in the score."""

    @abstractmethod
    def start(self, y: Vector, mean: float) -> Vector:
        """Means to begin from, near each row's own outcome."""

    @abstractmethod
    def eta(self, mu: Vector) -> Vector:
        """The link: what is linear."""

    @abstractmethod
    def mu(self, eta: Vector) -> Vector:
        """The mean."""

    @abstractmethod
    def slope(self, mu: Vector) -> Vector:
        """dμ/dη."""

    @abstractmethod
    def variance(self, mu: Vector) -> Vector:
        """The variance of an outcome, in units of the dispersion."""

    @property
    def bends(self) -> bool:
        """Whether the likelihood bends otherwise than it is expected to."""
        return False

    def bend(self, y: Vector, mu: Vector) -> Vector:
        """By what factor it does, in each row."""
        return np.ones_like(mu)

    @abstractmethod
    def deviance(self, y: Vector, mu: Vector) -> Vector:
        """Twice the log-likelihood that a row falls short of a perfect fit."""

    @abstractmethod
    def constants(self, y: Vector, weights: Vector) -> float:
        """What the log-likelihood needs to know of the outcomes, beside deviance, rows and weights."""

    def allowed(self, mu: Vector) -> Bool[np.ndarray, " rows"]:
        """Which means this family can have."""
        return np.isfinite(mu)

    @abstractmethod
    def log_likelihood(self, deviance: float, constants: float, rows: float, weight: float) -> float:
        """From totals."""


@dataclass(frozen=True)
class Binomial(Family):
    """Yes or no, or a share of `weights` trials."""

    ratio = "odds ratio"
    separable = True
    most_weight, most_pull = 0.25, 1.0

    def start(self, y: Vector, mean: float) -> Vector:
        return (y + 0.5) / 2

    def eta(self, mu: Vector) -> Vector:
        return np.log(mu) - np.log1p(-mu)

    def mu(self, eta: Vector) -> Vector:
        return np.clip(1 / (1 + np.exp(-np.clip(eta, -700, 700))), EDGE, 1 - EDGE)

    def slope(self, mu: Vector) -> Vector:
        return mu * (1 - mu)

    def variance(self, mu: Vector) -> Vector:
        return mu * (1 - mu)

    def deviance(self, y: Vector, mu: Vector) -> Vector:
        return 2 * (xlogy(y, y) - xlogy(y, mu) + xlogy(1 - y, 1 - y) - xlogy(1 - y, 1 - mu))

    def constants(self, y: Vector, weights: Vector) -> float:
        # In how many ways a share of trials comes about: one, of a yes or a no.
        ways = gammaln(weights + 1) - gammaln(weights * y + 1) - gammaln(weights * (1 - y) + 1)
        return float(np.sum(ways + weights * (xlogy(y, y) + xlogy(1 - y, 1 - y))))

    def log_likelihood(self, deviance: float, constants: float, rows: float, weight: float) -> float:
        return constants - deviance / 2


@dataclass(frozen=True)
class Poisson(Family):
    """Counts."""

    ratio = "rate ratio"
    separable = True

    def start(self, y: Vector, mean: float) -> Vector:
        return (y + mean) / 2

    def eta(self, mu: Vector) -> Vector:
        return np.log(mu)

    def mu(self, eta: Vector) -> Vector:
        return np.exp(np.clip(eta, -700, 700))

    def slope(self, mu: Vector) -> Vector:
        return mu

    def variance(self, mu: Vector) -> Vector:
        return mu

    def deviance(self, y: Vector, mu: Vector) -> Vector:
        return 2 * (xlogy(y, y) - xlogy(y, mu) - (y - mu))

    def constants(self, y: Vector, weights: Vector) -> float:
        return float(np.sum(weights * (xlogy(y, y) - y - gammaln(y + 1))))

    def log_likelihood(self, deviance: float, constants: float, rows: float, weight: float) -> float:
        return constants - deviance / 2


@dataclass(frozen=True)
class Gamma(Family):
    """Positive numbers whose deviation grows with their mean, such as costs or lengths of stay."""

    link: str = "log"
    free_dispersion = True

    @property
    def ratio(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Of means, under the logarithm."""
        return "ratio of means" if self.link == "log" else ""

    def start(self, y: Vector, mean: float) -> Vector:
        return (y + mean) / 2

    def eta(self, mu: Vector) -> Vector:
        return np.log(mu) if self.link == "log" else 1 / mu

    def mu(self, eta: Vector) -> Vector:
        return np.exp(np.clip(eta, -700, 700)) if self.link == "log" else 1 / np.where(eta == 0, np.nan, eta)

    def slope(self, mu: Vector) -> Vector:
        return mu if self.link == "log" else -(mu**2)

    def variance(self, mu: Vector) -> Vector:
        return mu**2

    @property
    def bends(self) -> bool:
        return self.link == "log"

    def bend(self, y: Vector, mu: Vector) -> Vector:
        return y / mu

    def deviance(self, y: Vector, mu: Vector) -> Vector:
        return 2 * (y / mu - 1 - np.log(y / mu))

    def constants(self, y: Vector, weights: Vector) -> float:
        return float(np.sum(weights * np.log(y)))

    def allowed(self, mu: Vector) -> Bool[np.ndarray, " rows"]:
        return np.isfinite(mu) & (mu > 0)

    def log_likelihood(self, deviance: float, constants: float, rows: float, weight: float) -> float:
        # With the dispersion at deviance / weight, as R has it.
        phi = deviance / weight
        kernel = -deviance / 2 - weight - constants
        return (
            kernel / phi + (1 / phi - 1) * constants - weight * (np.log(phi) / phi + float(gammaln(1 / phi)))
        )


def family_of(name: str, link: str) -> Family:
    """A family by its name in a study."""
    return {"binomial": Binomial(), "poisson": Poisson(), "gamma": Gamma(link)}[name]
