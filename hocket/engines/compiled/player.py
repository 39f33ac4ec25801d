"""A program ready to be called: what is compiled in is hashed once, so that a call costs microseconds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hocket.algorithm import x_of
from hocket.engines.compiled.measures import Measures, measure, no_measures
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.compiled.rounds import begin, run_until
from hocket.engines.schedule import Looks


class Blueprint:
    """The part of a program that is compiled in: functions, names and shapes, but no numbers."""

    def __init__(self, program: Program):
        self._static = eqx.filter(program, eqx.is_array, inverse=True)
        leaves, structure = jax.tree.flatten(self._static)
        self._identity = (tuple(leaves), structure)
        self._hash = hash(self._identity)

    def program(self, numbers: Any) -> Program:
        """The whole program again."""
        return eqx.combine(self._static, numbers)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blueprint) and self._identity == other._identity


class ProgramPlayer(Protocol):
    """Plays rounds of a program: on one device, or on those of many processes that all make the same calls."""

    program: Program
    """Of the whole run."""

    @property
    def writes(self) -> bool:
        """Whether this process writes the files of a run."""
        ...

    def begin(self, start: Any, steps: Steps) -> Carry:
        """The carry before round 1."""
        ...

    def advance(self, carry: Carry, steps: Steps, stops: Any, looks: Looks) -> tuple[Carry, Measures]:
        """Run until each of `stops` is the next round, and measure what is to be looked at there."""
        ...

    def sound(self, carry: Carry) -> bool:
        """Whether every agent's state is finite."""
        ...

    def whole(self, carry: Carry) -> Carry:
        """The carry of all agents in the order of their numbers."""
        ...

    def spread(self, carry: Carry) -> Carry:
        """The carry of all agents, each where it is played."""
        ...

    def agree(self, seconds: float, stopping: bool) -> tuple[float, bool]:
        """How long the last call took and whether to stop, as all processes see it."""
        ...


class Compiled:
    """Plays on one device. Numbers are arguments: programs that differ in numbers only share one compilation."""

    writes = True

    def __init__(self, program: Program):
        self.program = program
        self.blueprint = Blueprint(program)
        self.numbers = eqx.filter(program, eqx.is_array)

    def begin(self, start: Any, steps: Steps) -> Carry:
        return _begin(self.blueprint, self.numbers, start, steps)

    def advance(self, carry: Carry, steps: Steps, stops: Any, looks: Looks) -> tuple[Carry, Measures]:
        after, measures = _advance(self.blueprint, self.numbers, carry, steps, stops, looks)
        return replace(after, kept=carry.kept), measures

    def sound(self, carry: Carry) -> bool:
        x = x_of(carry.state)
        # On the host there is nothing to copy; from any other device one answer comes over, and not all states.
        here = all(device.platform == "cpu" for device in x.devices())
        return bool(np.isfinite(np.asarray(x)).all() if here else jnp.isfinite(x).all())

    def whole(self, carry: Carry) -> Carry:
        """The carry itself: all agents are here, in order."""
        return carry

    def spread(self, carry: Carry) -> Carry:
        """The carry on this device."""
        return jax.device_put(carry)

    def agree(self, seconds: float, stopping: bool) -> tuple[float, bool]:
        """What was asked: there is nobody to agree with."""
        return seconds, stopping


@partial(jax.jit, static_argnums=0)
def _begin(blueprint: Blueprint, numbers: Any, start: Any, steps: Steps) -> Carry:
    return begin(blueprint.program(numbers), start, steps)


@partial(jax.jit, static_argnums=0)
def _advance(
    blueprint: Blueprint, numbers: Any, carry: Carry, steps: Steps, stops: Any, looks: Looks
) -> tuple[Carry, Measures]:
    after, measures = legs(blueprint.program(numbers), carry, steps, stops, looks)
    # Noise that stays is not copied; function sharing has much of it.
    return replace(after, kept={}), measures


def compilations() -> int:
    """How many different programs were compiled so far."""
    return _advance._cache_size()  # pyright: ignore[reportAttributeAccessIssue]


def legs(program: Program, carry: Carry, steps: Steps, stops: Any, looks: Looks) -> tuple[Carry, Measures]:
    """Run from stop to stop; stops that repeat the last one are padding, and nothing is done for them."""
    nothing = no_measures(program, carry, steps, looks)
    rows = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(stops), *leaf.shape)), nothing)

    def leg(i: Any, reached: tuple[Carry, Measures]) -> tuple[Carry, Measures]:
        bare, rows = reached
        carry = run_until(program, replace(bare, kept=kept), steps, stops[i])
        look, k = looks.at(i), carry.k
        # Of all steps those around this round: where a table as long as the run is at hand, a CPU's threads share what
        # is measured, and to hand a few numbers over takes longer than to work with them.
        near = Steps(k - 1, jnp.stack([steps(k - 1), steps(k), steps(k + 1)]))
        measured = jax.lax.cond(look.agents > 0, lambda: measure(program, carry, near, look), lambda: nothing)
        return replace(carry, kept={}), jax.tree.map(lambda row, value: row.at[i].set(value), rows, measured)

    # A loop over all stops would copy the states at every one of them, reached or not; and one over noise that is kept
    # would copy that.
    kept, bare = carry.kept, replace(carry, kept={})
    bare, rows = jax.lax.fori_loop(0, 1 + jnp.sum(stops < stops[-1]), leg, (bare, rows))
    return replace(bare, kept=kept), rows
