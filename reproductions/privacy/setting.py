"""What is attacked: logistic regression at its optimum, five agents, six algorithms, and who looks at them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, IndependentNoise, RssLb, RssNb
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball
from hocket.runs.view import Threat
from hocket.steps import Power

AGENTS, SAMPLES, DIM = 5, 30, 10
L2 = 0.1
TARGET = 0
"""On the ring its neighbours are 1 and 4."""
STEP = Power(0.01, 20, 0.75)
"""Noise is scaled by the step, and so is what is received: small steps hide as much, and keep gradients still."""
SHARE = 0.9
"""The persistent share of the noise."""
DELTAS = (1.0, 10.0)
NETWORKS = {"C5": Network.cycle(AGENTS), "K5": Network.complete(AGENTS)}
ALGORITHMS = ("DGD", "RSS-NB", "RSS-LB", "FS", "independent noise", "RSS-NB, persistent")


@dataclass(frozen=True, eq=False)
class Regressions:
    """Many logistic regressions side by side in one state, each with data of its own: one run is many experiments.

    Nothing couples them, and each coordinate has noise of its own, so that they differ like runs with different seeds.
    """

    problem: Problem
    optimum: Float[np.ndarray, " dim"]
    gradients: Float[np.ndarray, "agents problems dim"]
    """∇f_j(x*): by how much each agent disagrees with the others. They sum to zero over the agents."""

    @property
    def times(self) -> int:
        """How many there are."""
        return self.gradients.shape[1]

    @property
    def prior(self) -> float:
        """The root mean square of a gradient's coordinate: all that is believed before anything is received."""
        return float(np.sqrt(np.mean(self.gradients**2)))

    def error(self, estimate: Any, truth: Any) -> Float[np.ndarray, " problems"]:
        """How far off an estimate is, in units of a typical gradient's length: a guess of zero is off by about 1."""
        off = np.reshape(estimate - np.reshape(truth, np.shape(estimate)), (self.times, DIM))
        return np.linalg.norm(off, axis=1) / (self.prior * np.sqrt(DIM))


@cache
def regressions(times: int) -> Regressions:
    """Agents whose labels follow rules of their own, so that at the optimum everybody's gradient is far from zero."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(AGENTS, times, SAMPLES, DIM))
    labels = np.sign(np.einsum("jtsd,jtd->jts", features, rng.normal(size=(AGENTS, times, DIM))))
    problem = Problem(_losses, (features, labels), feasible=Ball(50.0), dim=times * DIM, convex=True)
    assert problem.best is not None
    optimum = np.asarray(problem.best.x)
    gradients = np.stack([problem.gradient(j, optimum) for j in range(AGENTS)])
    return Regressions(problem, optimum, gradients.reshape(AGENTS, times, DIM))


def _losses(x: Any, samples: Any) -> Any:
    features, labels = samples
    margins = labels * jnp.einsum("tsd,td->ts", features, x.reshape(-1, DIM))
    return jnp.logaddexp(0.0, -margins).mean(axis=1).sum() + L2 * (x @ x) / 2


def algorithm(name: str, network: str, delta: float, *, times: int = 1) -> Algorithm:
    """An algorithm at noise level Δ for each of so many problems side by side.

    Of function sharing one draw is as large as one of RSS-NB's, so that both begin with the same uncertainty.
    """
    whole = delta * np.sqrt(times)  # the bound is on the norm over all coordinates
    degree = len(NETWORKS[network].neighbours(TARGET))
    match name:
        case "DGD":
            return Dgd()
        case "RSS-NB":
            return RssNb(whole)
        case "RSS-LB":
            return RssLb(whole)
        case "FS":
            return FunctionSharing(1, delta / (2 * degree * np.sqrt(DIM)), family="linear")
        case "independent noise":
            return IndependentNoise(delta / math.sqrt(3 * DIM))
        case _:
            return RssNb(whole, persistent=SHARE)


@dataclass(frozen=True)
class Sight:
    """Somebody who looks at a run."""

    title: str
    network: str
    coalition: frozenset[int]
    threat: Threat = "coalition"


SIGHTS = (
    Sight("C5: one neighbour", "C5", frozenset({1})),
    Sight("K5: one neighbour", "K5", frozenset({1})),
    Sight("C5: an eavesdropper on all links", "C5", frozenset(), "states"),
    Sight("C5: both neighbours", "C5", frozenset({1, 4})),
)
"""On K5 one agent receives everybody."""
