"""The sections [algorithm], [network], [step] and [run]."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY as ALGORITHMS
from hocket.algorithms.parts.compressors import Compressor
from hocket.config.files import found
from hocket.config.section import Section, check, choose
from hocket.errors import BadConfig
from hocket.files import read_text
from hocket.networks.network import Network
from hocket.networks.topologies import parse
from hocket.noise.stds import Stds
from hocket.runs.channel import Channel
from hocket.steps import AUTO, Constant, Power, Step

NOT_IN_A_FILE = {"given"}
"""Parameters that are code."""


class AlgorithmSection(Section):
    """The parameters of one algorithm."""

    algorithm: ClassVar[type[Algorithm]]
    inner_ones: ClassVar[tuple[str, ...]] = ()
    """Keys that name another algorithm, which this one is made of."""
    not_parameters: ClassVar[tuple[str, ...]] = ()
    """Keys that say which algorithm it is, beside its name."""
    name: str = Field(description="the name of an algorithm")

    def build(self) -> Algorithm:
        """The algorithm itself."""
        given = self.model_dump(exclude={*AlgorithmSection.model_fields, *self.not_parameters})
        return self.algorithm(**given | {key: _by_key(given[key], key) for key in self.inner_ones})


def named_algorithm(
    kinds: Mapping[str, type[AlgorithmSection]], table: Mapping[str, Any]
) -> AlgorithmSection:
    """The section [algorithm], checked against the algorithm of these that it names."""
    model = choose(kinds, "name", "algorithm", table)
    inner = {key: spelled(table[key], kinds) for key in model.inner_ones if key in table}
    return check(model, "algorithm", {**table, **inner})


def read_algorithm(table: Mapping[str, Any]) -> AlgorithmSection:
    """The section [algorithm] with one of hocket's algorithms, checked against it."""
    return named_algorithm(ALGORITHM_SECTIONS, table)


def spelled(word: Any, known: Iterable[str]) -> Any:
    """The key that differs from a word in hyphens and capitals alone; the word itself where there is none.

    >>> spelled("AugDGM", ["dgd", "aug-dgm"]), spelled("sgd", ["dgd", "aug-dgm"])
    ('aug-dgm', 'sgd')
    """
    return next((key for key in known if isinstance(word, str) and _letters(key) == _letters(word)), word)


def _letters(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")


def algorithm_section(
    algorithm: type[Algorithm],
    base: type[AlgorithmSection] = AlgorithmSection,
    *,
    without: Collection[str] = NOT_IN_A_FILE,
) -> type[AlgorithmSection]:
    """The keys that an algorithm has in a file: its own parameters."""
    hints = get_type_hints(algorithm)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(algorithm):
        if field.name not in without:
            kind, words = hints[field.name], _in_words(hints[field.name])
            default = ... if field.default is dataclasses.MISSING else field.default
            if is_algorithm(kind):
                kind, default = str, default.name if isinstance(default, Algorithm) else ...
            elif isinstance(default, Compressor):
                kind, default = str, str(default)
            if field.default_factory is not dataclasses.MISSING:
                fields[field.name] = (kind, Field(default_factory=field.default_factory, description=words))
            else:
                fields[field.name] = (kind, Field(default, description=words))
    section = create_model(algorithm.__name__, __base__=base, **fields)
    section.algorithm = algorithm
    section.inner_ones = tuple(name for name in fields if is_algorithm(hints[name]))
    return section


def is_algorithm(kind: Any) -> bool:
    """Whether something is a class of algorithms."""
    return isinstance(kind, type) and issubclass(kind, Algorithm)


def _by_key(key: str, field: str) -> Algorithm:
    """The algorithm of that name, as it is without parameters."""
    kind = choose(ALGORITHM_SECTIONS, field, "algorithm", {field: key}).algorithm
    needed = [one.name for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING]
    if needed:
        raise BadConfig(
            f"[algorithm] {field} = {key!r} needs {needed[0]} of its own, for which a file has no place; name one "
            "without parameters"
        )
    return kind()


def _in_words(kind: Any) -> str:
    if is_algorithm(kind):
        return "the name of an algorithm"
    if kind is Compressor:
        return "text such as 'top-k:0.1', 'random-k:20' or 'quantised:4'"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {float: "a number", float | None: "a number", int: "a whole number", bool: "true or false"}
    by_link = "a number, or a list of one for each link, in the order of the network's"
    return (words | dict.fromkeys((Stds, Stds | None), by_link)).get(kind, "text")


ALGORITHM_SECTIONS = {name: algorithm_section(algorithm) for name, algorithm in ALGORITHMS.items()}


class NetworkSection(Section):
    """A named topology, links, or a file of links."""

    topology: str | None = Field(None, description="text such as 'cycle:5', 'grid:3x4' or 'harary:k=3,n=7'")
    edges: list[list[int]] | None = Field(None, description="a list of links, [[0, 1], [1, 2]]")
    edges_file: str | None = Field(None, description="the name of a text file with one link per line, '0 1'")
    n: int | None = Field(None, description="how many agents the links are for, a whole number")
    directed: bool = Field(False, description="true if the first agent of a link speaks to the second only")
    weights: Literal["auto", "paper", "metropolis", "fastest", "push"] | list[list[float]] = Field(
        "auto",
        description="'auto', 'paper', 'metropolis', 'fastest', 'push' or a matrix as a list of rows",
    )

    def build(self, base: Path) -> Network:
        """The network itself; file names are relative to `base`."""
        given = [key for key in ("topology", "edges", "edges_file") if getattr(self, key) is not None]
        if len(given) != 1:
            what = " and ".join(given) or "none of them"
            raise BadConfig(f"[network] needs one of topology, edges and edges_file, and has {what}")
        if self.topology is not None:
            if self.n is not None:
                raise BadConfig(
                    "[network] n is for edges and edges_file; a topology says itself how many agents it has"
                )
            if self.directed:
                raise BadConfig(
                    "[network] directed is for edges and edges_file; a topology's name says it itself"
                )
            return parse(self.topology, weights=self.weights)
        how: Any = {"weights": self.weights, "directed": self.directed}
        if self.edges is not None:
            return Network(self.edges, n=self.n, **how)  # type: ignore[arg-type]
        path = found(base, str(self.edges_file), "[network] edges_file")
        return Network(read_links(path), n=self.n, name=path.stem, **how)


MOST_LINKS = 1_000_000_000
"""Bytes of a file of links."""


def read_links(path: Path) -> list[tuple[int, int]]:
    """Links from a text file: two agent numbers a line, apart by blanks or a comma; `#` begins a comment."""
    links: list[tuple[int, int]] = []
    for number, line in enumerate(read_text(path, MOST_LINKS).splitlines(), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isdecimal() for word in words):
            raise BadConfig(
                f"{path}, line {number}: {line.strip()!r} is no link; write two agent numbers, '0 1'"
            )
        links.append((int(words[0]), int(words[1])))
    return links


class ChannelSection(Section):
    """Messages that are lost or late, and agents that are inactive."""

    loss: float = Field(0.0, description="the part of all messages that is lost, from 0 to below 1")
    inactive: float = Field(0.0, description="the part of all agents inactive in a round, from 0 to below 1")
    burst: float | None = Field(None, description="rounds for which losses last on average, 1 or more")
    delay: int = Field(0, description="rounds by which messages are late at most, a whole number")
    both_ways: bool = Field(False, description="true if links fail in both directions at once")
    seed: int | None = Field(
        None, description="a whole number of the channel's own; without it the run's seed"
    )

    def build(self) -> Channel:
        """The channel itself."""
        return Channel(**self.model_dump())


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


class AutoSection(Section):
    """The step that the algorithm derives from the problem and the network."""

    auto: Literal[True] = Field(True, description="true")

    def build(self) -> Any:
        """The word for it."""
        return AUTO


StepSection = PowerSection | ConstantSection | AutoSection


def read_step(table: Mapping[str, Any]) -> StepSection:
    """The section [step]: either `constant`, or `a`, `b` and `p`, or `auto`."""
    if "auto" in table:
        return check(AutoSection, "step", table)
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
        None, description="a number, a list with one per coordinate (of one: per agent), or a row per agent"
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
