"""What the tests of the engines share: few networks and one problem, so that little is compiled."""

from __future__ import annotations

from typing import Any

import hocket as hk
from tests.laws.table import quadratics

STEP = hk.Power(1.0, 5, 0.75)
RING = hk.Network.cycle(6)
SIX = hk.Network([*RING.links.tolist(), (0, 2), (3, 5)], name="six")
"""Everybody has two or three neighbours."""
CHORDS = [(0, 2), (1, 3), (2, 4), (3, 5), (0, 4), (1, 5)]
PHASES = hk.Network.varying([RING, CHORDS, [*RING.links.tolist(), (0, 3), (1, 4), (2, 5)]])
"""Two, two and three neighbours each; links of the ring are up in two phases of three."""
LONELY = hk.Network.varying([RING, [(0, 1), (1, 2), (0, 2), (3, 4)], CHORDS], n=6)
"""In the second phase agents 3 and 4 have one neighbour each, and agent 5 has none."""


def play(algorithm: hk.Algorithm, **how: Any) -> hk.Run:
    """A run on six agents with quadratics on [−5, 5]², unless said otherwise."""
    how = {"problem": quadratics(6, 2, 1), "network": SIX, "rounds": 60, "step": STEP, "seed": 4} | how
    return hk.solve(how.pop("problem"), how.pop("network"), algorithm, **how)
