"""Shuffling without memory: where a sample comes in an epoch, computed from its number alone.

A stored permutation would have to be carried along, saved in checkpoints and padded where agents hold unequally much.
Here an agent's next batch follows from the counter of its steps, in any order and after any interruption. The method is
the swap-or-not shuffle (Hoang, Morris and Rogaway 2012): in every turn numbers are paired, and a coin that both of a
pair toss alike decides whether they change places. So every turn is a permutation of 0 … count − 1, whatever the count.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt32

from hocket import threefry

TURNS = 32
"""Enough to mix 100,000 samples well; this orders batches and hides nothing."""

Words = UInt32[Any, "..."]


def shuffled(key: tuple[Any, Any], agent: Any, epoch: Words, place: Words, count: Any) -> Words:
    """The sample that comes at this place of this epoch of an agent with `count` samples."""
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
