"""The sections [problem] and [problem.feasible]: by name, from data in a file, or from the user's own Python."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, SerializeAsAny

from hocket.config.files import blaming, check_unchanged, found, load_name
from hocket.config.section import Section, check, choose
from hocket.errors import BadConfig
from hocket.files import UNREADABLE, arrays
from hocket.links.text import is_table
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball, Box, Everywhere, FeasibleSet, Simplex
from hocket.problems.standard import (
    heterogeneous_polynomials,
    least_squares,
    logistic,
    paper_polynomials,
    polynomials,
)

NumberOrVector = float | list[float]
A_SET = "a section [problem.feasible]"
A_HASH = "the SHA-256 of the file in hexadecimal, if it must not change"


class FeasibleSection(Section):
    """One kind of feasible set, by the numbers that make it."""

    make: ClassVar[type[Any]]

    def build(self) -> FeasibleSet:
        """The set itself."""
        return self.make(**self.model_dump(exclude={"kind"}))


class BoxSection(FeasibleSection):
    """Every coordinate between its own low and high."""

    make = Box
    kind: Literal["box"] = Field(description="'box'")
    low: NumberOrVector = Field(description="a number, or a list with one per coordinate")
    high: NumberOrVector = Field(description="a number, or a list with one per coordinate")


class BallSection(FeasibleSection):
    """Every point within a radius of a centre."""

    make = Ball
    kind: Literal["ball"] = Field(description="'ball'")
    radius: float = Field(description="a positive number")
    center: NumberOrVector = Field(0.0, description="a number, or a list with one per coordinate")


class SimplexSection(FeasibleSection):
    """Coordinates that are not negative and share a total."""

    make = Simplex
    kind: Literal["simplex"] = Field(description="'simplex'")
    total: float = Field(1.0, description="a positive number")


class EverywhereSection(FeasibleSection):
    """No constraint."""

    make = Everywhere
    kind: Literal["everywhere"] = Field(description="'everywhere'")


SETS: dict[str, type[FeasibleSection]] = {
    "box": BoxSection,
    "ball": BallSection,
    "simplex": SimplexSection,
    "everywhere": EverywhereSection,
}


Row = list[float] | list[list[float]]
Feasible = SerializeAsAny[FeasibleSection]


class ProblemSection(Section):
    """One kind of problem."""

    @abstractmethod
    def build(self, base: Path) -> Problem:
        """The problem itself; file names are relative to `base`."""


class PaperPolynomials(ProblemSection):
    """The five agents of the paper's first experiment."""

    kind: Literal["paper-polynomials"] = Field(description="'paper-polynomials'")

    def build(self, base: Path) -> Problem:
        return paper_polynomials()


class HeterogeneousPolynomials(ProblemSection):
    """The paper's polynomials, each moved to a minimiser of its own."""

    kind: Literal["heterogeneous-polynomials"] = Field(description="'heterogeneous-polynomials'")

    def build(self, base: Path) -> Problem:
        return heterogeneous_polynomials()


class Polynomials(ProblemSection):
    """A polynomial per agent."""

    kind: Literal["polynomials"] = Field(description="'polynomials'")
    coefficients: list[Row] = Field(description="a list with one row of ascending coefficients per agent")
    box: list[float] | None = Field(None, min_length=2, max_length=2, description="two numbers, [low, high]")
    feasible: Feasible | None = Field(None, description=A_SET)

    def build(self, base: Path) -> Problem:
        if self.box is not None and self.feasible is None:
            return polynomials(self.coefficients, box=(self.box[0], self.box[1]))
        if self.feasible is not None and self.box is None:
            return polynomials(self.coefficients, feasible=self.feasible.build())
        raise BadConfig(f"[problem] needs box = [low, high] or {A_SET}, and only one of them")


class FromData(ProblemSection):
    """A problem whose data lie in a NumPy archive, as two arrays."""

    make: ClassVar[Callable[..., Problem]]
    arrays: ClassVar[tuple[str, str]]
    data: str = Field(description="the name of an .npz file")
    sha256: str | None = Field(None, description=A_HASH)
    feasible: Feasible = Field(description=A_SET)

    def build(self, base: Path) -> Problem:
        how = self.model_dump(include={"l2", "reduction"})
        return type(self).make(*self._stored(base), feasible=self.feasible.build(), **how)

    def _stored(self, base: Path) -> list[np.ndarray]:
        """The two arrays; nothing stored in the archive can run code."""
        path = found(base, self.data, "[problem] data")
        check_unchanged(path, self.sha256)
        try:
            stored = arrays(path)
        except UNREADABLE as error:
            raise BadConfig(
                f"{path} cannot be read ({error}); write it with numpy.savez, without objects"
            ) from error
        for name in self.arrays:
            if name not in stored:
                raise BadConfig(
                    f"{path} has no array {name!r}; it needs {' and '.join(self.arrays)}, stacked by agent"
                )
            if stored[name].ndim < 2 or stored[name].dtype.kind not in "fiub":
                raise BadConfig(
                    f"{name} in {path} has shape {stored[name].shape} and type {stored[name].dtype}; "
                    "it needs numbers with the axes agents, samples, …"
                )
        return [stored[name] for name in self.arrays]


class LeastSquaresSection(FromData):
    """½ ‖A_j x − b_j‖² per agent, perhaps regularised."""

    make = least_squares
    arrays = ("A", "b")
    kind: Literal["least-squares"] = Field(description="'least-squares'")
    l2: float = Field(0.0, description="a number, zero or more")
    reduction: Literal["sum", "mean"] = Field("sum", description="'sum' or 'mean'")


class LogisticSection(FromData):
    """Regularised logistic regression per agent."""

    make = logistic
    arrays = ("features", "labels")
    kind: Literal["logistic"] = Field(description="'logistic'")
    l2: float = Field(0.0, description="a number, zero or more")
    reduction: Literal["sum", "mean"] = Field("sum", description="'sum' or 'mean'")


class FromPython(ProblemSection):
    """A problem that the user's own Python file makes; the file is run."""

    python: str = Field(description="a file and a name in it, 'mine.py:problem'")
    sha256: str | None = Field(None, description=A_HASH)

    def named(self, base: Path) -> tuple[Path, str]:
        """The file, and the name in it."""
        file, _, name = self.python.rpartition(":")
        if not file:
            raise BadConfig(f"[problem] python = {self.python!r} names no file; write 'mine.py:problem'")
        return found(base, file, "[problem] python"), name

    def build(self, base: Path) -> Problem:
        path, name = self.named(base)
        check_unchanged(path, self.sha256)
        made = load_name(path, name)
        with blaming(path):
            problem = made() if callable(made) and not isinstance(made, Problem) else made
        if not isinstance(problem, Problem):
            raise BadConfig(
                f"{name} in {path} gives a {type(problem).__name__}; "
                "it must be a hocket.Problem or a function without arguments that returns one"
            )
        return problem


PROBLEMS: dict[str, type[ProblemSection]] = {
    "polynomials": Polynomials,
    "paper-polynomials": PaperPolynomials,
    "heterogeneous-polynomials": HeterogeneousPolynomials,
    "least-squares": LeastSquaresSection,
    "logistic": LogisticSection,
}


def read_problem(table: Mapping[str, Any]) -> ProblemSection:
    """The section [problem] with its [problem.feasible], checked."""
    if "python" in table:
        return check(FromPython, "problem", table)
    model = choose(PROBLEMS, "kind", "problem", table)
    given = table.get("feasible")
    if is_table(given) and "feasible" in model.model_fields:
        feasible = check(choose(SETS, "kind", "problem.feasible", given), "problem.feasible", given)
        table = {**table, "feasible": feasible}
    return check(model, "problem", table)
