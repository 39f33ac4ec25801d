"""What a study says of a column: where it comes from, what its cells mean, and what is refused.

    [columns.disease]
    from = "num"            the name in members' files; its own name by default
    map = "num > 0"         1 where that holds, else 0; or a list of levels that count as 1
    [columns.cp]
    levels = [1, 2, 3, 4]   all that there may be
    reference = 4           the level that others are compared with; the first by default
    [columns.chol]
    units = "mg/dl"
    per = 10                coefficients are for 10 mg/dl more, not for 1
    range = [50, 700]       what lies outside is refused
    missing = "mean"        or "drop" the row (by default), or "refuse" it
    missing_values = [-9]   cells that stand for a missing value, beside empty ones, NA and ? that are no declared level

Cells are compared with what is declared; nothing in a section is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field, field_validator

from hocket.config.section import Section
from hocket.studies.data.separators import misread
from hocket.studies.spec.condition import parse_condition

Level = int | float | str
Levels = Annotated[tuple[Level, ...], Field(strict=False)]  # TOML has lists
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>", "nat", "?", "."})
"""Cells that stand for a missing value in any study, in lower case."""
MOST_LEVELS = 200
FARTHEST = 1e100
"""Between the ends of a range: squares of it are numbers still."""
SHOWN = 5
"""Wrong cells that an error shows."""


class ColumnSection(Section):
    """One column of a study."""

    source: str = Field(default="", alias="from", description="the column's name in members' files, as text")
    map: str | Levels | None = Field(
        default=None, description="a condition such as 'num > 0', or a list of levels that count as 1"
    )
    levels: tuple[Level, ...] = Field(
        default=(), strict=False, description="a list of numbers or texts, each once"
    )
    reference: Level | None = Field(default=None, description="one of the levels")
    units: str = Field(default="", description="text, such as 'mg/dl'")
    per: float = Field(default=1.0, gt=0, description="a number above 0: how many units a coefficient is for")
    range: Annotated[tuple[float, float], Field(strict=False)] | None = Field(
        default=None, description="two numbers, the lower first"
    )
    missing: Literal["drop", "refuse", "mean"] = Field(
        default="drop", description="'drop' (the row), 'refuse', or 'mean' (the joint mean takes its place)"
    )
    missing_values: tuple[Level, ...] = Field(
        default=(), strict=False, description="a list of numbers or texts"
    )
    label: str = Field(default="", description="text: how tables and figures call the column")

    @field_validator("levels")
    @classmethod
    def _distinct(cls, levels: tuple[Level, ...]) -> tuple[Level, ...]:
        if len(set(map(text_of, levels))) < len(levels) or len(levels) > MOST_LEVELS or len(levels) == 1:
            raise ValueError(f"name 2 to {MOST_LEVELS} levels, each once")
        return levels

    @field_validator("map")
    @classmethod
    def _declared(cls, rule: str | tuple[Level, ...] | None) -> str | tuple[Level, ...] | None:
        if isinstance(rule, str):
            parse_condition(rule)
        return rule

    @field_validator("range")
    @classmethod
    def _rising(cls, ends: tuple[float, float] | None) -> tuple[float, float] | None:
        if ends is not None and not ends[0] < ends[1]:
            raise ValueError("the lower end comes first")
        if ends is not None and not abs(ends[0]) + abs(ends[1]) < FARTHEST:
            raise ValueError(f"the ends are too far apart; {FARTHEST:g} is the most")
        return ends

    @property
    def contradictions(self) -> list[str]:
        """What does not go together."""
        found: list[str] = []
        if self.reference is not None and text_of(self.reference) not in map(text_of, self.levels):
            found.append(f"the reference {self.reference!r} is none of the levels {list(self.levels)}")
        if self.missing == "mean" and (self.levels or self.map is not None):
            found.append("missing = 'mean' is for numbers; drop the row, or give what is missing a level")
        if self.levels and self.range is not None:
            found.append("a column of levels has no range; leave one of the two away")
        if self.per != 1.0 and not self.numeric:
            found.append("per = … is for numbers; levels and yes or no have no units")
        if self.levels and isinstance(self.map, str):
            found.append("levels and a condition: a list of levels that count as 1 is meant")
        return found

    @property
    def unbounded(self) -> ColumnSection:
        """The same without its range."""
        return self.model_copy(update={"range": None})

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers of their own, not levels or 0 and 1."""
        return not self.levels and self.map is None

    @property
    def coded(self) -> tuple[Level, ...]:
        """Its levels where it is used as levels; with a map it is 0 or 1."""
        return () if self.map is not None else self.levels


def text_of(value: object) -> str:
    """A level or a cell as it is compared: a number whatever way it is written, a text without blanks around it.

    >>> text_of(1), text_of("1.0"), text_of(" yes ")
    ('1', '1', 'yes')
    """
    if isinstance(value, str):
        value = value.strip()
        try:
            number = float(value.replace("_", "?"))  # Python would take 1_0 for ten
        except ValueError:
            return value
        return f"{number:.17g}"
    try:
        return f"{float(value):.17g}" if isinstance(value, int | float | np.number) else str(value)
    except OverflowError:  # a whole number beyond all floats, which is no other
        return str(value)


@dataclass(frozen=True)
class Cells:
    """A column of one member's table, as the study understands it."""

    values: Float[np.ndarray, " rows"] = field(repr=False)
    """Numbers, 0 or 1, or places among the levels; not a number where the cell is missing."""
    complaints: tuple[str, ...] = field(default=(), repr=False)
    """What is wrong with it."""

    @property
    def missing(self) -> Bool[np.ndarray, " rows"]:
        """Where there is no value."""
        return np.isnan(self.values)


def understood(name: str, column: ColumnSection, cells: Sequence[object], decimal: str = ".") -> Cells:
    """A member's cells as numbers, with everything that is wrong with them."""
    typed = np.asarray(cells) if cells and isinstance(cells[0], int | float) else None
    if column.numeric and not column.missing_values and typed is not None and typed.dtype.kind in "if":
        values = typed.astype(np.float64)
        if not np.isinf(values).any():
            return Cells(values, tuple(_outside(name, column, values)))
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    also = {text_of(value) for value in column.missing_values}
    # What the study declares has a meaning of its own, be it "none" or "NA".
    named = {text_of(one) for one in (*column.levels, *(column.map if isinstance(column.map, tuple) else ()))}
    codes = {
        text
        for text in set(texts)
        if (text.lower() in MISSING and text_of(text) not in named) or (also and text_of(text) in also)
    }
    absent = np.array([text in codes for text in texts], dtype=bool)
    if column.levels or isinstance(column.map, tuple):
        return _levels(name, column, texts, absent)
    return _numbers(name, column, texts, absent, decimal)


def _levels(name: str, column: ColumnSection, texts: list[str], absent: np.ndarray) -> Cells:
    known = {text_of(level): place for place, level in enumerate(column.levels)}
    counted = {text_of(level) for level in column.map} if isinstance(column.map, tuple) else None
    values, strange = np.full(len(texts), np.nan), dict[str, int]()
    for row, text in enumerate(texts):
        if absent[row]:
            continue
        cell = text_of(text)
        if known and cell not in known:
            strange[text] = strange.get(text, 0) + 1
        else:
            values[row] = known[cell] if counted is None else float(cell in counted)
    if not strange:
        return Cells(values)
    declared = ", ".join(map(str, column.levels))
    complaint = (
        f"column {name} has the unknown level{'s' if len(strange) > 1 else ''} {_some(list(strange))} in "
        f"{_rows(sum(strange.values()))}; the study declares {declared}: mend the cells, or list them in missing_values"
    )
    return Cells(values, (complaint,))


def _numbers(name: str, column: ColumnSection, texts: list[str], absent: np.ndarray, decimal: str) -> Cells:
    values, strange = _parsed(texts, absent, decimal)
    complaints: list[str] = []
    there = [text for text, gone in zip(texts, absent, strict=True) if not gone]
    wrong = misread(there, decimal) if strange or decimal == "," else None
    if strange or wrong is not None:
        what = strange or [wrong.such_as] if wrong is not None else strange
        fix = (
            f"mend them, list those that mean nothing in missing_values, or, if they are categories, all in levels of "
            f"[columns.{name}]"
            if wrong is None
            else wrong.fix
        )
        count = len(strange) or sum(text == what[0] for text in there)
        complaints.append(f"column {name} is to be numbers, but {_rows(count)} have {_some(what)}; {fix}")
    complaints += _outside(name, column, values)
    if isinstance(column.map, str):
        values = np.where(np.isnan(values), np.nan, parse_condition(column.map).holds(values))
    return Cells(values, tuple(complaints))


def _outside(name: str, column: ColumnSection, values: np.ndarray) -> Iterator[str]:
    if column.range is not None:
        low, high = column.range
        outside = values[(values < low) | (values > high)]  # not where a value is missing
        if outside.size:
            yield (
                f"column {name} has {_some([f'{one:g}' for one in outside])} in {_rows(outside.size)}, outside "
                f"its range {low:g} to {high:g}{f' {column.units}' if column.units else ''}; mend units or cells"
            )


def _parsed(texts: list[str], absent: np.ndarray, decimal: str) -> tuple[np.ndarray, list[str]]:
    """Numbers, and texts that are none."""
    if decimal == "." and not any("_" in text for text in texts):  # for Python, 1_0 is ten
        try:
            values = np.array(
                ["nan" if gone else text for text, gone in zip(texts, absent, strict=True)], dtype=float
            )
        except ValueError:
            pass
        else:
            if np.isfinite(values[~absent]).all():
                return values, []
    numbers = [None if gone else _number(text, decimal) for text, gone in zip(texts, absent, strict=True)]
    strange = [
        text for text, number, gone in zip(texts, numbers, absent, strict=True) if number is None and not gone
    ]
    return np.array(numbers, dtype=float), strange


def _number(text: str, decimal: str) -> float | None:
    if "_" in text:
        return None
    if decimal == ",":
        text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    lowered = text.lower()
    if lowered in ("true", "false"):
        return float(lowered == "true")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _some(texts: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    shown = ", ".join(repr(text[:20]) for text in distinct[:SHOWN])
    return shown + (f" and {len(distinct) - SHOWN} more" if len(distinct) > SHOWN else "")


def _rows(count: int) -> str:
    return f"{count:,} row" + ("" if count == 1 else "s")
