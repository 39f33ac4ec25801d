"""Whether joint rows can tell what a model asks: collinear columns and separated outcomes, by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from hocket.errors import NotEstimable

COLLINEAR = 1e-11
"""A direction with a smaller part of the largest eigenvalue is told apart by rounding alone."""
SEPARATED = 1e-6
"""Where the information in a direction has fallen to this part of the first, probabilities are 0 or 1."""
TAKES_PART = 0.1
"""A column with at least this part of the largest weight in a direction is named."""


NOTHING = 1e-14
"""Of the rows: information on a scaled column below this part is rounding."""


def refuse_collinear(
    information: Float[np.ndarray, "p p"], names: Sequence[str], *, rows: float, within: bool = False
) -> None:
    """Refuse columns of which one follows from others; names them. `rows` is how many there are, by their weights;
    `within` says that only what differs within a member counts."""
    if not len(names):
        return
    size = np.diag(information)
    nothing = size <= max(NOTHING * rows, COLLINEAR * size.max())
    if nothing.any():
        name = names[int(np.argmax(nothing))]
        raise NotEstimable(
            f"{name} is the same in all rows of each member: where members have intercepts or hazards of their own it "
            "cannot be told from these; leave it out"
            if within
            else f"{name} is 0 in every joint row; leave it out, or mend its levels"
        )
    size = np.sqrt(size)
    values, vectors = eigh(information / np.outer(size, size))
    if values[0] < COLLINEAR * values[-1]:
        raise NotEstimable(
            f"{combined(vectors[:, 0], names)} are collinear over the joint rows: one follows from the others, so that "
            "their coefficients cannot be told apart; leave one of them out"
        )


def weakest(
    information: Float[np.ndarray, "p p"], first: Float[np.ndarray, "p p"], names: Sequence[str]
) -> tuple[float, str]:
    """The direction in which least of the first information is left: how much, and the columns that take part."""
    values, vectors = eigh(information, first)
    return float(values[0]), combined(vectors[:, 0], names)


def separation(which: str) -> NotEstimable:
    """What to say of it."""
    return NotEstimable(
        f"{which}: the outcome is separated, one side of it holds only rows with it or only rows without, so that the "
        "coefficient is infinite; join levels, leave the column out, or add a ridge ([penalty] ridge = 0.01)"
    )


def combined(direction: Float[np.ndarray, " p"], names: Sequence[str]) -> str:
    """The columns that take part in a direction, in words."""
    weight = np.abs(direction)
    # An intercept only makes up for the others' origin.
    own = [place for place, name in enumerate(names) if name != "Intercept"]
    largest = weight[own].max() if own else weight.max()
    order: list[int] = np.argsort(-weight).tolist()
    some = [names[place] for place in order if weight[place] >= TAKES_PART * largest]
    some = [name for name in some if name != "Intercept"] or some
    return " and ".join(some[:6])
