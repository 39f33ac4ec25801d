"""Least squares with a ridge and a lasso, solved from totals alone, at every member alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.studies.data.scaling import Scaling
from hocket.studies.spec.study import PenaltySection

SWEEPS = 100_000
SETTLED = 1e-15


@dataclass(frozen=True)
class LassoRidge:
    """What is added to the mean loss: Σ lasso_j |β_j| + ½ ridge_j β_j²."""

    lasso: Float[np.ndarray, " p"]
    ridge: Float[np.ndarray, " p"]

    def cost(self, beta: Float[np.ndarray, " p"]) -> float:
        """What these coefficients cost."""
        return float(self.lasso @ np.abs(beta) + 0.5 * self.ridge @ beta**2)

    def solve(
        self,
        quadratic: Float[np.ndarray, "p p"],
        linear: Float[np.ndarray, " p"],
        start: Float[np.ndarray, " p"],
    ) -> Float[np.ndarray, " p"]:
        """The minimum of ½ βᵀQβ − cᵀβ + cost(β)."""
        Q = quadratic + np.diag(self.ridge)
        if not self.lasso.any():
            return np.linalg.solve(Q, linear)
        return self._polished(Q, linear, self._descended(Q, linear, start))

    def _descended(
        self, Q: Float[np.ndarray, "p p"], linear: Float[np.ndarray, " p"], start: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " p"]:
        """Coordinate by coordinate, until nothing moves."""
        beta = start.copy()
        gradient = Q @ beta - linear
        for _ in range(SWEEPS):
            moved = 0.0
            for j in range(len(beta)):
                before, curvature = beta[j], Q[j, j]
                free = before - gradient[j] / curvature
                beta[j] = np.sign(free) * max(abs(free) - self.lasso[j] / curvature, 0.0)
                if beta[j] != before:
                    gradient += Q[:, j] * (beta[j] - before)
                    moved = max(moved, abs(beta[j] - before) * np.sqrt(curvature))
            if moved <= SETTLED * max(1.0, float(np.abs(beta).max())):
                break
        return beta

    def _polished(
        self, Q: Float[np.ndarray, "p p"], linear: Float[np.ndarray, " p"], beta: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " p"]:
        """With signs known, what is not zero solves linear equations."""
        active = (beta != 0) | (self.lasso == 0)
        signs = np.sign(beta[active])
        exact = np.zeros_like(beta)
        exact[active] = np.linalg.solve(
            Q[np.ix_(active, active)], linear[active] - self.lasso[active] * signs
        )
        kept = self.lasso[active] == 0
        return exact if np.all(kept | (np.sign(exact[active]) == signs)) else beta


def penalty_of(part: PenaltySection, scaling: Scaling) -> LassoRidge | None:
    """A study's penalty on coefficients of scaled columns; an intercept has none."""
    if not part.some:
        return None
    per = np.ones_like(scaling.size) if part.standardised else 1 / scaling.size
    if scaling.intercept:
        per = np.concatenate([[0.0], per[1:]])
    return LassoRidge(part.lasso * per, part.ridge * per**2)
