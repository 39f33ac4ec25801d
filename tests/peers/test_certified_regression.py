"""Four clinics' regression with a certificate, from plan to coefficients, over real links."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hocket.errors import BadInput
from hocket.federation.monitoring.member_report import _promised
from hocket.federation.state.home import Home
from hocket.problems.quadratic import Quadratic
from reproductions.certificates import clinics


def records() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(2000), rng.uniform(-1, 1, 2000)])
    return rows, np.clip(rows @ [0.2, 0.5] + 0.1 * rng.normal(size=2000), -1, 1)


def stored_sum(folder: Path, plan) -> np.ndarray:
    """Coefficients of the sum over all members, as they lie on their disks."""
    total = 0
    for name in plan.names:
        with closing(sqlite3.connect(Home(folder / name).lasting_noise("diabetes"))) as database, database:
            ((text,),) = database.execute("SELECT total FROM sums").fetchall()
        total = total + np.array([int(one) for one in text.split()], dtype=object)
    return plan.algorithm.stored.values(total)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinics")
    return folder, clinics.over_links(folder, *records(), rounds=30, step=1 / 1000)


def test_what_is_published_descends_the_noisy_sum_and_nothing_else(run):
    folder, found = run
    coefficients, x = stored_sum(folder, found.plan), np.zeros(2)
    for _ in range(30):  # a quarter for everybody: the mean descends the sum
        x = x - found.plan.step(1) / 4 * Quadratic().gradient(x, coefficients)
    np.testing.assert_allclose(found.coefficients, x, atol=1e-12)  # float64, 30 rounds
    assert found.apart < 1e-12


def test_the_certificate_is_in_the_plan_and_noise_is_as_large_as_it_says(run):
    folder, found = run
    plan, price = found.plan, found.drafted.planned.price
    assert plan.certificate is not None
    assert found.audit.words[0].startswith("Certificate (Theorem A2, exact arithmetic)")
    assert found.audit.certificate.epsilon == pytest.approx(1.0, abs=1e-5)
    rows, targets = records()
    true = sum(task.coefficients().sum(axis=0) for task in clinics.dealt(rows, targets))
    noise = (stored_sum(folder, plan) - true) / [1, 1, np.sqrt(0.5), 1, np.sqrt(0.5)]
    # Five normal numbers of this deviation: their norm is within a factor of four with probability 0.999.
    assert 0.25 < np.linalg.norm(noise) / np.sqrt(5) / price.on_sum < 4
    assert price.over_central == pytest.approx(1.05 * np.sqrt(4 / 3), rel=1e-4)


def test_the_member_s_report_begins_with_it(run):
    _, found = run
    (said,) = _promised(found.plan, [], ())
    assert said == found.audit.words[0]
    (worse,) = _promised(found.plan, [found.plan.names[3]], ())
    assert "knew who left" in worse


def test_a_clinic_with_a_record_out_of_range_does_not_begin(tmp_path):
    rows, targets = records()
    with pytest.raises(BadInput, match="from zero in column 2, and the plan declares 1 at most"):
        clinics.over_links(tmp_path, rows * [1.0, 1.5], targets, rounds=3)


def test_errors_grow_with_the_noise_on_the_sum(run):
    _, found = run
    rows, targets = records()
    central, certified, local = clinics.errors(rows, targets, found.drafted, 200)
    assert central.median < certified.median < local.median
    assert local.noise == pytest.approx(2 * central.noise)
