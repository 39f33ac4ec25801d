"""A finished run played again: by all members in one place, word by word, or by the simulator with their noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hocket.agent import Agent, Local
from hocket.algorithm import Algorithm, Broadcast, Outgoing, Round, SecureSum, SendEach, Setting, communicates
from hocket.federation.runtime.noise_shares import ChainStreams, directed, kept_shares, shares
from hocket.federation.runtime.payload import WireMessages, arrays_for, decoded
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, MaskedSum, tree_of
from hocket.links.wire import Frame, Kind, pack
from hocket.noise.draws import Balanced, Draw, Gaussian


@dataclass
class Player:
    """One member, with all that it drew and did."""

    role: MemberRole
    streams: ChainStreams
    local: Local
    start: np.ndarray
    state: Any = None
    point: bytes = BEGINNING
    """Stands for all sums that it was shown."""


class Message(NamedTuple):
    """One word of the replay."""

    round: int
    exchange: int
    sender: int
    receiver: int
    message: bytes


def replay(players: Sequence[Player], plan: bytes) -> Iterator[Message]:
    """Every word of the run, in order. When it is over, players hold what they published.

    The same generators on the same arrays as over links, so that every message comes out with the same bits. It keeps
    no journal, hides nothing and hears everything; who wants speed takes the simulator."""
    rounds = players[0].role.plan.rounds
    for one in players:
        agent = one.role.agent(1, kept_shares(one.role, one.streams), one.local)
        one.state = one.role.algorithm.init(agent, one.start)
    for k in range(1, rounds + 2):
        yield from _round(players, k, plan)
        for one in players:
            one.streams.advance()


def _round(players: Sequence[Player], k: int, plan: bytes) -> Iterator[Message]:
    agents = [one.role.agent(k, shares(one.role, one.streams, k), one.local) for one in players]
    talks = [one.role.round(agent, one.state, k) for one, agent in zip(players, agents, strict=True)]
    if not all(map(communicates, talks)):
        for one, state in zip(players, talks, strict=True):
            one.state = state
        return
    received: list[Any] = [None for _ in players]
    exchange = 0
    while True:
        said: list[Outgoing] = []
        ended = 0
        for one, talk, words in zip(players, talks, received, strict=True):
            try:
                said.append(talk.send(words))
            except StopIteration as end:
                one.state, ended = end.value, ended + 1
        if ended:
            return
        if isinstance(said[0], SecureSum):
            sums = _sums(players, said, k, exchange)
            for step in range(sums[0].exchanges):
                words = [one.said(step) for one in sums]
                yield from _messages(players, words, k, exchange, plan)
                for one in sums:
                    one.received(step, {other: words[other][one.role.index] for other in one.due(step)})
                exchange += 1
            for one, total in zip(players, sums, strict=True):
                one.point = total.next_point
            received = [total.result for total in sums]
            continue
        messages_sent: list[Any] = said
        arrays = [
            arrays_for(one.role, outgoing) for one, outgoing in zip(players, messages_sent, strict=True)
        ]
        yield from _messages(players, arrays, k, exchange, plan)
        received = [
            _received(one, k, outgoing, arrays) for one, outgoing in zip(players, messages_sent, strict=True)
        ]
        exchange += 1


def _messages(
    players: Sequence[Player], words: Sequence[Mapping[int | None, Any]], k: int, exchange: int, plan: bytes
) -> Iterator[Message]:
    """What everybody says to each neighbour in one exchange, if anything."""
    for one, mine in zip(players, words, strict=True):
        for other in one.role.neighbours:
            if other in mine or None in mine:
                message = pack(Frame(Kind.MESSAGE, plan, k, exchange, _for(mine, other)))
                yield Message(k, exchange, one.role.index, other, message)


def _sums(players: Sequence[Player], asked: Sequence[Any], k: int, exchange: int) -> list[MaskedSum]:
    tree, names = tree_of(players[0].role.plan.network), [f"member {one.role.index}" for one in players]
    return [
        MaskedSum.of(one.role, tree, one.streams, total, k, exchange, one.point, names)
        for one, total in zip(players, asked, strict=True)
    ]


def _received(
    one: Player, k: int, said: Broadcast | SendEach, arrays: Sequence[Mapping[int | None, Any]]
) -> WireMessages:
    own, weights = one.role.weights(k)
    words = [decoded(f"member {other}", said, _for(arrays[other], one.role.index), k) for other in weights]
    return WireMessages(own, list(weights.values()), words)


def _for(arrays: Mapping[int | None, Any], receiver: int) -> Any:
    return arrays.get(receiver, arrays.get(None, []))


class Replayed(Algorithm):
    """Another algorithm with every draw given: a run over real links played again in the simulator.
    For tests and demonstrations, where the secrets come from an escrow: a real run's keys are destroyed as it goes.
    """

    algorithm: Algorithm
    tables: dict[str, np.ndarray]
    """By kind of noise: (rounds, links, 2, width), lower-numbered sender first; one row for noise drawn once. What
    agents draw for themselves is (rounds, agents, width)."""

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return self.algorithm.round(agent, state, k)

    def init(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.init(agent, x)

    def validate(self, setting: Setting) -> None:
        self.algorithm.validate(setting)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        drawn: Mapping[str, Any] = self.algorithm.noise(setting)
        return {name: replace(draw, given=self.tables[name]) for name, draw in drawn.items()}


def replayed(roles: Sequence[MemberRole], streams: Sequence[ChainStreams]) -> Replayed:
    """The algorithm of these members, in order and all of them, with the noise of their streams from round 1 on."""
    role, plan = roles[0], roles[0].plan
    links = {tuple(link): number for number, link in enumerate(plan.network.links.tolist())}
    drawn: Mapping[str, Any] = role.draws
    tables = {
        name: np.zeros((1 if draw.once else plan.rounds, *_shape(draw, plan), draw.width))
        for name, draw in drawn.items()
    }
    for k in range(1, plan.rounds + 1):
        for member, stream in zip(roles, streams, strict=True):
            for name, table in tables.items():
                if k <= len(table):
                    _fill(table[k - 1], member, stream, name, k, links)
            stream.advance()
    return Replayed(role.algorithm, tables)


def _shape(draw: Draw, plan: Setting) -> tuple[int, ...]:
    """How many numbers of one coordinate are drawn in a round, and by whom."""
    return (plan.network.n,) if isinstance(draw, Gaussian) else (len(plan.network.links), 2)


def _fill(
    row: np.ndarray, role: MemberRole, stream: ChainStreams, name: str, k: int, links: dict[Any, int]
) -> None:
    """What one member knows of one kind's draws in one round."""
    if role.kinds[name].own:
        row[role.index] = shares(role, stream, k)[name]
        return
    balanced = isinstance(role.draws[name], Balanced)
    rows = shares(role, stream, k)[name] if balanced else directed(role, stream, name, k)
    for slot, other in zip(role.slots, role.neighbours, strict=True):
        link = links[min(role.index, other), max(role.index, other)]
        if balanced:
            row[link, int(role.index > other)] = rows[slot]
        else:
            row[link] = rows.forward[0, slot], rows.backward[0, slot]
