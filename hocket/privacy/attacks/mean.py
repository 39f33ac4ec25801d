"""The averaging attack in its simplest form: the weighted mean over rounds of what one agent's words moved by."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import SAME_GRADIENT, Attack
from hocket.privacy.attacks.public_plan import AnyStep
from hocket.privacy.attacks.residuals import Residuals, residuals
from hocket.privacy.wording import counted
from hocket.runs.view import View


def mean_attack(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Attack:
    """An agent's gradient as the mean over rounds, each weighted by how little noise it carries (1/r_k²).
    The best linear estimate where all of N[j] is heard; its error falls like 1/√K unless noise is kept.
    """
    return averaged(residuals(view, target, step=step, algorithm=algorithm))


def averaged(found: Residuals) -> Attack:
    """The weighted mean and its predicted error."""
    if not len(found.rounds):
        return Attack("mean", (found.target,), subject(found), False, found.silence)
    weights = mean_weights(found)
    return outcome("mean", found, weights @ found.values, np.sqrt(weights**2 @ found.fresh.sd**2))


def mean_weights(found: Residuals) -> Float[np.ndarray, " rounds"]:
    """What each round counts for: as 1 / variance, and rounds without fresh noise alone where there are any."""
    variance = found.fresh.sd**2
    weights = 1 / variance if variance.all() else np.where(variance, 0.0, 1.0)
    return weights / weights.sum()


def subject(found: Residuals) -> str:
    """What averages are about."""
    return f"the mean gradient of agent {found.target}"


def outcome(
    name: str,
    found: Residuals,
    estimate: Float[np.ndarray, " dim"],
    fresh_sd: Float[np.ndarray, " dim"] | float,
) -> Attack:
    """The outcome of an average whose error from fresh noise is known; kept noise adds what no average removes."""
    steady = ((mean_weights(found) @ found.kept.swapaxes(0, 1)) ** 2).sum(axis=0)
    sd = np.broadcast_to(np.sqrt(np.asarray(fresh_sd) ** 2 + steady), estimate.shape)
    if steady.any():
        why = (
            f"{found.behind} was drawn once and does not average out: "
            f"it alone leaves a standard deviation of {np.sqrt(steady.mean()):.3g}"
        )
    elif sd.any():
        why = (
            f"{found.behind} is drawn anew in each of {counted(len(found.rounds), 'round')} and averages out"
        )
    else:
        why = f"all that agent {found.target} mixes was heard, and no noise in it is unknown"
    return Attack(
        name,
        (found.target,),
        subject(found),
        not steady.any(),
        why,
        estimate=estimate[None],
        predicted_sd=sd[None],
        supposing=(*found.supposing, SAME_GRADIENT),
    )
