"""Linear least squares and regularised logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float, PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Name, Objective, Reduction, Samples, largest_eigenvalue
from hocket.problems.objective_class import GENERALISED_LINEAR, QUADRATIC, ObjectiveClass
from hocket.problems.sets import FeasibleSet
from hocket.rationals import matching


def _strength(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)


def check_l2(l2: Any) -> None:
    """Refuse a regularisation that is not one finite number of zero or more; compiled code has what it stands for."""
    if isinstance(l2, np.ndarray) and not (l2.ndim == 0 and np.isfinite(l2) and l2 >= 0):
        raise BadProblem(f"l2 is {l2}; the regularisation must be one finite number of zero or more")


class LeastSquares(Objective):
    """f_j(x) = ½ ‖A_j x − b_j‖² + (l2/2) ‖x‖², the first divided by the number of rows where the reduction is "mean".

    The choice for regression, and for tests, since its answer is known; works on fractions. Data: samples of
    (row of A, entry of b).
    """

    exact: ClassVar[bool] = True
    l2: Any = eqx.field(converter=lambda l2: None if l2 is None else _strength(l2), default=None)
    """None where nothing is added: so that nothing is computed for it."""
    reduction: Reduction | None = eqx.field(static=True, default="sum", kw_only=True)

    def __check_init__(self) -> None:
        check_l2(self.l2)

    def value(self, x: Shaped[Any, " dim"], data: Samples) -> Any:
        _, error, weight = _at(x, data)
        fit = (weight * error * error).sum() / 2
        return fit if self.l2 is None else fit + matching(self.l2, x) * (x @ x) / 2

    def gradient(self, x: Shaped[Any, " dim"], data: Samples) -> Shaped[Any, " dim"]:
        rows, error, weight = _at(x, data)
        pull = (weight * error) @ rows
        return pull if self.l2 is None else pull + matching(self.l2, x) * x

    @property
    def shrinkage(self) -> float:
        """l2 as a number, zero where there is none."""
        return 0.0 if self.l2 is None else float(self.l2)

    def prepared(self, data: Samples, dim: int, name: Name) -> Samples:
        check_rows(data, dim, name)
        return data

    def pooled(self, data: Samples) -> tuple[Objective, PyTree]:
        (rows, targets), weight = jax.tree.map(
            lambda leaf: np.asarray(leaf, dtype=np.float64), data.flattened()
        )
        scale = np.sqrt(weight)
        rows, targets = _rotated(rows * scale[:, None], targets * scale)
        return self, Samples((rows, targets), np.ones(len(rows)))

    def convex(self, data: Samples, feasible: FeasibleSet, dim: int) -> bool | None:
        return True

    def least_curvature(self, data: Samples, feasible: FeasibleSet, dim: int) -> float | None:
        rows, weight = np.asarray(data.values[0], dtype=np.float64), np.asarray(data.weight)
        least = np.linalg.eigvalsh(np.einsum("js,jsp,jsq->jpq", weight, rows, rows))[:, 0].min()
        return float(least) + self.shrinkage

    def objective_class(self, data: Samples) -> ObjectiveClass:
        return QUADRATIC

    def quadratic(self, data: Samples, dim: int) -> np.ndarray | None:
        (rows, targets), weight = data
        records = np.asarray(weight)[:, None] * record_coefficients(rows, targets)
        if self.l2 is None:
            return records
        # (l2/2) ‖x‖² is what records (√l2 e_p, 0) add, all of them together a row that is nobody's data.
        public = record_coefficients(np.sqrt(self.shrinkage) * np.eye(dim), np.zeros(dim)).sum(axis=0)
        return np.vstack([records, public])

    def constants(self, data: Samples, feasible: FeasibleSet, dim: int) -> tuple[float | None, float | None]:
        rows, targets = (np.asarray(leaf, dtype=np.float64) for leaf in data.values)
        center, radius = feasible.enclosing_ball(dim)
        curvature = largest_eigenvalue(rows, data.weight) + self.shrinkage
        error = data.weight * (rows @ center - targets)
        pull = np.einsum("js,jsd->jd", error, rows) + self.shrinkage * center
        slope = np.linalg.norm(pull, axis=1)
        # ∇f is affine: its norm at the centre, plus what the curvature can add on the way to the rim.
        lipschitz = float(np.max(slope + curvature * radius)) if np.isfinite(radius) else None
        return lipschitz, float(curvature.max())


def record_coefficients(rows: Any, targets: Any) -> Float[np.ndarray, "records width"]:
    """½ (aᵀx − b)² by its coefficients, a row per record: −b a_p, then ½ a_p² and a_p a_q in the order of the pairs."""
    a, b = np.asarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    p, q = np.triu_indices(a.shape[1])
    return np.hstack([-b[:, None] * a, np.where(p == q, 0.5, 1.0) * a[:, p] * a[:, q]])


def check_rows(data: Samples, dim: int, name: Name) -> None:
    """Refuse samples that are not (features of length dim, one number)."""
    if not isinstance(data.values, tuple) or len(data.values) != 2:
        raise BadProblem("the data must be a pair: features (samples, dim) and targets (samples,)")
    features, targets = data.values
    if np.ndim(features) != 3 or np.shape(features)[2] != dim:
        raise BadProblem(
            f"the features of {name(0)} have shape {np.shape(features)[1:]}; this needs (samples, {dim})"
        )
    if np.ndim(targets) != 2:
        raise BadProblem(
            f"the targets of {name(0)} have shape {np.shape(targets)[1:]}; give one number per sample"
        )


def _at(x: Shaped[Any, " dim"], data: Samples) -> tuple[Any, Any, Any]:
    """Rows, errors Ax − b and weights, in the numbers of `x`."""
    rows, targets, weight = (matching(leaf, x) for leaf in (*data.values, data.weight))
    return rows, rows @ x - targets, weight


def _rotated(rows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R and q with ‖R x − q‖ = ‖rows x − targets‖ for every x, in at most dim + 1 rows.

    By Cholesky factors of the Gram matrix, taken twice: as accurate as Householder's QR, which steps in where
    the rows are too dependent for that, and several times faster on many rows.
    """
    if len(rows) <= rows.shape[1]:
        return rows, targets
    basis, triangle = rows, np.eye(rows.shape[1])
    try:
        for _ in range(2):
            factor = np.linalg.cholesky(basis.T @ basis, upper=True)
            basis = scipy.linalg.solve_triangular(factor, basis.T, trans=1, check_finite=False).T
            triangle = factor @ triangle
    except np.linalg.LinAlgError:
        joined = np.asarray(
            scipy.linalg.qr(np.column_stack([rows, targets]), mode="r", check_finite=False)[0]
        )
        return joined[: rows.shape[1] + 1, :-1], joined[: rows.shape[1] + 1, -1]
    image = basis.T @ targets
    rest = np.linalg.norm(targets - basis @ image)  # what no x can fit
    return np.vstack([triangle, np.zeros(rows.shape[1])]), np.append(image, rest)


class Logistic(Objective):
    """f_j(x) = Σ_i weight_i log(1 + exp(−y_i aᵢᵀx)) + (l2/2) ‖x‖², labels y_i = ±1, in the mean or the sum.

    The choice for two classes. Data: samples of (features a_i, label y_i); labels 0, 1 are read as −1, 1.
    """

    l2: Any = eqx.field(converter=_strength, default=0.0)
    reduction: Reduction | None = eqx.field(static=True, default="sum", kw_only=True)

    def __check_init__(self) -> None:
        check_l2(self.l2)

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

    def least_curvature(self, data: Samples, feasible: FeasibleSet, dim: int) -> float | None:
        return float(self.l2)  # far out every sample is decided, and bends no more

    def objective_class(self, data: Samples) -> ObjectiveClass:
        return GENERALISED_LINEAR

    def classified(self, x: Shaped[Any, " dim"], data: Samples) -> tuple[Any, Any, Any] | None:
        (features, labels), weight = data
        return features @ x > 0, labels > 0, weight > 0

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
