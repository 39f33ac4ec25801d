"""The paper's second experiment: MNIST and Reuters, learnt by five agents, one definition for both.

Accuracy against epochs, the price of each kind of privacy, how much noise is too much, what exchanging rarely saves,
and what becomes of it where agents hold different labels.
"""

from hocket.experiments.learning.cases import FULL, PARTS, QUICK, Case, Size, cases
from hocket.experiments.learning.outcomes import Found, Outcome
from hocket.experiments.learning.runs import play
from hocket.experiments.learning.showing import conclusion, data, notes, write
from hocket.experiments.learning.subjects import MNIST, REUTERS, SUBJECTS, Subject
from hocket.experiments.learning.tables import tables

__all__ = [
    "FULL",
    "MNIST",
    "PARTS",
    "QUICK",
    "REUTERS",
    "SUBJECTS",
    "Case",
    "Found",
    "Outcome",
    "Size",
    "Subject",
    "cases",
    "conclusion",
    "data",
    "notes",
    "play",
    "tables",
    "write",
]
