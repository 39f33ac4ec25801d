"""The claims ledger: every claim of the paper, the check that stands for it, and a verdict.

A group of claims is one file of checks, each under the claim that it stands for; a new group joins the table here.
"""

from reproductions.claims.algorithms import ALGORITHMS
from reproductions.claims.experiments import EXPERIMENTS
from reproductions.claims.lemmas import LEMMAS
from reproductions.claims.privacy import PRIVACY
from reproductions.claims.setting import SETTING
from reproductions.claims.theorems import THEOREMS

GROUPS = (SETTING, ALGORITHMS, LEMMAS, THEOREMS, PRIVACY, EXPERIMENTS)

__all__ = ["GROUPS"]
