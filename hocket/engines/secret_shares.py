"""One agent's shares of the noise, from random streams that only it and its neighbours know.

The draws are shaped and dealt by the same code as in the simulator; only where the random numbers come from differs.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hocket.engines.seat import Kind, Seat
from hocket.noise import Pair, When


class Streams(Protocol):
    """Where random numbers in [-1, 1] come from: two rows, the lower-numbered end's draw first."""

    def fresh(self, neighbour: int, label: int, width: int, k: int) -> np.ndarray:
        """What this link's two ends draw for round k, and for no other."""
        ...

    def kept(self, neighbour: int, label: int, width: int) -> np.ndarray:
        """What this link's two ends drew once, for these data."""
        ...

    def own(self, label: int, slots: int, width: int, k: int) -> np.ndarray:
        """What this agent alone draws for round k: a row per slot."""
        ...


def shares(seat: Seat, streams: Streams, k: int) -> dict[str, Any]:
    """This agent's noise in round k, by kind."""
    return {name: _share(seat, streams, name, k) for name in seat.kinds}


def kept_shares(seat: Seat, streams: Streams) -> dict[str, Any]:
    """This agent's share of the noise that was drawn once: an algorithm may set up its state with it."""
    return {name: _share(seat, streams, name, 1) for name, kind in seat.kinds.items() if kind.once}


def directed(seat: Seat, streams: Streams, name: str, k: int) -> Pair:
    """Both ends' draws on every slot's link, scaled: what a replay hands to the simulator."""
    return _paired(seat, streams, seat.kinds[name], k)


def _share(seat: Seat, streams: Streams, name: str, k: int) -> Any:
    kind, links = seat.kinds[name], seat.wiring
    if kind.balanced:
        raw: Any = streams.own(kind.label, links.slots, kind.width, k).astype(seat.dtype)[None, None]
        raw = raw * links.filled[:, :, None]
    else:
        raw = _paired(seat, streams, kind, k)
    rounds = np.zeros(1, dtype=int) if kind.once else np.array([k])
    when = When(rounds, np.array([(k - 1) % links.period]))
    return seat.dealing[name](raw, when).astype(seat.dtype, copy=False)


def _paired(seat: Seat, streams: Streams, kind: Kind, k: int) -> Pair:
    assert kind.scale is not None
    silent = seat.dropped if kind.once or k >= kind.first else frozenset(seat.neighbours)
    drawn = np.empty((2, 1, seat.wiring.slots, kind.width), dtype=seat.dtype)
    scale = kind.scale[(k - 1) % seat.wiring.period % len(kind.scale)]
    for slot in range(seat.wiring.slots):
        neighbour = seat.neighbours[slot] if slot < len(seat.neighbours) else None
        if neighbour is None or neighbour in silent:
            drawn[:, 0, slot] = 0
            continue
        if kind.once:
            uniform = streams.kept(neighbour, kind.label, kind.width)
        else:
            uniform = streams.fresh(neighbour, kind.label, kind.width, k)
        np.multiply(uniform, seat.dtype.type(scale[slot]), out=drawn[:, 0, slot])
    return Pair(drawn[0], drawn[1])
