"""Commas and points in numbers: which are decimal, which stand between thousands, and what cannot be told.

    1,5  0,567  12,25         a decimal comma
    92,000  1,234,567         a comma between thousands, where every comma of the column stands before three digits
    1.234,5                   a point between thousands, beside a decimal comma

One column is looked at as a whole. What may be meant either way is refused: read wrongly, it is 1,000 times off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

NUMBER = re.compile(r"[+-]?[\d.,]*\d[\d.,]*")
THOUSANDS = {
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"),
}
"""Numbers in groups of three digits, by what stands between these."""
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
GROUPED_BELOW = 1000
"""Larger numbers without a sign between their thousands tell that a column has none."""


@dataclass(frozen=True)
class Misread:
    """Numbers that would be read wrongly, or not at all, and what to do."""

    such_as: str = field(repr=False)
    fix: str = field(repr=False)


def maybe_thousands(texts: Iterable[str], sign: str = ",") -> bool:
    """Whether each `sign` of a column may stand between thousands, and at least one is there.

    >>> maybe_thousands(["92,000", "950"]), maybe_thousands(["92,000", "1,5"]), maybe_thousands(["0,567"])
    (True, False, False)
    """
    marked = [text for text in texts if NUMBER.fullmatch(text) and sign in text]
    return bool(marked) and all(THOUSANDS[sign].fullmatch(text) for text in marked)


def _between_thousands(numbers: list[str], sign: str = ",") -> bool:
    """Whether they do in every number that is large enough."""
    plain = [text for text in numbers if "," not in text and "." not in text]
    return maybe_thousands(numbers, sign) and all(abs(int(text)) < GROUPED_BELOW for text in plain)


def misread(texts: Sequence[str], decimal: str) -> Misread | None:
    """What is wrong with commas and points of a column's cells, where `decimal` is said to be the decimal sign."""
    numbers = [text for text in texts if NUMBER.fullmatch(text)]
    commas, points = ([text for text in numbers if sign in text] for sign in ",.")
    if decimal == ".":
        return _with_points(numbers, commas, points)
    return _with_commas(numbers, commas, points)


def _with_points(numbers: list[str], commas: list[str], points: list[str]) -> Misread | None:
    if not commas:
        return None
    if _between_thousands(numbers):
        return _thousands(commas[0], ",", f"; --decimal , would read {float(commas[0].split(',')[0]):g}")
    if not points and not maybe_thousands(commas) and all(DECIMAL_COMMA.fullmatch(text) for text in commas):
        return Misread(commas[0], "say that commas are decimal (--decimal ,)")
    return _mixed(commas[0])


def _with_commas(numbers: list[str], commas: list[str], points: list[str]) -> Misread | None:
    several = [
        text for text in commas if text.count(",") > 1 or ("." in text and THOUSANDS[","].fullmatch(text))
    ]
    if several:
        return _thousands(several[0], ",") if _between_thousands(numbers) else _mixed(several[0])
    if not points:
        return None
    if _between_thousands(numbers, "."):
        return _thousands(points[0], ".")
    return _mixed(points[0]) if commas else None


def _thousands(text: str, sign: str, beware: str = "") -> Misread:
    name = "commas" if sign == "," else "points"
    whole = text.replace(sign, "")
    return Misread(text, f"{name} between thousands are not read: take them out ({whole} for {text}){beware}")


def _mixed(text: str) -> Misread:
    return Misread(
        text,
        "some commas and points of this column can only be decimal and others only stand between thousands, or numbers "
        "are written in several ways: write all of them with a decimal point and nothing between thousands",
    )
