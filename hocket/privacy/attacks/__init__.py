"""Attacks on what agents sent: each works on a coalition's view of a run, and on nothing else.

A verdict is checked by them: they are told apart by what they take, a whole neighbourhood, a whole component, the whole
network, the public form of objectives, or several runs.
"""

from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.averaging import averaging_attack, averaging_attacks
from hocket.privacy.attacks.by_form import (
    Projection,
    Tried,
    attacks_by_form,
    model_attack,
    model_attacks,
    model_fit,
    projection_attack,
    projection_attacks,
    sum_attack,
)
from hocket.privacy.attacks.component import component_attack, total_attack
from hocket.privacy.attacks.likelihood_ratio import LikelihoodRatios, likelihood_ratios
from hocket.privacy.attacks.model_fit import ModelFit
from hocket.privacy.attacks.neighbourhood import (
    difference_attack,
    last_gradient_attack,
    lb_collusion_attack,
    mean_attack,
    pitman_attack,
    states_behind,
    strongest_average,
)
from hocket.privacy.attacks.residuals import Residuals, residuals
from hocket.privacy.attacks.several_runs import (
    changed_graph_attack,
    changed_record_attack,
    joint_attack,
    mixed_plans_attack,
)

__all__ = [
    "Attack",
    "LikelihoodRatios",
    "ModelFit",
    "Projection",
    "Residuals",
    "Tried",
    "attacks_by_form",
    "averaging_attack",
    "averaging_attacks",
    "changed_graph_attack",
    "changed_record_attack",
    "component_attack",
    "difference_attack",
    "joint_attack",
    "last_gradient_attack",
    "lb_collusion_attack",
    "likelihood_ratios",
    "mean_attack",
    "mixed_plans_attack",
    "model_attack",
    "model_attacks",
    "model_fit",
    "pitman_attack",
    "projection_attack",
    "projection_attacks",
    "residuals",
    "states_behind",
    "strongest_average",
    "sum_attack",
    "total_attack",
]
