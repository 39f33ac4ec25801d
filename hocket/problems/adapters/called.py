"""Objectives that are called, not compiled: functions of another library, taken as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree, Shaped

from hocket.problems.objective import Objective


class Called(Objective):
    """f_j(x) and ∇f_j(x) by calling a function of NumPy arrays for each.

    The fallback for costs whose form nobody recognised: it goes back to Python in every round, so it is as slow as they
    are, and nothing but what is declared is known of it. Data: the number of each agent's function.
    """

    functions: tuple[Callable[[np.ndarray], float], ...] = eqx.field(static=True)
    gradients: tuple[Callable[[np.ndarray], np.ndarray], ...] = eqx.field(static=True)

    def value(self, x: Shaped[Any, " dim"], data: PyTree) -> Any:
        return self._call(self.functions, (), x, data)

    def gradient(self, x: Shaped[Any, " dim"], data: PyTree) -> Shaped[Any, " dim"]:
        return self._call(self.gradients, x.shape, x, data)

    def pooled(self, data: PyTree) -> tuple[Objective, PyTree]:
        members = [int(j) for j in np.asarray(data)]

        def value(x: np.ndarray) -> float:
            return float(np.mean([self.functions[j](x) for j in members]))

        def gradient(x: np.ndarray) -> np.ndarray:
            return np.mean([self.gradients[j](x) for j in members], axis=0)

        return Called((value,), (gradient,)), np.asarray(0)

    def _call(self, those: tuple[Callable[[np.ndarray], Any], ...], shape: Any, x: Any, data: Any) -> Any:
        def here(x: Any, j: Any) -> np.ndarray:
            point = np.asarray(x, dtype=np.float64)
            return np.asarray(those[int(j)](point), dtype=x.dtype).reshape(shape)

        if isinstance(x, np.ndarray):
            return here(x, data)
        form = jax.ShapeDtypeStruct(shape, x.dtype)
        return jax.pure_callback(here, form, x, data, vmap_method="sequential")
