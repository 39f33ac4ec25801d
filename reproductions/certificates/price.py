"""What a certificate costs: noise on the sum, by formula and by runs, and against σ/τ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithms import FunctionSharing
from hocket.engines.sweep import sweep
from hocket.networks.network import Network
from hocket.privacy import gdp
from hocket.privacy.dp.calibrate import Price, noise_at_worst
from hocket.privacy.dp.certify import certify
from hocket.problems.standard import polynomials
from hocket.steps import Constant

EPSILON, DELTA = 1.0, 1e-5
SENSITIVITY, BENT = 1.0, 100.0
CENTRES = (1.0, -0.5, 2.0, 0.0, 0.5)
"""f_j = ½ (x − c_j)²: alike in curvature, so that the mean of all agents descends the sum exactly."""
STEP, ROUNDS = Constant(0.5), 60
"""The mean comes within 2^−60 of where it goes."""
RATIOS = tuple(np.geomspace(0.3, 30.0, 21).tolist())


@dataclass(frozen=True, eq=False)
class Row:
    """One way to the same ε, by formula and by runs."""

    name: str
    sigma: float
    own: float
    mu: float
    runs: int
    noise: float
    """The deviation of noise on the sum, by formula."""
    measured_noise: float
    excess: float
    """E Σf(x) − min Σf, by formula: the square of that noise over twice the curvature of Σf."""
    measured_excess: float
    rounds: float
    """That make the gap ten times smaller, if noise is on curvatures too."""

    @property
    def epsilon(self) -> float:
        return gdp.epsilon(self.mu, DELTA)


@dataclass(frozen=True)
class Noise:
    """One way to the same ε: how much of which noise."""

    name: str
    network: Network
    sigma: float
    own: float
    mu: float


def ways() -> list[Noise]:
    """A server, two amounts of noise between neighbours on a ring, a complete graph, and everybody for itself.

    A server's noise is played as own noise with the same sum; then links have none.
    """
    goal = gdp.mu(EPSILON, DELTA)
    alone, ring, complete = SENSITIVITY / goal, Network.cycle(5), Network.complete(5)
    return [
        Noise("central", ring, 0.0, alone / math.sqrt(5), goal),
        _certified("ring of 5, σ = 3τ", ring, 3.0),
        _certified("ring of 5, σ = 10τ", ring, 10.0),
        Noise("local", ring, 0.0, alone, goal),
        _certified("complete graph of 5, σ = 10τ", complete, 10.0),
    ]


def _certified(name: str, network: Network, ratio: float) -> Noise:
    """Against any one insider."""
    asked: dict[str, Any] = {"colluders": 1, "sensitivity": SENSITIVITY}
    own = certify(network, "function-sharing", sigma=ratio, independent=1.0, **asked).mu / gdp.mu(
        EPSILON, DELTA
    )
    mu = certify(network, "function-sharing", sigma=ratio * own, independent=own, **asked).mu
    return Noise(name, network, ratio * own, own, mu)


def rounds(one: Noise) -> float:
    """To a tenth of the gap, if noise were on curvatures too and an agent's own is BENT."""
    n, alone, at_worst = one.network.n, SENSITIVITY / one.mu, noise_at_worst(one.network, one.sigma)
    price = Price(one.own * math.sqrt(n), alone, math.sqrt(n) * alone, at_worst, 1 - one.network.lam)
    return price.rounds([bend / BENT for bend in price.curvature(1, n)])[one.name == "central"]


def five_rows(runs: int) -> list[Row]:
    """All ways, by formula and by so many runs of function sharing, on the same seeds."""
    every = ways()
    on = {name: [one for one in every if one.network.name == name] for name in ("cycle:5", "complete:5")}
    found = {
        one.name: row for some in on.values() for one, row in zip(some, _played(some, runs), strict=True)
    }
    order = ("central", "complete graph of 5, σ = 10τ", "ring of 5, σ = 10τ", "ring of 5, σ = 3τ", "local")
    return [found[name] for name in order]


def _played(some: list[Noise], runs: int) -> list[Row]:
    """Those on one network, in one compiled program: every σ with every τ, of which the pairs are taken."""
    network, n = some[0].network, some[0].network.n
    sigmas, owns = sorted({one.sigma for one in some}), sorted({one.own for one in some})
    found = sweep(
        polynomials([[0.0, -c, 0.5] for c in CENTRES], box=(-1e6, 1e6)),
        network,
        FunctionSharing(1, sd=1.0, own=1.0, family="linear"),
        rounds=ROUNDS,
        seeds=range(runs),
        step=STEP,
        start=0.0,
        time_average=False,
        progress=False,
        sd=sigmas,
        own=owns,
    )
    rows = []
    for one in some:
        mine = found.x[sigmas.index(one.sigma), owns.index(one.own)]
        off, noise = mine.mean(axis=(1, 2)) - np.mean(CENTRES), one.own * math.sqrt(n)
        rows.append(
            Row(
                one.name,
                one.sigma,
                one.own,
                one.mu,
                runs,
                noise,
                float(np.sqrt(np.mean((n * off) ** 2))),
                noise**2 / (2 * n),
                float(np.mean(n * off**2 / 2)),
                rounds(one),
            )
        )
    return rows


@dataclass(frozen=True, eq=False)
class OverCentral:
    """Noise on the average over a server's, against σ/τ."""

    network: str
    agents: int
    colluders: int
    ratios: tuple[float, ...]
    over: Float[np.ndarray, " ratios"]

    @property
    def limit(self) -> float:
        """What it comes down to with endless noise between neighbours."""
        return math.sqrt(self.agents / (self.agents - self.colluders))


GRAPHS = (
    (Network.cycle(5), 1),
    (Network.cycle(16), 1),
    (Network.harary(4, 16), 2),
    (Network.complete(16), 2),
)


def over_central(network: Network, colluders: int, ratios: tuple[float, ...] = RATIOS) -> OverCentral:
    """√(nκ) τ for every σ/τ."""
    kappa = [
        certify(
            network, "function-sharing", colluders=colluders, sigma=ratio, independent=1.0, sensitivity=1.0
        ).mu
        ** 2
        for ratio in ratios
    ]
    return OverCentral(network.name, network.n, colluders, ratios, np.sqrt(network.n * np.array(kappa)))
