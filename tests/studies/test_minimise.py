"""Any smooth convex loss by totals, to the pooled optimum."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.errors import NotEstimable
from hocket.studies import minimise, simulate_analysis
from tests.studies.cases import cancer, judges

NAMES = ("mean_radius", "mean_texture", "mean_smoothness", "mean_symmetry")


def pooled() -> tuple[np.ndarray, np.ndarray]:
    X = np.stack([cancer()[name] for name in NAMES], axis=1)
    return np.column_stack([np.ones(569), (X - X.mean(axis=0)) / X.std(axis=0)]), cancer()["benign"]


def logistic(X: np.ndarray, y: np.ndarray):
    def loss(beta):
        eta = X @ beta
        return float(np.logaddexp(0, eta).sum() - y @ eta), X.T @ (1 / (1 + np.exp(-eta)) - y)

    return loss


def test_a_logistic_loss_in_tens_of_totals():
    X, y = pooled()
    parts = {str(j): minimise(logistic(X[j::4], y[j::4]), np.zeros(5), tolerance=1e-10) for j in range(4)}
    done = simulate_analysis(parts)
    judge = judges().GLM(y, X, family=judges().families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(done.result.x, judge.params, rtol=1e-6)
    assert 2 * done.result.value == pytest.approx(judge.deviance, rel=1e-12)
    assert done.totals == done.result.totals < 60


def test_a_loss_written_with_jax():
    import jax
    import jax.numpy as jnp

    X, y = pooled()

    def loss_at(j):
        part, own = X[j::2], y[j::2]
        graded = jax.value_and_grad(
            lambda beta: jnp.sum(jnp.log(jnp.cosh(part @ beta - own))) + 0.1 * beta @ beta
        )

        def loss(beta):
            with jax.enable_x64(True):
                value, gradient = graded(jnp.asarray(beta))
                return float(value), np.asarray(gradient)

        return loss

    done = simulate_analysis({str(j): minimise(loss_at(j), np.zeros(5)) for j in range(2)})
    assert done.result.slope <= 1e-9 * 569
    assert done.totals < 60


def test_a_loss_without_a_minimum_is_said_to_have_none():
    def downhill(x):
        return float(-x.sum()), -np.ones(2)

    for most, complaint in ((30, "no minimum in 30 totals"), (1000, "falls without end")):
        with pytest.raises(NotEstimable, match=complaint):
            simulate_analysis({name: minimise(downhill, np.zeros(2), most=most) for name in "ab"})
