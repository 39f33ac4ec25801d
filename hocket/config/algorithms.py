"""The section [algorithm]: its keys are the parameters of the algorithm it names, read off its class."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY as ALGORITHMS
from hocket.config.section import Section, check, choose

NOT_IN_A_FILE = {"noise"}
"""Parameters that are code."""


class AlgorithmSection(Section):
    """The parameters of one algorithm."""

    algorithm: ClassVar[type[Algorithm]]
    name: str = Field(description="the name of an algorithm")

    def build(self) -> Algorithm:
        """The algorithm itself."""
        return self.algorithm(**self.model_dump(exclude={"name"}))


def read_algorithm(table: Mapping[str, Any]) -> AlgorithmSection:
    """The section [algorithm], checked against the algorithm it names."""
    return check(choose(SECTIONS, "name", "algorithm", table), "algorithm", table)


def _section(algorithm: type[Algorithm]) -> type[AlgorithmSection]:
    hints = get_type_hints(algorithm)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(algorithm):
        if field.name not in NOT_IN_A_FILE:
            default = ... if field.default is dataclasses.MISSING else field.default
            fields[field.name] = (hints[field.name], Field(default, description=_in_words(hints[field.name])))
    section = create_model(algorithm.__name__, __base__=AlgorithmSection, **fields)
    section.algorithm = algorithm
    return section


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    return {float: "a number", int: "a whole number", bool: "true or false"}.get(kind, "text")


SECTIONS = {name: _section(algorithm) for name, algorithm in ALGORITHMS.items()}
