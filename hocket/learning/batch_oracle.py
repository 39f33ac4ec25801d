"""Which algorithms take every gradient through small batches, clipping and DP-SGD's noise: a closed list.

An algorithm that calls `agent.descend` once in a round does; one that calls `agent.gradient` asks for the exact
gradient of all records, and sees none of these. Nothing in an algorithm can say so of itself: a type is on the list
because a test has trained it and found the noise in its states, and another record's move within the bound.
"""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.algorithms import (
    Centralised,
    CertifiedRssNb,
    Choco,
    Dgd,
    FunctionSharing,
    IndependentNoise,
    JointAverage,
    RssLb,
    RssNb,
)
from hocket.claims import rewritten
from hocket.errors import BadAlgorithm
from hocket.learning.baselines import Alone

VERIFIED: frozenset[type[Algorithm]] = frozenset(
    {Alone, Centralised, CertifiedRssNb, Choco, Dgd, IndependentNoise, JointAverage, RssLb, RssNb}
)
"""Exact types: a subclass may step in another way."""
NAMES = (
    "Dgd, RssNb, RssLb, FunctionSharing without inner=, CertifiedRssNb, JointAverage, IndependentNoise, Choco, "
    "Centralised"
)


def uses_batches(algorithm: Algorithm) -> bool:
    """Whether every gradient that it takes goes through batches, clipping and noise."""
    if rewritten(algorithm):  # of an instance, or of a class, in which somebody has put other code
        return False
    if type(algorithm) is FunctionSharing:
        return type(algorithm.inner) is Dgd and algorithm.grid is None
    return any(type(algorithm) is one for one in VERIFIED)  # a class may say that it is equal to another


def check_batches(
    algorithm: Algorithm, *, private: bool, clip: bool, momentum: float, batch: bool, local_steps: int | None
) -> None:
    """Refuse what would change nothing, first of all what would promise privacy; `batch` says whether it was given."""
    if uses_batches(algorithm):
        return
    asked = {
        "private=": private,
        "clip=": clip,
        f"momentum={momentum:g}": bool(momentum),
        "batch=": batch,
        f"local_steps={local_steps}": local_steps not in (None, 1),
    }
    given = [name for name, there in asked.items() if there]
    if not given:
        return
    adds = "; nothing would be clipped and no noise added" if private or clip else ""
    raise BadAlgorithm(
        f"{given[0]} has no effect with {named(algorithm)}, which takes exact gradients of all records by itself, or "
        f"has not been verified to do otherwise{adds}. Leave {' and '.join(given)} out, or train with one of {NAMES}"
    )


def named(algorithm: Algorithm) -> str:
    """The algorithm as it would be typed, as far as that matters here."""
    name = type(algorithm).__name__
    if type(algorithm) is not FunctionSharing:
        return name
    return (
        f"{name}(inner={type(algorithm.inner).__name__}(…))" if algorithm.grid is None else f"{name}(grid=…)"
    )
