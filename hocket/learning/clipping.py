"""Gradients that no single sample can move much: clipped one by one, with normal noise on their sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, PyTree

from hocket.noise import threefry

NOISE = 18
"""Names the random stream."""
TINY = 1e-30
"""Keeps the norm of a vanishing gradient from being divided by."""


class Clipping(eqx.Module):
    """Clip every sample's gradient to norm `clip`, sum up, add normal noise (Abadi et al. 2016)."""

    clip: Any
    sigma: Any
    """Standard deviation of each coordinate of the noise on the sum."""

    def gradient(
        self,
        losses: Callable[[PyTree, Any, Any], Any],
        parameters: PyTree,
        inputs: Any,
        labels: Any,
        *,
        key: tuple[Any, Any],
        agent: Any,
        t: Any,
    ) -> PyTree:
        """The noisy mean of the clipped gradients over a batch, from the losses of its samples."""

        def norm(sample: tuple[Any, Any]) -> Any:
            one, label = sample
            slope = jax.grad(lambda p: losses(p, one[None], label[None])[0])(parameters)
            return jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(slope)))

        # One sample after the other: its gradient stays in cache and is gone once measured. The sum of all clipped
        # gradients is then one more gradient, of a weighted sum of losses. Holding them all takes 20 times as long.
        norms = jax.lax.map(norm, (inputs, labels))
        share = jnp.minimum(1, self.clip / jnp.maximum(norms, TINY))
        total = jax.grad(lambda p: jnp.sum(share * losses(p, inputs, labels)))(parameters)
        flat, unravel = ravel_pytree(total)
        noise = normal(threefry.derive(key, NOISE), agent, t, len(flat))
        return unravel((flat + self.sigma * noise) / len(labels))


def normal(key: tuple[Any, Any], agent: Any, t: Any, dim: int) -> Float[Any, " dim"]:
    """Standard normal numbers of an agent's step t, by Box and Muller."""
    own = threefry.words(
        (key[0][None], key[1][None]), jnp.zeros(1, np.uint32), jnp.asarray(agent, np.uint32)[None]
    )
    half = jnp.arange((dim + 1) // 2, dtype=np.uint32)
    first, second = threefry.uniform((own[0], own[1]), jnp.asarray(t, np.uint32)[None], half, np.float32)
    radius = jnp.sqrt(-2 * jnp.log(jnp.maximum(jnp.abs(first), 2.0**-32)))  # a draw of zero stays finite
    both = jnp.concatenate([radius * jnp.cos(np.pi * second), radius * jnp.sin(np.pi * second)])
    return both[:dim]
