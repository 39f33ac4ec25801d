"""How much of a run goes into measuring it: at most a tenth, and what that buys.

The gap of the worst agent needs the sum of all objectives at every agent's state: n times what it takes at the mean.
Where that is more than a tenth of the rounds, fewer agents are looked at, those farthest from the mean, and then fewer
rounds are recorded. All is decided before the run, by what its program costs.
"""

from __future__ import annotations

import numpy as np

from hocket.engines.compiled import Compiled
from hocket.engines.prices import Prices, prices
from hocket.engines.program import FARTHEST
from hocket.engines.schedule import FEW, LARGE, MOST, Marks, recorded_rounds

SHARE = 1 / 16
"""Of the rounds' own work: a tenth, less what counting may be wrong by."""
SLIGHT = 1 << 20
"""Numbers that may be read for measuring in any case: in a millisecond or so, a tenth of what `solve` takes to lay out
and report even the smallest run."""
EACH = 4
"""Operations that a number read takes, as far as one can tell beforehand."""
AT_THE_END = 1 / 3
"""The part of the budget that the last measurement may take."""


def marks(compiled: Compiled, rounds: int, *, exact: bool) -> Marks:
    """After which rounds a run is measured, and over how many agents at each of them.

    With `exact` over every agent, everywhere. So it is without, wherever that costs no more than a tenth of the run.
    """
    program = compiled.program
    n, dim = program.wiring.n, program.problem.dim
    large = n * dim > LARGE
    often = recorded_rounds(rounds, most=FEW if exact and large else MOST)
    if exact or len(often) * (n + 1) * (program.pooled_numbers + dim) <= SLIGHT:
        return Marks.everybody(often, n)
    return affordable(prices(compiled), rounds, n)


def affordable(prices: Prices, rounds: int, n: int) -> Marks:
    """As many agents as few stops allow, then as many stops as the budget allows; more agents at the end.

    >>> affordable(Prices(round=100.0, total=100.0, stop=150.0), 12_000_000, 20).agents[[0, -1]]
    array([20, 20])
    """
    budget = SHARE * rounds * prices.round + EACH * SLIGHT
    before = (1 - AT_THE_END) * budget
    often = min(MOST, rounds)
    agents = n
    if often * (prices.stop + n * prices.total) > before:
        agents = _bought(before / min(FEW, often), prices, min(FARTHEST, n))
        often = int(before / (prices.stop + agents * prices.total))
    last = _bought(AT_THE_END * budget, prices, n)
    if last < n:  # between few and all there is no order by distance to choose by
        last = min(last, FARTHEST)
    # Before the first round, after it and at the end a run is measured at least.
    recorded = recorded_rounds(rounds, most=max(min(often - 1, MOST), 2))
    looked_at = np.full(len(recorded), agents)
    looked_at[-1] = max(last, agents)
    return Marks(recorded, looked_at)


def _bought(budget: float, prices: Prices, most: int) -> int:
    """How many agents one measurement can look at; one at least."""
    return int(np.clip((budget - prices.stop) / max(prices.total, 1.0), 1, most))
