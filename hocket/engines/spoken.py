"""What one agent says in a round, found without playing it; and how many words that makes over a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Spoken, Total, converse
from hocket.engines.mail import Mail
from hocket.engines.program import Program, Steps
from hocket.engines.round_noise import noise_of_round
from hocket.engines.rounds import begin, per_agent, shares_in
from hocket.runs.job import Job
from hocket.runs.messages import Messages


class _Silence:
    """Nobody answers: an agent that mixes keeps its own word."""

    def mixed_with(self, own: Any) -> Any:
        return own


def spoken_in_round(job: Job, program: Program) -> list[Spoken]:
    """What one agent says and tells in a round, as shapes; nothing is computed."""
    found: list[Spoken] = []

    def listen(spoken: Spoken) -> Any:
        found.append(
            type(spoken)(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), spoken[0]))
        )
        return spoken.values if isinstance(spoken, Total) else _Silence()

    def one(agent: Agent, state: Any) -> Any:
        return converse(program.algorithm.round(agent, state, jnp.asarray(1)), listen)

    def one_round(start: Any, steps: Steps) -> Any:
        carry = begin(program, start, steps)
        shares = shares_in(program, carry.kept, noise_of_round(program, carry.k), carry.k)
        return per_agent(program, steps, carry.k, shares, one, carry.state)

    steps = Steps(jnp.asarray(0), jnp.zeros(3, job.dtype))
    jax.eval_shape(one_round, jax.ShapeDtypeStruct(job.first_states.shape, job.dtype), steps)
    return found


def counting(job: Job, program: Program, mail: Mail | None, rounds: int) -> Callable[[], Messages]:
    """What counts the words of so many rounds, when somebody asks; weather has counted them already."""

    def count() -> Messages:
        if mail is not None:
            # A sweep has runs in front; agents come last.
            return Messages.counted(
                *(np.asarray(part).sum(axis=-1) for part in (mail.sent, mail.received, mail.lost))
            )
        with jax.enable_x64(job.dtype == np.float64):
            spoken = spoken_in_round(job, program)
        return Messages.all_heard(job.own_network, rounds, sum(not isinstance(one, Total) for one in spoken))

    return count
