"""Attacks on learning: what a neighbour recovers from what it hears while a model is trained.

from hocket.learning.attacks import attack_rows, attack_table

table = attack_table(attack_rows())
"""

from hocket.learning.attacks.canary import Canary, canary_bound, epsilon_bound
from hocket.learning.attacks.gradient_inversion import Inverted, invert_gradients
from hocket.learning.attacks.knowledge import (
    Public,
    Seen,
    all_gradients,
    features,
    first_gradient,
    public_knowledge,
)
from hocket.learning.attacks.membership import Rate, Separation, auc_rate, losses, membership_scores
from hocket.learning.attacks.sample_fits import (
    does_not_apply,
    fit_by_all,
    fit_by_sums,
    fit_replaced,
    fit_together,
    sample_error,
)
from hocket.learning.attacks.table import QUICK, attack_notes, attack_rows, attack_table
from hocket.learning.attacks.trials import Effort, Row

__all__ = [
    "QUICK",
    "Canary",
    "Effort",
    "Inverted",
    "Public",
    "Rate",
    "Row",
    "Seen",
    "Separation",
    "all_gradients",
    "attack_notes",
    "attack_rows",
    "attack_table",
    "auc_rate",
    "canary_bound",
    "does_not_apply",
    "epsilon_bound",
    "features",
    "first_gradient",
    "fit_by_all",
    "fit_by_sums",
    "fit_replaced",
    "fit_together",
    "invert_gradients",
    "losses",
    "membership_scores",
    "public_knowledge",
    "sample_error",
]
