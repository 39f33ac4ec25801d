"""What is measured at recorded rounds: gap, disagreement, noise, and whether all is still finite."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from hocket.agent import Agent
from hocket.algorithm import x_of
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.compiled.round_noise import noise_of_round
from hocket.engines.compiled.rounds import per_agent, shares_in
from hocket.engines.schedule import FARTHEST, Looks

AT_ONCE = 1 << 26
"""Terms of all objectives, times rows and their length, up to which all rows are evaluated at once."""


class Measures(NamedTuple):
    """What is measured at a recorded round."""

    gap: Any
    """Of the worst agent among those looked at: of all agents, no more than theirs."""
    looked_at: Any
    """Over how many agents the gap was taken."""
    mean_gap: Any
    """Of the agents' mean."""
    loss: Any
    disagreement: Any
    noise_rms: Any
    noise_max: Any
    finite: Any
    """For every agent: are its state and its objective there still finite?"""

    @property
    def shown(self) -> dict[str, float]:
        """What a progress bar says."""
        return {"gap": float(self.gap), "disagreement": float(self.disagreement)}


class Gauge(eqx.Module):
    """Measures something else than the gap: how well models do, say.

    Its measures are a named tuple with the fields of `Measures` and its own, and with `shown`.
    """

    kind: ClassVar[type]

    @abstractmethod
    def __call__(self, program: Program, carry: Carry, steps: Steps, look: Looks) -> Any:
        """What is measured as the run stands before round k, over so many agents; traced."""


def measures_kind(program: Program) -> Any:
    """The named tuple in which a run's measurements come."""
    return Measures if program.gauge is None else program.gauge.kind


def measure(program: Program, carry: Carry, steps: Steps, look: Looks) -> Any:
    """Gap, disagreement and noise as they stand before round k, or what the program's own gauge reads."""
    if program.gauge is not None:
        return program.gauge(program, carry, steps, look)
    return gap_and_company(program, carry, steps, look)


def gap_and_company(program: Program, carry: Carry, steps: Steps, look: Looks) -> Measures:
    """What is measured where no gauge is asked for."""
    population = program.population
    x = population.real(x_of(carry.state))
    mean = population.mean(x)
    distance = jnp.linalg.norm(x - mean, axis=1)
    rms, largest = noise_size(program, carry, steps)
    loss, worst, sound = _worst(program, x, mean, distance, look)
    finite = jnp.isfinite(x).all(axis=1)
    # Every agent's own objective is read only where a sum of them says that something is wrong, or on request.
    finite &= jax.lax.cond(
        population.every(sound) & ~look.own,
        lambda: jnp.ones(len(x), bool),
        lambda: jnp.isfinite(program.by_group("value", x)),
    )
    return Measures(
        gap=population.largest(worst) - program.best,
        looked_at=look.agents,
        mean_gap=loss - program.best,
        loss=loss,
        disagreement=population.largest(distance),
        noise_rms=rms,
        noise_max=largest,
        finite=population.roll(finite),
    )


def _worst(program: Program, x: Any, mean: Any, distance: Any, look: Looks) -> tuple[Any, Any, Any]:
    """Σ_j f_j at the mean, the largest at the agents looked at, and whether all these are finite.

    Looked at are all agents, or those farthest from the mean.
    """
    count = program.population.count(program.tables)
    rows, place = program.population.farthest(distance, min(FARTHEST, count))
    everybody = look.agents >= count
    some = jnp.where(everybody, 0, jnp.sum(place < look.agents))

    def look_at(i: Any, found: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        # The mean comes first, in the same loop: whatever is evaluated is compiled once.
        loss, worst, sound = found
        total = program.total(jnp.where(i == 0, mean, x[rows[jnp.maximum(i - 1, 0)]]))
        worse = jnp.where(i == 0, worst, jnp.maximum(worst, total))
        return jnp.where(i == 0, total, loss), worse, sound & jnp.isfinite(total)

    none = jnp.asarray(-jnp.inf, x.dtype)
    found = (jnp.zeros_like(none), none, jnp.asarray(True))
    loss, worst, sound = jax.lax.fori_loop(0, 1 + some, look_at, found)

    def all_of_them() -> tuple[Any, Any]:
        totals = totals_at(program, x)
        return totals.max(), jnp.isfinite(totals).all()

    worst, fine = jax.lax.cond(everybody, all_of_them, lambda: (worst, jnp.asarray(True)))
    return loss, worst, sound & fine


def totals_at(program: Program, rows: Any) -> Any:
    """Σ_j f_j at each row. One row after the other where all at once would be much: XLA takes minutes to choose how a
    GPU should add up that many numbers.
    """
    dim = rows.shape[1]
    terms = max(
        (leaf.size // (dim if leaf.shape[-1:] == (dim,) else 1) for leaf in program.pooled_data), default=1
    )
    if terms * rows.size <= AT_ONCE:
        return jax.vmap(program.total)(rows)
    return jax.lax.map(program.total, rows)


def no_measures(program: Program, carry: Carry, steps: Steps, looks: Looks) -> Any:
    """Zeros in the shape of measurements, for rounds that are not measured."""
    if program.gauge is not None:
        shapes = jax.eval_shape(measure, program, carry, steps, looks.at(0))
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    # Written out: to trace all of it for its shapes takes as long as to trace it for use.
    zeros = dict.fromkeys(Measures._fields, jnp.zeros((), x_of(carry.state).dtype))
    finite = jnp.zeros(program.population.count(program.tables), bool)
    return Measures(**zeros | {"looked_at": jnp.zeros((), looks.agents.dtype), "finite": finite})


def noise_size(program: Program, carry: Carry, steps: Steps) -> tuple[Any, Any]:
    """Root mean square per coordinate, and largest norm, of what hides the agents in this round."""
    if not program.draws:
        return jnp.zeros((), program.dtype), jnp.zeros((), program.dtype)
    fresh = noise_of_round(program, carry.k)

    def one(agent: Agent, state: Any) -> Any:
        outgoing = next(program.algorithm.round(agent, state, carry.k))
        return program.algorithm.perturbation(agent, state, outgoing, carry.k)

    shares = shares_in(program, carry.kept, fresh, carry.k)
    population, filled = program.population, program.tables.filled
    d = per_agent(program, steps, carry.k, shares, one, carry.state)
    if d.ndim == 3:  # a message per slot: empty slots hold no noise
        used = population.total(filled) * d.shape[2]
        d = d * filled[:, :, None]
    else:
        used = population.count(program.tables) * d.shape[1]
    return jnp.sqrt(population.total(d**2) / used), population.largest(
        jnp.linalg.norm(population.real(d), axis=-1)
    )
