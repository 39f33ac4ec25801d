"""What an agent spends in a round: gradients, proximal maps, messages and bytes, read off its generator."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Spoken, Tell, Total, speaks
from hocket.engines.measurement_cost import Outline
from hocket.engines.program import Carry, Moving, Program, Steps
from hocket.engines.round_noise import noise_of_round
from hocket.engines.rounds import begin, one_round
from hocket.engines.traffic import SUMMAND, word_bytes
from hocket.networks.network import Network

Spending = Literal["rounds", "gradients", "messages", "bytes", "seconds"]
"""What a gap may be held against."""


@dataclass
class Tally:
    """Counted while a generator is traced."""

    gradients: int = 0
    proxes: int = 0
    said: list[float] = field(default_factory=list[float])
    """Bytes of each word to a neighbour."""
    summed: list[int] = field(default_factory=list[int])
    """Bytes of each total."""


@dataclass(frozen=True)
class Counted(Agent):
    """An agent whose calls are counted."""

    tally: Tally = field(default_factory=Tally)

    def gradient(self, v: Any) -> Any:
        self.tally.gradients += 1
        return super().gradient(v)

    def prox(self, v: Any, k: Any) -> Any:
        self.tally.proxes += 1
        return super().prox(v, k)


class Watched(Algorithm):
    """Another algorithm, whose agents are counted."""

    inner: Algorithm
    tally: Any = eqx.field(static=True)

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.inner.setup(self._counted(agent), x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        talk = self.inner.round(self._counted(agent), state, k)
        return self._listened(talk) if speaks(talk) else talk

    def _counted(self, agent: Agent) -> Counted:
        own = {one.name: getattr(agent, one.name) for one in dataclasses.fields(Agent)}
        return Counted(**own, tally=self.tally)

    def _listened(self, talk: Generator[Spoken, Any, Any]) -> Round:
        heard = None
        try:
            while True:
                spoken = talk.send(heard)
                leaves = jax.tree.leaves(spoken[0])
                if isinstance(spoken, Total):
                    self.tally.summed.append(SUMMAND * sum(leaf.size for leaf in leaves))
                else:
                    slots = leaves[0].shape[0] if isinstance(spoken, Tell) else 1
                    self.tally.said.append(word_bytes(spoken) / max(slots, 1))
                heard = yield spoken
        except StopIteration as end:
            return end.value


@dataclass(frozen=True)
class Cost:
    """What an agent spends, in the mean over agents: in every round, and before the first."""

    gradients: float
    proxes: float
    messages: float
    bytes: float
    first_gradients: float
    """Before round 1."""

    def spent(self, what: Spending, rounds: Any) -> Any:
        """What an agent has spent after so many rounds."""
        if what == "rounds":
            return rounds
        before = self.first_gradients if what == "gradients" else 0.0
        return before + rounds * float(getattr(self, what))

    def affordable(self, what: str, budget: float) -> float:
        """For how many rounds a budget lasts."""
        if what == "rounds":
            return budget
        before = self.first_gradients if what == "gradients" else 0.0
        each = float(getattr(self, what))
        return np.inf if each == 0 else np.floor((budget - before) / each)


def cost_of(outline: Outline, network: Network) -> Cost:
    """Count what one agent does in a round of a program; nothing is computed.

    A word goes to every neighbour, a total up and down a tree of all agents (`hocket.engines.traffic`).
    """
    tally, first = _tally(outline)
    # In the mean over agents, and over rounds where links take turns.
    neighbours = float((network.weight > 0).sum()) / network.period / network.n
    tree = 2 * (network.n - 1) / network.n
    return Cost(
        gradients=tally.gradients - first,
        proxes=tally.proxes,
        messages=len(tally.said) * neighbours + len(tally.summed) * tree,
        bytes=sum(tally.said) * neighbours + sum(tally.summed) * tree,
        first_gradients=first,
    )


@lru_cache(maxsize=256)
def _tally(outline: Outline) -> tuple[Tally, int]:
    """What is counted in one round, and how many gradients before it; once for all runs that share a program."""
    tally, program = Tally(), outline.program
    steps = Steps(jax.ShapeDtypeStruct((), int), jax.ShapeDtypeStruct((4,), program.dtype))
    start = jax.ShapeDtypeStruct((program.tables.n, program.problem.dim), program.dtype)

    def watched(numbers: Any) -> Program:
        one = outline.blueprint.program(numbers)
        return dataclasses.replace(one, algorithm=Watched(one.algorithm, tally), sky=None)

    def begun(numbers: Any, start: Any, steps: Steps) -> Carry:
        return begin(watched(numbers), start, steps)

    def played(numbers: Any, carry: Carry, steps: Steps) -> Any:
        one = watched(numbers)
        moving = Moving(carry.state, carry.weighted)
        return one_round(one, carry, carry.k, moving, steps, noise_of_round(one, carry.k))[0]

    carry = jax.eval_shape(begun, outline.numbers, start, steps)
    first = tally.gradients
    jax.eval_shape(played, outline.numbers, carry, steps)
    return tally, first
