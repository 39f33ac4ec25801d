"""Leakage where the form of the objectives is public: the same recursion, with parameters in place of gradients."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy import families
from hocket.privacy.leakage.model_class import Model

from ..laws.table import DECENTRALISED

STEP = hk.Power(1.0, 20, 0.75)
SQUARE = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


def along(family: families.Family, rounds: int, n: int, *, seed: int = 0, **more) -> Model:
    """Everybody's objectives of one form, with gradients taken at random points."""
    rng = np.random.default_rng(seed)
    path = rng.normal(size=(rounds, n, family.dim))
    return Model([family] * n, [family.guess(rng) for _ in range(n)], path, **more)


@pytest.mark.parametrize("row", DECENTRALISED, ids=str)
@pytest.mark.parametrize("threat", ["coalition", "states", "states+noise"])
def test_gradients_that_stay_the_same_are_known_as_without_a_form(row, threat):
    model = along(families.polynomials(1, dim=2), 6, SQUARE.n)
    plan = {"rounds": 6, "coalition": {1}, "threat": threat, "step": STEP, "dim": 2}
    usual = hk.leakage(SQUARE, row.build(1.0), **plan)
    found = hk.leakage(SQUARE, row.build(1.0), models=[model], **plan)
    np.testing.assert_allclose(found.models[0].sd, usual.sd, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.sd, usual.sd, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("kept", [True, False])
def test_so_it_is_over_several_runs(runs, kept):
    plan = {"rounds": 5, "coalition": {1}, "step": STEP, "runs": runs, "kept": kept}
    model = along(families.polynomials(1), 5, SQUARE.n)
    found = hk.leakage(SQUARE, hk.RssNb(1.0, persistent=0.5), models=[model], **plan)
    usual = hk.leakage(SQUARE, hk.RssNb(1.0, persistent=0.5), **plan)
    np.testing.assert_allclose(found.models[0].sd, usual.sd, rtol=1e-6)


@pytest.mark.parametrize(
    "family", [families.polynomials(3), families.quadratics(2)], ids=lambda one: one.name
)
def test_a_dense_least_squares_agrees(family):
    """With an eavesdropper on all links every residual is a gradient and noise that cancels: generalised least
    squares."""
    rounds, prior, delta = 12, 100.0, 2.0
    model = along(family, rounds, SQUARE.n)
    algorithm = hk.RssNb(delta, distribution="gaussian")
    found = hk.leakage(
        SQUARE,
        algorithm,
        rounds=rounds,
        threat="states",
        step=STEP,
        dim=family.dim,
        models=[model],
        prior=prior,
    )
    levels = algorithm.noise(hk.algorithm.Setting(SQUARE, family.dim, STEP, rounds))["paired"]
    laplacian = np.zeros((SQUARE.n, SQUARE.n))
    for (i, j), sd in zip(SQUARE.links.tolist(), np.ravel(levels.sd), strict=True):
        pull = np.zeros(SQUARE.n)
        pull[[i, j]] = 1, -1
        laplacian += 2 * sd**2 * np.outer(pull, pull)
    size, axes = np.linalg.eigh(laplacian)
    size[0] = 1e-9 * size[1]  # what cancels is heard exactly
    whiten = axes / np.sqrt(size) @ axes.T
    scale = [1 / np.sqrt((one**2).sum(axis=1).max(axis=0)) for one in model.jacobians]
    information = np.diag(np.concatenate([1 / (prior * one) ** 2 for one in scale]))
    for k in range(rounds):
        rows = np.zeros((SQUARE.n, family.dim, SQUARE.n, family.size))
        for j, jacobian in enumerate(model.jacobians):
            rows[j, :, j] = jacobian[k]
        ratio = STEP(k + 2) / STEP(k + 1)
        seen = np.einsum("ij,jdps->idps", whiten, rows).reshape(SQUARE.n * family.dim, -1) / ratio
        information += seen.T @ seen
    covariance = np.linalg.inv(information)
    for j, jacobian in enumerate(model.jacobians):
        block = covariance[j * family.size : (j + 1) * family.size, j * family.size : (j + 1) * family.size]
        expected = np.sqrt(np.diag(jacobian[-1] @ block @ jacobian[-1].T).min())
        assert found.models[0].sd[j] == pytest.approx(expected, rel=1e-3)  # 1e-9 stands for nothing at all


@pytest.mark.parametrize("persistent", [0.0, 0.9])
@pytest.mark.parametrize("delta", [0.1, 50.0])
def test_whoever_hears_all_words_knows_every_curvature(persistent, delta):
    network, rounds = hk.Network.complete(5), 12
    model = along(families.polynomials(2), rounds, 5)
    algorithm = hk.RssNb(delta, persistent=persistent)
    found = hk.leakage(network, algorithm, rounds=rounds, coalition={0}, step=STEP, models=[model])
    assert found.models[0].exact == {"curvatures": (1, 2, 3, 4)}
    assert "known exactly, if objectives are separable polynomials of degree 2" in str(found)
    assert not found.exact  # slopes are left to averaging
    own = hk.leakage(
        network, hk.IndependentNoise(delta), rounds=rounds, coalition={0}, step=STEP, models=[model]
    )
    assert not own.models[0].exact


def test_a_form_with_fewer_numbers_gives_gradients_away():
    """Anchors hide a slope; a power around a centre has none."""
    network, rounds = hk.Network.complete(5), 40
    persistent = hk.RssNb(20.0, persistent=0.9)
    plan = {"rounds": rounds, "coalition": {1, 4}, "step": STEP}
    free = hk.leakage(network, persistent, models=[along(families.polynomials(4), rounds, 5)], **plan)
    shifted = hk.leakage(network, persistent, models=[along(families.centred(4), rounds, 5)], **plan)
    assert free.sd[3] == pytest.approx(hk.leakage(network, persistent, **plan).sd[3])
    assert shifted.sd[3] < free.sd[3] / 10


def test_a_state_on_a_side_shows_the_anchor():
    network, rounds = hk.Network.complete(5), 60
    plan = {"rounds": rounds, "coalition": {0}, "step": STEP}
    persistent = hk.RssNb(20.0, persistent=0.9)
    there = np.zeros((rounds, 5, 1), bool)
    there[: rounds // 2] = True
    family = families.polynomials(1)
    inside = hk.leakage(network, persistent, models=[along(family, rounds, 5)], **plan)
    clipped = hk.leakage(network, persistent, models=[along(family, rounds, 5, projected=there)], **plan)
    exposed = hk.leakage(network, persistent, active=True, **plan)
    fresh = hk.leakage(network, hk.RssNb(2.0), **plan)  # a tenth of it is drawn afresh
    np.testing.assert_allclose(exposed.sd, fresh.sd)
    assert exposed.sd[1] < clipped.sd[1] < inside.sd[1] / 10


def test_noise_functions_are_not_carried_by_words():
    plan = {"rounds": 9, "coalition": {0}, "step": STEP}
    for sharing in (hk.FunctionSharing(2, 1.0),):
        np.testing.assert_array_equal(
            hk.leakage(SQUARE, sharing, active=True, **plan).sd, hk.leakage(SQUARE, sharing, **plan).sd
        )


def test_a_path_of_other_rounds_is_refused():
    with pytest.raises(BadInput, match="a run of 7 rounds needs"):
        hk.leakage(SQUARE, hk.Dgd(), rounds=7, coalition={0}, models=[along(families.polynomials(2), 6, 4)])


def test_all_rounds_keep_what_was_worked_out_of_them():
    """An audit asks for every kind of listener; derivatives along the path are the same for all."""
    model = Model([families.polynomials(2, 1)] * 3, [np.zeros(2)] * 3, np.ones((7, 3, 1)))
    assert model.first_rounds(7).jacobians is model.jacobians
    assert [one.shape for one in model.first_rounds(4).jacobians] == [(4, 1, 2)] * 3
