"""Costs of decent-bench as problems: here stand-ins with their names, and the real ones where it is installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadProblem
from hocket.problems import from_decent_bench
from hocket.problems.decent_bench import Called

RNG = np.random.default_rng(3)
DIM = 3


class Cost:
    """What all costs have; gradients by hand."""

    shape = (DIM,)
    m_smooth = m_cvx = float("nan")

    def function(self, x, **more):
        raise NotImplementedError


def named(name: str, gradient: Any, function: Any, **given: Any) -> Any:
    """A cost of a class that is called so, in a module of decent-bench's."""
    methods = {
        "gradient": lambda self, x, **more: gradient(_plain(x)),
        "function": lambda self, x, **more: function(_plain(x)),
        "__module__": "decent_bench.costs",
    }
    made = type(name, (Cost,), methods)()
    vars(made).update(given)
    return made


def _plain(x: Any) -> np.ndarray:
    """Where decent-bench is installed, costs are given arrays of its own."""
    return np.asarray(getattr(x, "value", x))


def records(labels: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rows = RNG.normal(size=(6, DIM))
    return rows, (RNG.random(6) < 0.5).astype(float) if labels else RNG.normal(size=6)


def regression(rows, targets):
    return named(
        "LinearRegressionCost",
        lambda x: rows.T @ (rows @ x - targets) / len(rows),
        lambda x: ((rows @ x - targets) ** 2).mean() / 2,
        dataset=[(row, np.array([target])) for row, target in zip(rows, targets, strict=True)],
    )


def classification(rows, labels):
    return named(
        "LogisticRegressionCost",
        lambda x: rows.T @ (1 / (1 + np.exp(-rows @ x)) - labels) / len(rows),
        lambda x: np.mean(np.logaddexp(0, rows @ x) - labels * (rows @ x)),
        dataset=[(row, np.array([label])) for row, label in zip(rows, labels, strict=True)],
    )


def quadratic(bend, slope):
    return named(
        "QuadraticCost",
        lambda x: bend @ x + slope,
        lambda x: x @ bend @ x / 2 + slope @ x,
        A=bend,
        b=slope,
        c=7.0,
    )


L2 = named("L2RegularizerCost", lambda x: x, lambda x: x @ x / 2)
L1 = named("L1RegularizerCost", np.sign, lambda x: np.abs(x).sum())


def total(*costs):
    return named(
        "SumCost",
        lambda x: sum(cost.gradient(x) for cost in costs),
        lambda x: sum(cost.function(x) for cost in costs),
        costs=list(costs),
    )


def times(scalar, cost):
    return named(
        "ScaledCost",
        lambda x: scalar * cost.gradient(x),
        lambda x: scalar * cost.function(x),
        cost=cost,
        scalar=scalar,
    )


def bent() -> tuple[np.ndarray, np.ndarray]:
    half = RNG.normal(size=(DIM, DIM))
    return half @ half.T + np.eye(DIM), RNG.normal(size=DIM)


FORMS = {
    "regression": (lambda: regression(*records()), "LeastSquares"),
    "ridge": (lambda: total(times(2.0, regression(*records())), times(0.1, L2)), "LeastSquares"),
    "lasso": (lambda: total(regression(*records()), times(0.3, L1)), "LeastSquares"),
    "logistic": (lambda: total(classification(*records(labels=True)), times(0.2, L2)), "Logistic"),
    "quadratic": (lambda: quadratic(*bent()), "Quadratic"),
    "quadratic and records": (lambda: total(quadratic(*bent()), regression(*records()), L2), "Quadratic"),
    "two regressions": (lambda: total(regression(*records()), regression(*records())), "Quadratic"),
    "logistic, weighted": (lambda: total(times(2.0, classification(*records(labels=True))), L2), "Called"),
    "a stranger": (lambda: named("Huber", np.tanh, lambda x: np.log(np.cosh(x)).sum()), "Called"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_problem_has_the_gradients_and_values_of_its_costs(form):
    make, kind = FORMS[form]
    costs = [make() for _ in range(4)]
    problem = from_decent_bench(costs)
    assert [type(group.objective).__name__ for group in problem.groups] == [kind]
    one, other = RNG.normal(size=(2, DIM))
    kink = 0.3 * np.sign(one) if problem.penalty is not None else 0.0
    for j, cost in enumerate(costs):
        np.testing.assert_allclose(
            problem.gradient(j, one) + kink, cost.gradient(one), rtol=1e-12, atol=1e-12
        )
        # Constants are left out: differences of values are the same.
        ours, theirs = (
            problem.value(j, one) - problem.value(j, other),
            cost.function(one) - cost.function(other),
        )
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-12)


def test_costs_that_are_called_are_solved_as_their_twins():
    costs = [total(classification(*records(labels=True)), L2) for _ in range(5)]
    own = from_decent_bench(costs)
    called = from_decent_bench([times(1.0 + 1e-15, named("Wrapped", c.gradient, c.function)) for c in costs])
    assert isinstance(called.groups[0].objective, Called)
    net = hk.Network.cycle(5)
    runs = [hk.solve(each, net, hk.Extra(), step=0.3, rounds=30, progress=False) for each in (own, called)]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=1e-10)
    assert runs[0].gap == pytest.approx(runs[1].gap, abs=1e-9)


def test_regularisers_that_differ_by_agent():
    """No one penalty: l2 goes into each quadratic, l1 with the cost that is called."""
    ridges = [total(regression(*records()), times(0.1 * (j + 1), L2)) for j in range(3)]
    assert type(from_decent_bench(ridges).groups[0].objective).__name__ == "Quadratic"
    lassos = [total(regression(*records()), times(0.1 * (j + 1), L1)) for j in range(3)]
    assert isinstance(from_decent_bench(lassos).groups[0].objective, Called)


def test_a_name_that_means_something_else_is_not_believed():
    odd = named("L2RegularizerCost", lambda x: 3 * x, lambda x: 1.5 * x @ x)
    problem = from_decent_bench([total(quadratic(*bent()), odd) for _ in range(3)])
    assert isinstance(problem.groups[0].objective, Called)


def test_a_network_gives_its_agents_costs():
    costs = [regression(*records()) for _ in range(3)]
    network = SimpleNamespace(agents=lambda: [SimpleNamespace(cost=cost) for cost in costs])
    assert from_decent_bench(network).n == 3


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([], "there are no costs"),
        (7, "costs is a int"),
        ([7], "the cost of agent 0 is a int"),
        ([L2, SimpleNamespace(shape=(2,), function=len, gradient=len)], r"for \[2, 3\] coordinates"),
    ],
)
def test_what_are_no_costs(costs, said):
    with pytest.raises(BadProblem, match=said):
        from_decent_bench(costs)


def test_the_costs_of_decent_bench_itself():
    pytest.importorskip("decent_bench")
    from decent_array import interoperability as iop
    from decent_bench.benchmark import create_classification_problem, create_regression_problem
    from decent_bench.costs import L1RegularizerCost, L2RegularizerCost

    iop.set_backend("numpy")
    iop.set_seed(0)
    for costs, kind in (
        (create_regression_problem(n_agents=4, compute_x_optimal=False)[0], "LeastSquares"),
        (create_classification_problem(n_agents=4, compute_x_optimal=False)[0], "Logistic"),
    ):
        ridge, lasso = (
            [cost + 0.1 * kind(cost.shape) for cost in costs]
            for kind in (L2RegularizerCost, L1RegularizerCost)
        )
        for given in (costs, ridge, lasso):
            problem = from_decent_bench(given)
            assert type(problem.groups[0].objective).__name__ == kind
        scaled = from_decent_bench([2.0 * cost + cost for cost in ridge])
        assert scaled.n == 4
