"""DECOR's published settings against insiders, and its experiment on quadratics at the same true ε.

DECOR [Allouah et al., ICML 2024] adds pairwise and own noise to clipped gradients. Its settings for ε = 10 (16 users,
3,500 rounds, clip 1, δ = 1e-5, whole users protected) were found by a search with an accountant that counts no insider.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from hocket.algorithms import CertifiedRssNb
from hocket.engines.sweep import Sweep, sweep
from hocket.networks.network import Network
from hocket.privacy import gdp
from hocket.privacy.dp.calibrate import plan_certificate
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.problems.problem import Problem
from hocket.problems.sets import Ball
from hocket.problems.standard import logistic
from hocket.steps import Constant, Power, Step

USERS, DIM, ROUNDS, CLIP, DELTA = 16, 10, 3500, 1.0, 1e-5
STEP = Constant(1.668e-3)
"""As published."""
FALLING = Power(2.5 * STEP.a * 400**0.75, 400, 0.75)
"""2.5 times as large at first, and a half of it at the end: late noise counts for less."""
SLACK = {"ring": 0.3, "torus": 0.1, "complete": 0.1}
"""How near own noise comes to its least: on a ring what is near takes so much between neighbours that they disagree."""
INSIDERS = (0, 1, 2)


def torus() -> Network:
    """Four by four, joined at the edges."""
    ends: set[tuple[int, int]] = set()
    for r, c in itertools.product(range(4), repeat=2):
        for other in (4 * r + (c + 1) % 4, 4 * ((r + 1) % 4) + c):
            ends.add((min(4 * r + c, other), max(4 * r + c, other)))
    return Network(sorted(ends), n=USERS, weights="metropolis", name="torus")


@dataclass(frozen=True)
class Published:
    """A setting that was published for ε = 10."""

    name: str
    network: Network
    own: float
    between: float
    """The deviation of a link's noise; here a link has two draws."""

    @property
    def sigma(self) -> float:
        return self.between / math.sqrt(2)

    def against(self, insiders: int) -> Certificate:
        """What it is worth against so many insiders: all that a user does is protected, replaced by anything."""
        return certify(
            self.network,
            "certified-rss-nb",
            colluders=insiders,
            sigma=self.sigma,
            independent=self.own,
            sensitivity=2 * CLIP,
            rounds=ROUNDS,
        )


def published() -> tuple[Published, ...]:
    """Ring, torus and complete graph."""
    return (
        Published("ring", Network.cycle(USERS, weights="metropolis"), 22.96953, 94.0),
        Published("torus", torus(), 22.96953, 47.0),
        Published("complete", Network.complete(USERS, weights="metropolis"), 17.8271, 32.0),
    )


@dataclass(frozen=True)
class Insiders:
    """One setting against 0, 1 and 2 insiders."""

    name: str
    as_converted: tuple[float, ...]
    """ε as DECOR converts it."""
    exact: tuple[float, ...]


def insiders(setting: Published) -> Insiders:
    """ε of a published setting."""
    mus = [setting.against(one).mu for one in INSIDERS]
    return Insiders(
        setting.name,
        tuple(gdp.epsilon_by_concentration(mu, DELTA) for mu in mus),
        tuple(gdp.epsilon(mu, DELTA) for mu in mus),
    )


def quadratics() -> Problem:
    """As in DECOR's code: f_j = ½ ‖(j/4) x − b_j‖², b_j ~ N(0, 1/j²), j = 1 … 16."""
    scale, targets = _quadratics()

    def loss(x: Any, data: Any) -> Any:
        a, b = data
        return jnp.sum((a * x - b) ** 2) / 2

    return Problem(loss, (scale, targets), feasible=Ball(1e3), dim=DIM)


def _quadratics() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.arange(1, USERS + 1) / math.sqrt(USERS), rng.normal(size=(USERS, DIM)) / np.arange(
        1, USERS + 1
    )[:, None]


def a9a_like() -> Problem:
    """Logistic regression on sparse yes-or-no features, 14 of 40 at a time, 100 records a user: the shape of a9a."""
    rng = np.random.default_rng(1)
    dim, records, often = 40, 100, 14
    features = np.zeros((USERS, records, dim))
    for row in features.reshape(-1, dim):
        row[rng.choice(dim, often, replace=False)] = 1 / math.sqrt(often)
    true = rng.normal(size=dim) * 3
    labels = np.where(rng.random((USERS, records)) < 1 / (1 + np.exp(-features @ true)), 1.0, -1.0)
    return logistic(features, labels, feasible=Ball(1e3), l2=1e-2, reduction="mean")


@dataclass(frozen=True)
class Gap:
    """One problem on one network at one true ε: DECOR's setting, the same with falling steps, and a planned one."""

    problem: str
    network: str
    insiders: int
    epsilon: float
    decor: float
    """What its states are off by, as the problem measures it, at the end."""
    falling: float
    planned: float
    own: float
    sigma: float
    runs: int

    @property
    def times(self) -> float:
        """How many times as far off DECOR's setting is."""
        return self.decor / self.planned


def gaps(problem: str, setting: Published, *, counts: tuple[int, ...], rounds: int, seeds: int) -> list[Gap]:
    """Against so many insiders, the same ε on both sides; a shorter run for a quick look keeps the settings."""
    of, measure = PROBLEMS[problem]
    task = of()

    def off(sigma: float, own: float, step: Step) -> float:
        found = sweep(
            task,
            setting.network,
            CertifiedRssNb(sigma, own, clip=CLIP),
            rounds=rounds,
            seeds=range(seeds),
            step=step,
            start=1.0 if problem == "quadratics" else 0.0,
            time_average=False,
            progress=False,
        )
        return measure(found)

    as_published, falling = (off(setting.sigma, setting.own, step) for step in (STEP, FALLING))
    made = []
    for count in counts:
        epsilon = setting.against(count).epsilon(DELTA)
        plan = plan_certificate(
            setting.network,
            "certified-rss-nb",
            epsilon=epsilon,
            delta=DELTA,
            colluders=count,
            clip=CLIP,
            rounds=ROUNDS,
            slack=SLACK[setting.name],
        )
        planned = off(plan.sigma, plan.independent, FALLING)
        made.append(
            Gap(
                problem,
                setting.name,
                count,
                epsilon,
                as_published,
                falling,
                planned,
                plan.independent,
                plan.sigma,
                seeds,
            )
        )
    return made


def _distance(found: Sweep) -> float:
    """Mean squared distance of all users' states from the optimum: DECOR's measure."""
    scale, targets = _quadratics()
    optimum = scale @ targets / (scale @ scale)
    return float(((found.x - optimum) ** 2).sum(axis=-1).mean())


def _excess(found: Sweep) -> float:
    """By how much the mean loss, at the state of the user that is worst off, exceeds the least."""
    return float(found.gap.mean()) / USERS


PROBLEMS = {"quadratics": (quadratics, _distance), "logistic": (a9a_like, _excess)}
