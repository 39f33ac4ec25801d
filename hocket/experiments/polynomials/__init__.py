"""The paper's first experiment: polynomials on five agents, four algorithms, two noise levels.

Also on a problem whose agents want different things, on the complete graph, and beside published medians.
"""

from hocket.experiments.polynomials.runs import FULL, QUICK, Polynomials, Size, play
from hocket.experiments.polynomials.showing import (
    conclusion,
    data,
    notes,
    reference_table,
    result_table,
    write,
)

__all__ = [
    "FULL",
    "QUICK",
    "Polynomials",
    "Size",
    "conclusion",
    "data",
    "notes",
    "play",
    "reference_table",
    "result_table",
    "write",
]
