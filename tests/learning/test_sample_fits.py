"""Samples fitted to trainings over whole shards: noise that cancels hides none of them, and an audit says so."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.learning import digits, own_shards, train
from hocket.learning.data import Split
from hocket.privacy.attacks import total_attack
from reproductions.attacks import Effort, Rate, Row, attack_notes, attack_table, does_not_apply
from reproductions.attacks.fit_trials import FOUND, MODEL, NETWORK, PRINTED, SUMS, _Trial, coarse, fits
from reproductions.attacks.sample_fits import fit_together, sample_forms
from reproductions.attacks.total_fits import error_of_samples, fit_sums
from reproductions.attacks.trials import HIDING, RECONSTRUCT

SMALL = Split(*(coarse(part) for part in (digits().train, digits().test)))
EXACT = 1e-3  # words are in single precision, and fits amplify what that leaves


def trial(kind: str, level: float = 10.0, seed: int = 0) -> _Trial:
    return _Trial(SMALL, HIDING[kind], level, seed)


@pytest.mark.slow
def test_noise_of_ten_gradients_that_cancels_hides_no_sample_from_a_neighbour() -> None:
    one = trial("RSS-NB")
    assert one.by_sums() < EXACT
    assert one.by_all() < EXACT
    assert one.printed == 0  # the audit of the same run says that gradients are known exactly


@pytest.mark.slow
def test_several_local_steps_hide_no_sample_either() -> None:
    assert trial("RSS-NB").by_steps() < EXACT


@pytest.mark.slow
def test_kept_noise_does_not_hide_a_sample_that_was_replaced() -> None:
    assert trial("FS").replaced() < EXACT


@pytest.mark.slow
def test_a_plain_run_before_gives_away_what_a_neighbour_is_told_apart() -> None:
    assert trial("RSS-LB").after_dgd() < EXACT


@pytest.mark.slow
def test_totals_tell_few_samples_and_not_whose_they_are() -> None:
    """Theorem T leaves the sum, and a sum of functions at many points tells what it is made of."""
    one = _Trial(SMALL, lambda *_: hk.JointAverage(), 0.0, 3)
    found = fit_sums(one.run, {0})
    assert error_of_samples(found, one.shards) < 0.01  # single precision, divided by steps, fitted
    labels = [int(one.shards.parts[j].labels[0]) for j in found]
    alike = [j for j, label in zip(found, labels, strict=True) if label == labels[0]]
    assert len(alike) >= 2
    first, second = alike[:2]
    swapped = found | {first: found[second], second: found[first]}
    # What is exchanged fits as well: no sum changes.
    forms, attack = sample_forms(one.run), total_attack(one.run.view({0}))
    sums = [
        sum(forms[j].gradients(attack.at, theta) for j, theta in some.items()) for some in (found, swapped)
    ]
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-12)
    assert abs(found[first] - found[second]).max() > 0.01


def test_where_fits_do_not_apply() -> None:
    assert does_not_apply(hk.RssNb(1.0), whole=True) == ""
    assert "which samples" in does_not_apply(hk.RssNb(1.0), whole=False)
    assert "another message" in does_not_apply(hk.RssLb(1.0), whole=True)
    assert "momentum" in does_not_apply(hk.RssNb(1.0), whole=True, momentum=0.9)
    assert "of its own" in does_not_apply(hk.Dgd(), whole=True, clipped=True)


@pytest.mark.slow
def test_a_view_of_which_too_little_was_heard_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to fit samples to"):
        fit_together([trial("RSS-LB").run], {0})


@pytest.mark.slow
def test_steps_that_change_are_refused() -> None:
    shards = own_shards([SMALL.train.take(np.array([j])) for j in range(5)])
    how = {
        "test": SMALL.test,
        "epochs": 3,
        "local_steps": 1,
        "batch": 1,
        "keep": "transcript",
        "progress": False,
    }
    run = train(MODEL, shards, NETWORK, hk.Dgd(), step=hk.Power(1.0, 20, 0.75), **how)
    with pytest.raises(BadInput, match="steps stay the same"):
        sample_forms(run)


def test_the_table_says_where_an_attack_does_not_apply_and_why() -> None:
    rows = [
        Row(RECONSTRUCT, SUMS, "RSS-NB, noise 1", Rate(1e-6, 0.0, 0.0, 0.0)),
        Row(RECONSTRUCT, SUMS, "RSS-LB, noise 1", None, "each neighbour is told another message"),
    ]
    table = attack_table(rows, Effort(seeds=1))
    assert table.rows == ((RECONSTRUCT, SUMS, "exact", "does not apply"),)
    assert "each neighbour is told another message (RSS-LB)" in attack_notes(rows)[-1]
    assert rows[1].data()["does_not_apply"] == "each neighbour is told another message"


@pytest.mark.endurance
def test_no_fit_is_better_than_what_is_printed() -> None:
    rows = {(row.attack, row.method): row.rate for row in fits(digits(), Effort(seeds=1, levels=(1.0, 10.0)))}
    compared = [(rows[PRINTED, method], rate) for (attack, method), rate in rows.items() if attack == FOUND]
    assert len(compared) == 5  # DGD, and RSS-NB and FS at two levels
    for printed, rate in compared:
        assert printed is not None
        assert rate is not None
        assert rate.mean > 0.8 * printed.mean
