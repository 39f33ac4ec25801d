"""The sum attack: noise that sums to zero in every round hides no curvature from an eavesdropper on all links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy import families
from hocket.privacy.attacks import sum_attack

CURVATURES = (1.0, 0.5, 2.0, 1.5, 0.8)
COMPLETE = hk.Network.complete(5)
QUADRATICS = hk.polynomials([[0, -j * c, c] for j, c in enumerate(CURVATURES)], box=(-1e6, 1e6))


def play(
    problem: hk.Problem, algorithm: hk.Algorithm, *, network: hk.Network = COMPLETE, **how: Any
) -> hk.Run:
    how = {"rounds": 9, "step": 0.05, "start": 4.0, "seed": 1} | how
    return hk.solve(problem, network, algorithm, keep="transcript", **how)


def off(found: hk.privacy.attacks.ModelFit, part: str = "curvatures", truth: Any = CURVATURES) -> float:
    return max(float(abs(found.parameters(j, part) - truth[j]).max()) for j in found.agents)


@pytest.mark.parametrize("persistent", [0.0, 0.9])
@pytest.mark.parametrize(("delta", "within"), [(50.0, 5e-12), (0.1, 5e-9)])
def test_one_member_of_five_reads_all_curvatures_after_eight_rounds(delta, within, persistent):
    """`hk.leakage` says ±.884 of this plan; and more noise conditions it better, anchored or not."""
    found = sum_attack(play(QUADRATICS, hk.RssNb(delta, persistent=persistent)).view({0}))
    assert found.fits
    assert off(found) < within
    for j in found.agents:
        assert found.determined(j, "curvatures").all()
        assert not found.determined(j, "slopes").any()
        assert found.predicted_sd(j, "curvatures") < within
        assert np.isinf(found.predicted_sd(j, "slopes"))
        assert not found.attack(j).identifiable  # a gradient takes its slope too
    slopes, sd = found.total("slopes")
    assert slopes == pytest.approx(-sum(j * c for j, c in enumerate(CURVATURES)), abs=1e3 * within)
    assert sd < 1e3 * within


@pytest.mark.parametrize(("rounds", "delta", "within"), [(26, 20.0, 1e-10), (200, 50.0, 2e-12)])
def test_twelve_coefficients_of_quartics(rounds, delta, within):
    """Rounding is all that is left: as much as is foretold, and 2 to 5e-13 after 200 rounds of loud noise."""
    rows = [[0, -j, 1 + 0.1 * j, 0.05 * j, 0.02 + 0.01 * j] for j in range(5)]
    problem = hk.polynomials(rows, box=(-1e6, 1e6))
    found = sum_attack(play(problem, hk.RssNb(delta), rounds=rounds, start=1.0).view({0}), degree=4)
    assert found.fits
    for power in (2, 3, 4):
        part = "curvatures" if power == 2 else f"coefficients of x^{power}"
        assert off(found, part, [row[power] for row in rows]) < within
        assert max(found.predicted_sd(j, part).max() for j in found.agents) < within


def test_agents_who_weigh_alike_are_found_in_sum_only():
    found = sum_attack(
        play(QUADRATICS, hk.RssNb(50.0), network=hk.Network.complete(5, weights=np.full((5, 5), 0.2))).view(
            {0}
        )
    )
    assert not any(found.determined(j, "curvatures").any() for j in found.agents)
    total, sd = found.total("curvatures")
    assert total == pytest.approx(sum(CURVATURES[1:]), abs=1e-9)
    assert sd < 1e-9


def test_noise_of_ones_own_makes_it_an_average():
    """The sum then holds noise, whose predicted error falls as rounds go by."""
    found = [sum_attack(play(QUADRATICS, hk.IndependentNoise(2.0), rounds=K).view({0})) for K in (20, 500)]
    few, many = (one.predicted_sd(1, "curvatures")[0] for one in found)
    assert few > 2 * many > 0.001
    errors = [
        (one.parameters(j, "curvatures") - CURVATURES[j]) / one.predicted_sd(j, "curvatures")
        for one in found
        for j in one.agents
    ]
    assert 0.2 < np.sqrt(np.mean(np.square(errors))) < 2.0  # eight numbers, correlated


WATCHERS = {
    "one of a complete five": (COMPLETE, {"coalition": {0}}),
    "a tap on a ring": (hk.Network.cycle(5), {"threat": "states"}),
}


@pytest.mark.parametrize("who", WATCHERS)
def test_noise_of_each_agents_own_leaves_averaging_and_no_more_than_its_certificate(who):
    """Without it every curvature is read to ten digits; with it no estimate beats what the noise allows [B1]."""
    network, how = WATCHERS[who]
    bare = sum_attack(play(QUADRATICS, hk.RssNb(50.0), network=network).view(**how))
    assert off(bare) < 1e-10
    spread = []
    for rounds in (9, 101):
        run = play(QUADRATICS, hk.CertifiedRssNb(5.0, 0.5), network=network, rounds=rounds)
        view = run.view(**how)
        found = sum_attack(view)
        assert found.fits
        for j in found.agents:
            sd = float(found.predicted_sd(j, "curvatures")[0])
            assert abs(found.parameters(j, "curvatures")[0] - CURVATURES[j]) < 4 * sd
            # Anybody who knows all but one curvature has the least to find; δ of it moves gradients by 2vδ, under noise
            # that is τ²I and more: μ²/δ² = κ Σ_k (2v_k)² bounds every estimate, by Cramér and Rao.
            v = (network.B @ run.transcript.words[0][:-1, :, 0].T)[j]
            assert sd**2 >= 1 / (kappa(network, view.coalition, j) * (2 * v) @ (2 * v))
            spread.append(sd)
    few, many = spread[: len(found.agents)], spread[len(found.agents) :]
    assert min(few) > 1.1
    assert 0.3 < min(many) <= max(many) < 0.7


def kappa(network: hk.Network, coalition: frozenset[int], agent: int) -> float:
    """κ_j of noise of deviation τ = 0.5, if all pairwise noise is dealt as RssNb(50) deals it."""
    honest = [j for j in range(network.n) if j not in coalition]
    sigma = 50 / (2 * network.degrees[0, 0]) / np.sqrt(3)
    laplacian = np.diag(np.zeros(network.n))
    for low, high in network.links.tolist():
        if not {low, high} & coalition:
            laplacian[[low, high], [low, high]] += 1
            laplacian[[low, high], [high, low]] -= 1
    covariance = 2 * sigma**2 * laplacian[np.ix_(honest, honest)] + 0.5**2 * np.eye(len(honest))
    return float(np.linalg.inv(covariance)[honest.index(agent), honest.index(agent)])


@pytest.mark.parametrize(("edge", "known"), [(1.2, False), (1.16, True)])
def test_rounds_that_were_cut_short_are_told_by_the_set_or_by_disagreement(edge, known):
    problem = hk.polynomials([[0, -j * c, c] for j, c in enumerate(CURVATURES)], box=(-6, edge))
    run = play(problem, hk.RssNb(40.0), rounds=60, start=1.0)
    cut = run.path[1:].max(axis=(1, 2)) == edge
    assert 0.1 < cut.mean() < 0.4
    told: list[dict[str, Any]] = [{"skip": np.flatnonzero(cut) + 1}]
    told.append({"feasible": problem.feasible} if known else {})
    for how in told:
        found = sum_attack(run.view({0}), **how)
        assert found.fits
        assert off(found) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edge", "persistent", "least"),
    [(1.2, 0.0, 6), (1.2, 0.5, 6), (1.16, 0.0, 6), (1.16, 0.5, 5), (1.1, 0.0, 6)],
)
def test_an_active_set_seldom_helps(edge, persistent, least):
    """Up to seven in ten rounds are cut short; of six runs each, so many give all curvatures away."""
    problem = hk.polynomials([[0, -j * c, c] for j, c in enumerate(CURVATURES)], box=(-6, edge))
    won = 0
    for seed in range(1, 7):
        run = play(problem, hk.RssNb(40.0, persistent=persistent), rounds=60, start=1.0, seed=seed)
        found = sum_attack(run.view({0}), feasible=problem.feasible)
        if found.fits and all(found.determined(j, "curvatures").all() for j in found.agents):
            won += 1
            assert off(found) < 1e-9  # whatever it claims to have determined, it has
    assert won >= least


def test_generalised_linear_models_by_non_linear_least_squares():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 1, 1)) + 2
    problem = hk.logistic(rows, np.ones((5, 1)), feasible=hk.Ball(1e6))
    found = sum_attack(
        play(problem, hk.RssNb(20.0), rounds=40, start=0.5).view({0}), family=families.logistic(1, 1)
    )
    assert found.fits
    assert off(found, "records", rows[:, 0]) < 1e-8


def test_a_form_that_is_not_theirs_does_not_fit():
    rows = [[0, -j, 1 + 0.1 * j, 0.05 * j, 0.02 + 0.01 * j] for j in range(5)]
    problem = hk.polynomials(rows, box=(-1e6, 1e6))
    found = sum_attack(play(problem, hk.RssNb(20.0), rounds=30, start=1.0).view({0}), degree=2)
    assert not found.fits
    assert not any(found.determined(j).any() for j in found.agents)
    assert "another form" in str(found.attack(1).why)


def test_without_a_whole_component_there_is_no_sum():
    ring = hk.Network.cycle(5)
    with pytest.raises(BadInput, match="all messages around a whole honest component"):
        sum_attack(play(QUADRATICS, hk.RssNb(1.0), network=ring).view({0}))
    found = sum_attack(play(QUADRATICS, hk.RssNb(1.0), network=ring).view(threat="states"))
    assert off(found) < 1e-7
