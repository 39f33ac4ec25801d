"""Conditions such as "num > 0": declared in a study, compared number by number, never run as code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadStudy

SIGNS: dict[str, Callable[..., np.ndarray]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
FORM = re.compile(
    r"\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*(>=|<=|==|!=|>|<)\s*([+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?)\s*",
    re.ASCII,
)


@dataclass(frozen=True)
class Condition:
    """A column, a sign and a number.

    >>> parse_condition("num > 0").holds(np.array([0.0, 2.0]))
    array([False,  True])
    """

    column: str
    sign: str
    number: float

    def holds(self, values: Float[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
        """Where it holds; of what is not a number, only != does."""
        return SIGNS[self.sign](values, self.number)

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.number:.17g}"


def parse_condition(text: str) -> Condition:
    """A condition from text; anything but a column, one sign and one number is refused."""
    found = FORM.fullmatch(text)
    if found is None:
        raise BadStudy(
            f"{text[:80]!r} is no condition: write a column, one of {' '.join(SIGNS)}, and a number, as in 'num > 0'"
        )
    column, sign, number = found.groups()
    return Condition(column, sign, float(number))
