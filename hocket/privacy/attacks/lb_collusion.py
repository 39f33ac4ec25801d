"""The collusion attack on RSS-LB: balance itself gives an agent's state away to all its neighbours together."""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.difference import from_differences
from hocket.privacy.attacks.hearing import Words, own_word
from hocket.privacy.attacks.plan import AnyStep, check_target, with_plan
from hocket.privacy.attacks.residuals import residuals
from hocket.view import View


def lb_collusion_attack(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Attack:
    """An agent's gradient in every round of RSS-LB, exactly, if all its neighbours collude or its links are tapped.
    One neighbour that keeps silent is enough to beat it; `states_behind` gives the states themselves.
    """
    view = _balanced(view, step, algorithm)
    return from_differences("LB collusion", residuals(view, target), view)


def states_behind(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Words:
    """x_j = Σ_i B[i,j] w_{j,i} / Σ_i B[i,j] in every round of RSS-LB; NaN where some neighbour's word is missing."""
    view = _balanced(view, step, algorithm)
    return own_word(view, check_target(view, target))


def _balanced(view: View, step: AnyStep | None, algorithm: Algorithm | None) -> View:
    view = with_plan(view, step, algorithm)
    if not view.algorithm.tells:
        raise BadInput(
            f"this attack undoes the balance of RSS-LB, and this run is {type(view.algorithm).__name__}'s; "
            "use difference_attack"
        )
    return view
