"""A run that starts from what an earlier run ended with: masked from its first word on, or refused.

The paper's round 1 is said without noise, since everybody knows a public start already [maths, decision 3]. The end of
an earlier run depends on the data. Each member starts from the state that it published, which holds no gradient of its
own that was not mixed under noise; never from its own last state, of which the last gradient could be read. And it says
even that under the fresh noise of round 1. An anchor stays out of round 1: it enters with the gradients that it hides,
and beside a state that was published it would be seen alone.
"""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY
from hocket.errors import BadPlan

ABLE = " or ".join(key for key, kind in BY_KEY.items() if kind.masks_starts)


def masked_start(algorithm: Algorithm) -> Algorithm:
    """The algorithm, with noise from the first word on; refused where that word would be said without any."""
    found = algorithm.effective().masked()
    if isinstance(found, str):
        raise BadPlan(f"{found}; plan {ABLE}, or leave out --after for a public start")
    return found
