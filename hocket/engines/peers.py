"""The peers engine: one agent's generator on its own machine; the other agents are at the far ends of links.

A round is in the journal before its first word is sent. After a crash the generator runs again from the state that the
round began with, and its first words come out the same, byte for byte; the journal refuses any others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from hocket.agent import Agent, Local
from hocket.algorithm import Say, Tell, x_of
from hocket.engines.seat import Seat
from hocket.engines.secret_shares import shares
from hocket.engines.streams import ChainStreams
from hocket.engines.words import Words, arrays_for, check_word
from hocket.links.conversation import Conversation, Moment
from hocket.links.journal import EVERYBODY, Journal
from hocket.links.wire import Frame, Kind, Limits, pack, unpack


class Finished(NamedTuple):
    """What a member has at the end."""

    x: np.ndarray
    """Its own state; it holds the last gradient and stays at home."""
    published: np.ndarray
    """The mixed, masked state of one more exchange without a gradient step: what may be given away."""
    waiting_for: tuple[str, ...] = ()
    """Neighbours that had not said that they are done when this member stopped waiting."""


class Played(NamedTuple):
    """One round, for whoever watches."""

    k: int
    x: np.ndarray
    """This member's next state."""
    disagreement: float
    """The largest distance between this member's word and a neighbour's, noise included."""


@dataclass
class Peer:
    """One member playing its part."""

    seat: Seat
    names: list[str]
    """All members, by number."""
    conversation: Conversation
    journal: Journal
    streams: ChainStreams
    descend: Local
    start: np.ndarray
    recall: Callable[[], bytes] = lambda: b""
    """The task's own state, to be kept with each round."""
    restore: Callable[[bytes], None] = lambda state: None
    watch: Callable[[Played], None] | None = None
    disagreement: float = 0.0

    @property
    def rounds(self) -> int:
        return self.seat.plan.rounds

    async def play(self, *, linger: float | None = None) -> Finished:
        """Play all rounds from where the journal stands; then stay until the neighbours are done, or for `linger` s."""
        k, state = self._resumed()
        while k <= self.rounds:
            state = await self._round(k, state)
            if self.watch is not None:
                self.watch(Played(k, x_of(state), self.disagreement))
            self.streams.advance()
            k += 1
        if k == self.rounds + 1:
            published = x_of(await self._round(k, state))
            self._commit(k + 1, [x_of(state), published], {EVERYBODY: self._frame(Kind.DONE, k + 1, 0, [])}, {})
            k += 1
            finished = Finished(x_of(state), published)
        else:
            finished = Finished(*self._stored(self._position().state)[:2])
        return await self._part(k, finished, linger)

    def drop(self, member: int) -> None:
        """Go on without a neighbour, from whatever exchange this member is in."""
        if member in self.seat.neighbours:
            self.seat = replace(self.seat, dropped=self.seat.dropped | {member})
            self.streams.drop(member)
            self.conversation.forget(self.names[member])

    async def _part(self, k: int, finished: Finished, linger: float | None) -> Finished:
        done = {name: self._frame(Kind.DONE, k, 0, []) for name in self.conversation.neighbours}
        try:
            await asyncio.wait_for(self.conversation.exchange(Moment(k), done), linger)
        except TimeoutError:
            return finished._replace(waiting_for=tuple(self.conversation.missing))
        return finished

    async def _round(self, k: int, state: Any) -> Any:
        """One round, or after the last one the exchange whose result may be published."""
        talk = self.seat.algorithm.round(self._agent(k), state, k)
        if not isinstance(talk, Generator):
            return talk
        leaves, exchange, heard = jax.tree.leaves(state), 0, None
        try:
            while True:
                spoken = talk.send(heard)
                heard = await self._exchange(k, exchange, spoken, leaves)
                exchange += 1
        except StopIteration as end:
            return end.value

    async def _exchange(self, k: int, exchange: int, spoken: Say | Tell, leaves: list[Any]) -> Words:
        arrays = arrays_for(self.seat, spoken)
        words = {
            EVERYBODY if other is None else self.names[other]: self._frame(Kind.WORD, k, exchange, parts)
            for other, parts in arrays.items()
        }
        if exchange == 0:
            self._commit(k, leaves, words, self._chains())
        else:
            self.journal.commit_words(k, exchange, words)
        frames = await self.conversation.exchange(Moment(k, exchange), self._for_each(words))
        return self._opened(k, spoken, next(iter(arrays.values())), frames)

    def _opened(self, k: int, spoken: Say | Tell, like: list[np.ndarray], frames: Mapping[str, Frame]) -> Words:
        own, weights = self.seat.weights(k)
        structure = jax.tree.structure(spoken[0])
        said, distance = [], 0.0
        for other in weights:
            name = self.names[other]
            arrays = check_word(self.seat, name, frames[name].parts, like, k)
            distance = max(distance, float(np.linalg.norm(arrays[0] - like[0])))
            said.append(jax.tree.unflatten(structure, arrays))
        self.disagreement = distance
        return Words(own, list(weights.values()), said)

    def _agent(self, k: int) -> Agent:
        return Agent(
            index=self.seat.index,
            alpha=self.seat.step,
            objective=_no_objective,
            feasible=self.seat.feasible,
            shares=shares(self.seat, self.streams, k) if k > 0 else self._kept(),
            local=self.descend if k <= self.rounds else _stay,
        )

    def _resumed(self) -> tuple[int, Any]:
        first = self.seat.algorithm.setup(self._agent(0), self.start)
        position = self.journal.position
        if position is None:
            return 1, first
        leaves = self._stored(position.state)
        if position.round > self.rounds + 1:
            self._say_again(position.round - 1)
            return position.round, first
        *arrays, task = leaves
        self.restore(bytes(task))
        self._say_again(position.round - 1)
        return position.round, jax.tree.unflatten(jax.tree.structure(first), arrays)

    def _say_again(self, k: int) -> None:
        """Have the last words of a past round ready, for a neighbour that missed them."""
        last: dict[str, bytes] = {}
        exchange = 0
        while said := self._said(k, exchange):
            last, exchange = said, exchange + 1
        if last:
            self.conversation.remember(last)

    def _said(self, k: int, exchange: int) -> dict[str, bytes]:
        found = {name: self.journal.said(k, exchange, name) for name in self.conversation.neighbours}
        return {name: word for name, word in found.items() if word is not None}

    def _commit(self, k: int, leaves: list[Any], words: Mapping[str, bytes], chains: Mapping[str, bytes]) -> None:
        arrays = [np.asarray(leaf) for leaf in leaves]
        state = pack(Frame(Kind.WORD, self.conversation.plan, k, 0, [*arrays, self.recall()]))
        self.journal.commit_round(k, state, chains=chains, words=words)

    def _stored(self, state: bytes) -> list[Any]:
        return list(unpack(state, Limits(len(state)), plan=self.conversation.plan).parts)

    def _position(self) -> Any:
        position = self.journal.position
        assert position is not None
        return position

    def _chains(self) -> dict[str, bytes]:
        chains = {self.names[other]: chain for other, chain in self.streams.chains.items()}
        return chains | {self.names[self.seat.index]: self.streams.own_chain}

    def _for_each(self, words: Mapping[str, bytes]) -> dict[str, bytes]:
        return {name: words.get(name, words.get(EVERYBODY, b"")) for name in self.conversation.neighbours}

    def _frame(self, kind: Kind, k: int, exchange: int, parts: list[np.ndarray]) -> bytes:
        return pack(Frame(kind, self.conversation.plan, k, exchange, parts))

    def _kept(self) -> dict[str, Any]:
        """The noise that was drawn once, for an algorithm that sets up its state with it."""
        return {
            name: share
            for name, share in shares(self.seat, self.streams, self.streams.k).items()
            if self.seat.draws[name].once
        }


def _no_objective(v: Any) -> Any:
    raise AssertionError("a member descends by its task's local steps")


def _stay(v: Any, k: Any, **_: Any) -> Any:
    """Take no step: what is mixed here is what may be published."""
    return v
