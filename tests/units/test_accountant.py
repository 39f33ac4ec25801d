"""The general accountant: against closed forms, against matrices that are written down, and where it must refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy.dp.accountant import account
from hocket.privacy.leakage.leakage import levels_of
from hocket.privacy.leakage.listener import Listener
from hocket.privacy.leakage.recursion import Course
from tests.units.certificate_cases import Clipped, Momentum, dense, graphs

STEP = hk.Power(1, 20, 0.75)
RING = hk.Network.cycle(5)
SLOPES = hk.polynomials([[0.0, 1.0]] * 5, feasible=hk.Everywhere(), dim=1)


@given(net=graphs(4, 7), data=st.data())
@settings(deadline=None, max_examples=15)
def test_it_agrees_with_closed_forms(net, data):
    coalition = {data.draw(st.integers(0, net.n - 1))}
    i, j = data.draw(st.permutations(sorted(set(range(net.n)) - coalition)))[:2]
    sigma, persistent, tau = (data.draw(st.floats(0.3, 3.0)) for _ in range(3))
    moved = {"coalition": coalition, "move": (i, j, 0.7), "rounds": 6}
    record = {"coalition": coalition, "sensitivity": 0.7, "rounds": 6, "step": STEP}
    certified = hk.CertifiedRssNb(sigma, tau)
    linear = hk.polynomials([[0.0, 1.0]] * net.n, feasible=hk.Everywhere(), dim=1)
    asked = [
        ("function-sharing", "function-sharing", {"sigma": sigma, **moved}),
        ("certified-rss-nb", "certified-rss-nb", {"sigma": sigma, "step": STEP, **moved}),
        ("certified-rss-nb", hk.CertifiedRssNb(sigma), {"step": STEP, **moved}),
        (certified, certified, record),
        (certified, Clipped(sigma, tau), record),
        (certified, Clipped(sigma, tau), {"step": STEP, "problem": linear, **moved}),
    ]
    for stated, read, ask in asked:
        named = {"sigma": sigma} if isinstance(stated, str) and not isinstance(read, str) else {}
        closed = hk.certify(net, stated, **named, **ask)
        general = hk.certify(net, read, by="linearisation", **ask)
        assert closed.holds == general.holds
        assert general.mu == pytest.approx(closed.mu, rel=1e-6)
    with_persistent = {"sigma": sigma, "persistent": persistent, "step": STEP, **moved}
    closed, general = (
        hk.certify(net, "certified-rss-nb", by=by, **with_persistent) for by in ("theorem", "linearisation")
    )
    assert general.mu == pytest.approx(closed.mu, rel=1e-6)


def written_down(net: hk.Network, coalition: set[int], beta: float, rounds: int) -> np.ndarray:
    """X of agent 1 under momentum, by writing M and N down: a word shows what a state was moved by, less the mix."""
    honest, covariance = dense(net, coalition, 1.0, 0.5)
    h = len(honest)
    # Word k + 1, less what was mixed, over α_k: Σ_{s ≤ k} β^{k−s} g_s + noise.
    fading = np.array([[beta ** (k - s) if s <= k else 0.0 for s in range(rounds)] for k in range(rounds)])
    column = np.eye(h)[honest.index(1)]
    M = np.kron(fading, column[:, None])
    N = np.kron(np.eye(rounds), np.linalg.cholesky(covariance))
    return M.T @ np.linalg.inv(N @ N.T) @ M


def test_momentum_is_accounted_for_and_costs_as_much_as_matrices_say():
    rounds, ask = 12, {"coalition": {0}, "rounds": 12, "step": hk.Constant(0.1), "by": "linearisation"}
    found = hk.certify(RING, Momentum(1.0, 0.5), sensitivity=0.3, records={1: 1}, **ask)
    X = written_down(RING, {0}, 0.9, rounds)
    assert found.mu == pytest.approx(0.3 * math.sqrt(np.abs(X).sum()), rel=1e-6)
    plain = hk.certify(RING, Clipped(1.0, 0.5), sensitivity=0.3, records={1: 1}, **ask)
    assert found.mu > 3 * plain.mu


def test_a_record_that_takes_part_now_and_then_costs_less():
    X = written_down(RING, {0}, 0.9, 12)
    every = max(np.abs(X[r::3, r::3]).sum() for r in range(3))
    found = hk.certify(
        RING,
        Momentum(1.0, 0.5),
        coalition={0},
        sensitivity=1.0,
        records={1: 1},
        rounds=12,
        step=hk.Constant(0.1),
        by="linearisation",
        every=3,
    )
    assert found.mu == pytest.approx(math.sqrt(every), rel=1e-6)


@pytest.mark.parametrize(("name", "of_last"), [("rss-nb", False), ("certified-rss-nb", True)])
def test_information_under_persistent_noise_is_what_its_covariance_says(name, of_last):
    # z_k = g_k + ρ_k n_k + a: records see n alone, and X has entries off its diagonal.
    rounds, coalition = 5, frozenset({0})
    levels = levels_of(RING, name, 1.0, 0.7, 1, STEP, rounds)
    listener = Listener(RING, levels, STEP, rounds + 1, coalition=coalition, threat="states").alone()
    direction = np.array([[-1.0], [0.0], [1.0], [0.0]])
    found = account(Course(listener, rounds), direction)
    assert found.exposed == ()
    _, covariance = dense(RING, {0}, 1.0, 0.0)
    resistance = direction[:, 0] @ np.linalg.pinv(covariance) @ direction[:, 0]
    ratio = np.ones(rounds) if of_last else STEP.table(2, rounds + 1) / STEP.table(1, rounds)
    expected = resistance * np.linalg.inv(np.diag(ratio**2) + 0.49 * np.ones((rounds, rounds)))
    np.testing.assert_allclose(found.information[0], expected, rtol=1e-8)


@pytest.mark.parametrize("ask", [{"move": (0, 2, 1.0)}, {"sensitivity": 0.5}, {"transfer": 1.0}])
def test_links_that_vary_count_as_in_closed_forms(ask):
    net = hk.Network.varying([[(0, 1), (2, 3), (0, 3), (1, 4)], [(1, 2), (0, 3), (0, 2), (3, 4)]], n=5)
    algorithm = hk.CertifiedRssNb(1.3, 0.6)
    closed, general = (
        hk.certify(net, algorithm, coalition={3}, rounds=7, step=STEP, by=by, **ask).mu
        for by in ("theorem", "linearisation")
    )
    assert general == pytest.approx(closed, rel=1e-9)


def test_worst_of_all_coalitions():
    ask = {"rounds": 4, "sensitivity": 1.0, "colluders": 1}
    path = hk.Network.path(5)
    found = hk.certify(path, Clipped(1.0, 0.3), step=0.1, by="linearisation", **ask)
    closed = hk.certify(path, hk.CertifiedRssNb(1.0, 0.3), **ask)
    assert found.mu == pytest.approx(closed.mu, rel=1e-9)
    assert found.theorem == "L"
    assert "all 5 coalitions" in found.searched


@pytest.mark.parametrize(
    ("algorithm", "ask", "why"),
    [
        ("certified-rss-nb", {"sigma": 1.0, "sensitivity": 1.0}, "carry no noise"),
        ("certified-rss-nb", {"sigma": 1.0, "shift": {1: 1.0}}, "carry no noise"),
        ("rss-nb", {"sigma": 1.0, "move": (1, 3, [0.1]), "problem": SLOPES}, "drawn uniformly"),
        ("function-sharing", {"sigma": 1.0, "sensitivity": 1.0}, "carry no noise"),
        ("rss-lb", {"sigma": 1.0, "transfer": 1.0}, "drawn uniformly"),
        ("dgd", {"sigma": 1.0, "transfer": 1.0}, "carry no noise"),
        (hk.RssNb(1.0), {"transfer": 1.0, "step": STEP}, "drawn uniformly"),
        (Clipped(1.0, 1.0, clean=True), {"sensitivity": 1.0, "step": STEP}, "clean state"),
        (Clipped(1.0, 1.0), {"sensitivity": 1.0, "release": "raw", "step": STEP}, "raw last x"),
    ],
)
def test_it_refuses_what_it_does_not_cover(algorithm, ask, why):
    found = hk.certify(RING, algorithm, coalition={0}, rounds=4, by="linearisation", **ask)
    assert found.mu == math.inf
    assert why in found.reason


def test_a_transfer_is_found_between_the_worst_two():
    ask = {"coalition": {0}, "sigma": 1.0, "rounds": 4, "transfer": 1.0, "step": STEP}
    found = hk.certify(RING, "certified-rss-nb", by="linearisation", **ask)
    assert found.mu == pytest.approx(hk.certify(RING, "certified-rss-nb", **ask).mu)
    assert found.agent == (1, 4)


def test_too_many_coalitions_are_refused():
    net = hk.Network.harary(4, 16)
    with pytest.raises(BadInput, match="too many to account for"):
        hk.certify(
            net, Clipped(1.0, 1.0), colluders=2, sensitivity=1.0, rounds=3, step=0.1, by="linearisation"
        )
