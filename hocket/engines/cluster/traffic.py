"""What crosses between shards in a round, beside what the cut needs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hocket.agent import Agent
from hocket.algorithm import Say, Tell, converse
from hocket.engines.cluster.layout import Layout
from hocket.engines.drawing import noise_of_round
from hocket.engines.program import Program, Steps
from hocket.engines.rounds import begin, per_agent, shares_in
from hocket.job import Job


@dataclass(frozen=True)
class Traffic:
    """Bytes between shards, in one round and over all of them. Measurements and checkpoints come on top."""

    processes: int
    shards: int
    links: int
    crossing: int
    """Links between shards: the cut."""
    bytes_needed: int
    """An agent's word once to every other shard with a neighbour; where neighbours are told apart, once to each."""
    bytes_moved: int
    """With what pads loads of one trip to one size."""

    @property
    def settings(self) -> dict[str, int]:
        """As it is stored with a run."""
        return asdict(self)

    def __str__(self) -> str:
        shards = f"{self.shards} shards in {self.processes} process{'es' if self.processes > 1 else ''}"
        excess = f" ({self.bytes_moved / self.bytes_needed:.2f} times that)" if self.bytes_needed else ""
        return (
            f"played as {shards}: {self.crossing:,} of {self.links:,} links cross, for which a round needs "
            f"{self.bytes_needed:,} bytes and moves {self.bytes_moved:,}{excess}"
        )


def weigh(job: Job, program: Program, layout: Layout) -> Traffic:
    """The traffic of one round of a program."""
    needed = moved = 0
    for spoken in _spoken(job, program):
        timetable = layout.told if isinstance(spoken, Tell) else layout.said
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(spoken[0]))
        word = size // layout.wiring.slots if isinstance(spoken, Tell) else size
        needed, moved = needed + timetable.needed * word, moved + timetable.moved * word
    return Traffic(
        processes=jax.process_count(),
        shards=layout.shards,
        links=len(layout.wiring.links),
        crossing=layout.crossing,
        bytes_needed=needed,
        bytes_moved=moved,
    )


class _Silence:
    """Nobody answers: an agent that mixes keeps its own word."""

    def mixed_with(self, own: Any) -> Any:
        return own


def _spoken(job: Job, program: Program) -> list[Say | Tell]:
    """What one agent says and tells in a round, as shapes; nothing is computed."""
    found: list[Say | Tell] = []

    def listen(spoken: Say | Tell) -> _Silence:
        found.append(
            type(spoken)(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), spoken[0]))
        )
        return _Silence()

    def one(agent: Agent, state: Any) -> Any:
        return converse(program.algorithm.round(agent, state, jnp.asarray(1)), listen)

    def one_round(start: Any, steps: Steps) -> Any:
        carry = begin(program, start, steps)
        shares = shares_in(program, carry.kept, noise_of_round(program, carry.k), carry.k)
        return per_agent(program, steps, carry.k, shares, one, carry.state)

    steps = Steps(jnp.asarray(0), jnp.zeros(3, job.dtype))
    jax.eval_shape(one_round, jax.ShapeDtypeStruct(job.first_states.shape, job.dtype), steps)
    return found
