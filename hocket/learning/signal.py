"""How large gradients are: what a noise level is compared with."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hocket import threefry
from hocket.learning.batches import Shard, stacked_shards
from hocket.learning.minibatches import Minibatches
from hocket.learning.models import as_model
from hocket.learning.shards import Shards


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
