"""The class of objectives: what is public of their form, before anybody's data are known.

A theorem about privacy speaks of a class, and anybody who listens may know it too. It is derived from a problem, or
declared; members of a federation sign it with their plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hocket.errors import BadProblem

Kind = Literal["polynomial", "quadratic", "generalised-linear", "any"]

WORDS: dict[Kind, str] = {
    "polynomial": "separable polynomials",
    "quadratic": "quadratics",
    "generalised-linear": "generalised linear models",
    "any": "any",
}
FORMS = "polynomial:2 (any whole degree), quadratic, generalised-linear or any"
MOST_DEGREE = 1000


@dataclass(frozen=True)
class ObjectiveClass:
    """A class of objectives, such as all separable polynomials up to a degree.

    It says that every member descends along the exact gradient of one function of that class: an objective of which
    only some records are looked at in a step is in no class but `any`.

    >>> ObjectiveClass.parse("polynomial:4").words
    'separable polynomials of degree 4 or less'
    >>> str(ObjectiveClass("quadratic"))
    'quadratic'
    """

    kind: Kind = "any"
    """`polynomial`: a sum of one polynomial per coordinate, without cross terms. `quadratic`: any, cross terms too.
    `generalised-linear`: a loss of aᵀx, over records a, and a public penalty. `any`: nothing is said."""
    degree: int | None = None
    """Of polynomials the highest power; None of all others."""

    def __post_init__(self) -> None:
        if self.kind not in WORDS:
            raise BadProblem(f"{self.kind!r} is no class of objectives; choose {FORMS}")
        if (self.kind == "polynomial") != (self.degree is not None):
            raise BadProblem(f"a degree belongs to polynomials, and to nothing else; write {FORMS}")
        if self.degree is not None and not 0 <= self.degree <= MOST_DEGREE:
            raise BadProblem(
                f"polynomials of degree {self.degree}; give a whole number from 0 to {MOST_DEGREE}"
            )

    @classmethod
    def parse(cls, text: str) -> ObjectiveClass:
        """A class as it is written in plans and on the command line."""
        if text in WORDS and text != "polynomial":
            return cls(text)
        found = re.fullmatch(r"polynomial:\s*([0-9]{1,4})", text)
        if found is None:
            raise BadProblem(f"objectives = {text!r} is no class of objectives; write {FORMS}")
        return cls("polynomial", int(found[1]))

    def __str__(self) -> str:
        return self.kind if self.degree is None else f"{self.kind}:{self.degree}"

    @property
    def words(self) -> str:
        """The class as it stands in a sentence."""
        return WORDS[self.kind] + ("" if self.degree is None else f" of degree {self.degree} or less")

    def includes(self, other: ObjectiveClass) -> bool:
        """Whether every objective of the other class is of this one as well."""
        if self.kind == "any" or self == other:
            return True
        if other.kind != "polynomial" or other.degree is None:
            return False
        return other.degree <= {"polynomial": self.degree or 0, "quadratic": 2}.get(self.kind, -1)

    def joined(self, other: ObjectiveClass) -> ObjectiveClass:
        """The smallest class here that holds the objectives of both."""
        return next(
            (one for one in (self, other, QUADRATIC) if one.includes(self) and one.includes(other)), ANY
        )

    def in_dimension(self, dim: int) -> ObjectiveClass:
        """The same where states have so many numbers: of one number a quadratic has no cross terms."""
        return ObjectiveClass("polynomial", 2) if dim == 1 and self == QUADRATIC else self


ANY = ObjectiveClass("any")
QUADRATIC = ObjectiveClass("quadratic")
GENERALISED_LINEAR = ObjectiveClass("generalised-linear")


def checked_declaration(
    declared: ObjectiveClass | str | None, derived: ObjectiveClass
) -> ObjectiveClass | None:
    """What was declared of objectives, refused where their form says otherwise."""
    if declared is None:
        return None
    said = ObjectiveClass.parse(declared) if isinstance(declared, str) else declared
    if derived != ANY and not said.includes(derived):
        raise BadProblem(
            f"objectives are declared as {said}, and these are {derived}; declare that, or leave it out"
        )
    return said
