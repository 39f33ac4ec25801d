"""The canary: a lower bound on ε that a kept promise is never above, and a broken one is."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.errors import BadInput
from hocket.learning import DpSgd
from hocket.learning.canary import canary_bound, epsilon_bound

PROMISE = DpSgd(1.0, failure=0.01)
WHOLE = {"samples": 4, "batch": 4, "steps": 1}
"""Every sample in every step: nothing is amplified, and the account is nearly tight."""


@pytest.mark.parametrize("seed", range(3))
def test_a_kept_promise_is_never_refuted(seed):
    """Two shapes, three seeds, at 99.9 %: one false alarm in 160 times that these six are run."""
    for shape in ({}, WHOLE):
        found = canary_bound(PROMISE, seed=seed, trials=4000, confidence=0.999, **shape)
        assert not found.broken, str(found)


def test_the_bound_is_worth_something_where_the_account_is_tight():
    assert canary_bound(PROMISE, trials=20_000, **WHOLE).epsilon > 0.5


def test_half_of_the_noise_is_found_out():
    found = canary_bound(PROMISE, noise=0.5, **WHOLE)
    assert found.broken, str(found)
    assert "the promise is broken" in str(found)


def test_subsets_that_are_known_are_found_out():
    """The amplified ε, claimed where everybody knows who was drawn; without amplification it would hold."""
    found = canary_bound(PROMISE, subsets_known=True)
    assert found.broken, str(found)
    assert found.epsilon < PROMISE.epsilon_if_known(samples=16, batch=1, steps=4)


def test_without_any_noise_little_is_left_of_a_promise():
    found = canary_bound(DpSgd(1.0, failure=0.01), noise=0.0, **WHOLE)
    assert found.epsilon > 5  # as much as so many trials can show


def test_scores_that_tell_nothing_show_nothing_and_either_direction_counts():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(2, 4000))
    assert epsilon_bound(*same, failure=0.0) < 0.2
    # Randomised response: the truth with probability e/(1 + e) is exactly ε = 1.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        yes = rng.random(20_000) < np.e / (1 + np.e)
        no = rng.random(20_000) < 1 / (1 + np.e)
        assert 0.9 < epsilon_bound(yes.astype(float), no.astype(float), failure=0.0, confidence=0.999) < 1


def test_shapes_that_make_no_sense_are_refused():
    with pytest.raises(BadInput, match="batch = 9"):
        canary_bound(PROMISE, samples=4, batch=9)
    with pytest.raises(BadInput, match="trials = 10"):
        canary_bound(PROMISE, trials=10)
