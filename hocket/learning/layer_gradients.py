"""Every record's gradient in a model of layers, cut and added up without ever being written out.

In a layer a record's gradient is the product of what went in and of what comes back: its length follows from theirs,
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
    """Σ of the gradients of single records, each cut to length `norm`; of those `present`, or of all; nothing of one
    that is not finite. None where the model is not made of layers that it calls once each.

    The model only ever sees one record, as a batch of one. All that a layer is called on belongs to that record:
    tokens and pixels are places of it, whatever axes they lie along.
    """
    # Of exactly this type: a subclass may make something else of its inputs than products with its weight.
    layers, structure = jax.tree.flatten(parameters, is_leaf=lambda node: type(node) is Layer)
    if not all(type(layer) is Layer for layer in layers):
        return None

    def through(taps: list[Any], one: Any, label: Any) -> tuple[Any, list[Any]]:
        tapped = [Tapped(layer, tap) for layer, tap in zip(layers, taps, strict=True)]
        loss = losses(structure.unflatten(tapped), one[None], label[None])[0]
        return loss, [layer.noted for layer in tapped]

    try:
        _, noted = jax.eval_shape(through, [jnp.zeros(())] * len(layers), inputs[0], labels[0])
        if any(len(calls) != 1 for calls in noted):
            return None
        taps = [jnp.zeros(outputs.shape, outputs.dtype) for [(_, outputs)] in noted]
        slopes, noted = jax.vmap(jax.grad(through, has_aux=True), in_axes=(None, 0, 0))(taps, inputs, labels)
    except (
        AttributeError,
        TypeError,
    ):  # it wants more of a layer than to call it, or calls it inside another vmap
        return None
    # (records, places, numbers): a convolution uses its layer at many places of one record.
    parts = [
        (_by_place(went_in), _by_place(back)) for [(went_in, _)], back in zip(noted, slopes, strict=True)
    ]
    # One place needs no slope written out: its length follows from what went in and what comes back.
    slopes = [None if went_in.shape[1] == 1 else Layer(*_slope(went_in, back)) for went_in, back in parts]
    lengths = [
        _lengths(*part) if one is None else _of_slope(one) for part, one in zip(parts, slopes, strict=True)
    ]
    length = length_of(jnp.stack(lengths), axis=0)
    counts = jnp.isfinite(length) if present is None else jnp.isfinite(length) & present
    share = jnp.minimum(1, norm / jnp.maximum(length, TINY))[:, None, None]

    def summed(went_in: Any, back: Any, one: Layer | None) -> Layer:
        # All is wiped where a record does not count: nothing times what is no number is none either.
        if one is None:
            went_in, back = (jnp.where(counts[:, None, None], part, 0) for part in (went_in, share * back))
            return Layer(jnp.einsum("spi,spo->io", went_in, back), back.sum(axis=(0, 1)))
        # What was measured is added up. Places that cancel leave another remainder in every order of adding them.
        weight = jnp.where(counts[:, None, None], share * one.weight, 0)
        return Layer(weight.sum(axis=0), jnp.where(counts[:, None], share[:, 0] * one.bias, 0).sum(axis=0))

    return structure.unflatten([summed(*part, one) for part, one in zip(parts, slopes, strict=True)])


def _by_place(values: Any) -> Float[Any, "records places numbers"]:
    # Single precision, whatever a model computes in: lengths are measured to a millionth.
    return values.astype(jnp.result_type(values, jnp.float32)).reshape(len(values), -1, values.shape[-1])


def _slope(went_in: Any, back: Any) -> tuple[Any, Any]:
    """Every record's gradient in one layer, weight and bias, behind a barrier: computed once, and not once for its
    length and in another order for the sum."""
    return jax.lax.optimization_barrier((jnp.einsum("spi,spo->sio", went_in, back), back.sum(axis=1)))


def _of_slope(slope: Layer) -> Float[Any, " records"]:
    return length_of(jnp.stack([length_of(slope.weight, axis=(1, 2)), length_of(slope.bias, axis=1)]), axis=0)


def _lengths(went_in: Any, back: Any) -> Float[Any, " records"]:
    """The same in a layer that is used at one place."""
    # A product of lengths, not of squares: 1e19 times 1e-20 is a length that counts, and its parts have no squares.
    entering = length_of(went_in, axis=(1, 2))
    return length_of(jnp.stack([entering, jnp.ones_like(entering)]), axis=0) * length_of(back, axis=(1, 2))


def length_of(values: Any, axis: int | tuple[int, ...]) -> Any:
    """The norm, from numbers that were divided by the largest: without it squares of small ones are lost."""
    largest = jnp.maximum(jnp.max(jnp.abs(values), axis=axis, keepdims=True), TINY)
    length = jnp.sqrt(jnp.sum((values / largest) ** 2, axis=axis))
    return jnp.squeeze(largest, axis=axis) * length
