"""Runs that every engine must play alike, by name: each is a row of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.engines import schedule
from hocket.engines.schedule import MarkedRounds, recorded_rounds
from tests.laws.table import ROWS, quadratics
from tests.units.engine_cases import PHASES, SIX, STEP

SEVEN = hk.Network.cycle(7)
"""Shards of two or four processes cannot be equal."""


def row(name: str) -> hk.Algorithm:
    """The algorithm of a row of the table of laws, at noise level 1."""
    return next(row for row in ROWS if row.name == name).build(1.0)


def play(engine: str, algorithm: hk.Algorithm, network: hk.Network = SIX, **how: Any) -> hk.Run:
    """A short run on quadratics."""
    problem = how.pop("problem", None) or quadratics(network.n, 2, 1)
    how = {"rounds": 60, "step": STEP, "seed": 4} | how
    return hk.solve(problem, network, algorithm, engine=engine, **how)


def bowl(x: Any, a: Any) -> Any:
    return jnp.sum((x - a) ** 2)


def wave(x: Any, a: Any) -> Any:
    return jnp.sum(jnp.cosh(x - a))


def mixed_losses(engine: str) -> hk.Run:
    """Two kinds of objective, not equally many of each in every shard."""
    data = np.linspace(-1, 1, 14).reshape(7, 2)
    losses = [bowl, bowl, bowl, wave, bowl, wave, wave]
    problem = hk.Problem(losses, data, feasible=hk.Box(-5, 5), dim=2, optimum=np.zeros(2))
    return play(engine, hk.RssNb(1.0), SEVEN, problem=problem)


def given_noise(engine: str) -> hk.Run:
    """The user's own noise, a table by link."""

    def noise(sender: int, receiver: int, k: int) -> np.ndarray:
        return 0.01 * np.array([sender - receiver, k % 3])

    return play(engine, hk.RssNb(0.0, given=noise), SEVEN)


def few_agents(rounds: int) -> MarkedRounds:
    """Five agents at most rounds, eight at the end."""
    recorded = recorded_rounds(rounds)
    return MarkedRounds(recorded, np.where(recorded < rounds, 5, 8))


def farthest(engine: str) -> hk.Run:
    """A gap that looks at the agents farthest from the mean only, as it does where there are many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "marks", lambda program, rounds, exact: few_agents(rounds))
        start = np.arange(80).reshape(40, 2) / 20
        return play(engine, hk.Dgd(), hk.Network.cycle(40), start=start)


def learning(engine: str) -> hk.Run:
    """Small batches and local steps; every agent draws its own samples, wherever it is played."""
    from hocket.learning import digits, equal_shards, mlp, train

    data = digits()
    shards = equal_shards(data.train.take(np.arange(7 * 40)), 7)
    how: Any = {"epochs": 2, "local_steps": 5, "batch": 8, "step": 0.2, "engine": engine}
    return train(mlp((64, 8, 10)), shards, SEVEN, hk.RssNb(1.0), test=data.test, **how)


Case = Callable[[str], hk.Run]
BY_ROW: dict[str, Case] = {
    r.name: lambda engine, r=r: play(engine, r.build(1.0), SEVEN if r.name != "dgd" else SIX)
    for r in ROWS
    if r.decentralised
}
VARYING: dict[str, Case] = {
    f"varying-{name}": lambda engine, name=name: play(engine, row(name), PHASES)
    for name in ("rss-nb-anchored", "rss-lb", "fs-polynomial")
}
OTHERS: dict[str, Case] = {
    "star": lambda engine: play(engine, hk.RssNb(1.0), hk.Network.star(9)),
    "dense": lambda engine: play(engine, hk.RssNb(1.0), hk.Network.complete(18)),
    "large": lambda engine: play(engine, hk.RssNb(1.0), hk.Network.random_regular(4, 40)),
    "by-link": lambda engine: play(
        engine, hk.CertifiedRssNb(np.linspace(0.1, 2, len(SEVEN.links)), persistent=0.5), SEVEN
    ),
    "mixed-losses": mixed_losses,
    "given-noise": given_noise,
    "float32": lambda engine: play(engine, hk.RssNb(1.0), SEVEN, dtype=np.float32),
    "projected": lambda engine: play(engine, hk.RssLb(1.0), SEVEN, grad_at="projected", time_average=False),
    "farthest": farthest,
    "learning": learning,
    "tolerance": lambda engine: play(engine, hk.Dgd(), rounds=2000, tolerance=1e-3),
}
WHEEL = hk.Network.random_directed(7, 0.4, seed=1)
FOUL = hk.Channel(loss=0.3, burst=3, inactive=0.2, delay=2)
OUTSIDE: dict[str, Case] = {
    "directed": lambda engine: play(engine, hk.PushSum(), WHEEL),
    "channel": lambda engine: play(engine, hk.PushDiging(), WHEEL, channel=FOUL),
    "weather-own": lambda engine: play(engine, hk.RssNb(1.0), SEVEN, channel=FOUL),
    "weather-star": lambda engine: play(
        engine, hk.AugDgm(), hk.Network.star(9), channel=hk.Channel(loss=0.3, both_ways=True)
    ),
}
CASES: dict[str, Case] = BY_ROW | VARYING | OTHERS | OUTSIDE
QUICK = ("rss-nb-anchored", "rss-lb", "star", "channel")
"""What two processes play in every test run; the rest is for `make endurance`."""
