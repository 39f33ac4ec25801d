"""What the tests of the theory share: the case of the published anchors, and short runs of it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket.problems.standard import PAPER_POLYNOMIALS

SQRT = hk.Power(1, 0, 0.5)
C5 = hk.Network.cycle(5)
START = [1, -1, 1, -1, 1]

_BOTH = {"n": 5, "L": 6, "N": 14, "delta": 1, "diameter": 2}
PAPER = _BOTH | {"rho": 0.25, "start_norm": 1, "start_spread": 1}
SPECTRAL = _BOTH | {"lam": C5.lam, "eta1_sq": 5, "phi1": 5**0.5}
NUMBERS = {"literal": PAPER, "corrected": PAPER, "spectral": SPECTRAL}


def without(numbers: dict[str, Any], *names: str) -> dict[str, Any]:
    """The same numbers less some."""
    return {name: value for name, value in numbers.items() if name not in names}


def small_polynomials() -> hk.Problem:
    """The paper's polynomials on [−1, 1], where L = 6 and N = 14."""
    return hk.polynomials(PAPER_POLYNOMIALS, box=(-1, 1))


def any_loss() -> hk.Problem:
    """A loss of which nothing is known."""
    return hk.Problem(lambda x, a: jnp.sum((x - a) ** 2), np.ones((5, 1)), feasible=hk.Ball(1.0), dim=1)


def kept(algorithm: hk.Algorithm, *, keep: str = "path", **how: Any) -> hk.Run:
    """50 rounds of the paper's polynomials on [−1, 1] and the ring, unless said otherwise."""
    how = {"problem": small_polynomials(), "network": C5, "step": SQRT, "start": START} | how
    return hk.solve(how.pop("problem"), how.pop("network"), algorithm, rounds=50, keep=keep, **how)
