"""Noise inside a compiled run: drawn, dealt, and finished in memory before a round reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from hocket.engines.compiled import kernels
from hocket.engines.compiled.program import Program, beside
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


def adders(program: Program, k: Any) -> dict[str, Callable[[Any], Any]]:
    """By kind of fresh noise, x + scale · noise in one pass, from all agents' x and scales; empty but on a GPU."""
    when, tables = program.when(k[None]), program.tables
    if not kernels.on_gpu() or program.lanes > 1:
        return {}

    def adder(draw: Draw) -> Callable[[Any], Any]:
        key = threefry.derive(program.root, draw.label)
        return lambda onto: kernels.noisy(draw, key, when, tables, *onto)

    return {
        name: adder(draw)
        for name, draw in program.draws.items()
        if not draw.once and kernels.noise_fits(draw, when, tables, program.dtype)
    }


def pairwise(program: Program, rounds: Any) -> dict[str, Pair]:
    """What both ends of every link drew in these rounds: the part of the noise that two agents share."""
    out = {}
    for name, draw in program.draws.items():
        when = program.when(jnp.zeros(1, rounds.dtype) if draw.once else rounds)
        raw = draw.raw(threefry.derive(program.root, draw.label), when, program.tables, program.dtype)
        if isinstance(raw, Pair):
            out[name] = raw
    return out


def _dealt(program: Program, draw: Draw, when: When) -> Any:
    """Draw, then deal; each is finished in memory before what reads it begins.

    On a GPU memory is what is scarce, and every agent draws for itself, in the kernel that uses the noise.
    """
    # Before any of it is drawn: else every number of many runs would derive its run's key again.
    key = threefry.derive(program.root, draw.label)
    if jax.default_backend() != "cpu":
        if isinstance(draw, Balanced) and kernels.noise_fits(draw, when, program.tables, program.dtype):
            nothing = jnp.zeros((program.tables.n, draw.width), np.float32)
            alike = jnp.ones(program.tables.n, np.float32)
            return kernels.noisy(draw, key, when, program.tables, nothing, alike)[None]
        return draw.at_each_end(key, when, program.tables, program.dtype)
    condensed = _settled(lambda: draw.condense(draw.raw(key, when, program.tables, program.dtype)), when)
    return _settled(lambda: draw.deal(beside(condensed), when, program.tables), when)


def _settled(compute: Callable[[], Any], when: When) -> Any:
    """Compute in a step of its own.

    XLA on CPUs ignores optimisation barriers and fuses draws into the gathers that read them, so that each number is
    drawn again at every reader: five times slower with 8 neighbours. It does not fuse across a branch, though, and
    cannot tell that this one is always taken.
    """
    # Traced once, for the shapes and for the branch.
    traced, shapes = jax.make_jaxpr(lambda: beside(compute()), return_shape=True)()
    leaves, structure = jax.tree.flatten(shapes)
    settled = jax.lax.cond(
        when.rounds[0] >= 0,
        core.jaxpr_as_fun(traced),
        lambda: [jnp.zeros(leaf.shape, leaf.dtype) for leaf in leaves],
    )
    return jax.tree.unflatten(structure, settled)
