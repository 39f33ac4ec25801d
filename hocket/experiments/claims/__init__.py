"""The claims ledger: every claim of the paper, the check that stands for it, and a verdict.

A group of claims is one file of checks, each under the claim that it stands for; a new group joins the table here.
"""

from hocket.experiments.claims.algorithms import ALGORITHMS
from hocket.experiments.claims.experiments import EXPERIMENTS
from hocket.experiments.claims.lemmas import LEMMAS
from hocket.experiments.claims.privacy import PRIVACY
from hocket.experiments.claims.setting import SETTING
from hocket.experiments.claims.theorems import THEOREMS

GROUPS = (SETTING, ALGORITHMS, LEMMAS, THEOREMS, PRIVACY, EXPERIMENTS)

__all__ = ["GROUPS"]
