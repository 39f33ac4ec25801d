"""The model attack: once the form of objectives is public, gradients that change tell more, not less.

Every round is an equation about the same few parameters, at another point. Noise that was drawn once is an offset that
stays the same, and is fitted along with them; noise of single rounds averages out; and what links take from one agent
and give to another cancels between their equations, so that the sum attack is part of this one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Unpack

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.model_fit import ModelFit
from hocket.privacy.attacks.sums import AnyFamily, fit_of
from hocket.privacy.attacks.words import Plan, check_target
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View

NAME = "model"
PATIENCE = 4_000_000
"""Coefficients of a system that is still solved while somebody waits: about a second a step."""


def model_attack(
    view: View,
    target: int,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> Attack:
    """An agent's gradient in every round, from objectives of a known form fitted to all that was heard.
    The strongest attack where all of N[j] is heard and the form is public. `feasible` takes projections into account.
    """
    equated = partial(equations, view, skip=skip, **plan)
    heard = equated()
    if check_target(view, target) not in heard.agents or not len(heard.rounds):
        alone = equated([target])
        if not len(alone.rounds):
            what = f"the gradient of agent {target} in each round"
            return Attack(NAME, (target,), what, False, alone.silence)
        heard = alone  # links that come and go may leave no round in which all are heard
    return fit_of(NAME, heard, family, feasible=feasible).attack(target)


def model_fit(
    view: View,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> ModelFit:
    """The parameters behind `model_attack`, of all agents whose whole neighbourhood was heard, fitted together."""
    heard = equations(view, skip=skip, **plan)
    if not len(heard.rounds):
        raise BadInput(f"there is nothing to fit objectives to: {heard.silence}")
    return fit_of(NAME, heard, family, feasible=feasible)
