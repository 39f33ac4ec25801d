"""One agent's place in a run that is played on many machines: its number, its links, its weights.

Everything here follows from the public plan, so every member works out the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hocket.agent import Agent, no_step
from hocket.algorithm import Algorithm, Setting
from hocket.algorithms.function_sharing import stored_of
from hocket.algorithms.rss_lb import amplitude
from hocket.errors import BadAlgorithm, BadPlan
from hocket.federation.plan.sections import PUBLIC
from hocket.federation.workloads.needs import ABLE, masked_start, needs
from hocket.networks.neighbour_tables import NeighbourTables, tabulate
from hocket.noise.draws import Balanced, Draw, Gaussian, Paired, When
from hocket.noise.round_grid import RoundGrid
from hocket.noise.stored_sum import StoredSum
from hocket.privacy.profile import profile
from hocket.problems.sets import FeasibleSet
from hocket.runs.coverage import coverage

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan


@dataclass(frozen=True, eq=False)
class PlainSet:
    """A feasible set without its module, whose bound methods take a tenth of a millisecond to look up and call."""

    project: Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class OwnLinks:
    """One agent's own rows. A plain class: a module's attributes take a microsecond each, in every round."""

    period: int
    slots: int
    filled: np.ndarray
    """Where there is a neighbour who has not left."""


class NoiseKind(NamedTuple):
    """One kind of noise, as far as drawing it goes."""

    label: int
    width: int
    once: bool
    first: int
    """The first round with noise."""
    scale: np.ndarray | None
    """By phase and slot, or one number where the agent draws for itself; None where its draws are balanced."""
    active: np.ndarray | None
    """By phase and slot: whether noise that was drawn once is dealt; None for always."""
    balanced: bool
    normal: bool
    """Whether numbers are drawn from a normal distribution, with `scale` its deviation."""
    own: bool
    """Whether the agent draws for itself, and nothing cancels it."""
    relative: np.ndarray | None = None
    """What each number is multiplied by, beside the scale; None for nothing."""
    grid: RoundGrid | None = None
    """The grid on which numbers are drawn without rounding; None in floats."""


@dataclass(frozen=True, eq=False)
class MemberRole:
    """Who I am in this run, and what all of us agreed on."""

    index: int
    plan: Setting
    algorithm: Algorithm
    feasible: FeasibleSet
    dtype: np.dtype
    dropped: frozenset[int] = frozenset()
    """Neighbours who left for good; their weight is mine."""
    reach: float = math.inf
    """How far from zero a number of a word may be."""

    @cached_property
    def slots(self) -> list[int]:
        """My slots, in the order in which neighbours are summed."""
        return np.flatnonzero(self._wiring.filled[self.index]).tolist()

    @cached_property
    def neighbours(self) -> list[int]:
        """Who sits in each of my slots; those who left included."""
        return self._wiring.neighbour[self.index, self.slots].tolist()

    @property
    def present(self) -> list[int]:
        """The neighbours whom I still talk with."""
        return [other for other in self.neighbours if other not in self.dropped]

    def agent(self, k: int, noise: Mapping[str, Any], local: Any) -> Agent:
        """What the algorithm sees of this member in round k; after the last one it takes no more steps."""
        return Agent(
            index=self.index,
            alpha=self.step,
            objective=_gradient(local, k, self.algorithm),
            feasible=self.plain_set,
            shares=noise,
            members=self.plan.network.n,
            local=local if k <= self.plan.rounds else no_step,
        )

    def weights(self, k: int) -> tuple[float, dict[int, float]]:
        """B_k[j, j], and B_k[j, i] by neighbour. A leaver's weight moves to the diagonal: rows still sum to one."""
        return self._weights[(k - 1) % len(self._weights)]

    @cached_property
    def _weights(self) -> list[tuple[float, dict[int, float]]]:
        own = self.plan.network.own[:, self.index].tolist()
        rows = [
            dict(zip(self.neighbours, row, strict=True))
            for row in self._wiring.weight[:, self.index, self.slots].tolist()
        ]
        moved = [sum(row.pop(gone) for gone in self.dropped) for row in rows]
        return [(mine + more, row) for mine, more, row in zip(own, moved, rows, strict=True)]

    def step(self, k: int) -> float:
        """α_k; a plain number, so that float32 states stay float32."""
        return self._steps[k]

    @cached_property
    def _steps(self) -> list[float]:
        """α_0 to the step of the exchange after the last round."""
        return [0.0, *self.plan.step.table(1, self.plan.rounds + 1).tolist()]

    @cached_property
    def stored(self) -> StoredSum | None:
        """How objective and noise become one sum of whole numbers before the first message; None in floats."""
        return stored_of(self.algorithm)

    @cached_property
    def draws(self) -> dict[str, Draw]:
        """The noise that the algorithm asks for, cut down to this agent and its links."""
        drawn = dict(self.algorithm.noise(self.plan))
        if self.stored is not None:  # own noise is part of the stored sum, and nobody asks for it again
            drawn = {name: draw for name, draw in drawn.items() if not draw.private}
        return {name: self._own_part(draw) for name, draw in drawn.items()}

    def stored_on(self, neighbour: int) -> StoredSum:
        """How the stored sum's noise is drawn with a neighbour: every link has a σ of its own."""
        (draw,) = (one for one in self.draws.values() if isinstance(one, Paired))
        assert self.stored is not None
        return self.stored.on_link(float(draw.scale[0, self.slots[self.neighbours.index(neighbour)]]))

    @cached_property
    def dealing(self) -> dict[str, Callable[[Any, When, Any], Any]]:
        """By kind of noise: from what was drawn to the shares. Kept, as looking methods up takes time."""
        return {name: draw.deal for name, draw in self.draws.items()}

    @cached_property
    def round(self) -> Callable[..., Any]:
        """The algorithm's round."""
        return partial(type(self.algorithm).round, self.algorithm)

    @cached_property
    def finished(self) -> Callable[..., bool]:
        """Whether the algorithm has nothing more to say."""
        return partial(type(self.algorithm).finished, self.algorithm)

    @cached_property
    def beyond(self) -> float | None:
        """How far outside the feasible set noise carries a word, in steps; None where nothing bounds that."""
        return coverage(self.algorithm).reach if self.feasible.bounded else None

    @cached_property
    def plain_set(self) -> Any:
        """The feasible set, as far as an agent needs it."""
        return PlainSet(partial(type(self.feasible).project, self.feasible))

    @cached_property
    def tables(self) -> OwnLinks:
        """What noise needs to know of a network of one agent, whose links are numbered by slot."""
        whole, j = self._wiring, self.index
        left = np.isin(whole.neighbour[[j]], list(self.dropped))
        return OwnLinks(period=whole.period, slots=whole.slots, filled=whole.filled[[j]] & ~left)

    @cached_property
    def kinds(self) -> dict[str, NoiseKind]:
        """The noise that is dealt round by round, in plain values."""
        if self.stored is not None:
            return {}
        return {
            name: NoiseKind(
                draw.label,
                draw.width,
                draw.once,
                getattr(draw, "first", 0),
                np.asarray(draw.sigma) if isinstance(draw, Gaussian) else getattr(draw, "scale", None),
                getattr(draw, "active", None),
                isinstance(draw, Balanced),
                getattr(draw, "normal", False),
                isinstance(draw, Gaussian),
                getattr(draw, "relative", None),
                getattr(draw, "grid", None),
            )
            for name, draw in self.draws.items()
        }

    @cached_property
    def _wiring(self) -> NeighbourTables:
        return tabulate(self.plan.network, slots_needed=True)

    def _own_part(self, draw: Draw) -> Draw:
        if isinstance(draw, Paired):
            mine = self._wiring.link[self.index]
            active = None if draw.active is None else draw.active[:, mine]
            return replace(draw, scale=draw.scale[:, mine], active=active)
        if isinstance(draw, Balanced):
            gamma, towards = draw.gamma[:, [self.index]], draw.towards[:, [self.index]]
            if self.dropped:  # balance over those who remain, within the same bound
                before, towards = amplitude(towards), np.where(self.tables.filled, towards, 0.0)
                gamma = gamma * amplitude(towards) / np.where(before > 0, before, 1.0)
            return replace(draw, gamma=gamma, towards=towards)
        if isinstance(draw, Gaussian) and profile(self.algorithm).noise_in == "messages":
            return draw
        raise BadAlgorithm(
            f"{type(self.algorithm).__name__} asks for {type(draw).__name__} noise, which no member of a real run "
            "draws; use an algorithm whose noise is Paired, Balanced, or Gaussian in messages, and of which "
            'that is known: profile.add(Profile(noise_in="messages"), …)'
        )


def _gradient(local: Any, k: int, algorithm: Algorithm) -> Callable[[Any], Any]:
    """The task's gradients in round k, where a step is along one of them and nobody must be able to check it."""

    def gradient(x: Any) -> Any:
        if not needs(algorithm).own_gradients and getattr(local, "count", None) != 1:
            raise BadAlgorithm(
                f"{algorithm.title} takes a gradient by itself, and the plan has several local steps or is verifiable: "
                "those are for algorithms that step with agent.descend; plan one local step, and no verification"
            )
        return local.gradient(x, k, 0)

    return gradient


def begun_from_state(algorithm: Algorithm) -> Algorithm:
    """The algorithm of a run that goes on from an earlier one: with noise from the first message on, or refused."""
    found = masked_start(algorithm)
    if isinstance(found, str):
        raise BadPlan(f"{found}; plan {' or '.join(ABLE)}, or leave out --after for a public start")
    return found


def role_of(plan: FederationPlan, name: str, gone: Collection[str] = ()) -> MemberRole:
    """Where this member sits, once some have left."""
    setting = Setting(plan.network, plan.task.dimension, plan.step, plan.run.rounds)
    me = plan.agent(name)
    dropped = frozenset(plan.agent(one) for one in gone) & set(plan.network.neighbours(me))
    public = plan.run.start == PUBLIC
    algorithm = plan.algorithm if public else begun_from_state(plan.algorithm)
    return MemberRole(
        me, setting, algorithm, plan.feasible, np.dtype(plan.task.dtype), dropped, plan.run.reach
    )
