"""One agent's shares of the noise, from random streams that only it and its neighbours know.

Balanced noise is dealt by the same code as in the simulator. Pairwise noise is summed here, link by link, since one
agent has too few links to lay out a table of them; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from hocket.counting import normal_pairs
from hocket.engines.seat import Kind, Seat
from hocket.links.noise_keys import Source
from hocket.noise import Pair, When


class Streams(Protocol):
    """Where random numbers in [-1, 1] come from."""

    def fresh(self, neighbour: int, label: int, k: int) -> Source:
        """What this link's two ends draw for round k, and for no other; the lower-numbered end's draw first."""
        ...

    def kept(self, neighbour: int, label: int) -> Source:
        """What this link's two ends drew once, for these data; the lower-numbered end's draw first."""
        ...

    def own(self, label: int, k: int) -> Source:
        """What this agent alone draws for round k, slot by slot."""
        ...


def shares(seat: Seat, streams: Streams, k: int) -> dict[str, Any]:
    """This agent's noise in round k, by kind."""
    return {name: _share(seat, streams, name, k) for name in seat.kinds}


def kept_shares(seat: Seat, streams: Streams) -> dict[str, Any]:
    """This agent's share of the noise that was drawn once: an algorithm may set up its state with it."""
    return {name: _share(seat, streams, name, 1) for name, kind in seat.kinds.items() if kind.once}


def directed(seat: Seat, streams: Streams, name: str, k: int) -> Pair:
    """Both ends' draws on every slot's link, scaled: what a replay hands to the simulator."""
    kind = seat.kinds[name]
    drawn = np.zeros((2, 1, seat.wiring.slots, kind.width), dtype=seat.dtype)
    for link in _links(seat, streams, kind, k):
        if kind.normal:
            drawn[:, 0, link.slot] = link.normal_draws(kind.width)
            continue
        for said in drawn[:, 0, link.slot]:
            for place, numbers in link.source.pieces(kind.width, link.scale):
                said[place] = numbers
    return Pair(drawn[0], drawn[1])


class _Link(NamedTuple):
    """Where one link's draws come from, and their scale."""

    slot: int
    scale: float
    source: Source

    def normal_draws(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Both ends' draws where noise is normal: made of two uniform ones each, so both are made at once."""
        first, second = self.source.take(width), self.source.take(width)
        return normal_pairs(self.scale, first, second, first.dtype)


def _share(seat: Seat, streams: Streams, name: str, k: int) -> Any:
    kind = seat.kinds[name]
    return _balanced(seat, streams, name, k) if kind.balanced else _paired(seat, streams, kind, k)


def _paired(seat: Seat, streams: Streams, kind: Kind, k: int) -> np.ndarray:
    """d_j = Σ_i (s^{i,j} − s^{j,i}): the higher-numbered end gains what the lower one says, and the other way."""
    total = np.zeros(kind.width, dtype=seat.dtype)
    for link in _links(seat, streams, kind, k):
        if kind.active is not None and not kind.active[(k - 1) % len(kind.active), link.slot]:
            continue
        sign = 1.0 if seat.index > seat.neighbours[link.slot] else -1.0
        if kind.normal:
            lower, higher = link.normal_draws(kind.width)
            total += sign * (lower - higher)
            continue
        by_lower = sign * link.scale
        for scale in (by_lower, -by_lower):
            for place, numbers in link.source.pieces(kind.width, scale):
                total[place] += numbers
    return total


def _links(seat: Seat, streams: Streams, kind: Kind, k: int) -> Iterator[_Link]:
    """What is drawn in round k, link by link; neither with those who left nor before the first round with noise."""
    if k < kind.first and not kind.once:
        return
    assert kind.scale is not None
    scale = kind.scale[(k - 1) % len(kind.scale)].tolist()
    for slot, neighbour in enumerate(seat.neighbours):
        if neighbour in seat.dropped:
            continue
        source = streams.kept(neighbour, kind.label) if kind.once else streams.fresh(neighbour, kind.label, k)
        yield _Link(slot, scale[slot], source)


def _balanced(seat: Seat, streams: Streams, name: str, k: int) -> np.ndarray:
    kind, links = seat.kinds[name], seat.wiring
    drawn = streams.own(kind.label, k).take(links.slots * kind.width)
    raw = drawn.reshape(1, 1, links.slots, kind.width) * links.filled[:, :, None]
    when = When(np.array([k]), np.array([(k - 1) % links.period]))
    return seat.dealing[name](raw, when, links)[0, 0].astype(seat.dtype, copy=False)
