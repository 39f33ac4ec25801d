"""The projection attack: a step that X cuts short ends on the boundary, and the word from there shows the noise alone.

P(v − α∇f) is where X says it is, whatever the gradient. So noise that was drawn once, which a gradient would hide
behind, stands bare in such rounds and averages out over them; and in all other rounds it can then be taken off. Which
rounds these are nobody says, but v is known: far beyond the boundary it takes no gradient to tell, and the better the
gradient is known the fewer rounds are left in doubt. Those are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import Equations, equations
from hocket.privacy.attacks.model_fit import fitted
from hocket.privacy.attacks.sums import AnyFamily, suppositions
from hocket.privacy.attacks.system import Heard, System
from hocket.privacy.attacks.words import AnyStep, check_target
from hocket.privacy.families import polynomials
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View

NAME = "projection"
TURNS = 12
"""How often the rounds that were cut short are told anew, as the gradient becomes known better."""
CANDIDATES = 401
"""Gradients that are tried at first."""
SURE = 5.0
"""Standard deviations within which a gradient is taken to lie."""


@dataclass(frozen=True, eq=False)
class Projection:
    """What steps that were cut short give away: the noise that was kept, and with it the gradient."""

    gradient: Attack
    """In every round."""
    kept: Float[np.ndarray, " dim"]
    """What noise that was drawn once adds to the agent's residuals, in the mean over rounds."""
    kept_sd: Float[np.ndarray, " dim"]
    """The standard deviation of its error."""
    cut: Float[np.ndarray, "rounds dim"]
    """Where the step was cut short, coordinate by coordinate: 1, or 0; NaN where that is in doubt."""

    def __str__(self) -> str:
        share = f"{np.mean(self.cut == 1):.0%} of its steps were cut short by X"
        return f"{self.gradient}\n{share}; kept noise known to ±{np.sqrt(np.mean(self.kept_sd**2)):.2g}"


def projection_attack(
    view: View,
    target: int,
    feasible: FeasibleSet,
    *,
    family: AnyFamily | None = None,
    step: AnyStep | None = None,
    algorithm: Algorithm | None = None,
) -> Attack | Projection:
    """An agent's gradient and its anchor, told apart by the rounds in which X cut the agent's step short.

    It takes enough rounds of both kinds that v alone tells apart; with fewer it finds nothing, though others may.
    Gradients are taken to change in proportion to x unless a `family` is given. Without an active set this is the model
    attack. Comes back as a bare `Attack`, without an estimate, where not all of N[j] was heard.
    """
    heard = equations(view, [check_target(view, target)], step=step, algorithm=algorithm)
    if not len(heard.rounds):
        return Attack(NAME, (target,), f"the gradient of agent {target} in each round", False, heard.silence)
    form = polynomials(2, heard.dim) if family is None else family
    form = form[target] if isinstance(form, Mapping) else form
    system = System([Heard(heard, {target: [target]})], {target: form}, feasible)
    supposing, likely = suppositions(heard, system.families, feasible), _likely(heard, feasible)
    cut, turns = _told(heard, feasible, likely), 0
    while True:
        fit, turns = fitted(NAME, replace(system, cut=cut), supposing=supposing), turns + 1
        found = fit.attack(target)
        before, cut = cut, _told(heard, feasible, _within(found, likely))
        if turns == TURNS or np.array_equal(before, cut, equal_nan=True):
            break
    return Projection(found, *fit.offset(target), np.where(np.isnan(cut), np.nan, np.isfinite(cut))[:, 0])


def _within(found: Attack, likely: Float[np.ndarray, "2 rounds dim"]) -> Float[np.ndarray, "2 rounds dim"]:
    """Between which bounds each round's gradient lies for sure, once some rounds were told apart."""
    assert found.estimate is not None
    assert found.predicted_sd is not None
    sd = np.where(np.isfinite(found.predicted_sd), SURE * found.predicted_sd, np.ptp(likely, axis=0).max())
    ends = np.array([np.maximum(found.estimate - sd, likely[0]), np.minimum(found.estimate + sd, likely[1])])
    return np.where(ends[0] <= ends[1], ends, likely)


def _reach(heard: Equations) -> float:
    """How large a gradient may be, as far as its residuals show: they and the noise in them."""
    noise = np.sqrt((heard.fresh**2).sum(axis=2).max() + (heard.kept**2).sum(axis=2).max(initial=0.0))
    return float(np.median(np.abs(heard.values)) + SURE * noise)


def _likely(heard: Equations, feasible: FeasibleSet) -> Float[np.ndarray, "2 rounds dim"]:
    """Between which bounds gradients lie that explain the words not much worse than the best.

    For each candidate X says which steps it cuts short, and what is left is noise around an offset. In the second half
    of the rounds, when agents have come to rest, one candidate serves them all; before that, anything may be.
    """
    reach, late = _reach(heard), np.arange(len(heard.rounds)) >= len(heard.rounds) // 2
    candidates = np.linspace(-1, 1, CANDIDATES) * reach
    alpha, at, values = heard.alpha[late, None], heard.at[late, 0], heard.values[late, 0]
    weight = 1 / np.maximum((heard.fresh[late, 0] ** 2).sum(axis=1), heard.rounding[late] ** 2)[:, None]
    kept = (heard.kept[late, 0] ** 2).sum(axis=1).mean(axis=0)

    def misfit(g: float) -> np.ndarray:
        left = values - (at - _nearest(feasible, at - alpha * g)) / alpha
        offset = (weight * left).sum(axis=0) ** 2 / (weight.sum(axis=0) + 1 / np.maximum(kept, 1e-300))
        return (weight * left**2).sum(axis=0) - offset

    table = np.stack([misfit(g) for g in candidates])
    good = table <= table.min(axis=0) + SURE**2 * np.maximum(1.0, table.min(axis=0) / len(at))
    apart = candidates[1] - candidates[0]
    ends = np.array([[candidates[row].min() - apart, candidates[row].max() + apart] for row in good.T])
    return np.where(late[:, None], ends.T[:, None], np.array([-reach, reach])[:, None, None])


def _told(
    heard: Equations, feasible: FeasibleSet, within: Float[np.ndarray, "2 rounds dim"]
) -> Float[np.ndarray, "rounds agents dim"]:
    """Where steps ended that X cut short whatever the gradient is within its bounds; infinite if none, NaN if open.

    Told by v alone, and not by the next word: rounds picked by their noise would no longer average it out.
    """
    alpha, at = heard.alpha[:, None], heard.at[:, 0]
    aims = at - alpha * within
    ends = _nearest(feasible, aims)
    free, pinned = (aims == ends).all(axis=0), (ends[0] == ends[1]) & (aims != ends).all(axis=0)
    return np.where(free, np.inf, np.where(pinned, ends[0], np.nan))[:, None]


def _nearest(feasible: FeasibleSet, points: Float[np.ndarray, "*any dim"]) -> Float[np.ndarray, "*any dim"]:
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(feasible.project)(points.reshape(-1, points.shape[-1]))).reshape(
            points.shape
        )
