"""The sections [step] and [run]: how large the steps are, and how long and from where a run is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from hocket.config.section import Section, check
from hocket.errors import BadConfig
from hocket.steps import Constant, Power, Step


class PowerSection(Section):
    """α_k = a / (k + b)^p."""

    a: float = Field(description="a positive number")
    b: float = Field(0.0, description="a number above -1")
    p: float = Field(1.0, description="a finite number, above 1/2 and up to 1 for Theorem 1")

    def build(self) -> Step:
        """The step sizes themselves."""
        return Power(self.a, self.b, self.p)


class ConstantSection(Section):
    """The same step in every round."""

    constant: float = Field(description="a positive number")

    def build(self) -> Step:
        """The step sizes themselves."""
        return Constant(self.constant)


StepSection = PowerSection | ConstantSection


def read_step(table: Mapping[str, Any]) -> StepSection:
    """The section [step]: either `constant`, or `a`, `b` and `p`."""
    if "constant" not in table:
        return check(PowerSection, "step", table)
    both = [key for key in PowerSection.model_fields if key in table]
    if both:
        raise BadConfig(
            f"[step] has constant and {both[0]}; give a constant step, or a, b and p for a / (k + b)^p"
        )
    return check(ConstantSection, "step", table)


class RunSection(Section):
    """How long, from where, and what is kept."""

    rounds: int = Field(ge=1, description="a whole number of rounds, at least 1")
    seed: int = Field(0, ge=0, description="a whole number, zero or more")
    start: float | list[float] | list[list[float]] | None = Field(
        None,
        description="a number, a list with one per coordinate (of one: per agent), or a row per agent",
    )
    dtype: Literal["float64", "float32"] = Field("float64", description="'float64' or 'float32'")
    grad_at: Literal["mixed", "projected"] = Field("mixed", description="'mixed' or 'projected'")
    tolerance: float | None = Field(
        None, gt=0, description="a positive number: the gap at which the run may stop"
    )
    measure: Literal["sample", "exact"] = Field("sample", description="'sample' or 'exact'")
    keep: Literal["metrics", "path", "transcript"] = Field(
        "metrics", description="'metrics', 'path' or 'transcript'"
    )
