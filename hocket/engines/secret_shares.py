"""One agent's shares of the noise, from random streams that only it and its neighbours know.

The draws are shaped and dealt by the same code as in the simulator; only where the random numbers come from differs.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hocket.engines.seat import Seat
from hocket.noise import Balanced, Draw, Pair, When


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
    return {name: _share(seat, streams, name, k) for name in seat.draws}


def directed(seat: Seat, streams: Streams, name: str, k: int) -> Pair:
    """Both ends' draws on every slot's link, scaled: what a replay hands to the simulator."""
    draw = seat.draws[name]
    return _paired(seat, streams, draw, k, _when(seat, draw, k))


def _share(seat: Seat, streams: Streams, name: str, k: int) -> Any:
    draw = seat.draws[name]
    when = _when(seat, draw, k)
    if isinstance(draw, Balanced):
        raw = streams.own(draw.label, seat.wiring.slots, draw.width, k).astype(seat.dtype)[None, None]
        raw = raw * seat.wiring.filled[:, :, None]
    else:
        raw = _paired(seat, streams, draw, k, when)
    return seat.dealing[name](raw, when).astype(seat.dtype, copy=False)


def _when(seat: Seat, draw: Draw, k: int) -> When:
    phase = np.array([(k - 1) % seat.plan.network.period])
    return When(np.zeros(1, dtype=int) if draw.once else np.array([k]), phase)


def _paired(seat: Seat, streams: Streams, draw: Any, k: int, when: When) -> Pair:
    silent = seat.dropped if draw.once or k >= draw.first else frozenset(seat.neighbours)
    drawn = np.empty((2, 1, seat.wiring.slots, draw.width), dtype=seat.dtype)
    scale = draw.scale[when.phases[0] % len(draw.scale)]
    for slot in range(seat.wiring.slots):
        neighbour = seat.neighbours[slot] if slot < len(seat.neighbours) else None
        if neighbour is None or neighbour in silent:
            drawn[:, 0, slot] = 0
            continue
        if draw.once:
            uniform = streams.kept(neighbour, draw.label, draw.width)
        else:
            uniform = streams.fresh(neighbour, draw.label, draw.width, k)
        np.multiply(uniform, seat.dtype.type(scale[slot]), out=drawn[:, 0, slot])
    return Pair(drawn[0], drawn[1])
