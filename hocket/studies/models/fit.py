"""What a model comes to: coefficients with their errors, and how well it fits; the same at every member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri, stdtr, stdtrit


@dataclass(frozen=True)
class Coefficient:
    """One line of the table; without errors where a lasso or a ridge has bent it."""

    estimate: float
    se: float | None = None
    z: float | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class RegressionFit:
    """A fitted model."""

    family: str
    names: tuple[str, ...]
    beta: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"] | None
    rows: int
    measures: Mapping[str, float]
    """Deviance, AIC and the like, by name."""
    ratio: str = ""
    """What exp(coefficient) is called: odds ratio, hazard ratio."""
    freedom: float | None = None
    """Degrees of freedom of Student's t, where the dispersion was estimated; otherwise errors are normal."""
    confidence: float = 0.95
    remarks: tuple[str, ...] = field(default=())

    @property
    def coefficients(self) -> dict[str, Coefficient]:
        """The table."""
        if self.covariance is None:
            return {name: Coefficient(float(b)) for name, b in zip(self.names, self.beta, strict=True)}
        middle, freedom = (1 + self.confidence) / 2, self.freedom
        reach = float(ndtri(middle) if freedom is None else stdtrit(freedom, middle))
        table: dict[str, Coefficient] = {}
        for name, b, se in zip(self.names, self.beta, np.sqrt(np.diag(self.covariance)), strict=True):
            z = float(b / se)
            p = float(2 * (ndtr(-abs(z)) if freedom is None else stdtr(freedom, -abs(z))))
            table[name] = Coefficient(float(b), float(se), z, p, float(b - reach * se), float(b + reach * se))
        return table
