"""How much noise a wanted uncertainty takes, how much of it to reuse in every round, and what it costs in rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hocket.algorithms import RssNb
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.network import Network
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import TAKEN, leakage
from hocket.privacy.profile import profile
from hocket.privacy.questions import Adversary, Horizon, Objectives, Question
from hocket.privacy.wording import counted, judged, named
from hocket.problems.problem import Problem
from hocket.steps import Step

SHARES = (0.0, 0.5, 0.9)
"""Shares of the noise to try, from none on; at 1 nothing would change from round to round."""
DOUBLINGS = 40
LONGEST = 10**6
"""Rounds beyond which a price is no longer looked for: the bound sums over all of them."""


@dataclass(frozen=True, eq=False)
class NoisePlan:
    """The least noise with which RSS-NB leaves everybody as uncertain as wanted, by its persistent share."""

    wanted: float
    algorithm: RssNb
    leakage: Leakage
    considered: tuple[tuple[float, float | None], ...]
    """Every share tried, with the Δ that it needs; None where no Δ does."""
    dim: int
    """Numbers of a state, over which the noise is dealt."""
    gradient_size: float
    """What the wanted uncertainty is held against."""
    price: float | None
    """Rounds for one of DGD's, for the same bound on the gap; infinite beyond a million, None without a problem."""

    def __str__(self) -> str:
        best = self.algorithm
        persistent = f"persistent={best.persistent:g}" if best.persistent else "no persistent noise"
        lines = [
            f"RSS-NB with delta={best.delta:.4g} and {persistent} for states of {counted(self.dim, 'number')} "
            f"leaves every gradient that stays the same uncertain by {judged(self.wanted, self.gradient_size)}, or "
            f"more, after {counted(self.leakage.rounds, 'round')}"
        ]
        lines += [
            f"with persistent={share:g} it takes delta={delta:.4g}"
            if delta
            else f"with persistent={share:g} no noise does"
            for share, delta in self.considered
            if share != best.persistent
        ]
        if self.price is not None:
            times = f"about {self.price:.3g}" if math.isfinite(self.price) else "too many to count"
            lines.append(
                f"price: {times} rounds for one of DGD's by the spectral bound, which is far from tight"
            )
        return "\n".join([*lines, profile(best).caveat])

    def to_json(self) -> dict[str, Any]:
        """The plan in numbers."""
        return {
            "wanted": self.wanted,
            "delta": self.algorithm.delta,
            "dim": self.dim,
            "persistent": self.algorithm.persistent,
            "considered": [{"persistent": share, "delta": delta} for share, delta in self.considered],
            "sd": self.leakage.sd.tolist(),
            "rounds": self.leakage.rounds,
            "price": self.price if self.price is not None and math.isfinite(self.price) else None,
        }


def plan_noise(
    network: Network,
    wanted: float,
    *,
    adversary: Adversary | None = None,
    horizon: Horizon | None = None,
    objectives: Objectives | None = None,
    **plain: Any,
) -> NoisePlan:
    """The Δ and the persistent share for RSS-NB that leave every gradient that stays the same uncertain by ±`wanted`.
    For RSS-NB, which no theorem covers and which hides slopes only; with a problem it also says what that costs in
    rounds. Noise is dealt over all `dim` numbers of a state. Persistent noise biases runs with a constant step a
    little, so it is left out where fresh noise does as well. `plain` are fields of the other arguments.
    """
    parts = {"adversary": adversary, "horizon": horizon, "objectives": objectives}
    asked = Question.of(
        "plan_noise", TAKEN - {"sigma", "persistent"} | {"problem", "gradient_size"}, plain, **parts
    )
    who, known = asked.adversary, asked.objectives
    if not 0 < wanted < who.prior:
        raise BadInput(
            f"wanted = {wanted!r}; give a standard deviation above zero and below the prior's, {who.prior:g}"
        )
    if asked.horizon.steps is None:
        raise BadInput("how much noise it takes depends on the steps; say which: step=")

    def foresee(delta: float, persistent: float) -> Leakage:
        algorithm, about = RssNb(delta, persistent=persistent), Objectives(dim=known.dim)
        return leakage(network, algorithm, adversary=who, horizon=asked.horizon, objectives=about)

    exposed = foresee(who.prior, 0.5).exact
    if exposed:  # by rank, whatever the noise
        raise BadAlgorithm(
            f"no noise of RSS-NB hides {named(exposed)} from this adversary, who shares all of it; give them links to "
            "other honest agents, or plan for fewer colluders"
        )
    considered = []
    for persistent in SHARES:
        needed = _least(
            lambda delta, persistent=persistent: foresee(delta, persistent).least >= wanted, guess=wanted
        )
        considered.append((persistent, needed))
    able = [(delta, persistent) for persistent, delta in considered if delta is not None]
    if not able:
        raise BadAlgorithm(
            f"no noise of RSS-NB up to delta = {wanted * 2.0**DOUBLINGS:.1e} leaves everybody uncertain by "
            f"±{wanted:g}; want less, or plan for fewer rounds"
        )
    delta, persistent = min(able)
    best, found = RssNb(delta, persistent=persistent), foresee(delta, persistent)
    how: dict[str, Any] = {"rounds": found.rounds, "step": asked.horizon.steps}
    return NoisePlan(
        wanted=wanted,
        algorithm=best,
        leakage=found,
        considered=tuple(considered),
        dim=known.dim or 1,
        gradient_size=known.size,
        price=None if known.problem is None else price_in_rounds(known.problem, network, best, **how),
    )


def price_in_rounds(
    problem: Problem, network: Network, algorithm: RssNb, *, rounds: int, step: Step
) -> float:
    """By how many times the rounds grow to the spectral bound that the same plan has without noise."""
    from hocket.theory import finite_time

    def bound(algorithm: RssNb, rounds: int) -> float:
        return finite_time("spectral", problem, network, algorithm, rounds=rounds, step=step).value

    goal = bound(RssNb(0.0), rounds)
    times = _least(
        lambda times: bound(algorithm, int(rounds * times)) <= goal, guess=1.0, most=LONGEST / rounds
    )
    return math.inf if times is None else times


def _least(enough: Callable[[float], bool], *, guess: float, most: float = float("inf")) -> float | None:
    """The least positive number, to one part in a hundred, with which a monotone condition holds; None if none does."""
    low, high = 0.0, guess
    for _ in range(DOUBLINGS):
        if enough(high):
            break
        low, high = high, 2 * high
        if high > most:
            return None
    else:
        return None
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
        if high < 1e-9 * guess:
            break
    return high
