"""One agent's rounds as coefficients, read off the algorithm's own generator.

While gradients stay the same and no projection is active, all that an agent says and becomes is affine in its state,
its gradient, its noise and what it mixes, coordinate by coordinate. So the generator is run as it stands, on arrays
whose coordinates are worlds apart: nothing at all in the first, a unit of one thing in each of the others. Where that
does not foretell what a little and a lot of everything do, the round is not affine, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from hocket.agent import Agent, Each
from hocket.algorithm import Algorithm, Outgoing, SecureSum, SendEach, Setting, carry_out, opened
from hocket.claims import parts
from hocket.errors import NoTheorem
from hocket.noise.draws import Balanced, Draw
from hocket.problems.sets import Everywhere
from hocket.steps import Step

A_LOT = 1e9
"""How far out a round must still be affine: clipping shows there, wherever it begins."""
HARDLY = 1e-6
"""How close to nothing it must still be: what waits for a change to be large enough shows there."""
AFFINE = 1e-9
"""How far a world may be off, as a part of its terms: doubles lose seven digits less in a sum of ten."""
TOGETHER = 2048
"""Worlds in which rounds are played at once, as many rounds as fit."""
UNFIT = (TypeError, ValueError, IndexError)
"""What arrays of another shape than an algorithm expects make it raise."""
EVERYWHERE = Everywhere()
Coefficients = Float[np.ndarray, "agents outputs inputs"]
"""One row of agents where all follow the same rule, else a row for each."""


class Sent(NamedTuple):
    """Numbers said in one exchange: `outputs` has them one after the other, each slot by slot if it was told."""

    outputs: slice
    numbers: int
    told: bool
    summed: bool = False
    """Whether all that is shown of them is a sum."""

    def rows(self, number: int) -> range:
        """The outputs that hold one of the numbers: one, or one for each slot."""
        each = (self.outputs.stop - self.outputs.start) // self.numbers
        return range(self.outputs.start + number * each, self.outputs.start + (number + 1) * each)


class Mixed(NamedTuple):
    """Numbers mixed with what was received: an agent's own are `outputs`, the results `inputs` among those heard."""

    exchange: int
    outputs: slice
    inputs: slice
    summed: bool = False
    """Whether the results are the sums that were asked for, and nothing was mixed."""


@dataclass(frozen=True)
class Reader(Agent):
    """An agent whose gradients stay the same wherever they are asked for, and who notices if its number matters."""

    at: Any = 0.0
    """Where the gradients of noise functions are taken."""
    looks: list[bool] = field(default_factory=list)
    """One for every time that somebody looked at its number, also by way of an agent that was made of this one."""

    def disguised(self, plus: Callable[[Any], Any] | None) -> Reader:
        # The algorithm inside function sharing is shown as little of the noise here as in a run.
        found = copy(self)
        found.__dict__.update(plus=None if plus is None else lambda _: plus(self.at), shares={}, adders=None)
        return found

    @property
    def asked(self) -> bool:
        """Whether anybody has looked at its number."""
        return bool(self.looks)

    def _number(self) -> int:
        self.looks.append(True)
        return self.__dict__["index"]

    index = property(_number, lambda self, number: self.__dict__.update(index=number))  # type: ignore[assignment]


class Notes:
    """Takes down what an agent says and mixes in a round; what it hears are the next of some unknown numbers."""

    def __init__(self, unknown: Float[np.ndarray, "numbers worlds"] | None, worlds: int):
        self.unknown, self.worlds = unknown, worlds
        self.outputs: list[np.ndarray] = []
        self.order: list[Sent | Mixed] = []
        self.taken = self.count = 0

    def put(self, numbers: list[np.ndarray]) -> slice:
        """The next outputs."""
        before = self.count
        self.outputs += numbers
        self.count += sum(map(len, numbers))
        return slice(before, self.count)

    def exchange(self, outgoing: Outgoing) -> Any:
        if isinstance(outgoing, SecureSum):
            return self._total(outgoing.values)
        parts, told, slots = jax.tree.leaves(opened(outgoing, outgoing[0])), isinstance(outgoing, SendEach), 1
        if told:  # number by number, and then slot by slot
            parts = [np.moveaxis(np.asarray(part, np.float64), 0, -2) for part in parts]
            slots = parts[0].shape[-2]
        placed = self.put([numbers_of(part, self.worlds) for part in parts])
        self.order.append(Sent(placed, (placed.stop - placed.start) // slots, told))
        return _Received(self, sum(isinstance(one, Sent) for one in self.order) - 1)

    def _total(self, values: Any) -> Any:
        """The next unknown numbers, in the form in which they were asked for."""
        leaves, tree = jax.tree.flatten(values)
        parts = [numbers_of(leaf, self.worlds) for leaf in leaves]
        placed = self.put(parts)
        shown = slice(self.taken, self.taken + placed.stop - placed.start)
        self.taken = shown.stop
        self.order.append(Sent(placed, placed.stop - placed.start, told=False, summed=True))
        exchange = sum(isinstance(one, Sent) for one in self.order) - 1
        self.order.append(Mixed(exchange, placed, shown, summed=True))
        if self.unknown is None:
            return values
        return jax.tree.unflatten(tree, _shaped(self.unknown[shown], [np.shape(leaf) for leaf in leaves]))


class _Received(NamedTuple):
    notes: Notes
    exchange: int

    def each(self) -> Each:
        raise NoTheorem(
            "no leakage model covers an algorithm that looks at single neighbours' messages: what it makes of them "
            "need not be affine"
        )

    def mixed_with(self, own: Any) -> Any:
        notes = self.notes
        leaves, tree = jax.tree.flatten(own)
        parts = [numbers_of(leaf, notes.worlds) for leaf in leaves]
        kept = notes.put(parts)
        received = slice(notes.taken, notes.taken + kept.stop - kept.start)
        notes.taken = received.stop
        notes.order.append(Mixed(self.exchange, kept, received))
        if notes.unknown is None:
            return own
        return jax.tree.unflatten(tree, _shaped(notes.unknown[received], [np.shape(leaf) for leaf in leaves]))


class Share(NamedTuple):
    """The shape of one kind of noise."""

    name: str
    lead: tuple[int, ...]
    """Slots by which it is dealt, if it is."""
    width: int


def rule_of(algorithm: Algorithm, plan: Setting, draws: Mapping[str, Draw], slots: int) -> Rule:
    """What one agent does under a plan: read once for coalitions that are asked about in a row."""
    shares = tuple(
        Share(name, (slots,) if isinstance(draw, Balanced) else (), draw.width)
        for name, draw in draws.items()
    )
    given = algorithm, plan.network.n, plan.step, plan.rounds, shares
    try:
        return _remembered(_code(algorithm), *given)
    except TypeError:  # an algorithm that holds arrays
        return Rule(*given)


class Rule:
    """What one agent does in rounds 1 … K, no matter who its neighbours are.

    Inputs are the numbers of its state, its gradient, its shares of the noise and what comes of mixing; outputs are
    what it says and what of its own it mixes, in the order of the round, and then the numbers of its next state.
    """

    def __init__(self, algorithm: Algorithm, n: int, step: Step, rounds: int, shares: tuple[Share, ...]):
        self.algorithm, self.n = algorithm, n
        self._one_round = algorithm.round  # bound once: an equinox module binds anew at every look
        self._alpha, self._step = np.concatenate([[0.0], step.table(1, rounds)]), step
        self._leads = {share.name: share.lead for share in shares}
        with jax.enable_x64(True), np.errstate(all="ignore"):
            self._lay_out({share.name: share.width * math.prod(share.lead) for share in shares})
            first = self._done(self._begin, _worlds(self.received.start - self.states + 1), "its first state")
            self.setup = self._coefficients(first, self._begin, "its first state")
            try:
                self.rounds = self._every_round(rounds)
            except (NoTheorem, ValueError):  # a round may ask of k what only one number answers
                self.rounds = self._every_round(rounds, together=False)
            """The coefficients of rounds 1 … K, one after the other."""
        self.rounds.setflags(write=False)  # other coalitions are given the same

    def _lay_out(self, numbers: Mapping[str, int]) -> None:
        """Where everything stands among inputs and outputs: from one round in which everything is zero."""
        ends = np.cumsum([0, *numbers.values()]).tolist()
        self.shares = {name: slice(*ends[place : place + 2]) for place, name in enumerate(numbers)}
        try:
            first = self.algorithm.init(self._agent(0, np.zeros((1 + ends[-1], 1))), np.zeros(1))
            leaves, self._tree = jax.tree.flatten(first)
            self._state_leads = [np.shape(leaf)[:-1] for leaf in leaves]
            self.states = sum(len(numbers_of(leaf, 1)) for leaf in leaves)
            self.given = slice(self.states, self.states + 1 + ends[-1])
            notes = Notes(None, 1)
            self._played(1, np.zeros((self.given.stop, 1)), 0, notes)
        except UNFIT as error:
            raise self._refusal("its first round") from error
        self.order = notes.order
        self.said = [one for one in notes.order if isinstance(one, Sent)]
        self.received = slice(self.given.stop, self.given.stop + notes.taken)
        self.after = slice(notes.count - self.states, notes.count)

    def driven(
        self,
        k: int,
        dealt: Mapping[str, Float[np.ndarray, "numbers agents dim"]],
        at: Float[np.ndarray, "agents dim"],
        agents: np.ndarray,
    ) -> Float[np.ndarray, "outputs agents dim"]:
        """What known shares alone bring into the outputs of round k, or into the first state for round 0.

        `at` is where each agent is, and noise functions are looked at.
        """
        points = np.zeros((self.received.stop, *at.shape))
        for name, share in dealt.items():
            points[self.given][1:][self.shares[name]] = share

        def one(points: np.ndarray, at: np.ndarray, index: int) -> tuple[np.ndarray, bool]:
            if k == 0:
                return self._begin(np.vstack([0 * at, points[self.given]]), index)
            return self._play(k, points, index, at)

        with jax.enable_x64(True):
            found, asked = one(points.reshape(len(points), -1), at.ravel(), 0)
            if asked:
                every = [one(points[:, row], at[row], j)[0] for row, j in enumerate(agents.tolist())]
                return np.stack(every, axis=1)
        return found.reshape(-1, *at.shape)

    def _agent(self, index: int, given: Float[np.ndarray, "numbers worlds"], at: Any = None) -> Reader:
        """An agent with this gradient and these shares."""
        return Reader(
            index=index,
            alpha=lambda k: self._alpha[k] if np.max(k) < len(self._alpha) else self._step(k),
            objective=lambda v: given[0],
            feasible=EVERYWHERE,
            members=self.n,
            shares={
                name: given[1:][place].reshape(*self._leads[name], -1) for name, place in self.shares.items()
            },
            at=np.zeros(given.shape[1]) if at is None else at,
        )

    def _begin(self, points: np.ndarray, index: int) -> tuple[np.ndarray, bool]:
        agent = self._agent(index, points[1:])
        return numbers_of_all(self.algorithm.init(agent, points[0]), points.shape[1]), agent.asked

    def _every_round(self, last: int, *, together: bool = True) -> np.ndarray:
        """Rounds 1 … K one by one, or many at once, each in worlds of its own: then k is an array, as all else is."""
        worlds = _worlds(self.received.stop)
        several = max(1, TOGETHER // worlds.shape[1]) if together else 1
        parts = []
        for begin in range(1, last + 1, several):
            some = np.arange(begin, min(last + 1, begin + several))
            k = np.repeat(some, worlds.shape[1]) if together else begin
            out = self._done(partial(self._play, k), np.tile(worlds, len(some)), f"round {begin}")
            parts.append(out.reshape(*out.shape[:2], len(some), -1))
        agents = max(map(len, parts))
        every = np.concatenate([np.broadcast_to(one, (agents, *one.shape[1:])) for one in parts], axis=2)
        every = np.moveaxis(every, 2, 0)
        for k in (1 << power for power in range(last.bit_length())):  # what one round clips, all do
            self._coefficients(every[k - 1], partial(self._play, k), f"round {k}")
        return every[..., 1:] - every[..., :1]

    def _play(self, k: Any, points: np.ndarray, index: int, at: Any = None) -> tuple[np.ndarray, bool]:
        """All outputs of a round, a column per world, and whether the agent's number was asked for."""
        notes = Notes(points[self.received], points.shape[1])
        asked = self._played(k, points, index, notes, at)
        return np.concatenate(notes.outputs), asked

    def _played(self, k: Any, points: np.ndarray, index: int, notes: Notes, at: Any = None) -> bool:
        shapes = [(*lead, points.shape[1]) for lead in self._state_leads]
        state = jax.tree.unflatten(self._tree, _shaped(points[: self.states], shapes))
        agent = self._agent(index, points[self.given], at)
        notes.put([numbers_of_all(carry_out(self._one_round(agent, state, k), notes.exchange), notes.worlds)])
        return agent.asked

    def _done(self, play: Any, points: np.ndarray, where: str) -> Float[np.ndarray, "agents outputs worlds"]:
        """What one agent does in all worlds, or everybody if it asks for its number."""
        try:
            found, asked = play(points, 0)
            return np.stack([found, *(play(points, j)[0] for j in range(1, self.n if asked else 1))])
        except UNFIT as error:
            raise self._refusal(where) from error

    def _coefficients(self, out: np.ndarray, play: Any, where: str) -> Coefficients:
        """The coefficients in what was done, if they foretell what a little and a lot of everything do."""
        silent, found = out[:, :, :1], out[:, :, 1:] - out[:, :, :1]
        for trial in _trials(found.shape[2]):
            seen = self._done(play, trial, where)
            size = np.abs(found) @ np.abs(trial) + np.abs(silent)
            if not (np.abs(found @ trial + silent - seen) <= AFFINE * size).all():  # NaN is refused too
                raise self._refusal(where)
        return found

    def _refusal(self, where: str) -> NoTheorem:
        return NoTheorem(
            f"no leakage model covers {type(self.algorithm).__name__}: {where} is not affine in the start, the "
            "gradients and the noise, coordinate by coordinate, as where something is cut, rounded or multiplied; so "
            "nothing is said of what others learn, neither good nor bad. If a cut may be left out of account, ask "
            "about the algorithm without it; else choose one whose rounds are affine"
        )


@lru_cache(maxsize=4)
def _remembered(code: frozenset[Any], *given: Any) -> Rule:
    """Of few plans: the coefficients of a long one take tens of megabytes."""
    return Rule(*given)


def _code(algorithm: Algorithm) -> frozenset[Any]:
    """What an algorithm's rounds are read from. Somebody may put other code into a class that has been read once."""
    found = [
        (name, what)
        for one in parts(algorithm)
        for place in (*map(vars, type(one).__mro__), getattr(one, "__dict__", {}))
        for name, what in place.items()
        if callable(what) or isinstance(what, property)
    ]
    return frozenset(found)


@cache
def _worlds(inputs: int) -> Float[np.ndarray, "inputs worlds"]:
    """Nothing, and a unit of each input."""
    return np.hstack([np.zeros((inputs, 1)), np.eye(inputs)])


@cache
def _trials(inputs: int) -> tuple[Float[np.ndarray, "inputs 1"], ...]:
    """A little of all and a lot of all, and hardly anything, each by itself: one vector's clipping scales all of its
    coordinates alike. In both signs: a floor, or a size, shows on one side alone."""
    little = np.random.default_rng(0).normal(size=(inputs, 1))
    return tuple(sign * size * little for size in (1.0, A_LOT, HARDLY) for sign in (1.0, -1.0))


def numbers_of(leaf: Any, worlds: int) -> Float[np.ndarray, "numbers worlds"]:
    """An array's numbers in every world; a lone number is the same in all."""
    array = np.asarray(leaf, np.float64)
    if array.ndim == 0:
        array = np.full(worlds, array)
    if array.shape[-1] != worlds:
        raise ValueError(f"an array of shape {array.shape} has no axis for coordinates")
    return array.reshape(-1, worlds)


def numbers_of_all(tree: Any, worlds: int) -> Float[np.ndarray, "numbers worlds"]:
    """The numbers of several arrays, one after the other."""
    return np.concatenate([numbers_of(leaf, worlds) for leaf in jax.tree.leaves(tree)])


def _shaped(numbers: Float[np.ndarray, "numbers worlds"], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Numbers laid out as arrays again."""
    found, begin = [], 0
    for shape in shapes:
        size = math.prod(shape[:-1])
        found.append(numbers[begin : begin + size].reshape(*shape[:-1], numbers.shape[1]))
        begin += size
    return found
