"""All members of a run in one place, word by word, as each of them computed it: what a verification replays.

The same generators on the same arrays as over links, so that every word comes out with the same bits. It keeps no
journal, hides nothing and hears everything; who wants speed takes the simulator.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from hocket.agent import Local
from hocket.engines.seat import Seat
from hocket.engines.secret_shares import kept_shares, shares
from hocket.engines.streams import ChainStreams
from hocket.engines.words import Words, arrays_for
from hocket.links.wire import Frame, Kind, pack


@dataclass
class Player:
    """One member, with all that it drew and did."""

    seat: Seat
    streams: ChainStreams
    local: Local
    start: np.ndarray
    state: Any = None


class Spoken(NamedTuple):
    """One word of the replay."""

    round: int
    exchange: int
    sender: int
    receiver: int
    message: bytes


def replay(players: Sequence[Player], plan: bytes) -> Iterator[Spoken]:
    """Every word of the run, in order. When it is over, players hold what they published."""
    rounds = players[0].seat.plan.rounds
    for one in players:
        agent = one.seat.agent(1, kept_shares(one.seat, one.streams), one.local)
        one.state = one.seat.algorithm.setup(agent, one.start)
    for k in range(1, rounds + 2):
        yield from _round(players, k, plan)
        for one in players:
            one.streams.advance()


def _round(players: Sequence[Player], k: int, plan: bytes) -> Iterator[Spoken]:
    agents = [one.seat.agent(k, shares(one.seat, one.streams, k), one.local) for one in players]
    talks = [one.seat.round(agent, one.state, k) for one, agent in zip(players, agents, strict=True)]
    if not all(isinstance(talk, Generator) for talk in talks):
        for one, state in zip(players, talks, strict=True):
            one.state = state
        return
    heard: list[Any] = [None for _ in players]
    exchange = 0
    while True:
        said, ended = [], 0
        for one, talk, words in zip(players, talks, heard, strict=True):
            try:
                said.append(talk.send(words))
            except StopIteration as end:
                one.state, ended = end.value, ended + 1
        if ended:
            return
        arrays = [arrays_for(one.seat, spoken) for one, spoken in zip(players, said, strict=True)]
        for one, mine in zip(players, arrays, strict=True):
            for other in one.seat.neighbours:
                message = pack(Frame(Kind.WORD, plan, k, exchange, _for(mine, other)))
                yield Spoken(k, exchange, one.seat.index, other, message)
        heard = [
            _heard(one, k, jax.tree.structure(spoken[0]), arrays)
            for one, spoken in zip(players, said, strict=True)
        ]
        exchange += 1


def _heard(one: Player, k: int, structure: Any, arrays: Sequence[Mapping[int | None, Any]]) -> Words:
    own, weights = one.seat.weights(k)
    words = [_for(arrays[other], one.seat.index) for other in weights]
    return Words(own, list(weights.values()), [jax.tree.unflatten(structure, word) for word in words])


def _for(arrays: Mapping[int | None, list[np.ndarray]], receiver: int) -> list[np.ndarray]:
    return arrays.get(receiver, arrays.get(None, []))
