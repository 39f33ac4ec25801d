"""The mean loss of a model over all samples of an agent, with its exact gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from hocket.learning.batches import Shard
from hocket.learning.models import Model
from hocket.problems import Objective


class WholeShards(Objective):
    """What algorithms train on that ask for gradients by themselves: no batches, no clipping, one step at a time."""

    model: Model = eqx.field(static=True)
    together: bool = eqx.field(static=True, default=False)
    """Whether one agent holds the samples of all, stacked."""

    def value(self, x: Float[Any, " dim"], data: Shard) -> Any:
        return mean_loss(self.model, x, data, together=self.together)

    def pooled(self, data: Shard) -> tuple[Objective, Shard]:
        return replace(self, together=True), data


def mean_loss(model: Model, x: Float[Any, " dim"], data: Shard, *, together: bool) -> Any:
    """The mean loss at x over one agent's samples, or where one holds those of all `together` the mean of these."""
    parameters = model.unravel(x)

    def of(shard: Shard) -> Any:
        losses = model.loss(model.apply(parameters, shard.inputs), shard.labels)
        real = jnp.arange(len(losses)) < shard.count
        return jnp.sum(jnp.where(real, losses, 0)) / shard.count

    return jnp.mean((jax.vmap(of) if together else of)(data)) + model.penalty(parameters)
