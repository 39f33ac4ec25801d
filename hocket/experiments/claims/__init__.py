"""The claims ledger: every claim of the paper, the check that stands for it, and a verdict.

A group of claims is one file with its checks and, at its end, its rows; a new group joins the table here.
"""

from hocket.experiments.claims.algorithms import ALGORITHMS
from hocket.experiments.claims.experiments import EXPERIMENTS
from hocket.experiments.claims.ledger import Claim, Finding, Group, Ledger, Verdict, judge
from hocket.experiments.claims.lemmas import LEMMAS
from hocket.experiments.claims.page import conclusion, data, markdown, paragraphs, write
from hocket.experiments.claims.privacy import PRIVACY
from hocket.experiments.claims.setting import SETTING
from hocket.experiments.claims.theorems import THEOREMS

GROUPS = (SETTING, ALGORITHMS, LEMMAS, THEOREMS, PRIVACY, EXPERIMENTS)

__all__ = [
    "GROUPS",
    "Claim",
    "Finding",
    "Group",
    "Ledger",
    "Verdict",
    "conclusion",
    "data",
    "judge",
    "markdown",
    "paragraphs",
    "write",
]
