"""A run over real links played again in the simulator, with the very noise that its members drew.

For tests and demonstrations, where the secrets come from an escrow: a real run's keys are destroyed as it goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Plan, Round
from hocket.engines.seat import Seat
from hocket.engines.secret_shares import directed, shares
from hocket.engines.streams import ChainStreams
from hocket.noise import Balanced, Draw


class Replayed(Algorithm):
    """Another algorithm with every draw given."""

    algorithm: Algorithm
    tables: dict[str, np.ndarray]
    """By kind of noise: (rounds, links, 2, width), lower-numbered sender first; one row for noise drawn once."""

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return self.algorithm.round(agent, state, k)

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.setup(agent, x)

    def check(self, plan: Plan) -> None:
        self.algorithm.check(plan)

    def draws(self, plan: Plan) -> Mapping[str, Draw]:
        drawn: Mapping[str, Any] = self.algorithm.draws(plan)
        return {name: replace(draw, given=self.tables[name]) for name, draw in drawn.items()}


def replayed(seats: Sequence[Seat], streams: Sequence[ChainStreams]) -> Replayed:
    """The algorithm of these members, in order and all of them, with the noise of their streams from round 1 on."""
    seat, plan = seats[0], seats[0].plan
    links = {tuple(link): number for number, link in enumerate(plan.network.links.tolist())}
    drawn: Mapping[str, Any] = seat.draws
    tables = {
        name: np.zeros((1 if draw.once else plan.rounds, len(links), 2, draw.width))
        for name, draw in drawn.items()
    }
    for k in range(1, plan.rounds + 1):
        for member, stream in zip(seats, streams, strict=True):
            for name, table in tables.items():
                if k <= len(table):
                    _fill(table[k - 1], member, stream, name, k, links)
            stream.advance()
    return Replayed(seat.algorithm, tables)


def _fill(
    row: np.ndarray, seat: Seat, stream: ChainStreams, name: str, k: int, links: dict[Any, int]
) -> None:
    """What one member knows of one kind's draws in one round."""
    balanced = isinstance(seat.draws[name], Balanced)
    rows = shares(seat, stream, k)[name] if balanced else directed(seat, stream, name, k)
    for slot, other in zip(seat.slots, seat.neighbours, strict=True):
        link = links[min(seat.index, other), max(seat.index, other)]
        if balanced:
            row[link, int(seat.index > other)] = rows[slot]
        else:
            row[link] = rows.forward[0, slot], rows.backward[0, slot]
