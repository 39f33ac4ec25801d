"""Which theorem a run claims: derived from what was asked, and never another one."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.problems import Polynomial
from hocket.problems.standard import PAPER_POLYNOMIALS
from hocket.runs.job import Job
from hocket.runs.theorems import Claim, claim

C5 = hk.Network.cycle(5)
SQRT = hk.Power(1, 0, 0.5)
REGULAR = "gradients are bounded and Lipschitz where they are taken"


def claimed(algorithm: hk.Algorithm, **how: Any) -> Claim:
    how = {"problem": hk.polynomials(PAPER_POLYNOMIALS, box=(-1, 1)), "step": hk.Power(1, 20, 0.75)} | how
    return claim(Job.asked(how.pop("problem"), how.pop("network", C5), algorithm, rounds=10, **how))


def why(found: Claim, name: str) -> tuple[bool | None, str]:
    (assumption,) = (one for one in found.assumptions if one.name == name)
    return assumption.holds, assumption.why


@pytest.mark.parametrize(
    "algorithm", [hk.Dgd(), hk.RssNb(1.0), hk.RssLb(1.0), hk.FunctionSharing(4, 1.0)], ids=str
)
def test_theorem_1_covers_the_papers_algorithms(algorithm):
    found = claimed(algorithm)
    assert found.theorem == "Theorem 1"
    assert str(found) == "Theorem 1: every agent converges to one optimum"


@pytest.mark.parametrize("algorithm", [hk.Dgd(), hk.RssNb(1.0), hk.RssLb(1.0)], ids=str)
def test_theorem_3_claims_the_time_average_only(algorithm):
    found = claimed(algorithm, step=SQRT)
    assert found.theorem == "Theorem 3"
    assert "only the α-weighted time average" in found.statement


def test_theorem_3_is_not_stated_for_function_sharing():
    found = claimed(hk.FunctionSharing(4, 1.0), step=SQRT)
    assert found.theorem is None
    assert "Theorem 3 is stated for RSS-NB and RSS-LB" in found.statement
    assert "hocket.theory.finite_time" in found.statement


@pytest.mark.parametrize(
    "step", [hk.Power(2, 0, 0.5), hk.Power(1, 3, 0.5), hk.Constant(0.1), hk.Power(1, 0, 2)]
)
def test_other_steps_satisfy_neither(step):
    found = claimed(hk.RssNb(1.0), step=step)
    assert found.theorem is None
    assert f"{step} does not satisfy" in found.statement


def test_nothing_is_derived_from_code():
    assert "cannot be derived from a callable" in claimed(hk.Dgd(), step=lambda k: 1 / k).statement


def loss_of_unknown_shape() -> hk.Problem:
    return hk.Problem(lambda x, a: jnp.sum((x - a) ** 2), np.ones((5, 1)), feasible=hk.Ball(1.0), dim=1)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"problem": hk.polynomials([[0, 0, 1]] * 5, feasible=hk.Everywhere(), dim=1)}, "which is unbounded"),
        ({"problem": hk.polynomials([[0, 0, -1]] * 5, box=(-1, 1))}, "not convex"),
        ({"network": hk.Network.varying([C5, [(0, 2), (2, 4), (1, 4), (1, 3), (0, 3)]])}, "links are silent"),
    ],
    ids=["unbounded", "concave", "varying"],
)
def test_a_broken_assumption_is_named(how, says):
    found = claimed(hk.Dgd(), **how)
    assert found.theorem is None
    assert says in found.statement


@pytest.mark.parametrize(
    ("bends", "convex"), [((1.0, -0.25, 1.0), True), ((1.0, -3.0, 1.0), False), ((1.0, 0.0, 1.0), True)]
)
def test_convex_is_asked_of_the_sum_not_of_each(bends, convex):
    problem = hk.polynomials([[0, 0, bend] for bend in bends], box=(-1, 1))
    found = claimed(hk.Dgd(), problem=problem, network=hk.Network.cycle(3))
    assert found.theorem == ("Theorem 1" if convex else None)
    assert why(found, "the sum of the objectives is convex")[0] is convex


def test_a_sum_of_several_kinds_that_one_bends_down_is_not_known():
    losses = [Polynomial(), lambda x, a: jnp.sum((x - a) ** 2), Polynomial()]
    data = [np.array([0.0, 0.0, -0.25]), np.ones(1), np.array([0.0, 0.0, 1.0])]
    problem = hk.Problem(losses, data, feasible=hk.Box(-1, 1), dim=1)
    found = claimed(hk.Dgd(), problem=problem, network=hk.Network.cycle(3))
    assert why(found, "the sum of the objectives is convex") == (None, "not known")


BOUNDED = "noise stays within a bound"


@pytest.mark.parametrize(
    "algorithm",
    [
        hk.RssNb(0.0, given=lambda i, j, k: 10.0**k if i < j else 0.0),
        hk.RssNb(1.0, distribution="gaussian"),
        hk.RssNb(1.0, distribution="gaussian", persistent=0.5),
    ],
    ids=["own", "normal", "normal with persistent noise"],
)
@pytest.mark.parametrize("step", [hk.Power(1, 20, 0.75), SQRT], ids=str)
def test_noise_without_a_bound_makes_a_claim_conditional(algorithm, step):
    found = claimed(algorithm, step=step)
    assert found.statement.endswith(f", provided that {BOUNDED}")
    assert why(found, BOUNDED)[0] is None


def test_noise_of_ones_own_must_balance_where_agents_balance_it():
    found = claimed(hk.RssLb(1.0, given=lambda i, j, k: 5.0))
    assert found.statement.endswith(f", provided that {BOUNDED} and your own noise is balanced")


@pytest.mark.parametrize(
    "algorithm",
    [
        hk.Dgd(),
        hk.RssNb(1.0, persistent=0.5),
        hk.RssLb(1.0),
        hk.RssNb(0.0, distribution="gaussian"),
        hk.FunctionSharing(2, 1.0, distribution="gaussian"),
        hk.FunctionSharing(1, 0.0, given=lambda i, j, k: [0.0, 1.0 if i < j else 0.0]),
    ],
    ids=["none", "rss-nb", "rss-lb", "silent", "normal functions", "own functions"],
)
def test_noise_with_a_bound_leaves_a_claim_as_it_is(algorithm):
    """Noise functions are drawn once: whatever was drawn, their gradients are bounded on X."""
    found = claimed(algorithm)
    assert str(found) == "Theorem 1: every agent converges to one optimum"
    assert why(found, BOUNDED)[0] is True


@pytest.mark.parametrize("algorithm", [hk.IndependentNoise(1.0), hk.Centralised()], ids=str)
def test_algorithms_beyond_the_paper_claim_nothing(algorithm):
    found = claimed(algorithm)
    assert found.theorem is None
    assert f"{type(algorithm).__name__} is not one of the algorithms" in found.statement


def test_what_is_not_known_becomes_a_condition():
    found = claimed(hk.Dgd(), problem=loss_of_unknown_shape())
    assert found.theorem == "Theorem 1"
    assert found.statement.endswith(f"provided that the sum of the objectives is convex and {REGULAR}")
    assert why(found, REGULAR) == (None, "L = unknown, N = unknown on X")


@pytest.mark.parametrize(
    ("algorithm", "how", "expected"),
    [
        (hk.Dgd(), {}, "L = 6, N = 14 on X"),
        (hk.RssNb(0.0), {}, "L = 6, N = 14 on X"),
        # α₁Δ = 1: on [−2, 2] the steepest slope is 2x + 4x³ = 36, the sharpest bend 2 + 12x² = 50.
        (hk.RssNb(1.0), {"step": SQRT}, "L = 36, N = 50 within 1 of X, as far as noise carries a state"),
        (hk.RssLb(2.0), {"step": 0.5}, "L = 36, N = 50 within 1 of X, as far as noise carries a state"),
        (
            hk.RssNb(1.0),
            {"step": lambda k: k / 10},
            "L = 36, N = 50 within 1 of X, as far as noise carries a state",
        ),
        (
            hk.RssNb(1.0),
            {"step": SQRT, "grad_at": "projected"},
            "L = 6, N = 14 on X, where gradients are taken, at P_X(v)",
        ),
        (hk.FunctionSharing(4, 1.0), {}, "L = 6, N = 14 on X, to which the noise functions add their own"),
        (
            hk.RssNb(1.0, given=lambda i, j, k: 0.1),
            {},
            "L = 6, N = 14 on X; your own noise may carry states farther",
        ),
    ],
    ids=["dgd", "silent", "rss-nb", "rss-lb", "growing steps", "projected", "fs", "own noise"],
)
def test_slopes_are_bounded_where_they_are_taken(algorithm, how, expected):
    """[maths, decision 8]: noise carries v out of X, by at most α₁Δ where steps do not grow."""
    assert why(claimed(algorithm, **how), REGULAR) == (True, expected)


class Doubled(hk.Nids):
    """NIDS with twice its step: what is proved of its parent's step is not proved of this one."""

    def round(self, agent, state, k):
        return (yield from super().round(agent.with_part(2), state, k))


def test_no_step_is_called_proved_for_code_that_is_not_hockets():
    """A subclass inherits how a step is derived, and the proof is of its parent's rounds."""
    rows = [[1.0, -2.0 * c, 1.0] for c in (1.0, 2.0, 3.0)]
    problem, network = hk.polynomials(rows, box=(-5, 5)), hk.Network.complete(3)
    how = {"rounds": 2, "progress": False}
    assert hk.solve(problem, network, hk.Nids(), step="auto", **how).claim.theorem == "exact"
    assert hk.solve(problem, network, Doubled(), step="auto", **how).claim.theorem is None
    proved = hk.Derived(0.1, why="somebody said so", proved=True)
    assert hk.solve(problem, network, hk.IndependentNoise(1.0), step=proved, **how).claim.theorem is None
