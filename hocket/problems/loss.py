"""Any loss that JAX can differentiate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems.objective import Name, Objective
from hocket.problems.samples import Samples


class Loss(Objective):
    """f_j(x) = fn(x, data_j), or fn(x) where there are no data.

    The choice for models of your own. With a reduction, `fn(x, sample)` is the loss of one sample, and agents
    may hold unequally many of them.
    """

    fn: Callable[..., Any] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        if self.reduction is None:
            return self.fn(x) if data is None else self.fn(x, data)
        return data.weight @ jax.vmap(self.fn, in_axes=(None, 0))(x, data.values)

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        slope = jax.grad(self.value)(x, data)
        # An infinite slope must not be clipped into a box as if nothing had happened: 0 · ∞ is NaN, and that is found.
        return slope + 0 * slope

    def prepared(self, data: PyTree, dim: int, name: Name) -> PyTree:
        one = jax.tree.map(lambda leaf: leaf[0], data)
        with jax.enable_x64(True):
            try:
                result = jax.eval_shape(self.value, jnp.zeros(dim), one)
            except Exception as error:
                raise BadProblem(
                    f"the loss of {name(0)} fails on x of shape ({dim},) and its data: {error}; "
                    "it must be written in JAX and take (x, data_j)"
                ) from error
        if getattr(result, "shape", None) != () or not np.issubdtype(result.dtype, np.floating):
            raise BadProblem(f"the loss of {name(0)} returns {result}; it must return one real number")
        return data

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        return (self, data.flattened()) if isinstance(data, Samples) else super().pooled(data)
