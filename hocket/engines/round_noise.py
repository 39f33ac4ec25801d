"""Noise inside a compiled run: drawn, dealt, and finished in memory before a round reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from hocket.engines.gpu_noise import balanced_noise, in_one_kernel
from hocket.engines.program import Program
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw, Pair, When


def kept_noise(program: Program) -> dict[str, Any]:
    """Every agent's share of the noise that is drawn once, by phase of the network."""
    phases = jnp.arange(program.tables.period)
    when = When(jnp.zeros_like(phases), phases)
    return {name: _dealt(program, draw, when) for name, draw in program.draws.items() if draw.once}


def fresh_noise(program: Program, rounds: Any) -> dict[str, Any]:
    """Every agent's share of the noise of these rounds."""
    when = program.when(rounds)
    return {name: _dealt(program, draw, when) for name, draw in program.draws.items() if not draw.once}


def noise_of_round(program: Program, k: Any) -> dict[str, Any]:
    """Every agent's share of the noise of one round."""
    return {name: rows[0] for name, rows in fresh_noise(program, k[None]).items()}


def pairwise(program: Program, rounds: Any) -> dict[str, Pair]:
    """What both ends of every link drew in these rounds: the part of the noise that two agents share."""
    out = {}
    for name, draw in program.draws.items():
        when = program.when(jnp.zeros(1, rounds.dtype) if draw.once else rounds)
        raw = _raw(program, draw, when)
        if isinstance(raw, Pair):
            out[name] = raw
    return out


def _dealt(program: Program, draw: Draw, when: When) -> Any:
    """Draw, then deal; each is finished in memory before what reads it begins.

    On a GPU memory is what is scarce, and every agent draws for itself, in the kernel that uses the noise.
    """
    if jax.default_backend() != "cpu":
        key = threefry.derive(program.root, draw.label)
        if isinstance(draw, Balanced) and in_one_kernel(draw, when, program.tables, program.dtype):
            return balanced_noise(draw, key, when, program.tables)
        return draw.at_each_end(key, when, program.tables, program.dtype)
    condensed = _settled(lambda: draw.condense(_raw(program, draw, when)), when)
    return _settled(lambda: draw.deal(condensed, when, program.tables), when)


def _settled(compute: Callable[[], Any], when: When) -> Any:
    """Compute in a step of its own.

    XLA on CPUs ignores optimisation barriers and fuses draws into the gathers that read them, so that each number is
    drawn again at every reader: five times slower with 8 neighbours. It does not fuse across a branch, though, and
    cannot tell that this one is always taken.
    """
    shapes = jax.eval_shape(compute)
    return jax.lax.cond(
        when.rounds[0] >= 0,
        compute,
        lambda: jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes),
    )


def _raw(program: Program, draw: Draw, when: When) -> Any:
    return draw.raw(threefry.derive(program.root, draw.label), when, program.tables, program.dtype)
