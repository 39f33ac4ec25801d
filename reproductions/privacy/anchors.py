"""Persistent noise: noise that is drawn once, how it must be scaled, for how long it must be kept, and what it does
not do.

To see how persistent noise is scaled and kept, objectives are linear and sum to zero, so that gradients never change:
nothing suits averaging better. An eavesdropper receives all messages of a ring, and knows no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round
from hocket.algorithms import Dgd, RssNb
from hocket.engines.solver import solve
from hocket.privacy.attacks import residuals
from hocket.privacy.leakage.leakage import leakage
from hocket.privacy.profile import profile
from hocket.problems.problem import Problem
from hocket.problems.standard import polynomials
from hocket.runs.run import Run
from hocket.runs.view import View
from hocket.steps import Constant, Power, Step
from reproductions.polynomials.runs import STEP as USUAL_STEP
from reproductions.privacy.setting import AGENTS, NETWORKS, SHARE, TARGET, algorithm, regressions
from reproductions.tradeoff.noise_level import average_gap, swept

RING = NETWORKS["C5"]
COORDINATES = 200
"""Alike and apart: one run is as many experiments."""
STEPS: dict[str, Step] = {"α_k ∝ 1/k": Power(0.01, 0, 1), "α constant": Constant(0.01)}
PRIOR = 100.0
"""Next to nothing is known before."""
LENGTH = 300
"""Rounds of a run with a constant step α, times α: long enough to forget the start."""
MOVING = Constant(0.01)
"""From far away, so slowly that the first and the last quarter of a run differ."""


class AnchoredByOwnStep(RssNb):
    """RSS-NB with its persistent noise scaled by α_k, like fresh noise: what not to do.

    The gradient that the persistent noise should hide enters a message with α_{k−1}, so that their ratio tells the
    two apart."""

    def round(self, agent: Agent, x: Any, k: Any) -> Round:
        # Round 1 is unperturbed.
        w = agent.perturb(x, paired=agent.step(k), persistent=(k > 1) * agent.step(k))
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)


profile.add(profile(RssNb(1.0, persistent=SHARE)), AnchoredByOwnStep)
SCALINGS: dict[str, type[RssNb]] = {"α_{k−1}": RssNb, "α_k": AnchoredByOwnStep}
"""By what persistent noise is scaled, and an algorithm that does so."""


@dataclass(frozen=True, eq=False)
class Told:
    """The error of the best linear attack, predicted and measured, over rounds of one run or over many runs."""

    step: str
    persistent: float
    scaling: str
    """What the persistent noise is scaled by; empty without one."""
    kept: bool
    """Whether later runs have the same persistent noise as the first."""
    rounds: tuple[int, ...]
    runs: tuple[int, ...]
    foretold: Float[np.ndarray, " points"]
    measured: Float[np.ndarray, " points"]
    """The length of the error in units of Δ, root mean square over agents."""


@cache
def straight() -> tuple[Problem, Float[np.ndarray, "agents dim"]]:
    """Linear objectives that sum to zero, and their gradients."""
    slopes = np.random.default_rng(0).normal(size=(AGENTS, COORDINATES))
    slopes = slopes - slopes.mean(axis=0)
    rows = np.stack([np.zeros_like(slopes), slopes], axis=1)
    return polynomials(list(rows), box=(-50, 50), dim=COORDINATES), slopes


def over_rounds(step: str, persistent: float, scaling: str, *, rounds: tuple[int, ...]) -> Told:
    """One run, attacked after more and more rounds."""
    view = _play(step, persistent, scaling, rounds=max(rounds), seed=0).view(threat="states")
    measured = [_error([view.first_rounds(k + 1)], scaling, kept=True) for k in rounds]
    foretold = [_foretold(step, persistent, scaling, rounds=k) for k in rounds]
    once = (1,) * len(rounds)
    return Told(step, persistent, scaling, True, rounds, once, np.array(foretold), np.array(measured))


def over_runs(step: str, scaling: str, *, rounds: int, runs: tuple[int, ...]) -> list[Told]:
    """Runs on the same data, attacked together: with new persistent noise in every run, and with the first run's."""
    renewed = [_play(step, SHARE, scaling, rounds=rounds, seed=seed) for seed in range(max(runs))]
    kept = [renewed[0]]
    for run in renewed[1:]:
        assert run.transcript is not None
        fresh = run.transcript.noise["paired"]
        kept.append(_play(step, SHARE, scaling, rounds=rounds, seed=0, fresh=fresh))
    found = []
    for keep, played in ((True, kept), (False, renewed)):
        views = [run.view(threat="states") for run in played]
        measured = [_error(views[:count], scaling, kept=keep) for count in runs]
        foretold = [_foretold(step, SHARE, scaling, rounds=rounds, runs=count, kept=keep) for count in runs]
        length = (rounds,) * len(runs)
        found.append(Told(step, SHARE, scaling, keep, length, runs, np.array(foretold), np.array(measured)))
    return found


def _play(
    step: str, persistent: float, scaling: str, *, rounds: int, seed: int, fresh: np.ndarray | None = None
) -> Run:
    """A run whose persistent noise comes from the seed; so does fresh noise, unless that of another run is given."""
    kind = SCALINGS.get(scaling, RssNb)
    problem, _ = straight()
    return solve(
        problem,
        RING,
        kind(1.0, persistent=persistent, given=fresh),
        step=STEPS[step],
        rounds=rounds + 1,
        seed=seed,
        time_average=False,
        keep="transcript",
        progress=False,
    )


def _foretold(
    step: str, persistent: float, scaling: str, *, rounds: int, runs: int = 1, kept: bool = True
) -> float:
    found = leakage(
        RING,
        SCALINGS.get(scaling, RssNb)(1.0, persistent=persistent),
        rounds=rounds,
        threat="states",
        prior=PRIOR,
        step=STEPS[step],
        runs=runs,
        kept=kept,
        dim=COORDINATES,
    )
    return float(np.sqrt(COORDINATES * np.mean(found.sd**2)))


def _error(views: Sequence[View], scaling: str, *, kept: bool) -> float:
    _, slopes = straight()
    off = [
        estimate(views, agent, SCALINGS.get(scaling), kept=kept) - slopes[agent] for agent in range(AGENTS)
    ]
    return float(np.sqrt(COORDINATES * np.mean(np.square(off))))


def estimate(
    views: Sequence[View], target: int, scaling: type[RssNb] | None, *, kept: bool
) -> Float[np.ndarray, " dim"]:
    """A gradient from the residuals of several runs, by least squares that know how persistent noise enters and is
    spread.

    In a residual stand the gradient, the fresh noise of the next message, and the persistent noise times −1, or times
    −α_{k+1}/α_k where it is wrongly scaled.
    """
    seen = [residuals(view, target) for view in views]
    anchors = 0 if scaling is None else 1 if kept else len(views)
    normal = np.zeros((1 + anchors, 1 + anchors))
    right = np.zeros((1 + anchors, seen[0].values.shape[1]))
    for number, (view, found) in enumerate(zip(views, seen, strict=True)):
        assert view.step is not None
        alpha = view.step.table(1, view.rounds)
        design = np.zeros((len(found.rounds), 1 + anchors))
        design[:, 0] = 1.0
        if anchors:
            ratio = alpha[found.rounds] / alpha[found.rounds - 1]
            design[:, 1 if kept else 1 + number] = -1.0 if scaling is RssNb else -ratio
        weighted = design / found.fresh.sd[:, None] ** 2
        normal += weighted.T @ design
        right += weighted.T @ found.values
    if anchors:
        spread = np.sqrt((seen[0].kept[0] ** 2).sum(axis=0).mean())
        normal[1:, 1:] += np.eye(anchors) / spread**2
    return np.linalg.solve(normal, right)[0]


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
    """A gradient that changes under persistent noise, in units of a typical gradient; a row per problem."""

    rounds: int
    size: Float[np.ndarray, " problems"]
    """By how much the gradient's mean changes from the first quarter of the run to the last."""
    error: Float[np.ndarray, " problems"]
    """By how much the change is missed."""
    foretold: float
    offset_error: Float[np.ndarray, " problems"]
    """By how much the gradient itself is missed in the last quarter."""


def bias(delta: float, alpha: float | None, *, rounds: int, seeds: int) -> Bias:
    """Gaps of DGD, of fresh noise, and of persistent noise, from the optimum on; a decaying step without α."""
    problem = regressions(1)
    step: Step = USUAL_STEP if alpha is None else Constant(alpha)
    last, average = {}, {}
    contenders: dict[str, Algorithm] = {
        "DGD": Dgd(),
        "RSS-NB": RssNb(delta),
        "RSS-NB, persistent": RssNb(delta, persistent=SHARE),
    }
    for name, contender in contenders.items():
        many = 1 if name == "DGD" else seeds  # nothing in DGD is random
        runs = swept(problem.problem, contender, step=step, rounds=rounds, start=problem.optimum, seeds=many)
        last[name] = float(np.median(runs.gap))
        average[name] = float(np.median(average_gap(problem.problem, runs)))
    words = "α decaying" if alpha is None else f"α = {alpha:g}"
    return Bias(delta, words, rounds, last, None if alpha is None else average)


def change(*, rounds: int, times: int) -> Change:
    """The means of an eavesdropped agent's residuals over two quarters of a run: what is kept cancels in their
    difference."""
    problems, quarter = regressions(times), rounds // 4
    run = solve(
        problems.problem,
        RING,
        algorithm("RSS-NB, persistent", "C5", 1.0, times=times),
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
