"""The section [problem.feasible]: where the states of the agents must lie."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

from pydantic import Field

from hocket.config.section import Section
from hocket.sets import Ball, Box, Everywhere, FeasibleSet, Simplex

NumberOrVector = float | list[float]


class FeasibleSection(Section):
    """One kind of feasible set."""

    @abstractmethod
    def build(self) -> FeasibleSet:
        """The set itself."""


class BoxSection(FeasibleSection):
    """Every coordinate between its own low and high."""

    kind: Literal["box"] = Field(description="'box'")
    low: NumberOrVector = Field(description="a number, or a list with one per coordinate")
    high: NumberOrVector = Field(description="a number, or a list with one per coordinate")

    def build(self) -> FeasibleSet:
        return Box(self.low, self.high)


class BallSection(FeasibleSection):
    """Every point within a radius of a centre."""

    kind: Literal["ball"] = Field(description="'ball'")
    radius: float = Field(description="a positive number")
    center: NumberOrVector = Field(0.0, description="a number, or a list with one per coordinate")

    def build(self) -> FeasibleSet:
        return Ball(self.radius, self.center)


class SimplexSection(FeasibleSection):
    """Coordinates that are not negative and share a total."""

    kind: Literal["simplex"] = Field(description="'simplex'")
    total: float = Field(1.0, description="a positive number")

    def build(self) -> FeasibleSet:
        return Simplex(self.total)


class EverywhereSection(FeasibleSection):
    """No constraint."""

    kind: Literal["everywhere"] = Field(description="'everywhere'")

    def build(self) -> FeasibleSet:
        return Everywhere()


SETS: dict[str, type[FeasibleSection]] = {
    "box": BoxSection,
    "ball": BallSection,
    "simplex": SimplexSection,
    "everywhere": EverywhereSection,
}
