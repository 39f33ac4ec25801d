"""A program played by many devices: every shard's rounds in one `shard_map`, its numbers where they are used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from hocket.algorithm import x_of
from hocket.engines.cluster.layout import Layout, lay_out
from hocket.engines.cluster.routes import SHARDS
from hocket.engines.cluster.shard import cut, differing
from hocket.engines.compiled.measures import Measures
from hocket.engines.compiled.player import Blueprint, legs
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.compiled.rounds import begin
from hocket.engines.schedule import Looks

HERE, EVERYWHERE = Spec(SHARDS), Spec()
SPREAD: dict[str, Spec] = {
    "k": EVERYWHERE,
    "state": HERE,
    "kept": Spec(None, SHARDS),
    "weighted": HERE,
    "mail": HERE,
}
"""Which axis of a carry's arrays runs over agents, and so over shards."""
CARRY: Any = Carry(**SPREAD)  # pyright: ignore[reportArgumentType]


class Sharded:
    """A program cut into shards, one per device; it is asked like any `hocket.engines.compiled.player.ProgramPlayer`.

    All processes make the same calls in the same order: each answers for all, and every one of them waits for the
    others.
    """

    def __init__(self, program: Program, devices: list[Any]):
        self.program = program
        self.layout: Layout = lay_out(program.tables, len(devices))
        self._mesh = Mesh(np.array(devices), (SHARDS,))
        here = jax.process_index()
        parts = {
            shard: cut(program, self.layout, shard)
            for shard, device in enumerate(devices)
            if device.process_index == here
        }
        some = next(iter(parts.values()))
        self._blueprint = Blueprint(some)
        numbers = {shard: eqx.filter(part, eqx.is_array) for shard, part in parts.items()}
        self._shards = list(parts)
        self._numbers = jax.tree.map(
            self._place, differing(eqx.filter(some, eqx.is_array)), *numbers.values()
        )
        self._steps: tuple[Any, Any] = (None, None)

    @property
    def writes(self) -> bool:
        return jax.process_index() == 0

    def begin(self, start: Any, steps: Steps) -> Carry:
        rows = self._spread(start, HERE)
        return _begin(self._blueprint, self._mesh, self._numbers, rows, self._everywhere(steps))

    def advance(self, carry: Carry, steps: Steps, stops: Any, looks: Looks) -> tuple[Carry, Measures]:
        steps = self._everywhere(steps)
        return _advance(self._blueprint, self._mesh, self._numbers, carry, steps, stops, looks)

    def sound(self, carry: Carry) -> bool:
        return bool(_sound(self._blueprint, self._mesh, self._numbers, x_of(carry.state)))

    def whole(self, carry: Carry) -> Carry:
        """The carry of all agents in the order of their numbers, on the host of every process."""
        everywhere = self._replicate(carry)

        def in_order(leaf: Any, spec: Spec) -> np.ndarray:
            array = np.asarray(leaf)
            return array if spec == EVERYWHERE else array.take(self.layout.role_of, axis=len(spec) - 1)

        return _map_carry(in_order, everywhere)

    def spread(self, carry: Carry) -> Carry:
        """The carry of all agents, each at its shard."""
        return _map_carry(self._spread, carry)

    def agree(self, seconds: float, stopping: bool) -> tuple[float, bool]:
        """The longest that any process took, and whether any was asked to stop."""
        mine = np.array([seconds, float(stopping)])
        longest, any_stopping = np.asarray(multihost_utils.process_allgather(mine)).reshape(-1, 2).max(axis=0)
        return float(longest), bool(any_stopping)

    @cached_property
    def _replicate(self) -> Callable[[Any], Any]:
        return jax.jit(lambda tree: tree, out_shardings=NamedSharding(self._mesh, EVERYWHERE))

    def _spread(self, array: Any, spec: Spec) -> Any:
        array = np.asarray(array)
        if spec != EVERYWHERE:
            array = array.take(self.layout.agents.ravel(), axis=len(spec) - 1)
        return self._global(array.shape, spec, lambda index: array[index])

    def _place(self, differs: bool, *by_shard: Any) -> Any:
        """A number of the program: a row for every shard where shards differ, the same for all where they do not."""
        first = np.asarray(by_shard[0])
        if not differs:
            return self._global(first.shape, EVERYWHERE, lambda index: first[index])
        rows = dict(zip(self._shards, by_shard, strict=True))
        shape = (self.layout.shards, *first.shape)
        return self._global(shape, HERE, lambda index: np.asarray(rows[index[0].start or 0])[None])

    def _everywhere(self, steps: Steps) -> Steps:
        """The step table on every device; one table serves many calls."""
        if self._steps[0] is not steps:
            placed = jax.tree.map(lambda leaf: self._spread(leaf, EVERYWHERE), steps)
            self._steps = (steps, placed)
        return self._steps[1]

    def _global(self, shape: tuple[int, ...], spec: Spec, part: Callable[[Any], np.ndarray]) -> jax.Array:
        return jax.make_array_from_callback(shape, NamedSharding(self._mesh, spec), part)


def _map_carry(function: Callable[[Any, Spec], Any], carry: Carry) -> Carry:
    """Apply a function to every array of a carry, told how it is spread over shards."""
    return Carry(
        **{
            name: jax.tree.map(lambda leaf, spec=spec: function(leaf, spec), getattr(carry, name))
            for name, spec in SPREAD.items()
        }
    )


def _on_shards(
    function: Callable[..., Any], blueprint: Blueprint, mesh: Mesh, numbers: Any, specs: Any
) -> Any:
    """A function of one shard's program and arrays, for all shards at once; `specs` are of what goes in and out."""
    differs, (going_in, coming_out) = differing(numbers), specs

    def one(numbers: Any, *args: Any) -> Any:
        own = jax.tree.map(lambda differ, leaf: leaf[0] if differ else leaf, differs, numbers)
        return function(blueprint.program(own), *args)

    laid_out = jax.tree.map(lambda differ: HERE if differ else EVERYWHERE, differs)
    # What comes out as the same everywhere was made so by a collective, which JAX cannot always tell.
    return jax.shard_map(
        one, mesh=mesh, in_specs=(laid_out, *going_in), out_specs=coming_out, check_vma=False
    )


@partial(jax.jit, static_argnums=(0, 1))
def _begin(blueprint: Blueprint, mesh: Mesh, numbers: Any, start: Any, steps: Steps) -> Carry:
    specs = ((HERE, EVERYWHERE), CARRY)
    return _on_shards(begin, blueprint, mesh, numbers, specs)(numbers, start, steps)


@partial(jax.jit, static_argnums=(0, 1))
def _advance(
    blueprint: Blueprint, mesh: Mesh, numbers: Any, carry: Carry, steps: Steps, stops: Any, looks: Looks
) -> tuple[Carry, Measures]:
    specs = ((CARRY, EVERYWHERE, EVERYWHERE, EVERYWHERE), (CARRY, EVERYWHERE))
    return _on_shards(legs, blueprint, mesh, numbers, specs)(numbers, carry, steps, stops, looks)


@partial(jax.jit, static_argnums=(0, 1))
def _sound(blueprint: Blueprint, mesh: Mesh, numbers: Any, x: Any) -> Any:
    def all_finite(program: Program, x: Any) -> Any:
        return program.population.every(jnp.isfinite(program.population.real(x)).all())

    return _on_shards(all_finite, blueprint, mesh, numbers, ((HERE,), EVERYWHERE))(numbers, x)
