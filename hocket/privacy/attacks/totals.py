"""The attack on totals: what a coalition makes of the sums that all are shown, its own parts taken off.

Where agents say nothing but totals of where their own steps lead, Σ_j P(x_k − α_k ∇f_j(x_k)), members know their own
parts, and what is left is the sum over the honest: of their gradients, exactly, at the common point. By Theorem T there
is nothing else to be had. That is over all honest agents; of those that are cut off from each other a coalition knows
the sums one by one, from words that only links have.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import NO_PROJECTION, Attack
from hocket.privacy.attacks.words import Plan, dimension, with_plan
from hocket.privacy.wording import named
from hocket.runs.view import View

NAME = "total"


def total_attack(view: View, **plan: Unpack[Plan]) -> Attack:
    """The sum of the honest agents' gradients in every round but the last, from totals alone: exact, if one step is
    taken between two of them and members know their own objectives.
    """
    view = with_plan(view, any_words=True, **plan)
    if not view.algorithm.only_totals:
        raise BadInput(f"this attack is on totals, and agents say words in {type(view.algorithm).__name__}")
    if view.objectives is None or view.step is None:
        raise BadInput(
            "members' own parts are not known here: the run was loaded from disk without its problem"
        )
    dimension(view)
    means = next(iter(view.words[0].values())).astype(np.float64) / view.network.n
    alpha = view.step.table(1, view.rounds)[:-1, None]
    at, after = means[:-1], means[1:]
    # n (x_k − x_{k+1}) = α_k Σ_j ∇f_j(x_k), over everybody
    everybody = view.network.n * (at - after) / alpha
    own = sum(np.array([view.objectives(member, x) for x in at]) for member in sorted(view.coalition))
    group = view.honest
    what = "the gradient" if len(group) == 1 else f"the sum of the gradients of {named(group)}"
    return Attack(
        NAME,
        group,
        f"{what} in each round",
        True,
        "all are shown the sum, and members know their own parts of it",
        estimate=everybody - own,
        predicted_sd=np.zeros_like(at),
        rows=tuple(range(1, len(at) + 1)),
        at=at,
        supposing=(NO_PROJECTION,),
    )
