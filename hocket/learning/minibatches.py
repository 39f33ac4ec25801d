"""The learning variant of algorithms that step with `agent.descend`: small batches, H local steps between exchanges.

An algorithm stays the generator that it is. What changes is what `agent.descend` does: from the mixed state v an agent
takes H steps along gradients of small batches of its own data, each of size α_k/H, where α_k is the step of the whole
exchange. So x ← v − α_k · (mean of the H gradients on the way), and α_k stands before noise and gradient alike: noise
of size d is to H steps what it would be to one. That is what "stated per local step and multiplied by H" means [maths,
section 1]. With H = 1 and batches of all samples it is the paper's algorithm as printed.

Drawing batches needs no memory: the samples of a step follow from the run's seed, the agent and the step's number, in
any order and after any interruption. Anybody who knows the seed knows them all: an account of differential privacy that
counts on subsets being secret, `DpSgd`, counts on the seed being secret.

No theorem of the paper covers the variant, neither for convergence nor for privacy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, PyTree

from hocket.agent import Local
from hocket.errors import BadProblem
from hocket.learning.baselines import Clipping
from hocket.learning.batches import Key, Shard, coins, epochs, stacked_shards, subsets
from hocket.learning.clipping import Clip, PoissonBatches, clipped_sum, shortened
from hocket.learning.models import Model, as_model
from hocket.learning.shards import Shards
from hocket.learning.whole_shards import mean_loss
from hocket.noise import threefry
from hocket.problems import Objective
from hocket.problems.objective import Name
from hocket.problems.sets import Everywhere, FeasibleSet


class Minibatches(Objective):
    """The mean loss of a model over an agent's samples, descended in H local steps of small batches.

    Pooled, one agent draws what all of them would draw: its batches are n times larger, and its steps compare with
    everybody's. Momentum starts from rest after every exchange, since what was received has no velocity.
    """

    model: Model = eqx.field(static=True)
    key: Any
    """Two words: the seed that batches are drawn by."""
    local_steps: int = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    momentum: float = eqx.field(static=True, default=0.0)
    clipping: Clipping | None = None
    """Clips and adds noise to every gradient, for differential privacy; batches are then drawn as its account needs."""
    clip: Clip | None = eqx.field(static=True, default=None)
    """Cuts gradients, or the whole way of an exchange, for what the algorithm's own noise then hides."""
    poisson: PoissonBatches | None = None
    """Draws batches by a coin for every record."""
    agents: int | None = eqx.field(static=True, default=None)
    """How many agents' data one agent holds; None where each holds its own."""

    def value(self, x: Float[Any, " dim"], data: Shard) -> Any:
        return mean_loss(self.model, x, data, together=self.agents is not None)

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
            x = ravel_pytree(jax.lax.fori_loop(0, self.local_steps, one, (start, rest))[0])[0]
            if self.clip is not None and self.clip.per == "member":
                return shortened(v, x, step * self.clip.norm)
            return x

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
        if self.agents is None and self.poisson is None:
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
        """The samples of an exchange's batches; with Poisson batches, also which places are taken."""
        if (poisson := self.poisson) is not None:
            return self._each(lambda shard: coins(self._key, shard, first, self.local_steps, poisson))(data)
        draw = epochs if self.clipping is None else subsets
        return self._each(lambda shard: draw(self._key, shard, first, self.local_steps, self.batch))(data)

    def _gradient(self, parameters: PyTree, data: Shard, rows: Any, h: Any, first: Any) -> PyTree:
        """Of the mean loss over the batch of local step h."""

        present = None
        if self.poisson is not None:
            rows, present = rows
            present = present[h] if self.agents is None else present[:, h].reshape(-1)

        def picked(shard: Shard, rows: Any) -> tuple[Any, Any]:
            return shard.inputs[rows[h]], shard.labels[rows[h]]

        def losses(parameters: PyTree, inputs: Any, labels: Any) -> Any:
            return self.model.loss(self.model.apply(parameters, inputs), labels)

        if self.agents is None:
            inputs, labels = picked(data, rows)
        else:
            drawn = jax.vmap(picked)(data, rows)
            inputs, labels = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), drawn)
        if self.poisson is not None:
            assert self.clip is not None
            total = clipped_sum(losses, parameters, inputs, labels, self.clip.norm, present)
            # By a public constant: how many took part is as secret as who.
            divisor = self.batch * (1 if self.agents is None else self.agents)
            mean = jax.tree.map(lambda leaf: leaf / divisor, total)
            return _add(mean, jax.grad(self._penalty)(parameters))
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
    shard = jax.device_put(stacked_shards(shards.parts))
    return float(np.sqrt(np.mean(_mean_squares(objective, jnp.asarray(model.start), shard))))


@eqx.filter_jit
def _mean_squares(objective: Minibatches, x: Any, shard: Shard) -> Any:
    """For every agent and batch: the mean square of the gradient's coordinates."""
    return jax.vmap(lambda one: jnp.mean(objective.gradients(x, one, 1) ** 2, axis=1))(shard)
