"""The sections of a plan that no other configuration has."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hocket.config.section import Section

MOST_ROUNDS = (1 << 30) - 1


class FederationSection(Section):
    """Who takes part, and how they speak."""

    members: list[str] = Field(min_length=2, description="a list of at least two members' names")
    protocol: int = Field(description="the version of the protocol, a whole number")
    noise: int = Field(description="the version of the noise, a whole number")


class TaskSection(Section):
    """What is computed, in words, and the shape of its states."""

    name: str = Field(min_length=1, description="what the members call the task")
    dataset: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="a name for the data, letters, digits and . _ -: kept noise belongs to it",
    )
    dimension: int = Field(ge=1, description="how many numbers a state has")
    dtype: Literal["float64", "float32"] = Field("float64", description="'float64' or 'float32'")
    seed: int = Field(0, ge=0, description="a whole number: the public start is drawn from it")


PUBLIC = "public"
"""In place of an earlier run: the start that the task draws from the public seed."""


class RunSection(Section):
    """How long, and from where."""

    rounds: int = Field(ge=1, le=MOST_ROUNDS, description="a whole number of rounds, at least 1")
    local_steps: int = Field(1, ge=1, description="gradient steps between two exchanges, at least 1")
    start: str = Field(
        PUBLIC,
        pattern=rf"^({PUBLIC}|[0-9a-f]{{64}})$",
        description="'public', or the hash of the run whose published states are gone on from",
    )


class NetworkSection(Section):
    """Who talks to whom."""

    topology: str = Field(description="what the network is called")
    links: list[list[str]] = Field(description="a list of [who dials, who is dialled]")
    weights: list[list[float]] = Field(description="a matrix as a list of rows")


class AuditSection(Section):
    """What the plan was audited against."""

    colluders: int = Field(ge=1, description="how many members may collude, at least 1")
    min_sd: float = Field(
        0.0, ge=0, description="the least standard deviation with which a gradient may be known"
    )
    unsafe: bool = Field(False, description="true if the members accept what the audit refuses")
