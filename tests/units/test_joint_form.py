"""What a public form gives away over several runs together: against generalised least squares, and laws of it."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy import Model, PlannedRun, families, joint_leakage, worst_joint_leakage
from hocket.privacy.attacks.equations import equations

STEP = hk.Power(0.5, 10, 0.75)
SQUARE = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
OTHER = hk.Network([(0, 1), (1, 2), (2, 3), (1, 3)])
BOWLS = hk.polynomials([[0.0, -j, 1 + 0.1 * j] for j in range(4)], box=(-50, 50))
PRIOR = 100.0


def along(family: families.Family, rounds: int, n: int, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    return Model(
        [family] * n, [family.guess(rng) for _ in range(n)], rng.normal(size=(rounds, n, family.dim))
    )


def dense(received, family):
    """One least squares over all runs: everybody's parameters, and on every link what was drawn once and kept."""
    # Dealt with another deviation it is another draw.
    drawn = [
        [(one, round(float(np.abs(part.kept[:, :, q]).max()), 9)) for q, one in enumerate(part.sources)]
        for part in received
    ]
    sources = list(dict.fromkeys(one for part in drawn for one in part))
    n, size = received[0].values.shape[1], family.size
    slopes = [[family.jacobians(part.at[:, j], np.zeros(size)) for part in received] for j in range(n)]
    scale = [1 / np.sqrt((np.concatenate(one) ** 2).sum(axis=1).max(axis=0)) for one in slopes]
    before = [*np.concatenate([1 / (PRIOR * one) ** 2 for one in scale]), *np.ones(len(sources))]
    information = np.diag(before)
    for run, part in enumerate(received):
        for k in range(len(part.rounds)):
            rows = np.zeros((n, len(before)))
            for j in range(n):
                rows[j, j * size : (j + 1) * size] = slopes[j][run][k, 0]
            for q, source in enumerate(drawn[run]):
                rows[:, n * size + sources.index(source)] += part.kept[k, :, q, 0]
            spread, axes = np.linalg.eigh(part.fresh[k] @ part.fresh[k].T)
            seen = (
                axes / np.sqrt(np.maximum(spread, 1e-9 * spread[-1]))
            ).T @ rows  # 1e-9 stands for no noise at all
            information += seen.T @ seen
    covariance = np.linalg.inv(information)
    found = np.full(n, np.inf)
    for j in range(n):
        block = covariance[j * size : (j + 1) * size, j * size : (j + 1) * size]
        for one in slopes[j]:
            found[j] = min(found[j], float(np.sqrt(one[-1] @ block @ one[-1].T).item()))
    return found


@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param(hk.RssNb(2.0, distribution="gaussian"), marks=pytest.mark.slow),
        hk.RssNb(2.0, persistent=0.5, distribution="gaussian"),
        pytest.param(hk.IndependentNoise(1.0), marks=pytest.mark.slow),
    ],
    ids=["fresh", "anchored", "own"],
)
def test_runs_on_other_links_agree_with_one_dense_least_squares(algorithm):
    how = {"rounds": 12, "step": STEP, "keep": "transcript"}
    family, received, runs, models = families.polynomials(2), [], [], []
    for seed, network in enumerate((SQUARE, OTHER)):
        view = hk.solve(BOWLS, network, algorithm, seed=seed, **how).view(threat="states")
        received.append(equations(view))
        runs.append(PlannedRun(network, algorithm, rounds=len(received[-1].rounds), step=STEP))
        models.append(Model([family] * 4, [np.zeros(family.size)] * 4, received[-1].at))
    found = joint_leakage(runs, threat="states", prior=PRIOR, models=[models])
    np.testing.assert_allclose(found.models[0].sd, dense(received, family), rtol=2e-3)
    alone = [
        hk.leakage(run.network, algorithm, rounds=run.rounds, threat="states", step=STEP, models=[one])
        for run, one in zip(runs, models, strict=True)
    ]
    least = np.min([one.models[0].sd for one in alone], axis=0)
    assert (found.models[0].sd < least).all()
    assert (found.models[0].sd / least).min() < 0.95  # the better of the two says too little


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(
    "family", [families.polynomials(3), families.logistic(2, 1)], ids=lambda one: one.name
)
def test_the_same_run_again_is_one_plan_over_several_runs(kept, family):
    algorithm, model = hk.RssNb(1.0, persistent=0.5), along(family, 6, 4)
    plan = {"rounds": 6, "coalition": {1}, "step": STEP, "dim": family.dim}
    one = PlannedRun(SQUARE, algorithm, rounds=6, step=STEP, dim=family.dim, kept=kept)
    for runs in (1, 3):
        usual = hk.leakage(SQUARE, algorithm, models=[model], runs=runs, kept=kept, **plan)
        found = joint_leakage([one] * runs, coalition={1}, models=[[model] * runs])
        np.testing.assert_allclose(found.models[0].sd, usual.models[0].sd, rtol=1e-6, atol=1e-7)
        assert found.models[0].exact == usual.models[0].exact


def test_gradients_that_stay_the_same_are_known_as_without_a_form():
    """Other links, other members, another plan in each run."""
    runs = [
        PlannedRun(hk.Network.cycle(3), hk.RssNb(1.0), rounds=4, step=STEP, agents=(4, 0, 2)),
        PlannedRun(SQUARE, hk.RssNb(3.0, persistent=0.5), rounds=5, step=STEP),
        PlannedRun(OTHER, hk.RssNb(3.0, persistent=0.5), rounds=5, step=STEP),
    ]
    models = [along(families.polynomials(1), run.rounds, run.network.n) for run in runs]
    found = joint_leakage(runs, coalition={1}, models=[models])
    np.testing.assert_allclose(found.models[0].sd, found.constant, rtol=1e-6)


def test_a_run_that_a_form_says_nothing_of_is_left_out():
    runs = [PlannedRun(SQUARE, hk.RssNb(1.0, distribution="gaussian"), rounds=5, step=STEP)] * 2
    model = along(families.polynomials(2), 5, 4)
    alone = joint_leakage(runs[:1], coalition={0}, models=[[model]]).models[0]
    beside = joint_leakage(runs, coalition={0}, models=[[None, model]]).models[0]
    np.testing.assert_allclose(beside.sd, alone.sd)
    assert joint_leakage(runs, coalition={0}, models=[[None, None]]).models == ()
    with pytest.raises(BadInput, match="1 models for 2 runs"):
        joint_leakage(runs, coalition={0}, models=[[model]])
    with pytest.raises(BadInput, match="in another"):
        joint_leakage(runs, coalition={0}, models=[[model, along(families.polynomials(3), 5, 4)]])


def test_the_search_for_the_worst_coalition_asks_about_forms():
    runs = [PlannedRun(hk.Network.complete(4), hk.IndependentNoise(1.0), rounds=8, step=STEP)] * 4
    models = [along(families.logistic(1, 1), 8, 4)] * 4
    found = worst_joint_leakage(runs, 1, models=[models]).leakage
    assert found.models[0].sd[[1, 2, 3]].min() < found.constant[[1, 2, 3]].min()
    assert found.sd[1] == pytest.approx(min(found.models[0].sd[1], found.constant[1]))
