"""What one row gives to each sum of a model, at points where it may lie: the functions whose sums members are shown.

The search's path is not known before it is gone; that of this member's own rows takes its place, with a small ridge.
What matters is how the functions differ from step to step, and they do so alike along any path.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from hocket.studies.models.families import FAMILIES, LikelihoodFamily
from hocket.studies.spec.study import Study

Points = tuple[Float[np.ndarray, "rows p"], Float[np.ndarray, " rows"]]
RIDGE = 1e-3
STEPS = 8
FARTHEST = 2.0
"""By how much a step moves the linear predictor, root mean square."""


def shown_functions(
    study: Study, own: Points, places: Sequence[Points], most: int
) -> list[Float[np.ndarray, "points functions"]]:
    """A column for each sum, at most `most` of them, at each of some sets of points."""
    mean, sd = own[0].mean(axis=0), own[0].std(axis=0)
    flat = sd == 0
    mean, sd = np.where(flat, 0.0, mean), np.where(flat, 1.0, sd)
    Z = (own[0] - mean) / sd
    with np.errstate(all="ignore"):
        linear = study.question.family == "linear"
        path = [np.linalg.lstsq(Z, own[1], rcond=None)[0]] if linear else _path(study, Z, own[1])
        found = [_functions(study, (X - mean) / sd, y, path, most) for X, y in places]
    finite = np.all([np.isfinite(one).all(axis=0) for one in found], axis=0)
    return [one[:, finite] for one in found]


def _functions(
    study: Study, X: np.ndarray, y: np.ndarray, path: Sequence[np.ndarray], most: int
) -> Float[np.ndarray, "points functions"]:
    upper = np.triu_indices(X.shape[1])
    pairs = X[:, upper[0]] * X[:, upper[1]]
    found = [pairs, y[:, None] * X, (y**2)[:, None]]
    if study.question.family == "linear":
        robust = study.question.errors == "robust"
        return np.hstack([*found, *([pairs * ((y - X @ path[0]) ** 2)[:, None]] if robust else [])])[:, :most]
    family = FAMILIES[study.question.family, study.link]
    for beta in path:
        found += _at(family, X, y, X @ beta, pairs)
        if sum(one.shape[1] for one in found) >= most:
            break
    return np.hstack(found)[:, :most]


def _at(
    family: LikelihoodFamily, X: np.ndarray, y: np.ndarray, linear: np.ndarray, pairs: np.ndarray
) -> list[np.ndarray]:
    mu = family.link.mu(linear)
    slope, variance = family.link.slope(mu), family.variance(mu)
    weight, gap = slope**2 / variance, y - mu
    parts = [
        pairs * weight[:, None],
        X * (gap * slope / variance)[:, None],
        family.deviance(y, mu)[:, None],
        (gap**2 / variance)[:, None],
    ]
    return [*parts, pairs * (weight * family.bend(y, mu))[:, None]] if family.bend is not None else parts


def _path(study: Study, Z: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Where the search would go over these rows alone, by damped steps."""
    family = FAMILIES[study.question.family, study.link]
    beta, found = np.zeros(Z.shape[1]), list[np.ndarray]()
    mean = float(y.mean())
    for step in range(STEPS):
        linear = Z @ beta
        mu = family.start(y, mean) if step == 0 else family.link.mu(linear)
        slope, variance = family.link.slope(mu), family.variance(mu)
        weight = slope**2 / variance
        working = (y - mu) / slope + (family.link.eta(mu) - linear if step == 0 else 0.0)
        bent = Z.T @ (weight[:, None] * Z) + RIDGE * len(y) * np.eye(len(beta))
        move = np.linalg.solve(bent, Z.T @ (weight * working) - RIDGE * len(y) * beta)
        if not np.isfinite(move).all():
            break
        size = float(np.sqrt(np.mean((Z @ move) ** 2)))
        beta = beta + move * (1.0 if step == 0 else min(1.0, FARTHEST / max(size, 1e-12)))
        found.append(beta)
    return found or [np.zeros(Z.shape[1])]
