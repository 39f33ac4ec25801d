"""The theory, in numbers: what the paper's lemmas and theorems promise, and how a run compares."""

from hocket.theory.bound import Bound, theorem1
from hocket.theory.finite_time import finite_time
from hocket.theory.inverse import InverseBound, delta_for, rounds_for
from hocket.theory.lemmas import lemma1, lemma2
from hocket.theory.monitor import Margin, Monitor, monitor

__all__ = [
    "Bound",
    "InverseBound",
    "Margin",
    "Monitor",
    "delta_for",
    "finite_time",
    "lemma1",
    "lemma2",
    "monitor",
    "rounds_for",
    "theorem1",
]
