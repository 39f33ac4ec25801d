"""The projection attack: a step that X cuts short ends on the boundary, and the word from there shows the noise alone.

P(v − α∇f) is where X says it is, whatever the gradient. So noise that was drawn once, which a gradient would hide
behind, stands bare in such rounds and averages out over them; and in all other rounds it can then be taken off. Which
rounds these are nobody says, but v is known: far beyond the boundary it takes no gradient to tell, and the better the
gradient is known the fewer rounds are left in doubt. Those are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.prediction import cut_at
from hocket.privacy.attacks.sums import AnyFamily, fit_of
from hocket.privacy.attacks.words import AnyStep, check_target
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
    check_target(view, target)
    alone = equations(view, [target], step=step, algorithm=algorithm)
    if not len(alone.rounds):
        return Attack(NAME, (target,), f"the gradient of agent {target} in each round", False, alone.silence)
    form = polynomials(2, alone.dim) if family is None else family
    together = equations(view, form if isinstance(form, Mapping) else None, step=step, algorithm=algorithm)
    for heard in (together, alone):
        if target in heard.agents and len(heard.rounds):
            fit = fit_of(NAME, heard, form, feasible=feasible)
            if fit.fits:
                break
    a = heard.agents.index(target)
    cut = cut_at(fit.system.predictions[0], fit.solution.u)[:, a]
    return Projection(fit.attack(target), *fit.offset(target), cut)
