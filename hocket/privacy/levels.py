"""How much noise a plan deals, as standard deviations: what the linear-Gaussian estimate needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Plan
from hocket.algorithms import Dgd, FunctionSharing, IndependentNoise, RssLb, RssNb
from hocket.errors import BadInput, NoTheorem
from hocket.network import Network
from hocket.steps import Step

NAMES = ("dgd", "rss-nb", "rss-lb", "function-sharing", "independent")
Kind = Literal["paired", "balanced", "own"]


@dataclass(frozen=True)
class Levels:
    """The standard deviation, per coordinate, of everything that is drawn."""

    name: str
    kind: Kind
    """How fresh noise is dealt: in pairs, balanced by each agent, or by each agent alone."""
    first: int
    """The first round with fresh noise."""
    fresh_sd: Float[np.ndarray, "phases links"]
    """Of one directed draw."""
    balanced_sd: Float[np.ndarray, "phases agents"]
    """Of one raw draw before balancing."""
    own_sd: float
    offset: Literal["anchor", "function"] | None
    """What was drawn once: an anchor added to the words, or a noise function added to the objective."""
    offset_sd: Float[np.ndarray, " links"]
    """Of one directed draw."""


def named_levels(network: Network, name: str, *, sigma: float, anchor_sigma: float) -> Levels:
    """The same level on every link, for an algorithm by name."""
    if name not in NAMES:
        raise BadInput(
            f"unknown algorithm {name!r}; choose one of {', '.join(NAMES)}, or pass the algorithm itself"
        )
    for what, value in (("sigma", sigma), ("anchor_sigma", anchor_sigma)):
        if not (np.isfinite(value) and value >= 0):
            raise BadInput(f"{what} = {value!r}; a standard deviation is zero or more")
    if anchor_sigma and name != "rss-nb":
        raise BadInput(f"anchor_sigma = {anchor_sigma:g}: only rss-nb has anchors; leave it away for {name}")
    links = np.ones(len(network.links))
    kinds: dict[str, Any] = {"rss-lb": "balanced", "independent": "own"}
    offsets: dict[str, Any] = {"rss-nb": "anchor" if anchor_sigma else None, "function-sharing": "function"}
    offset = offsets.get(name)
    return Levels(
        name=name,
        kind=kinds.get(name, "paired"),
        first=2 if name == "rss-nb" else 1,
        fresh_sd=network.active * (sigma if name == "rss-nb" else 0.0),
        balanced_sd=np.full((network.period, network.n), sigma if name == "rss-lb" else 0.0),
        own_sd=sigma if name == "independent" else 0.0,
        offset=offset,
        offset_sd=links * {"anchor": anchor_sigma, "function": sigma, None: 0.0}[offset],
    )


def planned_levels(network: Network, algorithm: Algorithm, *, dim: int, step: Step, rounds: int) -> Levels:
    """What an algorithm with its own Δ or bound deals under this plan."""
    algorithm = algorithm.effective()
    plan = Plan(network, dim, step, rounds)
    algorithm.check(plan)
    draws = algorithm.draws(plan)
    silent = named_levels(network, "dgd", sigma=0.0, anchor_sigma=0.0)
    match algorithm:
        case Dgd():
            return silent
        case RssNb():
            fresh = replace(silent, name="rss-nb", first=2, fresh_sd=silent.fresh_sd + draws["paired"].sd)
            if "anchor" not in draws:
                return fresh
            return replace(fresh, offset="anchor", offset_sd=draws["anchor"].sd[0])
        case RssLb():
            balanced = silent.balanced_sd + draws["balanced"].sd
            return replace(silent, name="rss-lb", kind="balanced", balanced_sd=balanced)
        case FunctionSharing():
            sd = _slope(algorithm) * draws["function"].sd[0]
            return replace(silent, name="function-sharing", offset="function", offset_sd=sd)
        case IndependentNoise():
            return replace(silent, name="independent", kind="own", own_sd=float(draws["own"].sd))
    raise NoTheorem(
        f"no leakage model covers {type(algorithm).__name__}, only {', '.join(NAMES)}; attack a view of a run of it "
        "instead, with hocket.privacy.attacks"
    )


def _slope(algorithm: FunctionSharing) -> float:
    """By how much a noise function's coefficients, at unit deviation, tilt the objective.

    Of polynomials that is where x is zero, and more elsewhere. Of waves it is the same everywhere: each frequency m
    comes as a cosine and a sine, whose slopes' squares add up to m².
    """
    if algorithm.family != "cosine":
        return 1.0
    return float(np.sqrt(np.sum(np.arange(1, algorithm.degree + 1) ** 2)))
