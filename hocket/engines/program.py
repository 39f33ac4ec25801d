"""A run as a compiled program: noise in blocks, rounds in a loop, measurements where they are wanted.

Everything that is a number is an argument of the program, so changing a number never compiles again. The loop's
bounds are numbers too: one program runs one round or a million.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from hocket import threefry
from hocket.agent import Agent
from hocket.algorithm import Algorithm, converse, x_of
from hocket.engines.carriage import AGENTS, exchange, places, together
from hocket.noise import Draw, Pair, When
from hocket.problem import Problem
from hocket.wiring import Wiring

BLOCK_NUMBERS = 1 << 15
"""Noise is drawn for as many rounds at once as fit into this many numbers: enough to keep vector units busy, little
enough to stay in cache."""
LONGEST_BLOCK = 512
GAP_WORK = 1 << 27
"""The gap is taken over every agent while that reads at most this many numbers; beyond, over the farthest ones."""
FARTHEST = 32


class Program(eqx.Module):
    """All that a run computes with. Arrays are arguments of the compiled code, the rest is compiled in."""

    algorithm: Algorithm
    problem: Problem
    pooled: Problem
    """(1/n) Σ_j f_j in one place, on which gap and loss are measured."""
    agents: int = eqx.field(static=True)
    """How many objectives the pooled one stands for."""
    wiring: Wiring
    draws: dict[str, Draw]
    key: Any
    best: Float[Any, ""]
    """f*, or NaN where it is not known."""
    grad_at: str = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    averaging: bool = eqx.field(static=True)
    lanes: int = eqx.field(static=True, default=1)
    """Runs played side by side; their noise shares the cache."""

    @property
    def block(self) -> int:
        """Rounds of noise drawn at once."""
        numbers = sum(draw.size(self.wiring) for draw in self.draws.values() if not draw.once)
        return int(np.clip(BLOCK_NUMBERS // max(numbers * self.lanes, 1), 1, LONGEST_BLOCK)) if numbers else 0

    @property
    def root(self) -> tuple[Any, Any]:
        return self.key[0], self.key[1]

    @property
    def measures_all(self) -> bool:
        """Whether the gap looks at every agent, or only at those farthest from the mean."""
        numbers = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self.pooled, eqx.is_array)))
        return self.wiring.n <= FARTHEST or self.wiring.n * numbers <= GAP_WORK

    def total(self, x: Any) -> Any:
        """Σ_j f_j(x)."""
        return self.agents * self.pooled.total(x)

    def phase(self, k: Any) -> Any:
        """The phase of the network in round k: plainly 0 for a fixed network, so that nothing is looked up."""
        return 0 if self.wiring.period == 1 else (k - 1) % self.wiring.period

    def when(self, rounds: Any) -> When:
        return When(rounds, (rounds - 1) % self.wiring.period)


class Steps(NamedTuple):
    """Step sizes α_k for the rounds from `base` on, computed on the host so that every engine has the same."""

    base: Int[Any, ""]
    table: Float[Any, " rounds"]

    def __call__(self, k: Any) -> Any:
        return _entry(self.table, k - self.base)


class Carry(eqx.Module):
    """Where a run stands before round k: all it needs to go on, and to be resumed."""

    k: Int[Any, ""]
    state: Any
    kept: dict[str, Any]
    """Noise drawn once, by phase of the network and agent."""
    weighted: Any
    """Σ α_k x_k so far, for the time average of Theorem 3; None when it is not asked for."""

    def at(self, k: Any, moving: Moving) -> Carry:
        """The carry before round k, or before its own if that is later."""
        return Carry(jnp.maximum(self.k, k), moving.state, self.kept, moving.weighted)


class Moving(NamedTuple):
    """The part of a carry that changes from round to round. A loop over less is faster where rounds are tiny."""

    state: Any
    weighted: Any


class Measures(NamedTuple):
    """What is measured at a recorded round."""

    gap: Any
    loss: Any
    disagreement: Any
    noise_rms: Any
    noise_max: Any
    finite: Any
    """For every agent: are its state and its objective there still finite?"""


def begin(program: Program, start: Any, steps: Steps) -> Carry:
    """The state before round 1: noise that is kept is drawn, and the algorithm sets up its state."""
    phases = jnp.arange(program.wiring.period)
    kept = {}
    for name, draw in program.draws.items():
        if draw.once:
            kept[name] = _dealt(program, draw, When(jnp.zeros_like(phases), phases))
    k = jnp.asarray(0)

    def one(agent: Agent, x: Any) -> Any:
        return converse(program.algorithm.setup(agent, x), None)  # type: ignore[arg-type]

    state = _per_agent(program, steps, k, _shares(program, kept, {}, k), one, start)
    weighted = jnp.zeros_like(start) if program.averaging else None
    # Typed like the rounds that follow: a bare 1 is of a weaker type, and the whole program would be compiled twice.
    return Carry(jnp.asarray(1, dtype=int), state, kept, weighted)


def one_round(
    program: Program, carry: Carry, k: Any, moving: Moving, steps: Steps, fresh: Mapping[str, Any]
) -> tuple[Moving, list[Any]]:
    """Play round k for all agents; also returns every word said in it, exchange by exchange."""
    phase = program.phase(k)

    def one(agent: Agent, args: Any) -> tuple[Any, list[Any]]:
        state, place = args
        said: list[Any] = []

        def carried(spoken: Any) -> Any:
            said.append(spoken[0])
            return exchange(program.wiring, phase, place, spoken)

        return converse(program.algorithm.round(agent, state, k), carried), said

    shares = _shares(program, carry.kept, fresh, k)
    state, said = _per_agent(program, steps, k, shares, one, (moving.state, places(program.wiring, phase)))
    weighted = moving.weighted
    if weighted is not None:
        weighted = weighted + steps(k) * x_of(moving.state)
    return Moving(state, weighted), said


def run_until(program: Program, carry: Carry, steps: Steps, stop: Any) -> Carry:
    """Play rounds until round `stop` is next, drawing noise block by block."""

    def play(k: Any, moving: Moving, fresh: Mapping[str, Any]) -> Moving:
        return one_round(program, carry, k, moving, steps, fresh)[0]

    def block(turn: tuple[Any, Moving]) -> tuple[Any, Moving]:
        first, moving = turn
        noise = fresh_noise(program, first + jnp.arange(program.block))
        last = jnp.minimum(first + program.block, stop)

        def next_round(k: Any, moving: Moving) -> Moving:
            return play(k, moving, jax.tree.map(lambda rows: _entry(rows, k - first), noise))

        return last, jax.lax.fori_loop(first, last, next_round, moving)

    moving = Moving(carry.state, carry.weighted)
    if program.block == 0:
        moving = jax.lax.fori_loop(carry.k, stop, lambda k, moving: play(k, moving, {}), moving)
    elif program.block == 1:
        moving = jax.lax.fori_loop(
            carry.k, stop, lambda k, moving: play(k, moving, _first(fresh_noise(program, k[None]))), moving
        )
    else:
        _, moving = jax.lax.while_loop(lambda turn: turn[0] < stop, block, (carry.k, moving))
    return carry.at(stop, moving)


def fresh_noise(program: Program, rounds: Any) -> dict[str, Any]:
    """Every agent's share of the noise of these rounds."""
    when = program.when(rounds)
    return {name: _dealt(program, draw, when) for name, draw in program.draws.items() if not draw.once}


def pairwise(program: Program, rounds: Any) -> dict[str, Pair]:
    """What both ends of every link drew in these rounds: the part of the noise that two agents share."""
    out = {}
    for name, draw in program.draws.items():
        when = program.when(jnp.zeros(1, rounds.dtype) if draw.once else rounds)
        raw = _raw(program, draw, when)
        if isinstance(raw, Pair):
            out[name] = raw
    return out


def measure(program: Program, carry: Carry, steps: Steps) -> Measures:
    """Gap, disagreement and noise as they stand before round k."""
    x = x_of(carry.state)
    mean = x.mean(axis=0)
    distance = jnp.linalg.norm(x - mean, axis=1)
    watched = x if program.measures_all else x[jax.lax.top_k(distance, FARTHEST)[1]]
    rms, largest = _noise_size(program, carry, steps)
    totals, loss = jax.vmap(program.total)(watched), program.total(mean)
    return Measures(
        gap=totals.max() - program.best,
        loss=loss,
        disagreement=distance.max(),
        noise_rms=rms,
        noise_max=largest,
        finite=jnp.isfinite(x).all(axis=1)
        # Every agent's own objective is read only where a sum of them says that something is wrong.
        & jax.lax.cond(
            jnp.isfinite(totals).all() & jnp.isfinite(loss),
            lambda: jnp.ones(len(x), bool),
            lambda: jnp.isfinite(_values(program.problem, x)),
        ),
    )


def _values(problem: Problem, x: Any) -> Any:
    """f_j(x_j) for every agent j."""
    out = jnp.zeros(len(x), x.dtype)
    for group in problem.groups:
        out = out.at[group.members].set(jax.vmap(group.objective.value)(x[group.members], group.data))
    return out


def no_measures(program: Program, carry: Carry, steps: Steps) -> Measures:
    """Zeros in the shape of measurements, for rounds that are not measured."""
    shapes = jax.eval_shape(measure, program, carry, steps)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def _noise_size(program: Program, carry: Carry, steps: Steps) -> tuple[Any, Any]:
    """Root mean square per coordinate, and largest norm, of what hides the agents in this round."""
    if not program.draws:
        return jnp.zeros((), program.dtype), jnp.zeros((), program.dtype)
    fresh = _first(fresh_noise(program, carry.k[None]))

    def one(agent: Agent, state: Any) -> Any:
        spoken = next(program.algorithm.round(agent, state, carry.k))
        return program.algorithm.perturbation(agent, state, spoken, carry.k)

    shares = _shares(program, carry.kept, fresh, carry.k)
    d = _per_agent(program, steps, carry.k, shares, one, carry.state)
    if d.ndim == 3:  # a word per slot: empty slots hold no noise
        used = program.wiring.filled.sum() * d.shape[2]
        d = d * program.wiring.filled[:, :, None]
    else:
        used = d.size
    return jnp.sqrt((d**2).sum() / used), jnp.linalg.norm(d, axis=-1).max()


def _per_agent(program: Program, steps: Steps, k: Any, shares: Any, function: Any, args: Any) -> Any:
    """Run a function of one agent for all agents at once."""
    groups = program.problem.groups
    alone = len(groups) == 1

    def one(index: Any, data: Any, shares: Any, args: Any) -> Any:
        agent = Agent(
            index=index,
            alpha=steps,
            objective=(lambda v: groups[0].objective.gradient(v, data))
            if alone
            else _grouped(program.problem),
            feasible=program.problem.feasible,
            shares=shares,
            grad_at=program.grad_at,
        )
        return function(agent, args)

    index = jnp.arange(program.wiring.n)
    return jax.vmap(one, axis_name=AGENTS)(index, groups[0].data if alone else None, shares, args)


def _grouped(problem: Problem) -> Any:
    """Gradients of agents with different objectives: every group at once, never a switch inside the vmap."""

    def all_gradients(stack: Any) -> Any:
        out = jnp.zeros_like(stack)
        for group in problem.groups:
            out = out.at[group.members].set(
                jax.vmap(group.objective.gradient)(stack[group.members], group.data)
            )
        return out

    return lambda v: together(all_gradients, v)


def _shares(program: Program, kept: Mapping[str, Any], fresh: Mapping[str, Any], k: Any) -> dict[str, Any]:
    phase = program.phase(k)
    return {name: rows[phase] for name, rows in kept.items()} | dict(fresh)


def _entry(rows: Any, index: Any) -> Any:
    """One row, by an index that is known to be in range."""
    return jax.lax.dynamic_index_in_dim(rows, index, keepdims=False, allow_negative_indices=False)


def _first(noise: dict[str, Any]) -> dict[str, Any]:
    return {name: rows[0] for name, rows in noise.items()}


def _dealt(program: Program, draw: Draw, when: When) -> Any:
    """Draw, then deal; each is finished in memory before what reads it begins."""
    condensed = _settled(lambda: draw.condense(_raw(program, draw, when)), when)
    return _settled(lambda: draw.deal(condensed, when, program.wiring), when)


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
    return draw.raw(threefry.derive(program.root, draw.label), when, program.wiring, program.dtype)
