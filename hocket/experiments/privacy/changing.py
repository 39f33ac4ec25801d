"""What an anchor does not do: it biases runs whose step stays constant, and does not hide how gradients change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, RssNb
from hocket.engines.solver import solve
from hocket.engines.sweep import sweep
from hocket.experiments.privacy.setting import NETWORKS, SHARE, TARGET, algorithm, regressions
from hocket.experiments.tradeoff.level import average_gap
from hocket.privacy.attacks import residuals
from hocket.steps import Constant, Power, Step

RING = NETWORKS["C5"]
LENGTH = 300
"""Rounds of a run with a constant step α, times α: long enough to forget the start."""
DECAYING = Power(1.0, 20, 0.75)
MOVING = Constant(0.01)
"""From far away, so slowly that the first and the last quarter of a run differ."""


@dataclass(frozen=True, eq=False)
class Bias:
    """Where runs end, by algorithm; medians over seeds."""

    delta: float
    step: str
    rounds: int
    last: dict[str, float]
    """Gap of the last iterate."""
    average: dict[str, float] | None
    """Gap of the average over all rounds, in which fresh noise cancels out: that of the fixed point."""


@dataclass(frozen=True, eq=False)
class Change:
    """A gradient that changes under an anchor, in units of a typical gradient; a row per problem."""

    rounds: int
    size: Float[np.ndarray, " problems"]
    """By how much the gradient's mean changes from the first quarter of the run to the last."""
    error: Float[np.ndarray, " problems"]
    """By how much the change is missed."""
    foretold: float
    offset_error: Float[np.ndarray, " problems"]
    """By how much the gradient itself is missed in the last quarter."""


def bias(delta: float, alpha: float | None, *, rounds: int, seeds: int) -> Bias:
    """Gaps of DGD, of fresh noise, and of anchored noise, from the optimum on; a decaying step without α."""
    problem = regressions(1)
    step: Step = DECAYING if alpha is None else Constant(alpha)
    last, average = {}, {}
    contenders: dict[str, Algorithm] = {
        "DGD": Dgd(),
        "RSS-NB": RssNb(delta),
        "RSS-NB, anchored": RssNb(delta, anchor=SHARE),
    }
    for name, contender in contenders.items():
        runs = sweep(
            problem.problem,
            RING,
            contender,
            step=step,
            rounds=rounds,
            start=problem.optimum,
            seeds=range(1 if name == "DGD" else seeds),
            progress=False,
        )
        last[name] = float(np.median(runs.gap))
        average[name] = float(np.median(average_gap(problem.problem, runs)))
    words = "α decaying" if alpha is None else f"α = {alpha:g}"
    return Bias(delta, words, rounds, last, None if alpha is None else average)


def change(*, rounds: int, times: int) -> Change:
    """The means of a tapped agent's residuals over two quarters of a run: what is kept cancels in their difference."""
    problems, quarter = regressions(times), rounds // 4
    run = solve(
        problems.problem,
        RING,
        algorithm("RSS-NB, anchored", "C5", 1.0, times=times),
        step=MOVING,
        rounds=rounds + 1,
        start=0.0,
        time_average=False,
        keep="transcript",
        progress=False,
    )
    found = residuals(run.view(threat="states"), TARGET)
    first, last = (
        np.mean([problems.problem.gradient(TARGET, v) for v in at], axis=0)
        for at in (found.at[:quarter], found.at[-quarter:])
    )
    seen_first, seen_last = found.values[:quarter].mean(axis=0), found.values[-quarter:].mean(axis=0)
    sd = found.fresh.sd
    return Change(
        rounds,
        size=problems.error(last, first),
        error=problems.error(seen_last - seen_first, last - first),
        foretold=float(np.sqrt(np.mean(sd[:quarter] ** 2 + sd[-quarter:] ** 2) / quarter) / problems.prior),
        offset_error=problems.error(seen_last, last),
    )
