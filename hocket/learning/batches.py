"""Which of its samples an agent draws in a step: by epochs, as subsets of one size, or by a coin for every sample.

Drawing needs no memory: the samples of a step follow from the run's seed, the agent and the step's number, in any order
and after any interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, Shaped, UInt32

from hocket.learning.clipping import PoissonBatches
from hocket.learning.data.dataset import Dataset
from hocket.noise import threefry

TURNS = 32
"""Enough to mix 100,000 samples well; this orders batches and hides nothing."""

Words = UInt32[Any, "..."]
SHUFFLE, SUBSET, COINS = 16, 17, 19
"""Names of the random streams; those of the algorithms' noise have smaller numbers."""


def shuffled(key: tuple[Any, Any], agent: Any, epoch: Words, place: Words, count: Any) -> Words:
    """The sample that comes at this place of this epoch of an agent with `count` samples.

    Without memory: a stored permutation would have to be carried along, saved in checkpoints and padded where agents
    hold unequally much. This is the swap-or-not shuffle (Hoang, Morris and Rogaway 2012): in every turn numbers are
    paired, and a coin that both of a pair toss alike decides whether they change places. So every turn is a permutation
    of 0 … count − 1, whatever the count.
    """
    count = jnp.asarray(count, np.uint32)
    first, second = threefry.words(key, epoch, jnp.asarray(agent, np.uint32))

    def swap_or_not(turn: Any, place: Words) -> Words:
        pivot = _stirred(first + turn) % count
        partner = jnp.where(pivot >= place, pivot - place, pivot + count - place)
        coin = _stirred(jnp.maximum(place, partner) ^ _stirred(second + turn))
        return jnp.where(coin & np.uint32(1) == 1, partner, place)

    # A loop, since written out the turns are half of what there is to compile in a small model's training.
    place = jnp.broadcast_to(place, jnp.broadcast_shapes(first.shape, place.shape, count.shape))
    return jax.lax.fori_loop(np.uint32(0), np.uint32(TURNS), swap_or_not, place)


def _stirred(word: Words) -> Words:
    """Every bit of a word spread over all others: the last steps of MurmurHash3."""
    word = (word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    word = (word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return word ^ (word >> np.uint32(16))


Key = tuple[Any, Any]
Rows = Int[Any, "steps batch"]


class Shard(NamedTuple):
    """All agents' samples, padded to the longest shard and stacked; inside compiled code, one agent's."""

    inputs: Shaped[Any, "*agents samples ..."]
    labels: Int[Any, "*agents samples"]
    count: Int[Any, "*agents"]
    """Samples that are not padding; padding is never drawn."""
    agent: Int[Any, "*agents"]
    """Whose samples they are. It decides how they are drawn, even where somebody else holds them."""


def stacked_shards(parts: Sequence[Dataset]) -> Shard:
    """All agents' data in one stack."""
    longest = max(len(part) for part in parts)

    def padded(rows: np.ndarray) -> np.ndarray:
        return np.concatenate([rows, np.repeat(rows[:1], longest - len(rows), axis=0)])

    return Shard(
        np.stack([padded(part.inputs) for part in parts]),
        np.stack([padded(part.labels) for part in parts]),
        np.array([len(part) for part in parts], np.int32),
        np.arange(len(parts), dtype=np.int32),
    )


def epochs(key: Key, shard: Shard, first: Any, steps: int, batch: int) -> Rows:
    """Batches of the steps from `first` on: every sample once per epoch, each epoch in an order of its own.

    One stream of samples, epoch after epoch: a batch may end one and begin the next.
    """
    drawn = jnp.asarray(first, np.uint32) * np.uint32(batch) + jnp.arange(steps * batch, dtype=np.uint32)
    count = jnp.asarray(shard.count, np.uint32)
    rows = shuffled(threefry.derive(key, SHUFFLE), shard.agent, drawn // count, drawn % count, count)
    return rows.reshape(steps, batch)


def subsets(key: Key, shard: Shard, first: Any, steps: int, batch: int) -> Rows:
    """Batches of the steps from `first` on: each a subset drawn afresh, all subsets equally likely.

    What accounts of differential privacy assume, if nobody else knows the key. An epoch misses some samples and meets
    others twice.
    """
    own, samples = _own_stream(key, SUBSET, shard), jnp.arange(len(shard.labels), dtype=np.uint32)

    def one(step: Any) -> Any:
        words, _ = threefry.words(own, step[None], samples)
        lots = jnp.where(samples < shard.count, (words >> np.uint32(1)).astype(np.int32), -1)
        return jax.lax.top_k(lots, batch)[1]

    return jax.lax.map(one, jnp.asarray(first, np.uint32) + jnp.arange(steps, dtype=np.uint32))


def coins(
    key: Key, shard: Shard, first: Any, steps: int, batches: PoissonBatches
) -> tuple[Int[Any, "steps room"], Any]:
    """Batches of the steps from `first` on: every sample takes part by a coin of its own. Padding never does."""
    own, samples = _own_stream(key, COINS, shard), jnp.arange(len(shard.labels), dtype=np.uint32)

    def one(step: Any) -> Any:
        words, _ = threefry.words(own, step[None], samples)
        return batches.draw(words, samples, shard.count)

    return jax.lax.map(one, jnp.asarray(first, np.uint32) + jnp.arange(steps, dtype=np.uint32))


def _own_stream(key: Key, label: int, shard: Shard) -> Key:
    """The words that an agent draws by."""
    stream = threefry.derive(key, label)
    agent = jnp.asarray(shard.agent, np.uint32)[None]
    first, second = threefry.words((stream[0][None], stream[1][None]), jnp.zeros(1, np.uint32), agent)
    return first, second
