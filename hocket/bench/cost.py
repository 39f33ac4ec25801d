"""What an agent spends in a round: gradients, proximal maps, messages and bytes, read off its generator."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Outgoing, Round, SecureSum, SendEach, communicates
from hocket.engines.compiled.player import Blueprint, Compiled
from hocket.engines.compiled.program import Carry, Moving, Program, Steps
from hocket.engines.compiled.round_noise import noise_of_round
from hocket.engines.compiled.rounds import begin, one_round
from hocket.engines.traffic import SUMMAND, message_bytes
from hocket.networks.network import Network

Spending = Literal["rounds", "gradients", "messages", "bytes", "seconds"]
"""What a gap may be held against."""


@dataclass
class Tally:
    """Counted while a generator is traced."""

    gradients: int = 0
    proxes: int = 0
    sent: list[float] = field(default_factory=list[float])
    """Bytes of each message to a neighbour."""
    summed: list[int] = field(default_factory=list[int])
    """Bytes of each secure sum."""


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


class CountedAlgorithm(Algorithm):
    """Another algorithm, whose agents are counted."""

    inner: Algorithm
    tally: Any = eqx.field(static=True)

    def init(self, agent: Agent, x: Any) -> Any:
        return self.inner.init(self._counted(agent), x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        talk = self.inner.round(self._counted(agent), state, k)
        return self._listened(talk) if communicates(talk) else talk

    def _counted(self, agent: Agent) -> Counted:
        own = {one.name: getattr(agent, one.name) for one in dataclasses.fields(Agent)}
        return Counted(**own, tally=self.tally)

    def _listened(self, talk: Generator[Outgoing, Any, Any]) -> Round:
        received = None
        try:
            while True:
                outgoing = talk.send(received)
                leaves = jax.tree.leaves(outgoing[0])
                if isinstance(outgoing, SecureSum):
                    self.tally.summed.append(SUMMAND * sum(leaf.size for leaf in leaves))
                else:
                    slots = leaves[0].shape[0] if isinstance(outgoing, SendEach) else 1
                    self.tally.sent.append(message_bytes(outgoing) / max(slots, 1))
                received = yield outgoing
        except StopIteration as end:
            return end.value


@dataclass(frozen=True)
class RoundCost:
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


class ProgramShape(NamedTuple):
    """A program but for its numbers: what one agent does in a round is decided by it."""

    blueprint: Blueprint
    structure: Any
    shapes: tuple[Any, ...]

    @staticmethod
    def of(program: Program) -> ProgramShape:
        compiled = Compiled(program)
        leaves, structure = jax.tree.flatten(compiled.numbers)
        return ProgramShape(compiled.blueprint, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))

    @property
    def numbers(self) -> Any:
        """Shapes in the place of numbers."""
        return jax.tree.unflatten(self.structure, [jax.ShapeDtypeStruct(*shape) for shape in self.shapes])


def cost_of(outline: ProgramShape, network: Network) -> RoundCost:
    """Count what one agent does in a round of a program; nothing is computed.

    A message goes to every neighbour, a secure sum up and down a tree of all agents (`hocket.engines.traffic`).
    """
    tally, first = _tally(outline)
    # In the mean over agents, and over rounds where links take turns.
    neighbours = float((network.weight > 0).sum()) / network.period / network.n
    tree = 2 * (network.n - 1) / network.n
    return RoundCost(
        gradients=tally.gradients - first,
        proxes=tally.proxes,
        messages=len(tally.sent) * neighbours + len(tally.summed) * tree,
        bytes=sum(tally.sent) * neighbours + sum(tally.summed) * tree,
        first_gradients=first,
    )


@lru_cache(maxsize=256)
def _tally(outline: ProgramShape) -> tuple[Tally, int]:
    """What is counted in one round, and how many gradients before it; once for all runs that share a program."""
    tally, program = Tally(), outline.blueprint.program(outline.numbers)
    steps = Steps(jax.ShapeDtypeStruct((), int), jax.ShapeDtypeStruct((4,), program.dtype))
    start = jax.ShapeDtypeStruct((program.tables.n, program.problem.dim), program.dtype)

    def watched(numbers: Any) -> Program:
        one = outline.blueprint.program(numbers)
        return dataclasses.replace(one, algorithm=CountedAlgorithm(one.algorithm, tally), channel=None)

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
