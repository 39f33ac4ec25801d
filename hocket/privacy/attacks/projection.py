"""The projection attack: a step that X cuts short ends on the boundary, and the word from there shows the noise alone.

P(v − α∇f) is where X says it is, whatever the gradient. So noise that was drawn once, which a gradient would hide
behind, stands bare in such rounds and averages out over them; and in all other rounds it can then be taken off. Which
rounds these are nobody says, but v is known, and the gradient tells: so both are found together, by trying lines. All
agents who were heard are fitted at once. What links take from one and give to another cancels between them, so that
rounds in which one of two agents was cut short and the other was not give a gradient away without any noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from jaxtyping import Bool, Float

from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.model_fit import ModelFit
from hocket.privacy.attacks.prediction import cut_at
from hocket.privacy.attacks.sums import AnyFamily, fit_of
from hocket.privacy.attacks.words import Plan, check_target
from hocket.privacy.families import polynomials
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View

NAME = "projection"


@dataclass(frozen=True, eq=False)
class Projection:
    """What steps that were cut short give away: the noise that was kept, and with it the gradient."""

    gradient: Attack
    """In every round."""
    kept: Float[np.ndarray, " dim"]
    """What noise that was drawn once adds to the agent's residuals, in the mean over rounds."""
    kept_sd: Float[np.ndarray, " dim"]
    """The standard deviation of its error."""
    cut: Bool[np.ndarray, "rounds dim"]
    """Where the step was cut short, coordinate by coordinate, as the fit has it."""

    def __str__(self) -> str:
        share = f"{np.mean(self.cut):.0%} of its steps were cut short by X"
        return f"{self.gradient}\n{share}; kept noise known to ±{np.sqrt(np.mean(self.kept_sd**2)):.2g}"


def projection_attack(
    view: View,
    target: int,
    feasible: FeasibleSet,
    *,
    family: AnyFamily | None = None,
    **plan: Unpack[Plan],
) -> Attack | Projection:
    """An agent's gradient and its anchor, told apart by the rounds in which X cut the agent's step short.

    It takes rounds of both kinds, or an anchor that those of all others give away. Gradients are taken to change in
    proportion to x unless a `family` is given. Without an active set this is the model attack. Comes back as a bare
    `Attack`, without an estimate, where not all of N[j] was heard.
    """
    alone = equations(view, [check_target(view, target)], **plan)
    if not len(alone.rounds):
        return Attack(NAME, (target,), f"the gradient of agent {target} in each round", False, alone.silence)
    form = polynomials(2, alone.dim) if family is None else family
    known = [j for j in form if j in view.honest] if isinstance(form, Mapping) else None
    together = equations(view, known, **plan)
    if target in together.agents and len(together.rounds):
        fit = fit_of(NAME, together, form, feasible=feasible)
        if fit.fits:
            return _found(fit, target)
    return _found(fit_of(NAME, alone, form, feasible=feasible), target)


def projection_attacks(
    view: View, feasible: FeasibleSet, *, family: AnyFamily | None = None
) -> dict[int, Projection]:
    """The same on everybody who was heard, from one fit of all together; nobody where that does not fit."""
    heard = equations(view)
    if not len(heard.rounds):
        return {}
    form = polynomials(2, heard.dim) if family is None else family
    fit = fit_of(NAME, heard, form, feasible=feasible)
    return {j: _found(fit, j) for j in heard.agents} if fit.fits else {}


def _found(fit: ModelFit, target: int) -> Projection:
    place = fit.system.heard[0].equations.agents.index(target)
    cut = cut_at(fit.system.predictions[0], fit.solution.u)[:, place]
    return Projection(fit.attack(target), *fit.offset(target), cut)
