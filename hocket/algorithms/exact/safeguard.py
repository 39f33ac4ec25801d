"""A safeguard for steps that nobody has proved: who notices growth tells, and all begin anew with half the step."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax

from hocket.agent import Agent, Each
from hocket.algorithm import Broadcast, Outgoing, Round, Setting, x_of
from hocket.algorithms.exact.aug_dgm import AugDgm
from hocket.algorithms.exact.exact_method import ExactMethod, Shape
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.steps import Derived, Step


class Guarded(NamedTuple):
    """The inner state, the part of the step that is taken, and what was noticed."""

    inner: Any
    first: Any
    """The inner state before round 1."""
    part: Any
    fresh: Any
    """One in the first spell with this step."""
    largest: Any
    """The farthest that this agent moved in a round of that spell."""
    noticed: Any
    """One if it has moved much farther than that in this spell."""
    told: Any
    """One if word has come that somebody noticed in the spell before."""

    @property
    def x(self) -> Any:
        return x_of(self.inner)


class Safeguard(ExactMethod):
    """Another method with a bolder step, and one number more in every message by which agents tell that it is too bold.

    Rounds are counted in spells. An agent that moves ten times as far in a round as it ever did in the first spell says
    so throughout the next; anybody who hears it passes it on, and at the end of that spell all have heard, and begin
    anew with half the step. What is said beside the inner messages is one bit per spell."""

    name, title = "safeguard", "Safeguard"

    inner: ExactMethod = AugDgm()
    """The method that is guarded."""
    every: int = eqx.field(static=True, default=8)
    """Rounds in a spell: no fewer than links lie between any two agents."""
    growth: float = 10.0
    """How much farther than in the first spell an agent moves in one round before it takes that for growth."""

    def __check_init__(self) -> None:
        if isinstance(self.inner, Safeguard):
            raise BadAlgorithm("a safeguard needs no safeguard; give it the method itself")
        if not isinstance(self.inner, ExactMethod):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadAlgorithm(
                f"{self.inner.title} has no step that a safeguard could try; guard a method with a constant step"
            )
        if self.every < 1 or not self.growth > 1:
            raise BadAlgorithm(
                f"every = {self.every} and growth = {self.growth}; a spell has a round at least, and growth is above 1"
            )

    def validate(self, setting: Setting) -> None:
        self.inner.validate(setting)
        import networkx  # not at the door: it takes a tenth of a second

        across = networkx.diameter(setting.network.graph) if setting.network.n > 1 else 0
        if across > self.every:
            raise BadAlgorithm(
                f"word of growth takes up to {across} rounds through this network, and a spell has {self.every}: give "
                f"every={across} or more"
            )

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[Self, Step]:
        if step is None:
            return super().configure(problem, network, step, added=added)
        inner, _ = self.inner.configure(problem, network, step, added=added)
        return (self if inner is self.inner else dataclasses.replace(self, inner=inner)), step

    def step_for(self, shape: Shape) -> Derived:
        step = self.inner.bold_step(shape)
        return Derived(step, why=f"a rule of thumb from L̂ = {shape.smoothness:.4g}, halved if anything grows")

    def init(self, agent: Agent, x: Any) -> Guarded:
        first, zero = self.inner.init(agent, x), 0 * x[:1]
        return Guarded(first, first, zero + 1, zero + 1, zero, zero, zero)

    def round(self, agent: Agent, state: Guarded, k: Any) -> Round:
        talk = self.inner.round(agent.with_part(state.part), state.inner, k)
        told, received = state.told, None
        try:
            while True:
                outgoing = talk.send(received)
                said = yield Broadcast((outgoing[0], told))
                received = _Inner(said, told)
                _, reached = agent.mix((outgoing[0], told), said)
                told = _number(reached > 0, told)  # passed on as one, however small its weight
        except StopIteration as end:
            return self._judged(state, end.value, told, k)

    def _judged(self, state: Guarded, after: Any, told: Any, k: Any) -> Guarded:
        """What an agent makes of its round; at the end of a spell all begin anew with half the step, or none does."""
        moved = abs(x_of(after) - state.x).max(keepdims=True)
        largest = _either(state.fresh * (moved > state.largest), moved, state.largest)
        grown = (1 - state.fresh) * (moved > self.growth * largest)
        noticed = _either(grown, 0 * grown + 1, state.noticed)
        over = _number(k % self.every == 0, told)
        halved = over * told

        def kept(first: Any, now: Any) -> Any:
            return _either(halved, first, now)

        return Guarded(
            inner=jax.tree.map(kept, state.first, after),
            first=state.first,
            part=_either(halved, state.part / 2, state.part),
            fresh=_either(over, halved, state.fresh),
            largest=(1 - halved) * largest,
            noticed=(1 - over) * noticed,
            told=_either(over, (1 - halved) * noticed, told),
        )

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        return 0 * state.x


class _Inner(NamedTuple):
    """What the inner method hears: the words without what is told beside them."""

    said: Any
    told: Any

    def mixed_with(self, own: Any) -> Any:
        return self.said.mixed_with((own, self.told))[0]

    def each(self) -> Each:
        found = self.said.each()
        return Each(found.weights, found.messages[0])


def _number(condition: Any, like: Any) -> Any:
    """One where a condition holds, else zero."""
    return condition * (0 * like + 1)


def _either(chosen: Any, one: Any, other: Any) -> Any:
    """One number where something is one, and another where it is zero."""
    return chosen * one + (1 - chosen) * other
