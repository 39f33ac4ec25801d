"""Regularised logistic regression."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.least_squares import check_rows
from hocket.problems.objective import Name, Objective, Reduction
from hocket.problems.samples import Samples, largest_eigenvalue
from hocket.problems.sets import FeasibleSet


def _strength(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)


class Logistic(Objective):
    """f_j(x) = Σ_i weight_i log(1 + exp(−y_i aᵢᵀx)) + (l2/2) ‖x‖², labels y_i = ±1, in the mean or the sum.

    The choice for two classes. Data: samples of (features a_i, label y_i); labels 0, 1 are read as −1, 1.
    """

    l2: Any = eqx.field(converter=_strength, default=0.0)
    reduction: Reduction | None = eqx.field(static=True, default="mean", kw_only=True)

    def __check_init__(self) -> None:
        if isinstance(self.l2, np.ndarray) and not (
            self.l2.ndim == 0 and np.isfinite(self.l2) and self.l2 >= 0
        ):
            raise BadProblem(f"l2 is {self.l2}; the regularisation must be one finite number of zero or more")

    def value(self, x: Shaped[Any, " dim"], data: Samples) -> Any:
        xp = x.__array_namespace__()
        (features, labels), weight = data
        margin = labels * (features @ x)
        # log(1 + e^−m) without overflow; logaddexp takes five times as long.
        fit = weight @ (xp.maximum(-margin, 0.0) + xp.log1p(xp.exp(-xp.abs(margin))))
        return fit + self._l2(x) * (x @ x) / 2

    def gradient(self, x: Shaped[Any, " dim"], data: Samples) -> Shaped[Any, " dim"]:
        xp = x.__array_namespace__()
        (features, labels), weight = data
        # 1/(1 + e^m) without overflow.
        doubt = (1 - xp.tanh(labels * (features @ x) / 2)) / 2
        return self._l2(x) * x - (weight * labels * doubt) @ features

    def prepared(self, data: Samples, dim: int, name: Name) -> Samples:
        check_rows(data, dim, name)
        features, labels = data.values
        labels = np.asarray(labels, dtype=np.float64)
        for coding in ({0.0, 1.0}, {-1.0, 1.0}):
            if np.isin(labels, list(coding)).all():
                return Samples((features, np.where(labels == 1, 1.0, -1.0)), data.weight)
        agent, sample = np.argwhere(~np.isin(labels, [-1, 1] if (labels == -1).any() else [0, 1]))[0]
        raise BadProblem(
            f"label {labels[agent, sample]} of {name(int(agent))}, sample {sample}: "
            "label all classes -1 and 1, or all 0 and 1"
        )

    def pooled(self, data: Samples) -> tuple[Objective, PyTree]:
        return self, data.flattened()

    def convex(self, data: Samples, feasible: FeasibleSet, dim: int) -> bool | None:
        return True

    def constants(self, data: Samples, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        features, weight = np.asarray(data.values[0], dtype=np.float64), np.asarray(data.weight)
        curvature = largest_eigenvalue(features, weight)
        # Every sample pulls by its own length at most, and all of them by what Cauchy-Schwarz allows.
        pull = np.minimum(
            (weight * np.linalg.norm(features, axis=2)).sum(axis=1), np.sqrt(curvature * weight.sum(axis=1))
        )
        shrink = float(self.l2) * feasible.radius(dim) if self.l2 > 0 else 0.0
        lipschitz = float(pull.max()) + shrink
        return (lipschitz if np.isfinite(lipschitz) else None), float(curvature.max() / 4 + self.l2)

    def _l2(self, x: Any) -> Any:
        return x.__array_namespace__().asarray(self.l2, dtype=x.dtype)
