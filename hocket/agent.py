"""What one agent knows and may do.

Algorithms are written against this class alone. It never mentions other agents: what they sent arrives as `received`,
and what is agreed with them in secret arrives as noise. The same code runs on JAX tracers, NumPy arrays and exact
fractions; which of these, and how messages travel, is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

from hocket.errors import BadAlgorithm
from hocket.problems.sets import Everywhere, FeasibleSet

Projection = Literal["stepped", "mixed"]
"""What is projected onto X: the state after a gradient step, as in the paper, or what was mixed, before it."""
EVERYWHERE = Everywhere()
KINDS = frozenset(["paired", "persistent", "balanced", "own"])
"""Kinds of noise that an algorithm may leave undeclared where their size is zero; any other name must be declared."""


class Each(NamedTuple):
    """Single neighbours' messages, one row each. Engines may add rows that stand for nobody: their weight is zero."""

    weights: Any
    """B[j,i], one number a row."""
    messages: Any
    """A message a row, in every leaf."""


class Received(Protocol):
    """What the neighbours sent in one exchange: averaged by `agent.mix`, or one by one."""

    def each(self) -> Each:
        """Single neighbours' messages, for trimmed means, clipped gossip and weights of one's own."""
        ...

    def mixed_with(self, own: Any) -> Any:
        """B[j,j] · own + Σ_i B[j,i] · (what i said), leaf by leaf."""
        ...


class Local(Protocol):
    """What an agent does by itself between two exchanges, where that is more than one gradient step.

    A model is trained like this: H steps of α_k/H along gradients of small batches. So α_k is the step of the whole
    exchange, and noise scaled by α_k keeps its size beside what an agent learns in one, whatever H is.
    """

    def __call__(
        self, v: Any, k: Any, *, step: Any, feasible: FeasibleSet, plus: Callable[[Any], Any] | None
    ) -> Any:
        """The next state, from the mixed one."""
        ...


class Proximal(Protocol):
    """What is known of a penalty."""

    def prox(self, x: Any, step: Any) -> Any:
        """The y that minimises the penalty and ‖y − x‖²/(2 step)."""
        ...


def no_step(v: Any, k: Any, **_: Any) -> Any:
    """Take no step: what is mixed in the exchange after the last round is what may be published."""
    return v


@dataclass(frozen=True)
class Agent:
    """One agent's own knowledge: its objective, its weights, its step sizes and its share of the noise."""

    index: Any
    alpha: Callable[[Any], Any]
    objective: Callable[[Any], Any]
    """The gradient of this agent's own objective."""
    feasible: FeasibleSet
    shares: Mapping[str, Any]
    """This round's noise, by kind."""
    adders: Mapping[str, Callable[[Any], Any]] | None = None
    """By kind of noise that an engine draws as it is added: x + scale · noise, from the two of them; None for none."""
    grad_at: str = "mixed"
    members: int = 1
    """How many agents take part, this one included."""
    local: Local | None = None
    """Local steps in place of one gradient step; None for the paper's algorithms as printed."""
    penalty: Proximal | None = None
    """A public term that every agent adds to its objective, by its proximal map; None for none."""
    plus: Callable[[Any], Any] | None = None
    """The gradient of a noise function that this agent has added to its objective; None for none."""

    def disguised(self, plus: Callable[[Any], Any] | None) -> Agent:
        """This agent with the gradient of a noise function added to its objective's, wherever that is asked for.

        Anybody who is handed it sees nothing of the noise by itself.
        """
        return replace(self, plus=plus, shares={}, adders=None)

    def with_part(self, part: Any) -> Agent:
        """This agent with a part of every step."""

        def alpha(k: Any) -> Any:
            return part * self.alpha(k)

        return replace(self, alpha=alpha)

    def step(self, k: Any) -> Any:
        """The step size α_k; α_0 is zero, since nothing was descended before round 1."""
        return self.alpha(k)

    def noise(self, kind: str) -> Any:
        """This round's share of a kind of noise; None where none is drawn."""
        return self.shares.get(kind)

    def perturb(self, x: Any, **scales: Any) -> Any:
        """x + Σ scale · noise over the kinds named, each with its scale; x itself where none of them is drawn.

        On a GPU a single kind is drawn and added in one pass.

        >>> agent = Agent(0, float, lambda x: x, Everywhere(), {"paired": 2.0, "own": 1.0})
        >>> agent.perturb(1.0, paired=0.5, own=0.25)
        2.25
        """
        adders = self.adders or {}
        known = [kind for kind in scales if kind in adders or kind in self.shares]
        strange = [kind for kind in scales if kind not in known and (kind not in KINDS or not known)]
        if strange and (self.shares or adders or not KINDS.issuperset(strange)):
            declared = ", ".join({**self.shares, **adders}) or "nothing"
            raise BadAlgorithm(f"noise {', '.join(strange)} is not declared; noise() declares {declared}")
        if not known:
            return x
        if len(known) == 1 and known[0] in adders:
            return adders[known[0]]((x, scales[known[0]]))
        first, *others = known
        added = scales[first] * self.shares[first]
        for kind in others:
            added = added + scales[kind] * self.shares[kind]
        return x + added

    def mix(self, own: Any, received: Received) -> Any:
        """v_j = Σ_i B[j,i] w_i, with `own` as this agent's message to itself [paper, line 8]."""
        return received.mixed_with(own)

    def gradient(self, v: Any) -> Any:
        """∇(f_j + p_j) at v, or at the projection of v where the objective is regular on X only.

        The objective and its noise function are asked at one point: asked at two, what an agent sends is no function of
        their sum, and the parts can be told apart.
        """
        point = self.feasible.project(v) if self.grad_at == "projected" else v
        gradient = self.objective(point)
        return gradient if self.plus is None else gradient + self.plus(point)

    def prox(self, v: Any, k: Any) -> Any:
        """P_X(v), or where there is a penalty the proximal map of both, for a step of α_k."""
        return self.feasible.project(v if self.penalty is None else self.penalty.prox(v, self.step(k)))

    def descend(self, v: Any, k: Any, *, project: Projection = "stepped") -> Any:
        """P_X(v − α_k ∇f_j(v)) [paper, line 9], or local steps.

        With `project` "mixed", P_X(v) − α_k ∇f_j(P_X(v)): the step itself is never cut short, so that a state differs
        from what others know by a gradient and by nothing else.
        """
        feasible = self.feasible
        if project == "mixed":
            v, feasible = self.prox(v, k), EVERYWHERE
        if self.local is not None:
            return self.local(v, k, step=self.step(k), feasible=feasible, plus=self.plus)
        stepped = v - self.step(k) * self.gradient(v)
        return self.prox(stepped, k) if feasible is self.feasible else stepped
