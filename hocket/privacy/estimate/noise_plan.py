"""How much noise a wanted uncertainty takes, whether to anchor it, and what it costs in rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hocket.algorithms import ANCHORED
from hocket.errors import BadAlgorithm, BadInput
from hocket.networks.network import Network
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.wording import SUPPOSED, counted, judged, named
from hocket.problems.problem import Problem
from hocket.runs.view import Threat
from hocket.steps import Number, Step, as_step

ANCHORS = (0.0, 0.5, 0.9)
"""Shares of the noise to try, from none on; at 1 nothing would change from round to round."""
DOUBLINGS = 40
LONGEST = 10**6
"""Rounds beyond which a price is no longer looked for: the bound sums over all of them."""


@dataclass(frozen=True, eq=False)
class NoisePlan:
    """The least noise with which RSS-NB leaves everybody as uncertain as wanted, by share of the anchor."""

    wanted: float
    algorithm: ANCHORED
    leakage: Leakage
    considered: tuple[tuple[float, float | None], ...]
    """Every anchor tried, with the Δ that it needs; None where no Δ does."""
    dim: int
    """Numbers of a state, over which the noise is dealt."""
    gradient_size: float
    """What the wanted uncertainty is held against."""
    price: float | None
    """Rounds for one of DGD's, for the same bound on the gap; infinite beyond a million, None without a problem."""

    def __str__(self) -> str:
        best = self.algorithm
        anchor = f"anchor={best.anchor:g}" if best.anchor else "no anchor"
        lines = [
            f"RSS-NB with delta={best.delta:.4g} and {anchor} for states of {counted(self.dim, 'number')} leaves every "
            f"gradient that stays the same uncertain by {judged(self.wanted, self.gradient_size)}, or more, after "
            f"{counted(self.leakage.rounds, 'round')}"
        ]
        lines += [
            f"with an anchor of {share:g} it takes delta={delta:.4g}"
            if delta
            else f"with an anchor of {share:g} no noise does"
            for share, delta in self.considered
            if share != best.anchor
        ]
        if self.price is not None:
            times = f"about {self.price:.3g}" if math.isfinite(self.price) else "too many to count"
            lines.append(
                f"price: {times} rounds for one of DGD's by the spectral bound, which is far from tight"
            )
        return "\n".join([*lines, best.caveat])

    def to_json(self) -> dict[str, Any]:
        """The plan in numbers."""
        return {
            "wanted": self.wanted,
            "delta": self.algorithm.delta,
            "dim": self.dim,
            "anchor": self.algorithm.anchor,
            "considered": [{"anchor": share, "delta": delta} for share, delta in self.considered],
            "sd": self.leakage.sd.tolist(),
            "rounds": self.leakage.rounds,
            "price": self.price if self.price is not None and math.isfinite(self.price) else None,
        }


def plan_noise(
    network: Network,
    wanted: float,
    *,
    rounds: int,
    coalition: Iterable[int] = (),
    threat: Threat = "coalition",
    step: Step | Number,
    dim: int = 1,
    prior: float = 100.0,
    gradient_size: float = SUPPOSED,
    problem: Problem | None = None,
    **plan: Any,
) -> NoisePlan:
    """The Δ and the anchor for RSS-NB with which no gradient that stays the same is known better than ±`wanted`.
    For RSS-NB, which no theorem covers and which hides slopes only; with a problem it also says what that costs in
    rounds. Noise is dealt over all `dim` numbers of a state. An anchor biases runs with a constant step a little, so it
    is left out where fresh noise does as well.
    """
    step = as_step(step)
    if not 0 < wanted < prior:
        raise BadInput(
            f"wanted = {wanted!r}; give a standard deviation above zero and below the prior's, {prior:g}"
        )
    members = frozenset(coalition)

    def foresee(delta: float, anchor: float) -> Leakage:
        return leakage(
            network,
            ANCHORED(delta, anchor=anchor),
            rounds=rounds,
            coalition=members,
            threat=threat,
            step=step,
            dim=dim,
            prior=prior,
            **plan,
        )

    exposed = foresee(prior, 0.5).exact
    if exposed:  # by rank, whatever the noise
        raise BadAlgorithm(
            f"no noise of RSS-NB hides {named(exposed)} from this listener, who shares all of it; give them links to "
            "other honest agents, or plan for fewer colluders"
        )
    considered = []
    for anchor in ANCHORS:
        needed = _least(lambda delta, anchor=anchor: foresee(delta, anchor).least >= wanted, guess=wanted)
        considered.append((anchor, needed))
    able = [(delta, anchor) for anchor, delta in considered if delta is not None]
    if not able:
        raise BadAlgorithm(
            f"no noise of RSS-NB up to delta = {wanted * 2.0**DOUBLINGS:.1e} leaves everybody uncertain by "
            f"±{wanted:g}; want less, or plan for fewer rounds"
        )
    delta, anchor = min(able)
    best = ANCHORED(delta, anchor=anchor)
    return NoisePlan(
        wanted=wanted,
        algorithm=best,
        leakage=foresee(delta, anchor),
        considered=tuple(considered),
        dim=dim,
        gradient_size=gradient_size,
        price=None if problem is None else price_in_rounds(problem, network, best, rounds=rounds, step=step),
    )


def price_in_rounds(
    problem: Problem, network: Network, algorithm: ANCHORED, *, rounds: int, step: Step
) -> float:
    """By how many times the rounds grow to the spectral bound that the same plan has without noise."""
    from hocket.theory import finite_time

    def bound(algorithm: ANCHORED, rounds: int) -> float:
        return finite_time("spectral", problem, network, algorithm, rounds=rounds, step=step).value

    goal = bound(ANCHORED(0.0), rounds)
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
