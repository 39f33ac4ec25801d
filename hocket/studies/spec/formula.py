"""Formulas such as "disease ~ age + C(cp) + log(chol)": read against a short list of what they may hold, never run.

A formula comes from another member. What is not in this list is refused by name:

    a column of the study        a b            a column to a whole power    age^2
    a + b    both                a:b  their product, row by row              a*b  both, and their product
    -1 or 0  no intercept        C(a) the levels of a, but for the reference log(a)  sqrt(a)
    rcs(a, 40, 50, 60)           a restricted cubic spline with these knots
    Surv(time, event) ~          the time until an event, and whether it came
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from hocket.errors import BadStudy

LONGEST = 4_000
"""Characters of a formula."""
MOST_TERMS = 500
HIGHEST_POWER = 9
KNOTS = (3, 10)
"""How many knots a spline may have."""
FUNCTIONS = ("C", "log", "sqrt", "rcs")
ALLOWED = "columns of the study, + : * -1, powers such as age^2, C(), log(), sqrt() and rcs()"
TOKEN = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<sign>\*\*|[~+\-:*^(),])",
    re.ASCII,
)


@dataclass(frozen=True, order=True)
class Factor:
    """A column as it enters: as it is, as levels, or through a function."""

    column: str
    function: str = ""
    """Empty, "C", "log", "sqrt", "^" or "rcs"."""
    numbers: tuple[float, ...] = ()
    """The power, or the knots."""

    def __str__(self) -> str:
        if self.function == "^":
            return f"{self.column}^{self.numbers[0]:g}"
        if self.function == "rcs":
            return f"rcs({self.column})"
        return f"{self.function}({self.column})" if self.function else self.column


Term = tuple[Factor, ...]
"""Factors to be multiplied."""


@dataclass(frozen=True)
class Survival:
    """The response of a survival analysis."""

    time: str
    event: str

    def __str__(self) -> str:
        return f"Surv({self.time}, {self.event})"


@dataclass(frozen=True)
class Formula:
    """What is explained, and by what."""

    response: Factor | Survival
    terms: tuple[Term, ...]
    intercept: bool = True

    @property
    def left(self) -> tuple[str, ...]:
        """The columns of what is explained; the last is the outcome, or whether the event came."""
        one = self.response
        return (one.time, one.event) if isinstance(one, Survival) else (one.column,)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Every factor on the right, once, in the order in which they appear."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column it uses, once."""
        return tuple(dict.fromkeys([*self.left, *(factor.column for factor in self.factors)]))

    def __str__(self) -> str:
        right = [":".join(map(str, term)) for term in self.terms]
        return f"{self.response} ~ {' + '.join([*([] if self.intercept else ['0']), *right] or ['1'])}"


def parse_formula(text: str) -> Formula:
    """The formula, or an error that names what it may not hold.

    >>> parse_formula("y ~ a*C(b) - 1").terms[-1]
    (Factor(column='a', function='', numbers=()), Factor(column='b', function='C', numbers=()))
    """
    if len(text) > LONGEST:
        raise BadStudy(f"the formula has {len(text):,} characters, where {LONGEST:,} are the most")
    return _Reader(list(_tokens(text))).formula()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found = TOKEN.match(text, place)
        if found is None:
            raise BadStudy(
                f"the formula has {text[place]!r} at character {place + 1}, which is not allowed: it may hold {ALLOWED}"
            )
        yield _Token(found.lastgroup or "", found.group(), place + 1)
        place = found.end()


class _Reader:
    """Reads one token after the other; never looks back."""

    def __init__(self, tokens: list[_Token]):
        self.tokens = tokens
        self.next = 0

    def formula(self) -> Formula:
        response = self.response()
        self.take("~", "between what is explained and what explains it")
        terms, intercept = self.right()
        return Formula(response, terms, intercept)

    def response(self) -> Factor | Survival:
        if self.peek() == "Surv" and self.peek(1) == "(":
            self.next += 2
            time = self.column()
            self.take(",", "between the time and the event")
            event = self.column()
            self.take(")", "after Surv(time, event")
            return Survival(time, event)
        factor = self.factor()
        if factor.function in ("C", "rcs", "^"):
            raise BadStudy(
                f"{factor} cannot be explained; name a column, log() or sqrt() of one, or Surv(time, event)"
            )
        return factor

    def right(self) -> tuple[tuple[Term, ...], bool]:
        terms: dict[frozenset[Factor], Term] = {}
        intercept, minus = True, False
        if self.peek() in ("+", "-"):
            minus = self.anything() == "-"
        while True:
            if self.peek() in ("0", "1"):
                one = self.anything() == "1"
                intercept = one != minus
            elif minus:
                raise BadStudy(
                    f"the formula takes {self.peek()!r} away; only 1, the intercept, can be taken away"
                )
            else:
                for term in self.item():
                    terms.setdefault(frozenset(term), term)
            if len(terms) > MOST_TERMS:
                raise BadStudy(f"the formula has more than {MOST_TERMS} terms")
            if self.next == len(self.tokens):
                # As R has it: a product after what it is made of.
                return tuple(sorted(terms.values(), key=len)), intercept
            sign = self.anything()
            if sign not in ("+", "-"):
                raise self.refused(self.next - 1)
            minus = sign == "-"

    def item(self) -> list[Term]:
        parts = [self.interaction()]
        while self.peek() == "*":
            self.next += 1
            parts.append(self.interaction())
            if len(parts) > 6:
                raise BadStudy(
                    "the formula multiplies more than six columns by *; write the products meant with :"
                )
        chosen = [
            [part for part, used in zip(parts, uses, strict=True) if used]
            for uses in product((True, False), repeat=len(parts))
        ]
        joined = [tuple(dict.fromkeys(factor for part in some for factor in part)) for some in chosen if some]
        return sorted(joined, key=len)

    def interaction(self) -> Term:
        factors = [self.factor()]
        while self.peek() == ":":
            self.next += 1
            factors.append(self.factor())
        return tuple(dict.fromkeys(factors))

    def factor(self) -> Factor:
        if self.peek(1) == "(":
            return self.function()
        column = self.column()
        if self.peek() not in ("^", "**"):
            return Factor(column)
        self.next += 1
        power = self.number()
        if power not in range(2, HIGHEST_POWER + 1):
            raise BadStudy(f"{column}^{power:g}: a power is a whole number from 2 to {HIGHEST_POWER}")
        return Factor(column, "^", (power,))

    def function(self) -> Factor:
        name = self.anything()
        if name not in FUNCTIONS:
            raise self.refused(self.next - 1)
        self.next += 1
        column, numbers = self.column(), []
        while self.peek() == "," and name == "rcs":
            self.next += 1
            numbers.append(self.number())
        self.take(")", f"after {name}({column}")
        if name == "rcs" and (numbers != sorted(set(numbers)) or not KNOTS[0] <= len(numbers) <= KNOTS[1]):
            raise BadStudy(
                f"rcs({column}, …) needs {KNOTS[0]} to {KNOTS[1]} knots that rise, as in rcs({column}, 40, 50, 60)"
            )
        return Factor(column, name, tuple(numbers))

    def column(self) -> str:
        if self.next < len(self.tokens) and self.tokens[self.next].kind == "name":
            return self.anything()
        raise self.refused(self.next, "the name of a column")

    def number(self) -> float:
        sign = -1.0 if self.peek() == "-" else 1.0
        self.next += self.peek() == "-"
        if self.next < len(self.tokens) and self.tokens[self.next].kind == "number":
            return sign * float(self.anything())
        raise self.refused(self.next, "a number")

    def peek(self, ahead: int = 0) -> str:
        place = self.next + ahead
        return self.tokens[place].text if place < len(self.tokens) else ""

    def anything(self) -> str:
        if self.next == len(self.tokens):
            raise self.refused(self.next, "more")
        self.next += 1
        return self.tokens[self.next - 1].text

    def take(self, sign: str, where: str) -> None:
        if self.peek() != sign:
            raise self.refused(self.next, f"{sign!r} {where}")
        self.next += 1

    def refused(self, place: int, expected: str = "") -> BadStudy:
        wanted = f": expected {expected}" if expected else ""
        if place >= len(self.tokens):
            return BadStudy(f"the formula ends too early{wanted}")
        token = self.tokens[place]
        return BadStudy(
            f"the formula has {token.text[:40]!r} at character {token.place}, which is not allowed there{wanted}; "
            f"a formula may hold {ALLOWED}"
        )
