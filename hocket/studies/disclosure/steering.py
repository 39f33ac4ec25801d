"""Whether the others' part of a sum can come from their rows, and whether the search stays where single rows hide.

Masks hide what each member gave, so that one who makes its numbers up chooses where all members evaluate next: where
all rows but a few weigh nothing, sums are about these few. Each member therefore holds *the total less its own part*
against what rows of the declared number, within the declared ranges and with the sums of squares of the first total
can come to; steps are damped, the linear predictor's spread is bounded, and a member stops where a few of its own rows
would carry its part. Within these bounds a liar still chooses the points; what sums at so many points tell, it learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.errors import NotEstimable
from hocket.studies.data.design_matrix import INTERCEPT
from hocket.studies.models.families import LikelihoodFamily
from hocket.studies.models.identification import combined
from hocket.studies.models.symmetric import unpacked

REACH = 10.0
"""The linear predictor's standard deviation over the rows, at most: odds of e¹⁰ to either side are no estimate."""
FARTHEST = 4.0
"""By how much a step moves the linear predictor, root mean square; but for the first, Newton's are shorter."""
SLACK = 1e-6
"""Relative: sums of numbers in fixed point, of which columns were brought to size with fewer bits."""
CULPRIT = (
    "some member gave numbers that no rows give; masks hide which, so that who it was cannot be known. Nothing more is "
    "sent; go through the members' files together before you plan again"
)


@dataclass(frozen=True)
class Declared:
    """What all members have been told of the others' rows, in the first totals: of scaled columns."""

    rows: float
    squares: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    """Where declared ranges end; infinite where none is declared."""
    high: Float[np.ndarray, " p"]

    @property
    def sizes(self) -> Float[np.ndarray, " p"]:
        """Σ|z| of each column, at most [Cauchy and Schwarz; the range]."""
        within = self.rows * np.maximum(np.abs(self.low), np.abs(self.high))
        return np.minimum(np.sqrt(np.maximum(self.rows * self.squares, 0.0)), within)


@dataclass(frozen=True)
class SumBounds:
    """What a member holds each total of a search against."""

    others: Declared
    smallest: int
    """Rows below which a sum is about a few."""
    weighted: bool = False
    """Whether rows weigh what their member says, so that nothing bounds their part."""
    offset: bool = False
    """Whether rows have offsets, which bound no score of the first step and no deviance."""

    def refuse_impossible(
        self,
        family: LikelihoodFamily,
        total: Mapping[str, np.ndarray],
        own: Mapping[str, np.ndarray],
        beta: Float[np.ndarray, " p"],
    ) -> None:
        """Refuse a total whose rest cannot come from the others' rows."""
        for name in ("information", "curvature"):
            if name in own:
                most = family.most_weight if name == "information" and not self.weighted else None
                refuse_curvature(unpacked(total[name]), unpacked(own[name]), self.others, most)
        left = {
            name: float(total[name][0]) - float(own[name][0]) for name in ("deviance", "pearson", "beyond")
        }
        for name, value in left.items():
            if value < -SLACK * max(1.0, abs(float(total[name][0]))):
                raise NotEstimable(f"the others' {name} in sum is below 0: {CULPRIT}")
        if left["beyond"] > self.others.rows + 0.5:
            raise NotEstimable(f"the others count more rows than they have: {CULPRIT}")
        if family.most_pull is None or self.weighted or self.offset:
            return
        sizes, slack = self.others.sizes, SLACK * max(1.0, self.others.rows)
        if (np.abs(total["score"] - own["score"]) > family.most_pull * sizes * (1 + SLACK) + slack).any():
            raise NotEstimable(f"the others' scores are larger than their rows allow: {CULPRIT}")
        most = 2 * (np.log(4) * self.others.rows + float(np.abs(beta) @ sizes))
        if left["deviance"] > most * (1 + SLACK) + slack:
            raise NotEstimable(f"the others' deviance is larger than their rows allow: {CULPRIT}")

    def refuse_few(self, linear: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"]) -> None:
        """Stop before a few of this member's own rows make up its part of a sum."""
        refuse_far(linear)
        if not len(weights) or not (weights > 0).any():
            return
        effective = float(weights.sum() ** 2 / (weights**2).sum())
        if effective < min(self.smallest, len(weights) / 2):
            raise NotEstimable(
                f"at this point of the search fewer than {self.smallest} of one member's rows would make up its part "
                "of the sums: the outcome is all but separated there, or a member who gives made-up numbers led all "
                "members to it; who it was cannot be known. Nothing more is sent"
            )


def refuse_far(linear: Float[np.ndarray, " rows"]) -> None:
    """Refuse a point at which this member's linear predictor spreads too far."""
    if len(linear) and not float(linear.std()) <= REACH:
        raise _left("the columns")


def refuse_curvature(
    total: Float[np.ndarray, "p p"], own: Float[np.ndarray, "p p"], others: Declared, most: float | None
) -> None:
    """Refuse curvature of the others that is below 0 in some direction, or more than their rows allow."""
    rest = total - own
    if not len(rest):
        return
    size = max(float(np.abs(total).max()), float(np.abs(own).max()), 1.0)
    if np.linalg.eigvalsh(rest)[0] < -SLACK * size:
        raise NotEstimable(f"the others' information is below 0 in some direction: {CULPRIT}")
    if most is not None and (np.diag(rest) > most * others.squares * (1 + SLACK) + SLACK * size).any():
        raise NotEstimable(f"the others' information is larger than their rows allow: {CULPRIT}")


def damped(
    move: Float[np.ndarray, " p"],
    beta: Float[np.ndarray, " p"],
    metric: Float[np.ndarray, "p p"],
    names: tuple[str, ...],
) -> Float[np.ndarray, " p"]:
    """The move, shortened where it is too long; refuses one that leaves the region. An intercept moves as it likes.

    `metric` is the information of the first step, by which columns that say the same count once.
    """
    first = int(names[:1] == (INTERCEPT,))
    if len(move) <= first:
        return move
    M = metric[first:, first:] * ((len(move) - first) / np.trace(metric[first:, first:]))
    length = float(np.sqrt(max(move[first:] @ M @ move[first:], 0.0)))
    move = move * min(1.0, FARTHEST / max(length, 1e-300))
    to = (beta + move)[first:]
    if not float(np.sqrt(max(to @ M @ to, 0.0))) <= REACH:
        raise _left(combined(to * np.sqrt(np.diag(M)), names[first:]))
    return move


def _left(which: str) -> NotEstimable:
    return NotEstimable(
        f"{which}: the outcome is separated, or all but so: the search left the region that a study allows, where the "
        f"linear predictor's standard deviation is {REACH:g} at most; leave columns out, join levels, or add a ridge "
        "([penalty] ridge = 0.01). A member who gives made-up numbers can lead all members there too; who it was "
        "cannot be known"
    )


def refuse_sums(
    names: tuple[str, ...],
    others: Mapping[str, np.ndarray],
    low: Float[np.ndarray, " columns"],
    high: Float[np.ndarray, " columns"],
) -> None:
    """Refuse the others' first sums where no rows within the declared ranges have them."""
    rows = float(others["rows"][0])
    total, squares = others["sum"], others["squares"]
    slack = SLACK * np.maximum(1.0, np.abs(squares))
    if rows < -0.5 or abs(rows - round(rows)) > SLACK * max(1.0, rows):
        raise NotEstimable(f"the others' rows in sum are {rows:g}, which is no number of rows: {CULPRIT}")
    wrong = total**2 > rows * squares + slack * max(1.0, rows)
    bounded = np.isfinite(low) & np.isfinite(high)
    a, b = np.where(bounded, low, 0.0), np.where(bounded, high, 0.0)
    # Between a and b, (x − a)(b − x) is not below 0.
    wrong |= bounded & ((total < rows * a - slack) | (total > rows * b + slack))
    inside = (a + b) * total - squares - rows * a * b
    wrong |= bounded & (inside < -slack * np.maximum(1.0, np.abs(a) + np.abs(b)))
    if wrong.any():
        raise NotEstimable(
            f"the others' sums of {names[int(np.argmax(wrong))]} cannot come from {rows:,.0f} rows within the declared "
            f"range: {CULPRIT}"
        )
