"""How a framework that lives in an environment of its own takes part in a race: a line in for each turn, a line out.

Scripts in this folder run under another Python with other packages, so they import nothing of hocket.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np


def take_turns(turn: Callable[[int], np.ndarray]) -> None:
    """Play as many rounds as each line asks for, and answer with the mean of all final states."""
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(float(np.mean(turn(int(line))))), flush=True)
