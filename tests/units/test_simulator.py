"""The simulator: what a run reports, what it keeps, how words are carried, and what it costs."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.engines import progress, simulator
from hocket.engines.compiled import measures
from hocket.engines.compiled.player import compilations
from hocket.engines.schedule import recorded_rounds
from hocket.errors import BadInput
from hocket.networks import neighbour_tables
from hocket.networks.neighbour_tables import tabulate
from hocket.runs.run import Ending
from tests.laws.table import ROWS, quadratics
from tests.units.engine_cases import SIX, STEP, play

STATES = {
    "dgd",
    "rss-nb",
    "rss-lb",
    "fs-polynomial",
    "fs-grid",
    "aug-dgm",
    "extra",
    "accelerated-tracking",
    "choco-top-k",
    "push-diging",
    "safeguard",
    "joint-average",
    "private-dgd",
    "centralised",
}
"""A row for every form that a state has, and every way in which it is carried: noise changes no measurement."""


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=() if row.name in STATES else pytest.mark.slow) for row in ROWS],
    ids=str,
)
def test_what_a_run_reports_follows_from_its_path(row):
    run = play(row.build(1.0), keep="transcript", start=4.0)
    alpha, problem = STEP.table(1, 60), run.problem
    averaged = (alpha[:, None, None] * run.path[:-1]).sum(axis=0) / alpha.sum()
    np.testing.assert_allclose(run.time_average, averaged, rtol=0, atol=1e-13)
    for at, k in enumerate(run.history["round"]):
        x = run.path[k]
        totals = [problem.total(row) for row in x]
        assert run.history["gap"][at] == pytest.approx(max(totals) - problem.best.value, abs=1e-11)
        assert run.history["loss"][at] == pytest.approx(problem.total(x.mean(axis=0)), abs=1e-11)
        apart = np.linalg.norm(x - x.mean(axis=0), axis=1).max()
        assert run.history["disagreement"][at] == pytest.approx(apart, abs=1e-13)
    assert (run.gap, run.disagreement) == (run.history["gap"][-1], run.history["disagreement"][-1])
    np.testing.assert_array_equal(run.mean, run.x.mean(axis=0))
    assert run.infeasibility == 0
    assert run.rounds == 60
    assert np.abs(run.path).max() <= 5


def test_projection_keeps_every_state_in_the_set():
    far = hk.polynomials([[0, -100.0, 1]] * 6, feasible=hk.Ball(2.0), dim=2)
    run = play(hk.Dgd(), problem=far, keep="path")
    assert np.linalg.norm(run.path, axis=2).max() <= 2 + 1e-15
    assert run.infeasibility <= 1e-15
    np.testing.assert_allclose(run.x, math.sqrt(2), rtol=0, atol=1e-12)


def test_realised_noise_is_measured_in_units_of_a_gradient():
    run = play(hk.RssNb(1.0), keep="transcript")
    d = (run.transcript.words[0] - run.path[:-1]) / STEP.table(1, 60)[:, None, None]
    for at, k in enumerate(run.history["round"][:-1]):
        assert run.history["noise_rms"][at] == pytest.approx(np.sqrt(np.mean(d[k] ** 2)), abs=1e-12)
        assert run.history["noise_max"][at] == pytest.approx(np.linalg.norm(d[k], axis=1).max(), abs=1e-12)
    assert run.history["noise_rms"][0] == 0  # round 1 is said without noise
    assert 0 < run.noise.rms < run.noise.largest <= 1


def test_history_is_thinned_and_does_not_grow_with_the_run():
    assert recorded_rounds(5).tolist() == [0, 1, 2, 3, 5]
    assert [len(recorded_rounds(10**p)) <= 201 for p in range(9)] == [True] * 9
    run = play(hk.Dgd(), rounds=5000)
    assert len(run.history["round"]) <= 201
    assert run.history["round"][[0, -1]].tolist() == [0, 5000]


def test_a_long_run_is_compiled_once():
    """The first calls are short, to learn the speed; later ones must not compile again."""
    play(hk.RssNb(1.0), rounds=3)
    before = compilations()
    play(hk.RssNb(1.0), rounds=3000)
    kept = play(hk.RssNb(1.0), rounds=700, keep="path")
    assert compilations() == before
    np.testing.assert_allclose(kept.x, play(hk.RssNb(1.0), rounds=700).x, rtol=0, atol=1e-13)


def test_runs_longer_than_a_step_table_go_on(monkeypatch):
    """Step sizes are laid out table by table; persistent noise also looks back at the last one of the table before."""
    monkeypatch.setattr(simulator, "LONG", 64)
    monkeypatch.setattr(simulator, "SHORT", 32)
    cut = play(hk.RssNb(1.0, persistent=0.5), rounds=300)
    monkeypatch.undo()
    np.testing.assert_array_equal(cut.x, play(hk.RssNb(1.0, persistent=0.5), rounds=300).x)


def test_a_stated_tolerance_ends_a_run():
    run = play(hk.Dgd(), rounds=5000, tolerance=1e-3)
    assert run.outcome.ending is Ending.CONVERGED
    assert run.gap <= 1e-3
    assert run.rounds == run.outcome.round < 5000
    assert str(run.outcome) == f"converged at round {run.rounds}: gap below 0.001"
    assert play(hk.Dgd(), rounds=run.rounds).outcome.ending is Ending.OUT_OF_ROUNDS


def test_steps_may_be_exactly_as_many_as_rounds():
    steps = [0.1, 0.05, 0.02]
    run = play(hk.RssNb(1.0), rounds=3, step=lambda k: steps[k - 1], keep="path")
    averaged = np.tensordot(steps, run.path[:-1], 1) / sum(steps)
    np.testing.assert_allclose(run.time_average, averaged, rtol=0, atol=1e-14)


@pytest.mark.parametrize("keep", ["path", "transcript"])
def test_keeping_more_is_announced_and_refused_beforehand(keep, capfd, monkeypatch):
    play(hk.RssNb(1.0), keep=keep, progress=True, rounds=999)
    # 1,000 times 6 agents in 2 dimensions; a transcript adds as many words, and 8 links with 2 draws each.
    size = {"path": "96 kB", "transcript": "448 kB"}[keep]
    said = " ".join(capfd.readouterr().err.split())
    assert f"keeping the {keep} of 999 rounds takes {size} of memory" in said
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=1e5))
    with pytest.raises(BadInput, match=rf"{size} of memory twice over .* 100 kB are free; keep less"):
        play(hk.RssNb(1.0), keep=keep, rounds=999)


def test_a_bar_shows_how_a_long_run_is_going(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if on a terminal
    play(hk.Dgd(), rounds=2000, progress=True)
    assert "disagreement" in capfd.readouterr().err
    play(hk.Dgd(), rounds=2000, progress=False)
    assert not capfd.readouterr().err


def check_layouts(network: hk.Network, algorithm: hk.Algorithm, layout: str, monkeypatch: Any) -> None:
    """The layout that suits a network gives the same run as neighbour slots."""
    problem = quadratics(network.n, 2, 1)
    assert tabulate(network, slots_needed=False).layout == layout
    natural = play(algorithm, problem=problem, network=network, rounds=30)
    monkeypatch.setattr(neighbour_tables, "_layout", lambda *_: "slots")
    by_slots = play(algorithm, problem=problem, network=network, rounds=30)
    np.testing.assert_allclose(natural.x, by_slots.x, rtol=0, atol=1e-12)  # sums of 40 words, 30 rounds


def test_a_dense_graph_is_carried_by_a_matrix(monkeypatch):
    check_layouts(hk.Network.complete(40), hk.RssNb(1.0), "dense", monkeypatch)


def test_a_star_is_carried_link_by_link(monkeypatch):
    check_layouts(hk.Network.star(12), hk.Dgd(), "links", monkeypatch)


def test_a_large_star_needs_no_table_of_all_pairs():
    network = hk.Network.star(2000)
    tables = tabulate(network, slots_needed=False)
    assert tables.layout == "links"
    assert sum(leaf.size for leaf in jax.tree.leaves(tables)) < 10 * network.n
    run = play(hk.RssNb(1.0), problem=quadratics(2000, 2, 1), network=network, rounds=5)
    assert np.isfinite(run.x).all()


def test_a_gap_over_large_states_is_read_agent_by_agent(monkeypatch):
    """All rows at once or one after the other, the numbers are the same."""
    how = {"problem": quadratics(7, 3, 1), "network": hk.Network.cycle(7), "rounds": 20}
    at_once = play(hk.Dgd(), start=4.0, **how)
    monkeypatch.setattr(measures, "AT_ONCE", 0)
    one_by_one = play(
        hk.Dgd(), start=4.0, time_average=False, **how
    )  # another program: AT_ONCE is compiled in
    np.testing.assert_allclose(one_by_one.history["gap"], at_once.history["gap"], rtol=1e-12)


def test_callables_are_grouped_by_identity():
    """Three kinds of objective, interleaved: each is compiled once, and every agent gets its own gradient."""

    def bowl(x: Any, a: Any) -> Any:
        return jnp.sum((x - a) ** 2)

    def wave(x: Any, a: Any) -> Any:
        return jnp.sum(jnp.cosh(x - a))

    def valley(x: Any, a: Any) -> Any:
        return jnp.sum(jnp.sqrt(1 + (x - a) ** 2))

    losses, data = [bowl, wave, bowl, valley, wave, bowl], np.linspace(-1, 1, 12).reshape(6, 2)
    problem = hk.Problem(losses, data, feasible=hk.Box(-5, 5), dim=2)
    assert [group.members.tolist() for group in problem.groups] == [[0, 2, 5], [1, 4], [3]]
    run = play(hk.Dgd(), problem=problem, keep="path", rounds=10)
    slope = {
        bowl: lambda x, a: 2 * (x - a),
        wave: lambda x, a: np.sinh(x - a),
        valley: lambda x, a: (x - a) / np.sqrt(1 + (x - a) ** 2),
    }
    x = run.path[0]
    for k in range(1, 11):
        v = SIX.B @ x
        gradient = np.array([slope[loss](v[j], data[j]) for j, loss in enumerate(losses)])
        x = np.clip(v - STEP(k) * gradient, -5, 5)
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-13)


def test_agents_may_hold_unequally_much_data():
    rng = np.random.default_rng(0)
    rows = [3, 1, 5, 2, 2, 4]
    A, b = [rng.normal(size=(m, 2)) for m in rows], [rng.normal(size=m) for m in rows]
    problem = hk.least_squares(A, b, feasible=hk.Box(-5, 5))
    run = play(hk.Dgd(), problem=problem, step=0.02, keep="path", rounds=10)
    x = run.path[0]
    for k in range(1, 11):
        v = SIX.B @ x
        x = v - 0.02 * np.array([A[j].T @ (A[j] @ v[j] - b[j]) for j in range(6)])
        np.testing.assert_allclose(run.path[k], x, rtol=0, atol=1e-13)
    best = np.linalg.lstsq(np.concatenate(A), np.concatenate(b), rcond=None)[0]
    np.testing.assert_allclose(problem.best.x, best, rtol=0, atol=1e-9)


def test_gradients_may_be_taken_at_the_projection():
    """√(5.001 − x) is defined on X and hardly beyond: where noise carries v out, only P_X(v) will do."""
    problem = hk.Problem(
        lambda x, a: a * jnp.sum(jnp.sqrt(5.001 - x)), np.ones(6), feasible=hk.Box(-5, 5), dim=2, optimum=0.0
    )
    run = play(hk.RssNb(20.0), problem=problem, start=5.0, step=0.1, grad_at="projected")
    assert np.isfinite(run.x).all()
    with pytest.raises(hk.HocketError, match="not finite"):
        play(hk.RssNb(20.0), problem=problem, start=5.0, step=0.1)


def test_an_unknown_optimum_leaves_the_gap_unknown():
    problem = hk.Problem(
        lambda x, a: jnp.cos(x @ a), np.ones((6, 2)), feasible=hk.Ball(3.0), dim=2, convex=False
    )
    run = play(hk.Dgd(), problem=problem, rounds=5)
    assert math.isnan(run.gap)
    assert np.isfinite(run.history["loss"]).all()
    assert "gap unknown" in repr(run)
