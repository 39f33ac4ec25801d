"""The peers engine: one agent's generator on its own machine; the other agents are at the far ends of links.

A round is in the journal before its first message is sent: the state it begins with, the keys of its noise, and who had
left. After a crash the generator runs again from these, and its first messages come out the same, byte for byte; the
journal refuses any others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import numpy as np

from hocket.agent import Local
from hocket.algorithm import Broadcast, SecureSum, SendEach, communicates, x_of
from hocket.errors import BadInput, BadPlan, LinkError
from hocket.federation.runtime.exchanges import Exchanges
from hocket.federation.runtime.noise_shares import ChainStreams, RoundNoise, kept_shares, shares
from hocket.federation.runtime.payload import (
    WireMessages,
    arrays_for,
    check_message,
    check_own,
    decoded,
    like,
)
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, MaskedSum, Tree, check_mean, tree_of
from hocket.federation.runtime.supervision import Compute, at_once
from hocket.federation.runtime.termination import ResultSigning, Termination
from hocket.federation.workloads.analysis import Analysis
from hocket.federation.workloads.needs import check_stated, needs
from hocket.links.conversation import Conversation
from hocket.links.journals.journal import EVERYBODY, Journal, Position
from hocket.links.journals.records import Record
from hocket.links.wire import Frame, Kind, Part

EXCHANGES = 256
"""Of one round at the most: messages number them in one byte."""
ARRAYS_A_ROUND = 8
"""Arrays of the size of a state that one round makes and drops."""


class Finished(NamedTuple):
    """What a member has at the end."""

    x: np.ndarray
    """Its own state; it holds the last gradient and stays at home."""
    published: np.ndarray
    """The mixed, masked state of one more exchange without a gradient step: what may be given away."""
    seals: Mapping[str, bytes] = {}
    """What members, this one included, said of the end that they came to, where they say so and it fits this one's."""
    differing: tuple[str, ...] = ()
    """Neighbours who said something else of it."""
    waiting_for: tuple[str, ...] = ()
    """Neighbours that had not said that they are done when this member stopped waiting."""


class Played(NamedTuple):
    """One round, for anybody who watches."""

    k: int
    x: np.ndarray
    """This member's next state."""
    said: np.ndarray
    received: Sequence[np.ndarray]
    weights: Sequence[float]
    """Of its own message, and of those received."""

    @property
    def mixed(self) -> np.ndarray:
        """What this member mixed in this round: it follows from messages alone."""
        return sum(
            (weight * one for weight, one in zip(self.weights[1:], self.received, strict=True)),
            self.weights[0] * self.said,
        )

    @property
    def disagreement(self) -> float:
        """The largest distance between this member's message and a neighbour's, noise included."""
        return max((float(np.linalg.norm(word - self.said)) for word in self.received), default=0.0)


@dataclass
class Peer:
    """One member playing its part."""

    role: MemberRole
    names: list[str]
    """All members, by number."""
    conversation: Conversation
    journal: Journal
    noise: RoundNoise
    descend: Local | Analysis
    start: np.ndarray
    recall: Callable[[], bytes] = lambda: b""
    """The task's own state, to be kept with each round."""
    restore: Callable[[bytes], None] = lambda state: None
    watch: Callable[[Played], Awaitable[None]] | None = None
    tell: Callable[[int, np.ndarray, np.ndarray], Awaitable[None]] | None = None
    """Told of every round's number, and of the state before and after it, while its noise keys are still there."""
    found: Callable[[Finished], Awaitable[None]] | None = None
    """Told of the result as soon as there is one, before this member stays for others."""
    compute: Compute = at_once
    """Where the algorithm and the task compute."""
    still: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while this member computes: nobody is dropped meanwhile."""
    sealing: ResultSigning | None = None
    """How this member says what it has come to, where members do."""
    point: bytes = BEGINNING
    """Stands for all sums that were shown so far."""
    _words: tuple[np.ndarray, Sequence[np.ndarray], Sequence[float]] = (np.empty(0), (), (1.0,))
    """Said and heard in the last exchange, and their weights."""
    _received_from: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])

    def __post_init__(self) -> None:
        self._exchanges = Exchanges(self.names, self.conversation, self.journal)

    @property
    def rounds(self) -> int:
        return self.role.plan.rounds

    @property
    def records(self) -> dict[str, Record]:
        """What was said and heard so far, by neighbour, by its digests."""
        return self._exchanges.records

    async def play(self, *, linger: float | None = None) -> Finished:
        """Play all rounds from where the journal stands; then stay until the neighbours are done, or for `linger` s."""
        _keep_memory(ARRAYS_A_ROUND * self.start.nbytes)
        position = self._exchanges.take_up()
        k = 1 if position is None else position.round
        if position is None or position.chains:  # without any, all was said
            if position is None:
                state, role = await self._computed(self._begun), self.role
            else:
                state, role = await self._resumed(position)
            await self._exchanges.speak_up()
            finished = await self._computed(role.finished, self.descend, state)
            while k <= self.rounds and not finished:
                before = x_of(state)
                state, finished = await self._round(k, state, role)
                if self.tell is not None:
                    await self.tell(k, before, x_of(state))
                if self.watch is not None:
                    await self.watch(Played(k, x_of(state), *self._words))
                self.noise.advance(self.role)
                role, k = self.role, k + 1
            published = x_of(state)
            if k > self.rounds:
                last, _ = await self._round(k, state, role)
                published, k = x_of(last), k + 1
            done = {EVERYBODY: (await self._computed(self._farewell, k, published)).word()}
            self._exchanges.begin(k, self._kept([x_of(state), published], role), done, {})
            found = Finished(x_of(state), published)
        else:
            x, published, point, *_ = self._exchanges.parts_of(position)
            await self._send_again()
            self.point = bytes(point)
            await self._exchanges.speak_up()
            found = Finished(x, published)
        if self.found is not None:
            await self.found(found)
        return await self._part(k, found, linger)

    def drop(self, member: int) -> None:
        """Go on without a neighbour, from whatever exchange this member is in; with sums nobody does."""
        assert not needs(self.role.algorithm).sums
        if member in self.role.neighbours:
            self.role = replace(self.role, dropped=self.role.dropped | {member})
            self.noise.streams.drop(member)
            self.conversation.forget(self.names[member])

    async def _part(self, k: int, finished: Finished, linger: float | None) -> Finished:
        farewell = await self._computed(self._farewell, k, finished.published)
        waiting_for = await farewell.take(linger=linger, again=k == self._exchanges.taken_up)
        return finished._replace(
            seals=farewell.seals, differing=tuple(sorted(farewell.differing)), waiting_for=waiting_for
        )

    def _farewell(self, k: int, published: np.ndarray) -> Termination:
        return Termination(
            self.role, self.names, self.conversation, self.journal, self.sealing, k, published, self.point
        )

    async def _round(self, k: int, state: Any, role: MemberRole) -> tuple[Any, bool]:
        """The state after one round, or after the last one the exchange whose result may be published; and whether the
        algorithm has nothing more to send.

        `role` is as it was when the round began: what is said in a round must not change when somebody leaves in it.
        """
        talk = role.round(role.agent(k, self.noise.of(role, k), self.descend), state, k)
        leaves, exchange = jax.tree.leaves(state), 0
        received: Any = None
        while True:
            outgoing, after, finished = await self._computed(self._next, talk, received, role)
            if outgoing is None:
                return after, finished
            if isinstance(outgoing, SecureSum):
                check_stated(role.algorithm)
                received, exchange = await self._total(k, exchange, outgoing, leaves, role)
            else:
                received = await self._exchange(k, exchange, outgoing, leaves, role)
                exchange += 1

    def _next(self, talk: Any, received: Any, role: MemberRole) -> tuple[Any, Any, bool]:
        """What a round asks for next; or None, the state after it, and whether there is nothing more to send."""
        if communicates(talk):
            try:
                with self._blaming():
                    return talk.send(received), None, False
            except StopIteration as end:
                talk = end.value
        return None, talk, role.finished(self.descend, talk)

    async def _computed(self, function: Callable[..., Any], *given: Any) -> Any:
        """What a function returns that may take long. What this member begins next goes to the disk before anything
        else happens."""
        async with self.still:
            return await self.compute(function, *given)

    @contextmanager
    def _blaming(self) -> Generator[None]:
        """A step that comes out unusable may be a neighbour's doing: say whose word was the farthest out."""
        try:
            # A warning that becomes an error would stop this member, and underflow is one where a task's file says
            # np.seterr(all="raise"). What is sent is checked to be finite anyway.
            with np.errstate(all="ignore"):
                yield
        except BadInput as error:
            sizes = {name: float(np.abs(word).max(initial=0.0)) for name, word in self._received_from.items()}
            if not sizes:
                raise
            name = max(sizes, key=lambda one: sizes[one])
            raise BadInput(
                f"{error}. Of the messages received before, that of {name} was the farthest out, with a number of size "
                f"{sizes[name]:.3g}: if that cannot be, ask {name} what it runs"
            ) from error

    async def _exchange(
        self, k: int, exchange: int, outgoing: Broadcast | SendEach, leaves: list[Any], role: MemberRole
    ) -> WireMessages:
        arrays = arrays_for(role, outgoing)
        check_own(role, arrays.values(), k)
        frames = await self._carried(k, exchange, arrays, leaves, role)
        return self._opened(k, outgoing, next(iter(arrays.values())), frames)

    async def _total(
        self, k: int, exchange: int, asked: SecureSum, leaves: list[Any], role: MemberRole
    ) -> tuple[Any, int]:
        """The sum over all members, and the exchange that comes after it."""
        masked = self._masked(k, exchange, asked, role, self.noise.streams)
        if exchange + masked.exchanges > EXCHANGES:
            raise BadPlan(
                f"round {k} takes another sum, whose {masked.exchanges} exchanges would end beyond the {EXCHANGES} "
                "that messages can number; plan more links, so that members are nearer, or take one sum a round"
            )
        for step in range(masked.exchanges):
            said, due = masked.said(step), [self.names[other] for other in masked.due(step)]
            if said or due or not exchange:  # with the first exchange the round goes to the disk
                frames = await self._carried(k, exchange, said, leaves, role, due)
                self._check_messages(k, frames)
                masked.received(step, {self.names.index(name): frame.parts for name, frame in frames.items()})
            exchange += 1
        check_mean(role, self.names, masked.result, k)
        self.point = masked.next_point
        return masked.result, exchange

    def _masked(
        self, k: int, exchange: int, asked: SecureSum, role: MemberRole, streams: ChainStreams
    ) -> MaskedSum:
        return MaskedSum.of(role, self._tree, streams, asked, k, exchange, self.point, self.names)

    @cached_property
    def _tree(self) -> Tree:
        return tree_of(self.role.plan.network)

    async def _carried(
        self,
        k: int,
        exchange: int,
        arrays: Mapping[int | None, Sequence[Part]],
        leaves: list[Any],
        role: MemberRole,
        due: Sequence[str] | None = None,
    ) -> Mapping[str, Frame]:
        """One exchange, in which all neighbours speak or those who are due; with the first one the round begins."""
        words = self._exchanges.framed(k, exchange, arrays)
        if exchange:
            return await self._exchanges.later(k, exchange, words, due)
        ahead = partial(self._draw_ahead, k) if role.kinds else None
        return await self._exchanges.first(k, self._kept(leaves, role), words, self._chains(), due, ahead)

    def _draw_ahead(self, k: int) -> None:
        if k <= self.rounds:
            self.noise.draw_ahead(self.role, k + 1)

    def _opened(
        self, k: int, outgoing: Broadcast | SendEach, mine: list[np.ndarray], frames: Mapping[str, Frame]
    ) -> WireMessages:
        own, weights = self.role.weights(k)
        names = [self.names[other] for other in weights]
        self._check_messages(k, {name: frames[name] for name in names})
        received = [check_message(self.role, name, frames[name].parts, mine, k) for name in names]
        self._words = mine[0], [arrays[0] for arrays in received], [own, *weights.values()]
        self._received_from = {name: arrays[0] for name, arrays in zip(names, received, strict=True)}
        words = [decoded(name, outgoing, arrays, k) for name, arrays in zip(names, received, strict=True)]
        return WireMessages(own, list(weights.values()), words)

    def _check_messages(self, k: int, frames: Mapping[str, Frame]) -> None:
        for name, frame in frames.items():
            if frame.kind is not Kind.MESSAGE:
                raise LinkError(
                    f"{name} says in round {k} that it is done, and is not; ask {name} what it runs"
                )

    def _begun(self) -> Any:
        agent = self.role.agent(1, kept_shares(self.role, self.noise.streams), self.descend)
        return self.role.algorithm.init(agent, self.start)

    async def _resumed(self, position: Position) -> tuple[Any, MemberRole]:
        *leaves, point, left, task = self._exchanges.parts_of(position)
        self.restore(bytes(task))
        await self._send_again()
        self.point = bytes(point)
        # Only the form of a state is asked for, and gradients of round 1 are gone.
        formless = replace(
            self.role.agent(1, kept_shares(self.role, self.noise.streams), None), objective=_zero
        )
        return like(self.role.algorithm.init(formless, self.start), leaves), self._seat_with(left)

    async def _send_again(self) -> None:
        """Have the last messages of the previous round ready, for a neighbour that missed them."""
        previous = self.journal.previous
        if previous is None:
            return
        first = await self._computed(self._first_words, previous)
        self.conversation.remember(self._exchanges.last_words(previous.round, first))

    def _first_words(self, previous: Position) -> dict[str, bytes]:
        """What the previous round began with, made again from its state and keys."""
        *leaves, point, left, _ = self._exchanges.parts_of(previous)
        k, role = previous.round, self._seat_with(left)
        streams = self.noise.streams.at(
            k, {self.names.index(name): key for name, key in previous.chains.items()}, role.index
        )
        agent = role.agent(k, shares(role, streams, k), self.descend)
        talk = role.round(agent, like(self._begun(), leaves), k)
        if not communicates(talk):
            return {}
        with self.noise.again(streams):
            outgoing = next(talk)
            if isinstance(outgoing, SecureSum):
                self.point = bytes(point)
                words = self._exchanges.framed(k, 0, self._masked(k, 0, outgoing, role, streams).said(0))
            else:
                words = self._exchanges.framed(k, 0, arrays_for(role, outgoing))
        talk.close()
        self.journal.check_sent(k, words)
        return words

    def _seat_with(self, left: Any) -> MemberRole:
        gone = frozenset(int(number) for number in bytes(left).split())
        return self.role if gone == self.role.dropped else replace(self.role, dropped=gone)

    def _kept(self, leaves: Sequence[Any], role: MemberRole) -> list[Part]:
        """What a round begins with, to be taken up from it."""
        gone = " ".join(map(str, sorted(role.dropped))).encode()
        return [*map(np.asarray, leaves), self.point, gone, self.recall()]

    def _chains(self) -> dict[str, bytes]:
        streams = self.noise.streams
        chains = {self.names[other]: chain for other, chain in streams.chains.items()}
        return chains | {self.names[self.role.index]: streams.own_chain}


def _keep_memory(count: int) -> None:
    """Have the C library keep so many bytes from round to round.

    It gives large arrays back to the kernel at once, which clears every page when it is taken again: as slow as the
    noise itself. After a block of this size came and went, glibc keeps that much; others may not, and lose nothing.
    """
    block = np.empty(count, np.uint8)
    del block


def _zero(x: Any) -> Any:
    return 0 * x
