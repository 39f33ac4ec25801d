"""Attacks on what was said: each works on a coalition's view of a run, and on nothing else."""

from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.averaging import averaging_attack, averaging_attacks
from hocket.privacy.attacks.component import component_attack
from hocket.privacy.attacks.differences import (
    difference_attack,
    last_gradient_attack,
    lb_collusion_attack,
    states_behind,
)
from hocket.privacy.attacks.mean import mean_attack, pitman_attack, strongest_average
from hocket.privacy.attacks.residuals import Residuals, residuals

__all__ = [
    "Attack",
    "Residuals",
    "averaging_attack",
    "averaging_attacks",
    "component_attack",
    "difference_attack",
    "last_gradient_attack",
    "lb_collusion_attack",
    "mean_attack",
    "pitman_attack",
    "residuals",
    "states_behind",
    "strongest_average",
]
