"""Two neighbouring inputs of each workload: as problems, as plain gradients, and as a certificate names the change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.special import expit

import hocket as hk
from hocket.noise.functions import squares
from hocket.privacy import least_squares_sensitivity

LOSER, WINNER = 1, 2
"""Who is changed: something moves from the first to the second, or a record of the first is replaced."""
SLOPES = np.array([1.0, 2.0, -1.0, 0.5, -1.5])
CURVES = np.array([0.4, 0.9, 0.6, 0.5, 0.7])
MOVED, BENT = 0.3, 0.2
MEMBER = 300.0
"""By how much a whole member is changed, beyond every clip."""


@dataclass(frozen=True)
class Asked:
    """What a cell fixes of its inputs."""

    relation: str
    """move, shift, transfer, sensitivity, or member: whatever one has, as the algorithm clips it."""
    n: int
    feasible: Any
    penalty: Any = None
    reduction: str = "sum"
    family: Any = None
    """Of the noise functions, which decides what coefficients are called; None where noise is on gradients."""


@dataclass(frozen=True)
class Neighbours:
    """Two inputs that differ as a certificate says."""

    problems: tuple[hk.Problem, hk.Problem]
    gradients: tuple[Callable[[int, Any], Any], Callable[[int, Any], Any]]
    dim: int
    change: dict[str, Any] = field(default_factory=dict)
    """As `hk.certify` is asked for it."""


def _coefficients(asked: Asked, slope: float, square: float) -> list[float]:
    """One agent's change as the noise functions order coefficients, in one dimension."""
    if asked.family is None:
        return [slope]
    width = asked.family.width(1)
    if type(asked.family).__name__ == "QuadraticFamily":
        return [slope, square]
    return [0.0, slope, square, *[0.0] * 9][:width]


def _relation(asked: Asked, row: list[float], size: float) -> dict[str, Any]:
    """The change of `row` moved, or of a norm."""
    match asked.relation:
        case "move":
            return {"move": (LOSER, WINNER, row)}
        case "shift":
            return {"shift": {LOSER: [-one for one in row], WINNER: row}}
        case "transfer":
            return {"transfer": size}
        case "sensitivity":
            return {"sensitivity": size}
        case _:
            return {}


def _scale(asked: Asked) -> float:
    """Of a square's coefficient in units of its noise: the quadratic family has less of it."""
    if asked.family is None or (relative := asked.family.relative_variance(1)) is None:
        return 1.0
    return float(1 / np.sqrt(relative[squares(1)][0]))


def powers(asked: Asked, bent: float) -> Neighbours | None:
    """s x + q x² of each agent: slopes move, and with `bent` squares too."""
    if bent and asked.family is None:
        return None  # a change that is not linear, of which certificates for gradients are not asked
    row = _coefficients(asked, MEMBER if asked.relation == "member" else MOVED, bent)
    if bent and bent not in row and asked.relation in ("move", "shift"):
        return None  # coefficients that the noise functions have no name for
    s, q = SLOPES[: asked.n].copy(), CURVES[: asked.n].copy()
    if not bent:
        q[:] = 0.4
    s1, q1 = s.copy(), q.copy()
    size = MEMBER if asked.relation == "member" else MOVED
    s1[LOSER] -= size
    q1[LOSER] -= bent
    if asked.relation in ("move", "shift", "transfer"):
        s1[WINNER] += size
        q1[WINNER] += bent
    norm = float(np.hypot(size, bent * _scale(asked)))
    problems = [
        hk.polynomials(
            [[0.0, a, b] for a, b in zip(*one, strict=True)],
            feasible=asked.feasible,
            dim=1,
            prox=asked.penalty,
        )
        for one in ((s, q), (s1, q1))
    ]
    return Neighbours(
        (problems[0], problems[1]),
        (lambda j, v: s[j] + 2 * q[j] * v, lambda j, v: s1[j] + 2 * q1[j] * v),
        1,
        _relation(asked, row, norm),
    )


A = np.random.default_rng(7).uniform(-0.7, 0.7, size=(5, 4, 2))
B = np.random.default_rng(8).uniform(-1, 1, size=(5, 4))
RECORD, TARGET = np.array([0.6, 0.8]), 1.0
"""A record of the largest length and target that the study allows."""
RADIUS = 1.0
"""How far from zero states are taken to be where nothing bounds them, by anybody who asks for a sensitivity."""


def _radius(feasible: Any) -> float:
    for far in (1e6, 1.0):
        corner = np.abs(np.asarray(feasible.project(np.array([far, far])))).max()
        if corner < 1e5:
            return float(np.hypot(corner, corner))
    return RADIUS


def records(asked: Asked, kind: str) -> Neighbours | None:
    """Losses of rows (a, b): one is replaced at an agent, or moves to another."""
    n, moving = asked.n, asked.relation in ("move", "shift", "transfer")
    if moving and (asked.family is None or asked.relation != "transfer"):
        return None
    rows = [(A[j], B[j]) for j in range(n)]
    big = 1e3 if asked.relation == "member" else 1.0

    def with_record(
        j: int, sign: float, length: float = big, record: np.ndarray = RECORD
    ) -> tuple[np.ndarray, np.ndarray]:
        return np.vstack([rows[j][0], length * record]), np.append(rows[j][1], sign * TARGET)

    # Where the record is not, a row of zeros stands in its place, which adds nothing.
    first, second = ([with_record(j, 0.0, 0.0) for j in range(n)] for _ in range(2))
    first[LOSER] = with_record(LOSER, 1.0)
    if moving:
        second[WINNER] = with_record(WINNER, 1.0)
    else:
        # The farthest in coefficients is the same row with another target; in gradients, far out, another row.
        other = RECORD if asked.family is not None or kind != "least squares" else RECORD[::-1] * [1, -1]
        second[LOSER] = with_record(LOSER, -1.0, record=other)
    slope = {"least squares": lambda e: e, "logistic": None, "own loss": np.tanh}[kind]

    def gradient(data: list[Any]) -> Callable[[int, Any], Any]:
        def of(j: int, v: Any) -> Any:
            a, b = data[j]
            share = 1 / len(b) if asked.reduction == "mean" else 1.0
            if kind == "logistic":
                y = np.where(b > 0, 1.0, -1.0)
                return share * (a.T @ (-y * expit(-y * (a @ v))))
            assert slope is not None
            return share * (a.T @ slope(a @ v - b))

        return of

    problems = [_problem(asked, kind, data) for data in (first, second)]
    length = float(np.linalg.norm(RECORD))
    if kind == "least squares" and asked.family is not None:
        size = least_squares_sensitivity(rows=length, target=TARGET, change="move" if moving else "replace")
    elif kind == "least squares":
        size = 2 * length * (length * _radius(asked.feasible) + TARGET)
    else:
        size = 2 * length
    return Neighbours(
        (problems[0], problems[1]), (gradient(first), gradient(second)), 2, _relation(asked, [], size)
    )


def _problem(asked: Asked, kind: str, data: list[Any]) -> hk.Problem:
    rows, targets = [a for a, _ in data], [b for _, b in data]
    how: dict[str, Any] = {"feasible": asked.feasible, "prox": asked.penalty}
    if kind == "least squares":
        return hk.least_squares(rows, targets, reduction=asked.reduction, **how)  # type: ignore[arg-type]
    if kind == "logistic":
        labels = [np.where(b > 0, 1.0, -1.0) for b in targets]
        return hk.logistic(rows, labels, reduction=asked.reduction, **how)  # type: ignore[arg-type]
    share = [1 / len(b) if asked.reduction == "mean" else 1.0 for b in targets]
    return hk.Problem(
        _own_loss, [(a, b, np.asarray(w)) for a, b, w in zip(rows, targets, share, strict=True)], dim=2, **how
    )


def _own_loss(x: Any, data: Any) -> Any:
    rows, targets, share = data
    return share * jnp.sum(jnp.log(jnp.cosh(rows @ x - targets)))


WORKLOADS: dict[str, Callable[[Asked], Neighbours | None]] = {
    "slopes": lambda asked: powers(asked, 0.0),
    "squares": lambda asked: powers(asked, BENT),
    "least squares": lambda asked: records(asked, "least squares"),
    "logistic": lambda asked: records(asked, "logistic"),
    "own loss": lambda asked: records(asked, "own loss"),
}
"""By name: the inputs, or None where what is asked does not change such objectives."""
