"""Every sample's gradient in a model of layers, cut and added up without ever being written out.

In a layer a sample's gradient is the product of what went in and of what comes back: its length follows from theirs,
and the sum of all clipped ones is the product that any training step takes. So clipping costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float, PyTree

from hocket.learning.models import Layer

TINY = 1e-30
"""Keeps the norm of a vanishing gradient from being divided by."""


class Tapped:
    """A layer that notes what goes in, and adds something to what comes out. It can be called, and nothing else: so
    that no parameter enters a model in a way that is not noted."""

    def __init__(self, layer: Layer, tap: Any):
        self._layer, self._tap = layer, tap
        self.noted: list[tuple[Any, Any]] = []

    def __call__(self, inputs: Any) -> Any:
        outputs = self._layer(inputs) + self._tap
        self.noted.append((inputs, outputs))
        return outputs


def clipped_by_layer(
    losses: Callable[[PyTree, Any, Any], Any],
    parameters: PyTree,
    inputs: Any,
    labels: Any,
    norm: Any,
    present: Any = None,
) -> PyTree | None:
    """Σ of a batch's gradients, each cut to length `norm`; of those `present`, or of all; nothing of one that is not
    finite. None where the model is not made of layers that each see every sample once.
    """
    layers, structure = jax.tree.flatten(parameters, is_leaf=lambda node: isinstance(node, Layer))
    if not all(isinstance(layer, Layer) for layer in layers):
        return None

    def through(taps: list[Any]) -> tuple[Any, list[Any]]:
        tapped = [Tapped(layer, tap) for layer, tap in zip(layers, taps, strict=True)]
        total = jnp.sum(losses(structure.unflatten(tapped), inputs, labels))
        return total, [layer.noted for layer in tapped]

    try:
        _, noted = jax.eval_shape(through, [jnp.zeros(())] * len(layers))
    except (AttributeError, TypeError):  # it wants more of a layer than to call it
        return None
    if any(len(calls) != 1 or len(calls[0][0].shape) < 2 for calls in noted):
        return None
    taps = [jnp.zeros(outputs.shape, outputs.dtype) for [(_, outputs)] in noted]
    slopes, noted = jax.grad(through, has_aux=True)(taps)
    # (samples, places, numbers): a convolution uses its layer at many places of one sample.
    parts = [
        (_by_place(went_in), _by_place(back)) for [(went_in, _)], back in zip(noted, slopes, strict=True)
    ]
    lengths = jnp.sqrt(sum(_squares(went_in, back) for went_in, back in parts))
    counts = jnp.isfinite(lengths) if present is None else jnp.isfinite(lengths) & present
    share = jnp.minimum(1, norm / jnp.maximum(lengths, TINY))[:, None, None]

    def summed(went_in: Any, back: Any) -> Layer:
        # Both are wiped where a sample does not count: nothing times what is no number is none either.
        went_in, back = (jnp.where(counts[:, None, None], part, 0) for part in (went_in, share * back))
        return Layer(jnp.einsum("spi,spo->io", went_in, back), back.sum(axis=(0, 1)))

    return structure.unflatten([summed(*part) for part in parts])


def _by_place(values: Any) -> Float[Any, "samples places numbers"]:
    return values.reshape(len(values), -1, values.shape[-1])


def _squares(went_in: Any, back: Any) -> Float[Any, " samples"]:
    """The squared length of every sample's gradient in one layer, weight and bias."""
    if went_in.shape[1] == 1:
        return (1 + jnp.sum(went_in**2, axis=(1, 2))) * jnp.sum(back**2, axis=(1, 2))
    slope = jnp.einsum("spi,spo->sio", went_in, back)
    return jnp.sum(slope**2, axis=(1, 2)) + jnp.sum(back.sum(axis=1) ** 2, axis=1)
