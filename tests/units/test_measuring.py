"""What is measured of a run: never more than is paid for, and it says which agents a gap is over."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.engines import schedule
from hocket.engines.compiled.player import Compiled, compilations
from hocket.engines.compiled.program import Program
from hocket.engines.prepare import prepare
from hocket.engines.schedule import (
    AT_THE_END,
    EACH,
    FARTHEST,
    SHARE,
    SLIGHT,
    Leg,
    MarkedRounds,
    Sizes,
    affordable,
    recorded_rounds,
)
from hocket.engines.simulator import step_table
from hocket.errors import BadInput
from hocket.runs.job import Job
from hocket.runs.run import Ending
from tests.laws.table import quadratics
from tests.units.engine_cases import STEP, play

MANY = 40
RING = hk.Network.cycle(MANY)
SOME = 5


def some_agents(program: Program, rounds: int, *, exact: bool) -> MarkedRounds:
    """A few agents at every recorded round, unless all were asked for."""
    recorded = recorded_rounds(rounds)
    return MarkedRounds(recorded, np.full(len(recorded), MANY if exact else SOME))


def spread(seed: int) -> np.ndarray:
    """Where forty agents start, apart from each other."""
    return np.random.default_rng(seed).uniform(-4, 4, size=(MANY, 2))


def many(algorithm: hk.Algorithm, seed: int = 1, **how: Any) -> hk.Run:
    return play(algorithm, problem=quadratics(MANY, 2, seed), network=RING, start=spread(seed), **how)


@pytest.mark.slow
@given(seed=st.integers(0, 1000), noisy=st.booleans())
def test_a_gap_over_some_agents_is_theirs_and_never_more_than_all_have(seed, noisy):
    algorithm = hk.RssNb(1.0) if noisy else hk.Dgd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "marks", some_agents)
        some, everybody = (
            many(algorithm, seed, rounds=30, keep="path", measure=how) for how in ("sample", "exact")
        )
    np.testing.assert_array_equal(some.x, everybody.x)
    assert set(some.history["looked_at"]) == {SOME}
    assert set(everybody.history["looked_at"]) == {MANY}
    best = some.problem.best.value
    for at, k in enumerate(some.history["round"]):
        x = some.path[k]
        gaps = np.array([some.problem.total(row) for row in x]) - best
        far = np.argsort(-np.linalg.norm(x - x.mean(axis=0), axis=1))[:SOME]
        # float64, 40 objectives in two orders of summation
        assert some.history["gap"][at] == pytest.approx(gaps[far].max(), abs=1e-9)
        assert everybody.history["gap"][at] == pytest.approx(gaps.max(), abs=1e-9)
        assert some.history["gap"][at] <= everybody.history["gap"][at] + 1e-9
    for name in ("mean_gap", "loss", "disagreement", "noise_rms"):
        np.testing.assert_allclose(some.history[name], everybody.history[name], rtol=0, atol=1e-9)
    # The sum is convex: the worst of all agents is no better than their mean.
    assert (everybody.history["gap"] >= everybody.history["mean_gap"] - 1e-9).all()


def test_small_problems_are_measured_exactly_everywhere():
    for run in (play(hk.RssNb(1.0), rounds=1000), many(hk.Dgd(), rounds=1000)):
        assert set(run.history["looked_at"]) == {run.network.n} == {run.looked_at}
        np.testing.assert_array_equal(run.history["round"], recorded_rounds(1000))
        np.testing.assert_allclose(run.history["mean_gap"], run.history["loss"] - run.problem.best.value)
        assert not run.remarks
    five = hk.solve(hk.paper_polynomials(), hk.Network.cycle(5), hk.RssNb(10.0), rounds=5000)
    assert set(five.history["looked_at"]) == {5}


def regression(n: int = 50, samples: int = 40, dim: int = 10) -> hk.Problem:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(n, samples, dim)), np.sign(rng.normal(size=(n, samples)))
    return hk.logistic(features, labels, l2=0.1, reduction="mean", feasible=hk.Ball(10.0))


def test_where_measuring_would_dominate_it_is_less_and_says_so():
    problem, network = regression(), hk.Network.cycle(50)
    run = hk.solve(problem, network, hk.Dgd(), rounds=200, step=STEP)
    exact = hk.solve(problem, network, hk.Dgd(), rounds=200, step=STEP, measure="exact")
    assert 1 <= run.looked_at <= FARTHEST < exact.looked_at == 50
    assert len(run.history["round"]) < len(exact.history["round"])
    assert run.history["round"][[0, -1]].tolist() == [0, 200]
    assert run.gap <= exact.gap + 1e-9  # two orders of summation
    np.testing.assert_array_equal(run.x, exact.x)
    assert f"over {run.looked_at} of 50 agents" in repr(run)
    assert "may be larger" in run.remarks[-1]
    assert not exact.remarks
    assert "over" not in repr(exact)


def test_a_sweep_measures_what_its_single_runs_do():
    problem, network = regression(), hk.Network.cycle(50)
    together = hk.sweep(problem, network, hk.RssNb(1.0), seeds=[3, 4], rounds=200, step=STEP)
    single = hk.solve(problem, network, hk.RssNb(1.0), seed=4, rounds=200, step=STEP)
    assert together.history.keys() == single.history.keys()
    for name, column in single.history.items():
        found = together.history[name] if name == "round" else together.history[name][1]
        np.testing.assert_allclose(found, column, rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_tolerance_is_met_by_every_agent(monkeypatch):
    """The farthest agents lie along a flat valley, and their gap is small; nearer ones are up its wall."""
    monkeypatch.setattr(schedule, "marks", some_agents)
    problem = hk.Problem(
        lambda x, a: 1e-6 * x[0] ** 2 + 10 * (x[1] - a) ** 2,
        np.zeros(MANY),
        feasible=hk.Box(-50, 50),
        dim=2,
        optimum=0.0,
    )
    start = np.stack([np.zeros(MANY), np.linspace(-1, 1, MANY)], axis=1)
    start[:20] = [[40 * (-1) ** j, 0] for j in range(20)]
    how = {"problem": problem, "network": RING, "start": start, "step": 1e-3, "rounds": 1000}
    whole = play(hk.Dgd(), keep="path", **how)
    run = play(hk.Dgd(), tolerance=1.0, **how)
    *before, last = run.history["round"]
    assert whole.history["gap"][0] <= 1.0  # of the five farthest; so all were looked at, and nobody stopped
    assert run.history["looked_at"][0] == MANY
    worst = [max(problem.total(row) for row in whole.path[k]) for k in (*before, last)]
    assert min(worst[:-1]) > 1.0 >= worst[-1]
    assert run.outcome.ending is Ending.CONVERGED
    assert run.looked_at == MANY
    assert run.gap == pytest.approx(worst[-1], rel=1e-9)


def test_an_objective_that_is_not_finite_is_found_where_nobody_looked():
    """Agent 7 alone has left the domain of its own objective; the mean and the farthest agent are inside."""

    def loss(x: Any, a: Any) -> Any:
        return jnp.sum(jnp.where(a > 0, jnp.log(x), x))

    start = np.ones((MANY, 1))
    start[7], start[20] = -0.1, 9.0
    problem = hk.Problem(loss, np.arange(MANY) == 7, feasible=hk.Everywhere(), dim=1, optimum=0.0)
    with jax.enable_x64(True):
        job = Job.asked(problem, RING, hk.Dgd(), step=STEP, rounds=5, start=start)
        player, steps = Compiled(prepare(job, hk.Dgd(), averaging=False)), step_table(job, 0)
        carry = player.begin(jnp.asarray(start), steps)
        found = {
            own: player.advance(carry, steps, leg.padded + 1, leg.looks)[1].finite[0]
            for own in (False, True)
            if (leg := Leg.to(0, agents=1, own=own))
        }
    assert found[False].all()
    assert np.flatnonzero(~np.asarray(found[True])).tolist() == [7]


amounts = st.integers(1, 10**9)


@given(data=amounts, pooled=amounts, noise=amounts, rounds=st.integers(1, 10**6), n=st.integers(1, 10**5))
def test_what_is_measured_is_paid_for(data, pooled, noise, rounds, n):
    sizes = Sizes(n, 2 * n, data, pooled, noise, block=1)
    marks = affordable(sizes, rounds)
    assert marks.rounds[0] == 0
    assert marks.rounds[-1] == rounds
    assert (np.diff(marks.rounds) > 0).all()
    assert (marks.agents[:-1] == marks.agents[0]).all()
    assert 1 <= marks.agents[0] <= marks.agents[-1] <= n
    # By distance only the farthest few are known.
    assert all(agents == n or agents <= FARTHEST for agents in marks.agents)
    spent = (sizes.stop + marks.agents * sizes.total).sum()
    least = 3 * (sizes.stop + sizes.total)  # before, after the first round, at the end
    assert spent <= max((SHARE * rounds * sizes.round + EACH * SLIGHT) * (1 + AT_THE_END), 2 * least)


def test_sizes_grow_with_what_is_computed():
    def of(n: int, algorithm: hk.Algorithm) -> Sizes:
        with jax.enable_x64(True):
            job = Job.asked(regression(n), hk.Network.cycle(n), algorithm, step=STEP, rounds=10)
            return Sizes.of(prepare(job, algorithm, averaging=True))

    small, large = of(10, hk.Dgd()), of(100, hk.Dgd())
    assert large.round == pytest.approx(10 * small.round, rel=0.1)
    assert large.total == pytest.approx(10 * small.total, rel=0.1)
    assert of(10, hk.RssNb(1.0)).round > small.round


def test_other_ways_to_measure_are_refused():
    with pytest.raises(BadInput, match="measure = 'all'; choose 'sample' or 'exact'"):
        play(hk.Dgd(), measure="all")
    with pytest.raises(BadInput, match="choose 'sample' or 'exact'"):
        hk.sweep(quadratics(6, 2, 1), hk.Network.cycle(6), hk.Dgd(), rounds=3, measure="all")


@pytest.mark.parametrize("rounds", [40, 256, 300])
def test_a_recorded_run_is_measured_like_any_other_and_by_one_program(rounds):
    problem, ring = quadratics(7, 3, 1), hk.Network.cycle(7)
    before = compilations()
    kept = hk.solve(problem, ring, hk.RssNb(1.0), rounds=rounds, keep="path")
    assert compilations() == before
    plain = hk.solve(problem, ring, hk.RssNb(1.0), rounds=rounds)
    for name, column in plain.history.items():
        # Two programs, up to 300 rounds in float64.
        np.testing.assert_allclose(kept.history[name], column, rtol=1e-9, atol=1e-11, err_msg=name)
    assert kept.path.shape == (rounds + 1, 7, 3)


def test_a_recorded_run_stops_at_its_tolerance_too():
    problem, ring = hk.paper_polynomials(), hk.Network.cycle(5)
    plain, kept = (
        hk.solve(problem, ring, hk.Dgd(), rounds=3000, tolerance=1e-2, start=1.0, keep=keep)
        for keep in ("metrics", "path")
    )
    assert kept.outcome == plain.outcome
    assert len(kept.path) == kept.rounds + 1
