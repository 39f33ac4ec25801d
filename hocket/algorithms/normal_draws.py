"""Normal draws in place of uniform ones: how wide they may be for a bound to hold with probability 1 − failure.

Uniform draws keep their bound for certain, but have edges, which give a patient listener more than their variance
does. Normal draws have none. Their bound may be broken somewhere in a run with probability `failure` at most: each of
the events that would break it gets an equal share of that.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.special

from hocket.errors import BadAlgorithm

Distribution = Literal["uniform", "gaussian"]
LONGEST_RUN = 1 << 30
"""Rounds that a promise about a whole run is made for: more than any run may have, so that a run that is taken up
again for more rounds goes on with the same noise. Beside a million rounds that costs a tenth of the noise at most."""


def check_distribution(distribution: str, failure: Any) -> None:
    """Refuse an unknown distribution, or a probability that is none."""
    if distribution not in ("uniform", "gaussian"):
        raise BadAlgorithm(
            f"distribution = {distribution!r}; choose 'uniform', bounded for certain, or 'gaussian', without edges"
        )
    if isinstance(failure, float | int) and not 0 < failure < 1:
        raise BadAlgorithm(
            f"failure = {failure}; it is the probability that noise exceeds its bound: choose it above 0, far below 1"
        )


def sd_within_norm(dim: int, *, events: int, failure: float) -> float:
    """The deviation per coordinate with which none of `events` normal vectors is longer than 1, save with `failure`."""
    return float(1 / np.sqrt(2 * scipy.special.gammainccinv(dim / 2, failure / events)))


def sd_within_bound(*, events: int, failure: float) -> float:
    """The deviation with which none of `events` normal numbers exceeds 1 in magnitude, save with `failure`."""
    return float(-1 / scipy.special.ndtri(failure / events / 2))
