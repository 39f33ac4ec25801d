"""The last-gradient attack: why a member's own final state must stay at home."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.noise import Moments
from hocket.privacy.attacks.public_plan import AnyStep, check_target, dimension, with_plan
from hocket.privacy.attacks.residuals import Residuals, cleaned
from hocket.privacy.attacks.words import mixed, unheard
from hocket.privacy.wording import counted, named
from hocket.runs.view import View


def last_gradient_attack(
    view: View,
    target: int,
    published_x: Any,
    *,
    step: AnyStep | None = None,
    algorithm: Algorithm | None = None,
) -> Attack:
    """An agent's last gradient, (v_K − x_{K+1}) / α_K, if it publishes its state as it is after the last round.
    Try it on every release: noise in the words does not help, since x_{K+1} itself carries none.
    """
    view, target = with_plan(view, step, algorithm), check_target(view, target)
    x, what = _published(view, target, published_x), f"the last gradient of agent {target}"
    v = mixed(view, target)[-1:]
    if np.isnan(v).any():
        why = unheard(view, target) or f"not all that agent {target} mixed in round {view.rounds} was heard"
        return Attack("last gradient", (target,), what, False, why)
    found = _last(view, target, v, x)
    exposed = not found.sd.any()
    heard = named([target, *view.network.neighbours(target)])
    return Attack(
        "last gradient",
        (target,),
        what,
        exposed,
        f"the words of {heard} were heard, and the state was published without noise"
        if exposed
        else f"the gradient itself carries {found.behind}",
        estimate=found.values,
        predicted_sd=found.sd,
        rows=(view.rounds,),
        at=v,
        supposing=found.supposing,
    )


def _published(view: View, target: int, published_x: Any) -> np.ndarray:
    x = np.asarray(published_x, dtype=np.float64).reshape(-1)
    if len(x) != dimension(view) or not np.isfinite(x).all():
        needed = counted(dimension(view), "finite number")
        raise BadInput(f"published_x is {published_x!r}; give the state of agent {target}, {needed}")
    return x


def _last(view: View, target: int, v: np.ndarray, x: np.ndarray) -> Residuals:
    """The last round's residual. Noise in words is not in a state; noise in objectives and gradients is."""
    assert view.step is not None
    inside = view.algorithm.noise_in == "gradient"
    quiet = view if inside else dataclasses.replace(view, algorithm=view.algorithm.silent())
    moved = (v - x) / view.step(view.rounds)
    return cleaned(quiet, target, Moments(np.array([view.rounds]), np.ones(1), v), moved)
