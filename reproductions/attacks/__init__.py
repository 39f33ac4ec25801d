"""Attacks on learning: what a neighbour recovers from what it receives while a model is trained.

from reproductions.attacks import attack_rows, attack_table

table = attack_table(attack_rows())
"""

from reproductions.attacks.gradient_inversion import Inverted, invert_gradients
from reproductions.attacks.knowledge import (
    Public,
    Seen,
    all_gradients,
    features,
    first_gradient,
    public_knowledge,
)
from reproductions.attacks.membership import Rate, Separation, auc_rate, losses, membership_scores
from reproductions.attacks.sample_fits import (
    does_not_apply,
    fit_by_all,
    fit_by_sums,
    fit_replaced,
    fit_together,
    sample_error,
)
from reproductions.attacks.table import QUICK, attack_notes, attack_rows, attack_table
from reproductions.attacks.trials import Effort, Row

__all__ = [
    "QUICK",
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
    "does_not_apply",
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
