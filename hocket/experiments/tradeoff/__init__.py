"""What the paper says in words only: how noise slows convergence, and what differential privacy costs instead."""

from hocket.experiments.tradeoff.runs import FULL, QUICK, Size, Tradeoff, play
from hocket.experiments.tradeoff.showing import data, write
from hocket.experiments.tradeoff.tables import bound_table, conclusion, noise_table, notes, price_table

__all__ = [
    "FULL",
    "QUICK",
    "Size",
    "Tradeoff",
    "bound_table",
    "conclusion",
    "data",
    "noise_table",
    "notes",
    "play",
    "price_table",
    "write",
]
