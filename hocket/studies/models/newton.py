"""Newton's method on totals: the maximum of a likelihood that is spread over members.

In each total a member gives the score and the information of its own rows, at the point that all have come to; every
member then takes the same step, back by half where it went too far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.disclosure.steering import damped
from hocket.studies.models.identification import SEPARATED, refuse_collinear, separation, weakest
from hocket.studies.models.penalty import LassoRidge
from hocket.studies.models.symmetric import pairs, unpacked
from hocket.studies.together import Analysis

MOST_STEPS = 15
"""Totals of a search: Newton's method takes about eight, and what members see grows with each."""
SETTLED = 1e-9
"""In standard errors: a step that is shorter ends the search; the next would be about its square."""
RISE = 1e-10
"""By what part a loss may rise from rounding alone."""

Sums = Mapping[str, np.ndarray]


class Likelihood(Protocol):
    """One member's part in a likelihood, and what all members read from the totals."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        ...

    def parts(self, beta: Float[np.ndarray, " p"], step: int) -> dict[str, np.ndarray]:
        """What this member gives: "score", "information", "curvature" where that is another, and more."""
        ...

    def refuse_impossible(self, total: Sums, own: Sums, beta: Float[np.ndarray, " p"]) -> None:
        """Refuse a total whose rest cannot come from the others' rows."""
        ...

    def loss(self, total: Sums, step: int) -> float:
        """What is to be small; infinite where it is not known yet, or where the point is impossible."""
        ...

    def scale(self, total: Sums) -> float:
        """The dispersion, in whose units a step is short."""
        ...


@dataclass(frozen=True)
class Maximum:
    """Where a likelihood is largest, and how sharply it is peaked there; the same at every member."""

    beta: Float[np.ndarray, " p"]
    information: Float[np.ndarray, "p p"]
    first: Sums
    """The first total."""
    last: Sums


def maximise(
    likelihood: Likelihood,
    *,
    rows: float,
    weight: float = 1.0,
    penalty: LassoRidge | None = None,
    separable: bool = True,
    within: bool = False,
) -> Analysis[Maximum]:
    """The maximum of the joint likelihood, less the penalty times the joint `weight`.

    `rows` is how many there are, by their weights; `within` says that only what differs within a member counts.
    """
    names = likelihood.names
    labels = {"score": names, "information": pairs(names), "curvature": pairs(names)}
    beta, before, least = np.zeros(len(names)), None, np.inf
    first, start, least_told = None, np.eye(len(names)), ", ".join(names[:8])
    for step in range(MOST_STEPS):
        own = likelihood.parts(beta, step)
        total = yield SecureSum(own, names=labels)
        likelihood.refuse_impossible(total, own, beta)
        loss = likelihood.loss(total, step) + (0.0 if penalty is None else 2 * weight * penalty.cost(beta))
        if before is not None and not loss <= least + RISE * max(1.0, abs(least)):
            beta = (beta + before) / 2
            continue
        information, score = unpacked(total["information"]), total["score"]
        if first is None:
            first, start = total, information
            if penalty is None or not penalty.ridge.any():
                refuse_collinear(information, names, rows=rows, within=within)
        elif penalty is None:
            left, least_told = weakest(information, start, names)
            if separable and left < SEPARATED:
                raise separation(least_told)
        curvature = unpacked(total["curvature"]) if "curvature" in own else information
        if penalty is None:
            move = np.linalg.solve(curvature, score)
        else:
            move = penalty.solve(curvature / weight, (curvature @ beta + score) / weight, beta) - beta
        move = damped(move, beta, start, names)
        least, known, before = loss, np.isfinite(loss), beta if np.isfinite(loss) else None
        beta = beta + move
        if known and float(move @ curvature @ move) <= SETTLED**2 * likelihood.scale(total):
            return Maximum(beta, information, first, total)
    raise NotEstimable(
        f"the fit did not settle in {MOST_STEPS} totals, and told ever less of {least_told}: look for separated "
        "levels, levels without events, or wild values there"
    )
