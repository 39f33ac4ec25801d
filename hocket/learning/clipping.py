"""Gradients cut to a length, so that one record, or one member, moves a message by so much and no more.

What hides it is the algorithm's noise, `CertifiedRssNb` say; how well, `hk.certify` says, given `sensitivity`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Bool, Float, PyTree

from hocket.errors import BadAlgorithm
from hocket.learning.layer_gradients import TINY, clipped_by_layer, length_of

OVERFLOW = 1e-20
"""How likely a Poisson batch may be to hold more records than there is room for, which leaves some out; a δ that nobody
notices, even a billion times."""
CELLS = 1 << 31
"""Lots that a record may draw; those below its rate take part."""

SHORTEST = 1e-12
"""The least norm to cut to: squares of parts below 1e-19 are lost in single precision, and their length with them."""


def too_short(name: str) -> str:
    """Why a norm below the least is refused."""
    return (
        f"gradients below 1e-19 have no length in single precision and would not be cut: choose {name} of at least "
        f"{SHORTEST:g}, and scale the loss up if its gradients are that small"
    )


@dataclass(frozen=True)
class Clip:
    """How gradients are cut, and for whom that is done: a record, or a member with all its records.

    Per `record`, a batch's gradients are cut one by one, summed up, and divided by the batch's size that was asked for,
    which is public; never by how many there happened to be. Batches are drawn in secret: every record takes part by a
    coin of its own (Poisson sampling), so that accounts by sampling apply to anybody who does not know the seed.
    Between two exchanges there is one step, without momentum, since nothing but the state may be carried from round to
    round.

    Per `member`, the whole way that an exchange's local steps have led is cut to α_k times the norm, whatever made it:
    any number of steps, momentum and batches of any kind.
    """

    norm: float
    """C: the length to which gradients are cut."""
    per: Literal["record", "member"] = "record"

    def __post_init__(self) -> None:
        if not 0 < self.norm < math.inf:
            raise BadAlgorithm(f"norm = {self.norm!r} of Clip; it is a length: choose it positive and finite")
        if self.norm < SHORTEST:
            raise BadAlgorithm(f"norm = {self.norm:g} of Clip; {too_short('norm')}")
        if self.per not in ("record", "member"):
            raise BadAlgorithm(f"per = {self.per!r} of Clip; choose 'record' or 'member'")

    def sensitivity(self, batch: int = 1, *, replace: bool = True) -> float:
        """S: how far one record replaced by another, or one member by another with as many, moves a gradient.

        In units of a gradient, for batches that are divided by `batch`. A record added or removed is refused: how many
        rounds `hk.train` takes, and how likely a record is to take part, follow from how many records there are.
        """
        if not replace:
            raise BadAlgorithm(
                "replace=False asks what one record added or removed moves, and hk.train takes its number of rounds "
                "and its sampling rate from how many records there are: one more shows in both. Leave replace= out for "
                "one record replaced; over links hocket.federation.ClippedTask declares its size="
            )
        return 2 * self.norm if self.per == "member" else 2 * self.norm / batch

    @property
    def neighbours(self) -> str:
        """What may differ between two inputs that the sensitivity is about."""
        return f"one {self.per} replaced" + (
            " by another with as many records" if self.per == "member" else ""
        )

    def check(self, local_steps: int, momentum: float) -> None:
        """Refuse what would show one record's gradient in many messages."""
        if self.per == "member":
            return
        if local_steps != 1:
            raise BadAlgorithm(
                f"local_steps = {local_steps} with gradients clipped per record: later steps depend on a record "
                "in ways that no clipping bounds; take local_steps=1, or Clip(norm, per='member') for the whole way"
            )
        if momentum:
            raise BadAlgorithm(
                f"momentum = {momentum:g} with gradients clipped per record: it shows one gradient in many messages, "
                "and 0.9 costs eight times the noise; take momentum=0, or Clip(norm, per='member') for the whole way"
            )

    def in_numbers(self, batch: int, poisson: PoissonBatches | None) -> dict[str, Any]:
        """What a certificate needs to know of a run, for its settings."""
        numbers = {
            "norm": self.norm,
            "per": self.per,
            "neighbours": self.neighbours,
            "sensitivity": self.sensitivity(batch),
        }
        return numbers | ({} if poisson is None else {"rate": poisson.rate, "divisor": batch})

    def in_words(self, batch: int, poisson: PoissonBatches | None) -> str:
        """The same for people."""
        last = "how many records each member has is public, and rounds follow from it; in a real-arithmetic model"
        if poisson is None:
            return (
                f"every exchange's whole step is cut to α_k times {self.norm:g}: {self.neighbours} moves a member's "
                f"step by S = {self.sensitivity():g} at most, over α_k; {last}"
            )
        return (
            f"gradients are cut to {self.norm:g} per record and their sum is divided by {batch}: {self.neighbours} "
            f"moves a member's gradient by S = {self.sensitivity(batch):.4g} at most, and takes part in a round with "
            f"probability {poisson.rate:.4g}, secret for a secret seed that no other run uses; "
            f"nothing is claimed of a record added or removed: {last}"
        )


class PoissonBatches(eqx.Module):
    """Batches for which every record tosses a coin of its own, in as many places as hardly any batch exceeds."""

    rate: float = eqx.field(static=True)
    """q: how likely a record is to take part in a step; public, and the same for all, by how many records there are."""
    room: int = eqx.field(static=True)
    """Places; records beyond them are left out, once in 10^20 batches."""

    @staticmethod
    def of(batch: int, typical: float, longest: int) -> PoissonBatches:
        """Batches of so many records on average from shards of this `typical` size, of which one is the `longest`."""
        rate = min(1.0, batch / typical)
        exceeds = scipy.stats.binom.sf(np.arange(longest + 1), longest, rate)  # the last is zero
        return PoissonBatches(math.floor(rate * CELLS) / CELLS, max(1, int(np.argmax(exceeds <= OVERFLOW))))

    def draw(self, words: Any, samples: Any, count: Any) -> tuple[Float[Any, " room"], Bool[Any, " room"]]:
        """Which records take part, and which of the places are taken, from one random word for each record."""
        lots = jnp.where(samples < count, (words >> jnp.uint32(1)).astype(jnp.int32), jnp.int32(CELLS - 1))
        lowest, rows = jax.lax.top_k(-lots, self.room)
        # Compared as whole numbers below 2^31; a rate of 1 takes all, and padding never.
        taking_part = -lowest < jnp.int32(min(self.rate * CELLS, CELLS - 1))
        return rows, taking_part & (rows < count)


def clipped_sum(
    losses: Callable[[PyTree, Any, Any], Any],
    parameters: PyTree,
    inputs: Any,
    labels: Any,
    norm: Any,
    present: Any = None,
) -> PyTree:
    """Σ of the gradients of single records, each cut to length `norm`; of those `present`, or of all.

    `losses` is only ever asked about one record, as a batch of one: what is added up is what was measured, so that no
    record moves the sum by more than `norm`, whatever a model does with a batch.
    """
    if (total := clipped_by_layer(losses, parameters, inputs, labels, norm, present)) is not None:
        return total

    def slope(record: tuple[Any, Any]) -> PyTree:
        one, label = record
        return jax.grad(lambda p: losses(p, one[None], label[None])[0])(parameters)

    return _added_up(slope, (inputs, labels), norm, present, jax.tree.map(jnp.zeros_like, parameters))


def clipped_total(
    loss: Callable[[Any, Any], Any], x: Any, records: Any, norm: Any, present: Any
) -> Float[Any, " dim"]:
    """Σ of the gradients at x of the losses of single records, each cut to length `norm`; of those `present`."""
    return _added_up(lambda record: jax.grad(loss)(x, record), records, norm, present, jnp.zeros_like(x))


def _added_up(slope: Callable[[Any], PyTree], records: Any, norm: Any, present: Any, zero: PyTree) -> PyTree:
    """Σ of what `slope` gives for single records, each cut to length `norm`; nothing of one that is not finite."""
    here = jnp.ones(len(jax.tree.leaves(records)[0]), bool) if present is None else present

    def add(total: PyTree, given: tuple[Any, Any]) -> tuple[PyTree, None]:
        record, counts = given
        found = slope(record)
        length = jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(found)))
        counts &= jnp.isfinite(length)
        share = jnp.minimum(1, norm / jnp.maximum(length, TINY))
        cut = jax.tree.map(lambda leaf: jnp.where(counts, share * leaf, 0), found)
        return jax.tree.map(jnp.add, total, cut), None

    # One record after the other: its gradient stays in cache and is gone once it is added. Holding all of them takes
    # 20 times as long.
    return jax.lax.scan(add, zero, (records, here))[0]


def shortened(v: Any, x: Any, most: Any) -> Any:
    """The point towards x that is no farther from v than `most`; v itself where x is nowhere."""
    way = x - v
    length = length_of(
        way, axis=0
    )  # steps may be as small as they like, and squares of their parts have a least
    share = jnp.minimum(1, most / jnp.maximum(length, TINY))
    return v + jnp.where(jnp.isfinite(length), way * share, 0)
