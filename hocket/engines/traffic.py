"""How many bytes agents say to each other, from the form of their words alone."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from hocket.algorithm import Algorithm, Spoken, Tell, Total
from hocket.engines.prepare import prepare
from hocket.engines.spoken import spoken_in_round
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.job import Job

SUMMAND = 16
"""Bytes of a number in a sum: masked sums are taken in a group of 2^128."""


def bytes_per_round(
    algorithm: Algorithm, problem: Problem, network: Network, *, dtype: Any = np.float64
) -> float:
    """Bytes that all agents together send in one round, as members do over links: a word to each neighbour.

    What to hold algorithms against each other by where links are slow. Numbers alone are counted, without frames and
    encryption; sums go up and down a tree. Where links take turns it is the mean over the network's rounds.
    """
    job = Job.asked(problem, network, algorithm, step=1.0, rounds=1, dtype=dtype)
    with jax.enable_x64(job.dtype == np.float64):
        # Losses would be measured on the problem of one agent: so no optimum is looked for.
        program = prepare(job, job.algorithm.effective(), averaging=False, judge=problem.pooled())
        words = spoken_in_round(job, program)
    neighbours, slots = 2 * float(job.own_network.active.sum(axis=1).mean()), program.tables.slots
    return sum(_crossing(spoken, neighbours, slots, job.own_network.n) for spoken in words)


def _crossing(spoken: Spoken, neighbours: float, slots: int, agents: int) -> float:
    """Bytes of one exchange: over every link both ways, or up and down a tree."""
    if isinstance(spoken, Total):
        return 2 * (agents - 1) * SUMMAND * sum(leaf.size for leaf in jax.tree.leaves(spoken.values))
    return neighbours * word_bytes(spoken) / (slots if isinstance(spoken, Tell) else 1)


def word_bytes(spoken: Spoken) -> int:
    """Bytes of what one agent says in an exchange; of all slots where neighbours are told apart."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(spoken[0]))
