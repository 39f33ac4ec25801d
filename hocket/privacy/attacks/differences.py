"""Attacks on single rounds: the difference attack, collusion against RSS-LB, and the last gradient.

A gradient is what an agent's next word, or the state that it publishes in the end, lacks from its mix.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.residuals import Moments, Residuals, cleaned, residuals
from hocket.privacy.attacks.words import (
    Plan,
    Words,
    check_target,
    dimension,
    mixed,
    own_word,
    unheard,
    with_plan,
)
from hocket.privacy.wording import counted, named
from hocket.runs.view import View


def difference_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient in every round, from its words and its neighbours'.
    The first thing to try: exact on DGD, and on RSS-NB and FS where all noise on the target's links is known.
    """
    return from_differences("difference", residuals(view, target, **plan), view)


def from_differences(name: str, found: Residuals, view: View) -> Attack:
    """The outcome that single rounds allow."""
    what = f"the gradient of agent {found.target} in each round"
    if not len(found.rounds):
        return Attack(name, (found.target,), what, False, found.silence)
    heard = f"the words of {_around(view, found.target)} were heard, and no noise in them is unknown"
    return _outcome(name, found, what, exposed=heard, hidden=f"every round has {found.behind} in it")


def _around(view: View, target: int) -> str:
    return named([target, *view.network.neighbours(target)])


def _outcome(name: str, found: Residuals, what: str, *, exposed: str, hidden: str) -> Attack:
    """The gradients found, and why they are exposed, or hidden."""
    return Attack(
        name,
        (found.target,),
        what,
        not found.sd.any(),
        hidden if found.sd.any() else exposed,
        estimate=found.values,
        predicted_sd=found.sd,
        rows=tuple(found.rounds.tolist()),
        at=found.at,
        supposing=found.supposing,
    )


def lb_collusion_attack(view: View, target: int, **plan: Unpack[Plan]) -> Attack:
    """An agent's gradient in every round of RSS-LB, exactly, if all its neighbours collude or its links are tapped.
    One neighbour that keeps silent is enough to beat it; `states_behind` gives the states themselves.
    """
    view = _balanced(view, plan)
    return from_differences("LB collusion", residuals(view, target), view)


def states_behind(view: View, target: int, **plan: Unpack[Plan]) -> Words:
    """x_j = Σ_i B[i,j] w_{j,i} / Σ_i B[i,j] in every round of RSS-LB; NaN where some neighbour's word is missing."""
    view = _balanced(view, plan)
    return own_word(view, check_target(view, target))


def _balanced(view: View, plan: Plan) -> View:
    view = with_plan(view, **plan)
    if not view.algorithm.tells:
        raise BadInput(
            f"this attack undoes the balance of RSS-LB, and this run is {type(view.algorithm).__name__}'s; "
            "use difference_attack"
        )
    return view


def last_gradient_attack(view: View, target: int, published_x: Any, **plan: Unpack[Plan]) -> Attack:
    """An agent's last gradient, (v_K − x_{K+1}) / α_K, if it publishes its state as it is after the last round.
    Try it on every release: noise in the words does not help, since x_{K+1} itself carries none.
    """
    view, target = with_plan(view, **plan), check_target(view, target)
    x, what = _published(view, target, published_x), f"the last gradient of agent {target}"
    v = mixed(view, target)[-1:]
    if np.isnan(v).any():
        why = unheard(view, target) or f"not all that agent {target} mixed in round {view.rounds} was heard"
        return Attack("last gradient", (target,), what, False, why)
    found = _last(view, target, v, x)
    return _outcome(
        "last gradient",
        found,
        what,
        exposed=f"the words of {_around(view, target)} were heard, and the state was published without noise",
        hidden=f"the gradient itself carries {found.behind}",
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
