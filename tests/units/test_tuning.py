"""Tuning finds the best of what it tries, looks beyond an edge, and says where it stopped."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput
from tests.laws.table import quadratics

PROBLEM, RING = quadratics(6, 2, 1), hk.Network.cycle(6)


@pytest.fixture(scope="module")
def found() -> hk.Tuning:
    return hk.tune(PROBLEM, RING, hk.AugDgm(), rounds=25, seeds=1)


def test_the_best_is_the_best_single_run(found):
    gaps = {}
    for one in found.candidates:
        gaps[one.size] = hk.solve(PROBLEM, RING, hk.AugDgm(), rounds=25, step=one.size).gap
    assert found.best["step"] == min(gaps, key=gaps.get)
    assert found.best["gap"] == pytest.approx(min(gaps.values()), rel=1e-6)
    assert hk.solve(PROBLEM, RING, found.algorithm, step=found.step, rounds=25).gap == found.best["gap"]
    assert found.programs <= 1 + found.widened
    assert not found.at_edge
    assert f"step {found.best['step']:.4g}" in repr(found)


def test_rows_and_figure(found, tmp_path):
    rows = found.rows()
    assert [row["step"] for row in rows] == sorted(row["step"] for row in rows)
    assert sum(row["best"] for row in rows) == 1
    assert len(found.save(tmp_path / "tuning.csv").read_text().splitlines()) == len(rows) + 1
    assert "the best step is" in found.figure(tmp_path / "tuning.png").alt
    assert (tmp_path / "tuning.png").read_bytes().startswith(b"\x89PNG")


def test_a_best_step_at_the_edge_widens_the_grid():
    tiny = hk.tune(PROBLEM, RING, hk.Nids(), rounds=15, seeds=1, step=[1e-3, 2e-3, 4e-3])
    assert tiny.widened > 0
    assert tiny.best["step"] > 4e-3
    bounded = hk.tune(PROBLEM, RING, hk.Nids(), rounds=15, seeds=1, step=[1e-9, 2e-9])
    assert bounded.at_edge
    assert bounded.widened == 4
    assert "at the edge" in repr(bounded)


def test_steps_that_fall_keep_their_form_and_parameters_that_are_compiled_in_are_tried_too():
    algorithm = hk.Safeguard(hk.AugDgm())
    found = hk.tune(PROBLEM, RING, algorithm, rounds=20, seeds=1, around=hk.Power(0.2, 5, 0.5), every=[4, 8])
    assert found.step == hk.Power(found.best["step"], 5, 0.5)
    assert found.best["every"] == found.algorithm.every
    assert {one.parameters["every"] for one in found.candidates} == {4, 8}


def test_of_noise_the_largest_is_taken_that_reaches_the_goal():
    """Noise that bends asks for smaller steps, and so for more rounds than there are."""
    algorithm = hk.FunctionSharing(2, sd=1.0, family="quadratic", inner=hk.AugDgm())
    found = hk.tune(
        PROBLEM, RING, algorithm, rounds=60, seeds=2, sd=[0.1, 1.0, 1000.0], goal=1e-2, largest="sd"
    )
    assert found.best["sd"] == 1.0
    assert found.best["gap"] <= 1e-2
    loud = [one for one in found.candidates if one.parameters["sd"] == 1000.0]
    assert all(not np.isfinite(one.rounds_to(1e-2)) for one in loud)


REFUSED = {
    "noise without a goal": (
        lambda: hk.tune(PROBLEM, RING, hk.RssNb(1.0), rounds=5, delta=[1.0], largest="delta"),
        BadInput,
        "give goal=1e-6, say, and delta=",
    ),
    "an unknown parameter": (
        lambda: hk.tune(PROBLEM, RING, hk.Dgd(), rounds=5, sd=[1.0]),
        BadAlgorithm,
        "Dgd has no sd to tune; it has none",
    ),
    "one value": (
        lambda: hk.tune(PROBLEM, RING, hk.RssNb(1.0), rounds=5, delta=1.0),
        BadInput,
        "give the values",
    ),
    "no steps": (
        lambda: hk.tune(PROBLEM, RING, hk.Dgd(), rounds=5, step=[]),
        BadInput,
        "give the steps to try",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_wrong(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()
