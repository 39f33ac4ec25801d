"""How messages cross between shards: a few trips, in each of which a shard sends to one other at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

SHARDS = "shards"
"""The mesh axis along which shards are laid out."""
FILLED = 0.85
"""How full the emptiest load of a trip is: all loads of a trip are padded to the largest, so that what is moved stays
within 1/0.85 = 1.18 of what the cut needs."""


class Trip(eqx.Module):
    """One collective permutation: every shard that is named sends one load of rows."""

    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """Who sends to whom."""
    rows: Int[Any, " load"]
    """What this shard sends: rows of its messages; arbitrary where it sends nothing, or less than the largest load."""

    @property
    def load(self) -> int:
        return self.rows.shape[-1]


class Routes(eqx.Module):
    """All trips of one exchange, as one shard sees them."""

    trips: tuple[Trip, ...]

    def fetch(self, words: Any) -> Any:
        """This shard's rows, and after them what the others sent, trip by trip."""
        sent = (jax.lax.ppermute(words[trip.rows], SHARDS, trip.pairs) for trip in self.trips)
        return jnp.concatenate([words, *sent]) if self.trips else words

    @property
    def beyond(self) -> int:
        """Rows that come in on all trips."""
        return sum(trip.load for trip in self.trips)


@dataclass(frozen=True)
class TripPlan:
    """The trips of one exchange, planned for all shards."""

    shards: int
    loads: Mapping[tuple[int, int], np.ndarray]
    """The rows that each shard must send to each other one, without repeats."""
    trips: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def needed(self) -> int:
        """Rows that must cross."""
        return sum(len(rows) for rows in self.loads.values())

    @property
    def moved(self) -> int:
        """Rows that do cross, padding included."""
        return sum(len(trip) * self._size(trip) for trip in self.trips)

    def routes(self, shard: int) -> Routes:
        """What one shard sends."""
        return Routes(tuple(Trip(trip, self._rows(trip, shard)) for trip in self.trips))

    def found(self, shard: int, own: int, home: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Where one shard finds rows that their home shards number `row`: among its `own`, or behind them."""
        place, offset = row.copy(), own
        for trip in self.trips:
            for sender, receiver in trip:
                if receiver == shard:
                    there = home == sender
                    place[there] = offset + np.searchsorted(self.loads[sender, receiver], row[there])
            offset += self._size(trip)
        return place

    def _size(self, trip: tuple[tuple[int, int], ...]) -> int:
        return max(len(self.loads[pair]) for pair in trip)

    def _rows(self, trip: tuple[tuple[int, int], ...], shard: int) -> np.ndarray:
        rows = np.zeros(self._size(trip), np.int32)
        for pair in trip:
            if pair[0] == shard:
                rows[: len(self.loads[pair])] = self.loads[pair]
        return rows


def plan_trips(shards: int, sender: np.ndarray, receiver: np.ndarray, row: np.ndarray) -> TripPlan:
    """Trips that bring every row to every shard that asks for it; requests may repeat."""
    most = int(row.max(initial=0)) + 1  # a request as one number, which sorts ten times faster than three
    pair, wanted = np.divmod(np.unique((sender * shards + receiver) * most + row), most)
    pairs, first = np.unique(pair, return_index=True)
    loads = {
        divmod(int(a), shards): some for a, some in zip(pairs, np.split(wanted, first[1:]), strict=False)
    }
    return TripPlan(shards, loads, tuple(_share(shards, loads)))


def _share(shards: int, loads: Mapping[tuple[int, int], np.ndarray]) -> list[tuple[tuple[int, int], ...]]:
    """Loads of about the same size share a trip, as long as nobody sends or receives twice in it."""
    trips: list[list[tuple[int, int]]] = []
    # Among equal loads by how far they go round, so that "everybody to the next" makes one trip.
    for pair in sorted(loads, key=lambda pair: (-len(loads[pair]), (pair[1] - pair[0]) % shards, pair)):
        for trip in trips:
            free = all(pair[0] != a and pair[1] != b for a, b in trip)
            if free and len(loads[pair]) >= FILLED * len(loads[trip[0]]):
                trip.append(pair)
                break
        else:
            trips.append([pair])
    return [tuple(sorted(trip)) for trip in trips]
