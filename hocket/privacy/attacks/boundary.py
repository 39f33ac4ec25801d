"""A first look at which steps X cut short: the straight-line gradients that explain every agent's words best.

P(v − αg) is known once g is, whatever the noise; and g only has to be right enough to tell on which side of the edge
v − αg lies. So lines g(v) = level + tilt · v are tried one by one, each with the offset that noise drawn once would
then have to be. The one with the least noise left over is where a fit begins, and others as likely come after it.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.privacy.attacks.equations import Equations
from hocket.problems.sets import FeasibleSet

LEVELS, TILTS = 201, 13
"""Lines that are tried."""
SURE = 5.0
"""Standard deviations within which noise lies."""


def straight_gradients(
    heard: Equations, feasible: FeasibleSet, *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, "looks rounds agents dim"]:
    """Everybody's gradients in every round, as the best line has them, a line for each agent and coordinate.

    After the best come some that are drawn by how likely they are.
    """
    middle, width = heard.at.mean(axis=0), np.maximum(np.ptp(heard.at, axis=0), np.finfo(np.float64).tiny)
    level = np.linspace(-1, 1, LEVELS) * _reach(heard)
    tilt = np.sign(np.linspace(-1, 1, TILTS)) * np.linspace(-1, 1, TILTS) ** 2 * _reach(heard)
    lines = np.stack(np.meshgrid(level, tilt, indexing="ij"), axis=-1).reshape(-1, 2)
    along = (heard.at - middle) / width
    noise = np.maximum((heard.fresh**2).sum(axis=2), (heard.rounding**2)[:, None])[..., None]
    kept = 0.0 if heard.inside else (heard.kept**2).sum(axis=2).mean(axis=0)
    with jax.enable_x64(True):
        scan = _Scan(feasible, heard.at, heard.alpha, heard.values, along, 1 / noise, np.asarray(kept))
        misfit = np.asarray(_misfits(scan, jnp.asarray(lines)))  # (lines, agents, dim)
    # The largest of log-likelihoods, each with a Gumbel draw on top, is a draw by likelihood.
    luck = np.stack([np.zeros_like(misfit), *rng.gumbel(size=(draws, *misfit.shape))])
    best = lines[np.argmin(misfit / 2 - luck, axis=1)][:, None]  # (looks, 1, agents, dim, 2)
    return best[..., 0] + best[..., 1] * along


def _reach(heard: Equations) -> float:
    """How large a gradient may be, as far as its residuals show: they and the noise in them."""
    noise = np.sqrt((heard.fresh**2).sum(axis=2).max() + (heard.kept**2).sum(axis=2).max(initial=0.0))
    return float(np.median(np.abs(heard.values)) + SURE * noise)


class _Scan(eqx.Module):
    """What is left of the words if gradients were some line."""

    feasible: FeasibleSet
    at: Any
    alpha: Any
    values: Any
    along: Any
    weight: Any
    kept: Any
    """The variance of an offset, by agent and coordinate; zero if there is none."""

    def misfit(self, line: Any) -> Any:
        """By agent and coordinate."""
        alpha, dim = self.alpha[:, None, None], self.at.shape[2]
        aimed = self.at - alpha * (line[0] + line[1] * self.along)
        reached = jax.vmap(self.feasible.project)(aimed.reshape(-1, dim)).reshape(aimed.shape)
        left = self.values - (self.at - reached) / alpha
        offset = (self.weight * left).sum(axis=0) ** 2 * self.kept
        offset = offset / (self.weight.sum(axis=0) * self.kept + 1)
        return (self.weight * left**2).sum(axis=0) - offset


@eqx.filter_jit
def _misfits(scan: _Scan, lines: Any) -> Any:
    return jax.lax.map(scan.misfit, lines)
