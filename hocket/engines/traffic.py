"""What agents send in a round, found from its form without playing it: how many messages, and how many bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hocket.agent import Agent, Each
from hocket.algorithm import Algorithm, Broadcast, Outgoing, SecureSum, SendEach, carry_out, opened
from hocket.engines.compiled.channel import Mail
from hocket.engines.compiled.program import Program, Steps
from hocket.engines.compiled.round_noise import noise_of_round
from hocket.engines.compiled.rounds import begin, per_agent, shares_in
from hocket.engines.prepare import prepare
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.job import Job
from hocket.runs.run import Messages

SUMMAND = 16
"""Bytes of a number in a sum: masked sums are taken in a group of 2^128."""


def bytes_per_round(
    algorithm: Algorithm, problem: Problem, network: Network, *, dtype: Any = np.float64
) -> float:
    """Bytes that all agents together send in one round, as members do over links: a message to each neighbour.

    What to hold algorithms against each other by where links are slow. Numbers alone are counted, without frames and
    encryption; sums go up and down a tree. Where links take turns it is the mean over the network's rounds.
    """
    job = Job.asked(problem, network, algorithm, step=1.0, rounds=1, dtype=dtype)
    with jax.enable_x64(job.dtype == np.float64):
        # Losses would be measured on the problem of one agent: so no optimum is looked for.
        program = prepare(job, job.algorithm, averaging=False, judge=problem.pooled())
        sent = sent_in_round(job, program)
    neighbours, slots = 2 * float(job.own_network.active.sum(axis=1).mean()), program.tables.slots
    return sum(_crossing(outgoing, neighbours, slots, job.own_network.n) for outgoing in sent)


def _crossing(outgoing: Outgoing, neighbours: float, slots: int, agents: int) -> float:
    """Bytes of one exchange: over every link both ways, or up and down a tree."""
    if isinstance(outgoing, SecureSum):
        return 2 * (agents - 1) * SUMMAND * sum(leaf.size for leaf in jax.tree.leaves(outgoing.values))
    return neighbours * message_bytes(outgoing) / (slots if isinstance(outgoing, SendEach) else 1)


def message_bytes(outgoing: Outgoing) -> int:
    """Bytes of what one agent sends in an exchange; of all slots where each neighbour gets its own."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(outgoing[0]))


class _Silence(NamedTuple):
    """Nobody answers: an agent that mixes keeps its own message, and a single message is one like its own."""

    outgoing: Broadcast | SendEach

    def mixed_with(self, own: Any) -> Any:
        return own

    def each(self) -> Each:
        message: Any = opened(self.outgoing, self.outgoing[0])
        to_each = isinstance(self.outgoing, SendEach)
        return Each(jnp.zeros(1), jax.tree.map(lambda leaf: leaf[:1] if to_each else leaf[None], message))


def sent_in_round(job: Job, program: Program) -> list[Outgoing]:
    """What one agent sends in a round, as shapes; nothing is computed."""
    found: list[Outgoing] = []

    def listen(outgoing: Outgoing) -> Any:
        found.append(
            type(outgoing)(
                jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), outgoing[0])
            )
        )
        return outgoing.values if isinstance(outgoing, SecureSum) else _Silence(outgoing)

    def one(agent: Agent, state: Any) -> Any:
        return carry_out(program.algorithm.round(agent, state, jnp.asarray(1)), listen)

    def one_round(start: Any, steps: Steps) -> Any:
        carry = begin(program, start, steps)
        shares = shares_in(program, carry.kept, noise_of_round(program, carry.k), carry.k)
        return per_agent(program, steps, carry.k, shares, one, carry.state)

    steps = Steps(jnp.asarray(0), jnp.zeros(3, job.dtype))
    jax.eval_shape(one_round, jax.ShapeDtypeStruct(job.first_states.shape, job.dtype), steps)
    return found


def count_messages(job: Job, program: Program, mail: Mail | None, rounds: int) -> Messages:
    """The messages of so many rounds; a channel has counted them already."""
    if mail is not None:
        # A sweep has runs in front; agents come last.
        return Messages.counted(
            *(np.asarray(part).sum(axis=-1) for part in (mail.sent, mail.received, mail.lost))
        )
    with jax.enable_x64(job.dtype == np.float64):
        outgoing = sent_in_round(job, program)
    return Messages.all_received(
        job.own_network, rounds, sum(not isinstance(one, SecureSum) for one in outgoing)
    )
