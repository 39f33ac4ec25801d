"""The learning variant of every algorithm: small batches, and H local steps between exchanges.

An algorithm stays the generator that it is. What changes is what `agent.descend` does: from the mixed state v an agent
takes H steps along gradients of small batches of its own data, each of size α_k/H, where α_k is the step of the whole
exchange. So x ← v − α_k · (mean of the H gradients on the way), and α_k stands before noise and gradient alike: noise
of size d is to H steps what it would be to one. That is what "stated per local step and multiplied by H" means [maths,
section 1]. With H = 1 and batches of all samples it is the paper's algorithm as printed.

Drawing batches needs no memory: the samples of a step follow from the run's seed, the agent and the step's number, in
any order and after any interruption. Whoever knows the seed knows them all: an account of differential privacy that
counts on subsets being secret, `DpSgd`, counts on the seed being secret.

No theorem of the paper covers the variant, neither for convergence nor for privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int, PyTree, Shaped, UInt32

from hocket.agent import Local
from hocket.errors import BadProblem
from hocket.learning.baselines import Clipping
from hocket.learning.data.dataset import Dataset
from hocket.learning.models import Model, as_model
from hocket.learning.shards import Shards
from hocket.noise import threefry
from hocket.problems import Objective
from hocket.problems.objective import Name
from hocket.problems.sets import Everywhere, FeasibleSet

TURNS = 32
"""Enough to mix 100,000 samples well; this orders batches and hides nothing."""

Words = UInt32[Any, "..."]
SHUFFLE, SUBSET = 16, 17
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
    stream = threefry.derive(key, SUBSET)
    agent = jnp.asarray(shard.agent, np.uint32)[None]
    own = threefry.words((stream[0][None], stream[1][None]), jnp.zeros(1, np.uint32), agent)
    samples = jnp.arange(len(shard.labels), dtype=np.uint32)

    def one(step: Any) -> Any:
        words, _ = threefry.words((own[0], own[1]), step[None], samples)
        lots = jnp.where(samples < shard.count, (words >> np.uint32(1)).astype(np.int32), -1)
        return jax.lax.top_k(lots, batch)[1]

    return jax.lax.map(one, jnp.asarray(first, np.uint32) + jnp.arange(steps, dtype=np.uint32))


class Minibatches(Objective):
    """The mean loss of a model over an agent's samples, descended in H local steps of small batches.

    Pooled, one agent draws what all of them would draw: its batches are n times larger, and its steps compare with
    everybody's. Momentum starts from rest after every exchange, since what was heard has no velocity.
    """

    model: Model = eqx.field(static=True)
    key: Any
    """Two words: the seed that batches are drawn by."""
    local_steps: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    momentum: float = eqx.field(static=True, default=0.0)
    clipping: Clipping | None = None
    """Clips and adds noise to every gradient, for differential privacy; batches are then drawn as its account needs."""
    agents: int | None = eqx.field(static=True, default=None)
    """How many agents' data one agent holds; None where each holds its own."""

    def value(self, x: Float[Any, " dim"], data: Shard) -> Any:
        parameters = self.model.unravel(x)

        def mean_loss(shard: Shard) -> Any:
            losses = self.model.loss(self.model.apply(parameters, shard.inputs), shard.labels)
            real = jnp.arange(len(losses)) < shard.count
            return jnp.sum(jnp.where(real, losses, 0)) / shard.count

        return jnp.mean(self._each(mean_loss)(data)) + self.model.penalty(parameters)

    def local(self, data: Shard) -> Local:
        def descend(v: Any, k: Any, *, step: Any, feasible: FeasibleSet, plus: Any) -> Any:
            first = (k - 1) * self.local_steps
            rows = self._rows(data, first)

            def one(h: Any, moving: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
                parameters, velocity = moving
                gradient = self._gradient(parameters, data, rows, h, first)
                if plus is not None:
                    gradient = _add(gradient, self.model.unravel(plus(ravel_pytree(parameters)[0])))
                if self.momentum:
                    gradient = velocity = _add(jax.tree.map(lambda u: self.momentum * u, velocity), gradient)
                parameters = jax.tree.map(lambda p, g: p - step / self.local_steps * g, parameters, gradient)
                return self._projected(parameters, feasible), velocity

            start = self.model.unravel(v)
            rest = jax.tree.map(jnp.zeros_like, start) if self.momentum else None
            # Parameters stay in their own shapes for all H steps: cutting up and joining the flat vector in every
            # one of them would take a fifth longer.
            return ravel_pytree(jax.lax.fori_loop(0, self.local_steps, one, (start, rest))[0])[0]

        return descend

    def gradients(self, x: Float[Any, " dim"], data: Shard, k: Any) -> Float[Any, "steps dim"]:
        """The gradient at x of each batch of exchange k."""
        first, parameters = (k - 1) * self.local_steps, self.model.unravel(x)
        rows = self._rows(data, first)
        return jax.lax.map(
            lambda h: ravel_pytree(self._gradient(parameters, data, rows, h, first))[0],
            jnp.arange(self.local_steps),
        )

    def prepared(self, data: Shard, dim: int, name: Name) -> Shard:
        if self.agents is None:
            for place in np.flatnonzero(data.count < self.batch)[:1]:
                raise BadProblem(
                    f"{name(int(place))} has {data.count[place]} samples and batches of {self.batch}; take smaller "
                    "batches, or give it more samples"
                )
        return data

    def pooled(self, data: Shard) -> tuple[Objective, Shard]:
        return replace(self, agents=len(data.count)), data

    @property
    def _key(self) -> Key:
        return self.key[0], self.key[1]

    def _each(self, function: Any) -> Any:
        """A function of one agent's shard, for the one shard or for all that this agent holds."""
        return function if self.agents is None else jax.vmap(function)

    def _rows(self, data: Shard, first: Any) -> Any:
        """The samples of an exchange's batches."""
        draw = epochs if self.clipping is None else subsets
        return self._each(lambda shard: draw(self._key, shard, first, self.local_steps, self.batch))(data)

    def _gradient(self, parameters: PyTree, data: Shard, rows: Any, h: Any, first: Any) -> PyTree:
        """Of the mean loss over the batch of local step h."""

        def picked(shard: Shard, rows: Any) -> tuple[Any, Any]:
            return shard.inputs[rows[h]], shard.labels[rows[h]]

        def losses(parameters: PyTree, inputs: Any, labels: Any) -> Any:
            return self.model.loss(self.model.apply(parameters, inputs), labels)

        if self.agents is None:
            inputs, labels = picked(data, rows)
        else:
            drawn = jax.vmap(picked)(data, rows)
            inputs, labels = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), drawn)
        if self.clipping is None:
            return jax.grad(lambda p: jnp.mean(losses(p, inputs, labels)) + self._penalty(p))(parameters)
        noisy = self.clipping.gradient(
            losses,
            parameters,
            inputs,
            labels,
            key=self._key,
            agent=data.agent if self.agents is None else self.agents,
            t=first + h,
        )
        return _add(noisy, jax.grad(self._penalty)(parameters))

    def _penalty(self, parameters: PyTree) -> Any:
        return self.model.penalty(parameters) if self.model.l2 else 0.0

    def _projected(self, parameters: PyTree, feasible: FeasibleSet) -> PyTree:
        if isinstance(feasible, Everywhere):
            return parameters
        x = ravel_pytree(parameters)[0]
        # An infinite coordinate must not be clipped as if nothing had happened: ∞ − ∞ is NaN, and that is found.
        return self.model.unravel(feasible.project(x + (x - x)))


def _add(first: PyTree, second: PyTree) -> PyTree:
    return jax.tree.map(jnp.add, first, second)


def gradient_rms(
    model: Any, shards: Shards, *, local_steps: int = 40, batch: int = 32, seed: int = 0
) -> float:
    """Root mean square of one coordinate of a batch's gradient, at the start, over the first exchange's batches.

    Compare `run.noise.rms` with it: both are per coordinate and local step.
    """
    model = as_model(model)
    objective = Minibatches(model, threefry.seed_key(seed), local_steps, batch)
    shard = jax.tree.map(jnp.asarray, stacked_shards(shards.parts))
    return float(np.sqrt(np.mean(_mean_squares(objective, jnp.asarray(model.start), shard))))


@eqx.filter_jit
def _mean_squares(objective: Minibatches, x: Any, shard: Shard) -> Any:
    """For every agent and batch: the mean square of the gradient's coordinates."""
    return jax.vmap(lambda one: jnp.mean(objective.gradients(x, one, 1) ** 2, axis=1))(shard)
