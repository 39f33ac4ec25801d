"""The interface of an algorithm: what one agent sends and does in a round, written as a generator.

`yield Broadcast(message)` sends every neighbour the same, `yield SendEach(messages)` each neighbour its own. Either way
the yield gives back what was received: `agent.mix` averages it, `received.each()` looks at single neighbours' messages.
`yield SecureSum(values)` gives back the sum of what all agents gave, and shows nobody anything else. Nothing leaves an
agent in any other way, so what an auditor sees of a run is complete by construction.

What others than the engines want to know of an algorithm stands with them, by its exact type (`hocket.facet`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeGuard

import equinox as eqx
import jax

from hocket.agent import Agent
from hocket.networks.network import Network
from hocket.noise.draws import Draw
from hocket.problems.problem import Problem
from hocket.rationals import check_real_fields
from hocket.steps import DEFAULT_STEP, Step


class Broadcast(NamedTuple):
    """The same message to every neighbour."""

    message: Any
    decode: Callable[[Any], Any] | None = None
    """What a receiver makes of the message before it mixes; None where it is mixed as it was sent."""


class SendEach(NamedTuple):
    """Its own message to each neighbour, a row per slot."""

    messages: Any


class SecureSum(NamedTuple):
    """Numbers to be summed over all agents: every agent receives the sum, and nothing else is shown to anybody."""

    values: Any
    """A pytree of float64 arrays; what comes back has the same form."""
    bits: int = 64
    """Bits after the point, where sums are taken in fixed point: fewer of them make room for larger numbers."""
    names: Any = None
    """The same tree with a name for each number, or for each place along the last axis: what errors call them."""
    noise: Any = None
    """The same tree with σ² of the noise that each agent adds to every number of an array, in units of the grid that
    the numbers lie on, squared (`hocket.secagg.noise_share`); None for an exact sum. Over links, and in rehearsals."""


def opened(outgoing: Broadcast | SendEach, message: Any) -> Any:
    """What a message that was sent like this stands for."""
    decode = outgoing.decode if isinstance(outgoing, Broadcast) else None
    return message if decode is None else decode(message)


Outgoing = Broadcast | SendEach | SecureSum
"""What a round may yield."""
Round = Generator[Outgoing, Any, Any]


@dataclass(frozen=True)
class Setting:
    """What is agreed before a run: everything public that an algorithm's noise may depend on."""

    network: Network
    dim: int
    step: Step
    rounds: int


class Algorithm(eqx.Module):
    """One algorithm, for one agent.

    Subclass it to add your own: only `round` is required. A state is an array, the agent's x, or any pytree with
    an `x` (momentum, tracking variables). Parameters are fields. A subclass is another algorithm: of its code nothing
    is known, so no theorem and no certificate of its parent's is printed for it.
    """

    name: ClassVar[str] = ""
    """In configurations and on the command line; that of the class where none is given."""
    title: ClassVar[str] = ""
    """In figures and sentences; that of the class where none is given."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        for what in ("name", "title"):
            if what not in vars(cls):
                setattr(cls, what, cls.__name__)

    def __new__(cls, *args: Any, **named: Any) -> Self:
        check_real_fields(cls, args, named)
        return super().__new__(cls)

    def init(self, agent: Agent, x: Any) -> Any:
        """The first state, from the start x_1."""
        return x

    @abstractmethod
    def round(self, agent: Agent, state: Any, k: Any, /) -> Round:
        """One round: send, receive, and return the next state. The number of yields is the same in every round."""

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        """The random sources that a run in this setting needs, by the names that `agent.perturb` takes."""
        return {}

    def validate(self, setting: Setting) -> None:
        """Refuse a setting that this algorithm cannot carry out or protect, naming the culprit."""

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[Self, Step]:
        """Work out from the problem what was not given: parameters, and the step where it is None.

        `added` is how much smoothness noise functions add to the objectives'.
        """
        return self, DEFAULT_STEP if step is None else step

    def arrange(self, problem: Problem, network: Network) -> tuple[Problem, Network]:
        """The problem and network this algorithm really runs on; only the centralised baseline changes them."""
        return problem, network

    def finished(self, local: Any, state: Any) -> bool:
        """Whether nothing more is to be sent before the last round; all agents come to the same answer."""
        return False

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        """What hides this agent in round k, in units of a gradient: (what it sends − its state) / α_k.

        A message of several arrays begins with the one that stands for x.
        """
        return (jax.tree.leaves(outgoing[0])[0] - x_of(state)) / agent.step(k)


def derives_step(algorithm: Algorithm) -> bool:
    """Whether its step follows from the problem and the network where nobody gives one."""
    inner: Algorithm = getattr(algorithm, "inner", algorithm)
    return type(inner).configure is not Algorithm.configure


def x_of(state: Any) -> Any:
    """The estimate inside a state: the state itself if it is an array."""
    return getattr(state, "x", state)


def communicates(talk: Any) -> TypeGuard[Round]:
    """Whether a round says anything; one that does not is its next state already."""
    return isinstance(talk, Generator)


def carry_out(talk: Any, exchange: Callable[[Outgoing], Any]) -> Any:
    """Run a round to its end, passing everything said to `exchange`; returns what the round returns."""
    if not communicates(talk):
        return talk
    try:
        outgoing = next(talk)
        while True:
            outgoing = talk.send(exchange(outgoing))
    except StopIteration as end:
        return end.value
