"""Levenberg and Marquardt's descent to a least squares optimum, from many beginnings side by side in one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

STEPS = 100
"""Trials after which a descent ends wherever it is."""
ENOUGH = 1e-8
"""Part of the cost that a step must gain for another to be worth it."""
FIRST, CAUTIOUS, BOLD = 1e-3, 4.0, 0.3
"""The first damping, and what it is multiplied by after a step that failed, and after one that gained."""
GIVEN_UP = 1e12
"""Damping beyond which no step is left to be tried."""
Linearised = Callable[[Any], tuple[Any, Any]]
"""Around u, rows a and what they should come to, b: a · change ≈ b."""


class _Place(NamedTuple):
    u: Any
    a: Any
    b: Any
    damping: Any
    widths: Any
    """The largest effect that each unknown ever had: unknowns are measured by what they do."""
    trials: Any
    done: Any


def descended(
    rows: Linearised, beginnings: Float[np.ndarray, "beginnings unknowns"]
) -> tuple[Float[np.ndarray, "beginnings unknowns"], Float[np.ndarray, " beginnings"]]:
    """Where each beginning leads, and the sum of squares left there.

    `rows` is a callable `equinox` module that holds its numbers: modules of one shape share one compiled program.
    """
    with jax.enable_x64(True):
        found, cost = _descended(rows, jnp.asarray(beginnings, float))
        return np.asarray(found), np.asarray(cost)


@eqx.filter_jit
def _descended(rows: Linearised, beginnings: Any) -> tuple[Any, Any]:
    def one(u: Any) -> tuple[Any, Any]:
        a, b = rows(u)
        place = _Place(u, a, b, jnp.asarray(FIRST), _widths(a), jnp.asarray(0), ~jnp.isfinite(b @ b))
        end = jax.lax.while_loop(lambda at: ~at.done, lambda at: _tried(rows, at), place)
        left = end.b @ end.b
        return end.u, jnp.where(jnp.isnan(left), jnp.inf, left)

    return jax.vmap(one)(beginnings)


def _widths(a: Any) -> Any:
    return jnp.linalg.norm(a, axis=0)


def _tried(rows: Linearised, at: _Place) -> _Place:
    """One step, taken if it gains."""
    widths = jnp.where(at.widths > 0, at.widths, 1.0)
    scaled = at.a / widths
    normal = scaled.T @ scaled + at.damping * jnp.eye(len(at.u))
    factor = jax.scipy.linalg.cho_factor(normal)
    u = at.u + jax.scipy.linalg.cho_solve(factor, scaled.T @ at.b) / widths
    a, b = rows(u)
    before, after = at.b @ at.b, b @ b
    better = after < before  # false where something is not a number
    trials = at.trials + 1
    damping = at.damping * jnp.where(better, BOLD, CAUTIOUS)
    over = (better & (before - after <= ENOUGH * after)) | (damping > GIVEN_UP) | (trials >= STEPS)
    u, a, b = (jnp.where(better, new, old) for new, old in ((u, at.u), (a, at.a), (b, at.b)))
    return _Place(u, a, b, damping, jnp.maximum(at.widths, _widths(a)), trials, over)
