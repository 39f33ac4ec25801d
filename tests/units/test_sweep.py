"""A sweep is many single runs side by side: same numbers, one program."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput
from tests.laws.table import quadratics
from tests.units.engine_cases import SIX, STEP, play


def sweep(algorithm: hk.Algorithm, **how: Any) -> hk.Sweep:
    how = {"problem": quadratics(6, 2, 1), "network": SIX, "rounds": 30, "step": STEP, "seeds": [3, 8]} | how
    return hk.sweep(how.pop("problem"), how.pop("network"), algorithm, **how)


@pytest.fixture(scope="module")
def many() -> hk.Sweep:
    return sweep(hk.RssNb(1.0, persistent=0.5), delta=[0, 1, 10], persistent=[0.25, 0.5])


def test_axes_are_parameters_in_order_and_then_seeds(many):
    assert many.axes == {"delta": (0, 1, 10), "persistent": (0.25, 0.5), "seed": (3, 8)}
    assert list(many.axes) == ["delta", "persistent", "seed"]
    assert many.x.shape == many.time_average.shape == (3, 2, 2, 6, 2)
    assert many.gap.shape == many.disagreement.shape == many.finite.shape == (3, 2, 2)
    points = len(many.history["round"])
    for name in ("gap", "loss", "disagreement", "noise_rms", "noise_max"):
        assert many.history[name].shape == (3, 2, 2, points)
    assert many.finite.all()
    assert many.settings["axes"]["delta"] == [0, 1, 10]
    assert many.claim.theorem == "Theorem 1"


def test_every_run_is_the_single_run(many):
    for at, delta, persistent, seed in [((1, 0, 1), 1, 0.25, 8), ((2, 1, 0), 10, 0.5, 3)]:
        run = play(hk.RssNb(delta, persistent=persistent), rounds=30, seed=seed)
        np.testing.assert_allclose(many.x[at], run.x, rtol=0, atol=1e-13)  # 30 rounds, two orders of sums
        np.testing.assert_allclose(many.time_average[at], run.time_average, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(many.history["round"], run.history["round"])
        for name in ("gap", "loss", "disagreement", "noise_rms", "noise_max"):
            np.testing.assert_allclose(many.history[name][at], run.history[name], rtol=1e-9, atol=1e-12)
        assert many.gap[at] == many.history["gap"][at][-1]


def test_noise_grows_with_its_level_and_differs_by_seed(many):
    largest = many.history["noise_max"].max(axis=-1)
    assert not largest[0].any()
    np.testing.assert_allclose(largest[2], 10 * largest[1], rtol=1e-6)
    assert (many.x[1, :, 0] != many.x[1, :, 1]).all()
    np.testing.assert_array_equal(many.x[0, 0, 0], many.x[0, 1, 1])  # without noise seeds change nothing


@pytest.mark.parametrize(
    ("algorithm", "swept"),
    [
        (hk.Dgd(), {}),
        (hk.RssLb(1.0), {"delta": [1.0, 2.0]}),
        (hk.FunctionSharing(2, 0.1), {"bound": [0.1, 0.2]}),
        (hk.Centralised(), {}),
    ],
    ids=["dgd", "rss-lb", "fs", "centralised"],
)
def test_every_algorithm_can_be_swept(algorithm, swept):
    many = sweep(algorithm, **swept)
    assert many.x.shape[:-2] == (*(len(values) for values in swept.values()), 2)
    single = play(algorithm, rounds=30, seed=8)
    place = (0, 1) if swept else (1,)
    np.testing.assert_allclose(many.x[place], single.x, rtol=0, atol=1e-13)


def test_a_run_that_breaks_is_marked_and_the_others_go_on():
    """√x leaves its domain only where noise is large enough to push a state below zero."""
    problem = hk.Problem(
        lambda x, a: jnp.sum((jnp.sqrt(x) - a) ** 2),
        np.full((6, 2), 0.5),
        feasible=hk.Box(-5, 5),
        dim=2,
        optimum=0.0,
    )
    many = sweep(hk.RssNb(1.0), problem=problem, delta=[1e-3, 50.0], start=0.25, step=0.05)
    assert many.finite.tolist() == [[True, True], [False, False]]
    assert np.isfinite(many.x[0]).all()


def test_time_averages_may_be_left_out():
    assert sweep(hk.Dgd(), time_average=False, dtype=np.float32).time_average is None


REFUSED = {
    "no seeds": (lambda: sweep(hk.Dgd(), seeds=[]), BadInput, "at least one seed"),
    "a negative seed": (lambda: sweep(hk.Dgd(), seeds=[1, -1]), BadInput, "seed = -1"),
    "an unknown parameter": (
        lambda: sweep(hk.RssNb(1.0), sigma=[1]),
        BadAlgorithm,
        "RssNb has no number called sigma to sweep over; it has delta, failure, persistent$",
    ),
    "a parameter of DGD": (lambda: sweep(hk.Dgd(), delta=[1]), BadAlgorithm, "it has none"),
    "something compiled in": (
        lambda: sweep(hk.FunctionSharing(2, 1.0), degree=[2, 3]),
        BadAlgorithm,
        "no number called degree",
    ),
    "one value": (
        lambda: sweep(hk.RssNb(1.0), delta=2.0),
        BadInput,
        r"delta = 2.0; give the values .* delta=\[",
    ),
    "no values": (lambda: sweep(hk.RssNb(1.0), delta=[]), BadInput, "give the values to sweep over"),
    "a negative level": (lambda: sweep(hk.RssNb(1.0), delta=[1, -1]), BadAlgorithm, "delta = -1"),
    "anchors from nothing": (
        lambda: sweep(hk.RssNb(1.0), persistent=[0, 0.5]),
        BadInput,
        "changes the program itself",
    ),
    "noise brought along": (
        lambda: sweep(hk.RssNb(1.0, given=lambda i, j, k: 0.0), delta=[1]),
        BadAlgorithm,
        "draws its own noise",
    ),
    "a list of networks": (
        lambda: sweep(hk.Dgd(), network=[SIX, SIX]),
        BadInput,
        r"say what is meant: networks=\[…\] to sweep over them, or hk.Network.varying",
    ),
    "a network and networks": (lambda: sweep(hk.Dgd(), networks=[SIX]), BadInput, "give one of the two"),
    "no steps": (lambda: sweep(hk.Dgd(), step=[]), BadInput, "give the steps to sweep over"),
    "no rounds": (lambda: sweep(hk.Dgd(), rounds=0), BadInput, "rounds = 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_wrong(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()


def test_rows_go_into_frames_and_files(many, tmp_path):
    rows = many.rows()
    assert len(rows) == 12 * len(many.history["round"])
    last = rows[-1]
    assert {name: last[name] for name in ("delta", "persistent", "seed", "round", "diverged")} == {
        "delta": 10,
        "persistent": 0.5,
        "seed": 8,
        "round": 30,
        "diverged": False,
    }
    assert last["gap"] == many.gap[2, 1, 1]
    assert len(many.save(tmp_path / "sweep.csv").read_text().splitlines()) == len(rows) + 1
    assert many.frame().shape[0] == len(rows)
    assert repr(many).startswith("<Sweep of RssNb on ")
    assert "3 deltas × 2 persistents × 2 seeds, 30 rounds, median gap" in repr(many)


def test_networks_and_steps_are_swept_over_each_with_its_own_steps():
    ring, star = hk.Network.cycle(6), hk.Network.star(6)
    problem = quadratics(6, 2, 1)
    many = hk.sweep(
        problem,
        algorithm=hk.Nids(),
        networks={"ring": ring, "star": star},
        rounds=20,
        seeds=1,
        step=["auto", 0.05],
    )
    assert many.axes == {"network": ("ring", "star"), "step": ("auto", 0.05), "seed": (0,)}
    for i, network in enumerate((ring, star)):
        for j, step in enumerate(("auto", 0.05)):
            run = hk.solve(problem, network, hk.Nids(), rounds=20, step=step)
            np.testing.assert_allclose(
                many.x[i, j, 0], run.x, rtol=0, atol=1e-12
            )  # 20 rounds, a common matrix
    assert "2 networks × 2 steps × 1 seed" in repr(many)


def test_a_derived_step_is_that_of_each_level():
    """Noise that bends asks for smaller steps: what is derived for one level is wrong for the next."""
    algorithm = hk.FunctionSharing(2, sd=0.1, family="quadratic", inner=hk.AugDgm())
    many = sweep(algorithm, sd=[0.1, 3.0], step="auto", seeds=[3], time_average=True)
    for place, sd in enumerate((0.1, 3.0)):
        level = hk.FunctionSharing(2, sd=sd, family="quadratic", inner=hk.AugDgm())
        run = hk.solve(quadratics(6, 2, 1), SIX, level, rounds=30, seed=3)
        np.testing.assert_allclose(many.x[place, 0], run.x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(many.time_average[place, 0], run.time_average, rtol=0, atol=1e-12)
