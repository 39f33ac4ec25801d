"""Code that is not hocket's in the place of a mechanism: it has the same numbers and the same draws, and adds less of
them to what agents send, or nothing.

Whatever way it comes, as a class of somebody's own, in one instance, in hocket's own class, or inside a mechanism of
hocket's, a certificate of it would be about other code than is played.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from functools import cache
from typing import Any

import hocket as hk
from hocket.agent import Agent
from hocket.algorithms.parts.masked_start import MaskedStart

PARTS = ("init", "round")


LITTLE = 0.1
"""The part of its noise that is left: no theorem's condition but the code itself tells it from the whole."""


def heard(agent: Agent, part: float) -> Agent:
    """The agent with a part of its noise."""
    return replace(agent, shares={name: part * one for name, one in agent.shares.items()}, adders=None)


def other(kind: type, name: str, part: float) -> Any:
    """The same method of a class, for an agent with a part of its noise."""
    whole = getattr(kind, name)
    return lambda self, agent, *more: whole(self, heard(agent, part), *more)


@cache
def subclass(kind: type, part: float) -> type:
    """A class of one's own that takes a mechanism's place."""
    return type(kind)(f"My{kind.__name__}", (kind,), {name: other(kind, name, part) for name in PARTS})


class Peeking(hk.Dgd):
    """Put inside function sharing, it asks for the objective without its noise function."""

    def round(self, agent, state, k):
        return (yield from super().round(replace(agent, plus=None), state, k))


class Exact(hk.Dgd):
    """Takes exact gradients by itself, where hocket's steps along what it is given."""

    def round(self, agent, state, k):
        received = yield hk.Broadcast(state)
        v = agent.mix(state, received)
        return v - agent.step(k) * agent.gradient(v)


def exact() -> hk.Dgd:
    """The same in one instance of hocket's class."""
    found = hk.Dgd()
    object.__setattr__(found, "round", Exact().round)
    return found


def put_in(code: str, algorithm: hk.Algorithm) -> hk.Algorithm | None:
    """The algorithm with somebody else's code; None where there is no place for it."""
    kind = type(algorithm)
    numbers = {one.name: getattr(algorithm, one.name) for one in fields(kind)}
    match code:
        case "subclass":
            return subclass(kind, 0.0)(**numbers)
        case "quiet subclass":
            return subclass(kind, LITTLE)(**numbers)
        case "wrapper":
            return MaskedStart(subclass(kind, LITTLE)(**numbers))
        case "inner":
            return replace(algorithm, inner=Peeking()) if isinstance(algorithm, hk.FunctionSharing) else None
        case "instance":
            for name in PARTS:
                put = other(kind, name, LITTLE)
                object.__setattr__(algorithm, name, lambda *given, put=put: put(algorithm, *given))
    return algorithm


@contextmanager
def patched(kind: type) -> Iterator[None]:
    """Other methods in hocket's own class, for a while."""
    before = {name: vars(kind)[name] for name in PARTS if name in vars(kind)}
    put = {name: other(kind, name, LITTLE) for name in PARTS}
    for name in PARTS:
        setattr(kind, name, put[name])
    try:
        yield
    finally:
        for name in PARTS:
            setattr(kind, name, before[name]) if name in before else delattr(kind, name)


def with_code(code: str, kind: type) -> Any:
    """While a cell is evaluated."""
    return patched(kind) if code == "class" else nullcontext()
