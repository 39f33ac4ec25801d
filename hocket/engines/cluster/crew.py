"""One shard's agents, and how they reach those of other shards: by collectives of JAX."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Int

from hocket.engines.cluster.routes import SHARDS, Routes
from hocket.engines.crew import Crew
from hocket.wiring import Wiring


class Shard(Crew):
    """Some agents are here, the others are reached through the mesh."""

    agents: int = eqx.field(static=True)
    """How many there are in all."""
    stand_in: Int[Any, " rows"]
    """The row of the agent that each row plays; another one only where a row fills up the shard."""
    numbers: Int[Any, " rows"]
    """The agent that each row plays."""
    first: Bool[Any, " rows"]
    """Whether a row is its agent's own."""
    seats: Int[Any, " agents"]
    """Every agent's place when the rows of all shards are joined."""
    said_routes: Routes
    told_routes: Routes | None

    def count(self, wiring: Wiring) -> int:
        return self.agents

    def said(self, words: Any) -> Any:
        return self.said_routes.fetch(words)

    def told(self, words: Any) -> Any:
        assert self.told_routes is not None
        return self.told_routes.fetch(words.reshape(-1, *words.shape[2:]))

    def real(self, rows: Any) -> Any:
        return rows[self.stand_in]

    def mean(self, rows: Any) -> Any:
        return jax.lax.psum(self._once(rows).sum(axis=0), SHARDS) / self.agents

    def total(self, rows: Any) -> Any:
        return jax.lax.psum(self._once(rows).sum(), SHARDS)

    def largest(self, numbers: Any) -> Any:
        return jax.lax.pmax(numbers.max(), SHARDS)

    def every(self, true: Any) -> Any:
        return jax.lax.pmin(true.astype(jnp.int32), SHARDS) == 1

    def farthest(self, distance: Any, most: int) -> tuple[Any, Any]:
        own, rows = jax.lax.top_k(jnp.where(self.first, distance, -jnp.inf), min(most, len(distance)))
        number = jnp.where(self.first, self.numbers, self.agents)[rows]
        of_all, numbers = (jax.lax.all_gather(part, SHARDS, tiled=True) for part in (own, number))
        # Of equals the lower number comes first, as where all are in one place.
        before = (of_all > own[:, None]) | ((of_all == own[:, None]) & (numbers < number[:, None]))
        place = before.sum(axis=1)
        order = jnp.argsort(place)
        return rows[order], place[order]

    def roll(self, rows: Any) -> Any:
        return jax.lax.all_gather(rows, SHARDS, tiled=True)[self.seats]

    def _once(self, rows: Any) -> Any:
        return jnp.where(self.first.reshape(-1, *(1,) * (rows.ndim - 1)), rows, 0)
