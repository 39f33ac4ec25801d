"""Bounds against the published anchors, against plain loops, and from problems as from plain numbers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket import theory
from hocket.algorithm import Setting
from hocket.theory.finite_time import BLOCK, discounted_steps, sums_after
from hocket.theory.quantities import added_constants
from tests.units.theory_cases import C5, NUMBERS, PAPER, SPECTRAL, SQRT, START, small_polynomials, without


@pytest.mark.parametrize(
    ("kind", "value"), [("literal", 309392.5757), ("corrected", 344701.8148), ("spectral", 177.9965)]
)
def test_anchors(kind, value):
    # The anchors are printed to four decimals.
    assert theory.finite_time(kind, rounds=10_000, **NUMBERS[kind]).value == pytest.approx(value, rel=1e-6)


def test_anchors_of_the_constants():
    constants = theory.finite_time("literal", rounds=10_000, **PAPER).constants
    assert constants["theta"] == pytest.approx(1.0050188, rel=1e-7)
    assert constants["C0"] == pytest.approx(33.052201, rel=1e-7)
    assert constants["C1"] == pytest.approx(399.0, rel=1e-7)
    assert set(constants) == {"beta", "theta", "D0", *(f"C{i}" for i in range(13))}


def test_anchor_of_lemma_1():
    bound = theory.lemma1(1, step=SQRT, n=5, rho=0.25, L=6, delta=1, start_norm=1)
    assert bound.value == pytest.approx(19.0125313, rel=1e-8)
    assert bound.quantities["L"] == 6


def test_constants_and_quantities_are_read_only():
    bound = theory.finite_time("literal", rounds=10, **PAPER)
    with pytest.raises(TypeError):
        bound.constants["C8"] = 0  # type: ignore[index]


@pytest.mark.parametrize(("n", "rho"), [(2, 0.5), (5, 0.25), (40, 0.01)])
@pytest.mark.parametrize("rounds", [1, 2, 900, 1001, 1002, 50_000])
def test_c0_equals_its_sum(n, rho, rounds):
    beta = 1 - rho / (4 * n**2)
    k = np.arange(1, rounds)
    direct = (beta**k / np.sqrt(k + 1)).sum()
    closed = discounted_steps(np.asarray(float(rounds)), -np.log(beta))
    assert closed == pytest.approx(direct, rel=1e-10, abs=1e-14)  # 50,000 roundings, and those of β^k


def test_the_paper_s_bound_costs_nothing_at_any_length():
    values = [theory.finite_time("corrected", rounds=10**power, **PAPER).value for power in (6, 9, 12, 15)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("step", [SQRT, hk.Power(0.3, 2, 0.75), hk.Constant(0.1)], ids=str)
@pytest.mark.parametrize("rounds", [1, 7, BLOCK + 3])
def test_the_spectral_bound_equals_its_recursion(step, rounds):
    n, lam, L, N, e, diameter, eta, phi = (
        *(SPECTRAL[name] for name in ("n", "lam", "L", "N")),
        0.5,
        *(SPECTRAL[name] for name in ("diameter", "eta1_sq", "phi1")),
    )
    alpha, root, steps, agreement, rest = step.table(1, rounds), n**0.5, 0.0, 0.0, eta
    for a in alpha.tolist():
        steps += a
        agreement += a * phi
        rest += a**2 * n * (L + e) ** 2
        rest += 2 * a * ((L + e) * root * lam * phi + N * root * diameter * (lam * phi + a * root * e))
        phi = lam * phi + a * root * (L + e)
    expected = n * L * agreement / steps + rest / (2 * steps)
    bound = theory.finite_time("spectral", rounds=rounds, step=step, noise=0.5, **without(SPECTRAL, "delta"))
    assert bound.value == pytest.approx(expected, rel=1e-10)  # two orders of summation over 2.6e5 rounds
    assert sum(bound.constants.values()) == pytest.approx(bound.value, rel=1e-14)


def test_blocks_of_rounds_join_without_a_seam():
    whole = SQRT.table(1, BLOCK + 5)
    sums = sums_after(SQRT, 0.9, BLOCK + 5)
    assert sums.steps == pytest.approx(whole.sum(), rel=1e-12)
    assert sums.start == pytest.approx((whole * 0.9 ** np.arange(len(whole))).sum(), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 40])
def test_lemma_1_equals_its_sum(k):
    step, n, rho, L, delta, start = hk.Power(1, 3, 0.75), 4, 0.2, 2.0, 0.5, 3.0
    beta = 1 - rho / (4 * n**2)
    theta = beta**-2
    past = sum(beta ** (k + 1 - i) * step(i - 1) for i in range(2, k + 1))
    expected = n * theta * beta**k * start + 2 * step(k) * (L + delta) + n * theta * (L + delta) * past
    bound = theory.lemma1(k, step=step, n=n, rho=rho, L=L, delta=delta, start_norm=start)
    assert bound.value == pytest.approx(expected, rel=1e-12)


def test_lemma_2_has_the_appendix_s_factor():
    bound = theory.lemma2(4, step=SQRT, n=3, L=2, N=5, delta=1, spread=0.2, eta_sq=7, gap=0.3)
    alpha = 0.5
    F = alpha * 5 * (0.2 + alpha * 1)
    H = 2 * alpha * 3 * (2 + 2.5 + 1) * 0.2 + alpha**2 * 3 * (5 + 9)
    assert bound.constants["F_k"] == pytest.approx(F)
    assert bound.constants["H_k"] == pytest.approx(H)
    assert bound.value == pytest.approx((1 + F) * 7 - 2 * alpha * 0.3 + H)


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_problem_supplies_the_numbers(kind):
    problem = small_polynomials()
    asked = theory.finite_time(kind, problem, C5, hk.RssNb(1.0), rounds=500, start=START, grad_at="projected")
    start = np.array(START, dtype=float)
    off = abs(start - start.mean())
    plain = NUMBERS[kind] | (
        {"phi1": np.sqrt((off**2).sum())} if kind == "spectral" else {"start_spread": off.max()}
    )
    assert asked.value == pytest.approx(theory.finite_time(kind, rounds=500, **plain).value, rel=1e-12)
    assert asked.provided == ()


def test_noise_that_carries_states_out_of_x_counts():
    problem, algorithm = small_polynomials(), hk.RssNb(0.5)
    asked = theory.finite_time("spectral", problem, C5, algorithm, rounds=10, step=hk.Power(2, 0, 0.75))
    inflated = problem.constants(inflate=2 * 0.5)
    assert (asked.quantities["L"], asked.quantities["N"]) == (inflated.L, inflated.N)


def test_a_step_that_grows_inflates_by_its_largest():
    problem = small_polynomials()
    grows = theory.finite_time("spectral", problem, C5, hk.RssNb(1.0), rounds=3, step=lambda k: 0.1 * k)
    assert grows.quantities["L"] == pytest.approx(problem.constants(inflate=0.3).L)


def test_plain_numbers_take_precedence():
    bound = theory.lemma1(3, small_polynomials(), C5, hk.RssNb(1.0), step=SQRT, L=2.0)
    assert bound.quantities["L"] == 2.0


def test_an_unknown_optimum_is_as_far_as_x_allows():
    problem = hk.Problem(
        lambda x, a: jnp.cos(x @ a), np.ones((5, 2)), feasible=hk.Ball(3.0), dim=2, lipschitz=2, smoothness=2
    )
    bound = theory.finite_time("spectral", problem, C5, hk.Dgd(), rounds=10)
    assert bound.quantities["eta1_sq"] == 5 * 6.0**2
    assert bound.provided == ("the sum of the objectives is convex",)
    assert "provided that the sum" in str(bound)


def test_phases_with_all_links_mix_as_the_worst_does():
    phases = [hk.Network.cycle(5), hk.Network.cycle(5, weights="metropolis")]
    bound = theory.finite_time("spectral", small_polynomials(), phases, hk.Dgd(), rounds=10)
    assert bound.quantities["lam"] == pytest.approx(max(network.lam for network in phases))


@pytest.mark.parametrize("family", ["polynomial", "cosine"])
@pytest.mark.parametrize("drawn", [False, True])
def test_noise_functions_stay_within_what_they_are_said_to_add(family, drawn):
    algorithm = hk.FunctionSharing(3, 0.5, family=family)
    network, feasible = hk.Network.star(4), hk.Ball(2.0, center=[1.0, 0.0])
    rng = np.random.default_rng(1)
    width = algorithm.basis.width(2)
    draws = rng.choice([-0.5, 0.5], size=(3, 2, width))
    plan = Setting(network, 2, SQRT, 1)
    slope, bend = added_constants(algorithm, plan, feasible, draws if drawn else None)
    hub = (draws[:, 1] - draws[:, 0]).sum(axis=0)  # agent 0 is the lower end of all links
    points = np.stack([feasible.project(x) for x in rng.normal(scale=3, size=(400, 2))])
    gradients = np.stack([algorithm.basis.gradient(x, hub) for x in points])
    assert np.linalg.norm(gradients, axis=1).max() <= slope
    near = points + 1e-6
    moved = np.stack([algorithm.basis.gradient(x, hub) for x in near]) - gradients
    assert (np.linalg.norm(moved, axis=1) / np.linalg.norm(near - points, axis=1)).max() <= bend * (1 + 1e-4)


def test_function_sharing_is_dgd_on_noisier_objectives():
    plain, shared = (
        theory.finite_time("spectral", small_polynomials(), C5, algorithm, rounds=100)
        for algorithm in (hk.Dgd(), hk.FunctionSharing(2, 0.5))
    )
    assert shared.quantities["noise"] == plain.quantities["noise"] == 0
    # Two links of two draws each: coefficients within 2, so ‖∇p‖ ≤ 2 (1 + 2) and the curvature within 4.
    assert shared.quantities["L"] == plain.quantities["L"] + 6
    assert shared.quantities["N"] == plain.quantities["N"] + 4


def test_function_noise_of_one_s_own_is_measured():
    own = hk.FunctionSharing(1, 0.0, given=lambda i, j, k: [0.0, 1.0 if i < j else 0.0])
    bound = theory.finite_time("spectral", small_polynomials(), C5, own, rounds=10)
    assert bound.quantities["L"] == 6 + 2  # agent 0 gives on two links, agent 4 receives on two


def test_spectral_is_a_thousand_times_tighter():
    literal, spectral = (
        theory.finite_time(
            kind, small_polynomials(), C5, hk.RssNb(1.0), rounds=10_000, start=START, grad_at="projected"
        )
        for kind in ("literal", "spectral")
    )
    assert literal.value >= 1000 * spectral.value
    assert spectral.vacuous  # 178, where no point of X is worse than 60
    assert "vacuous" in str(spectral)


@pytest.mark.parametrize("kind", NUMBERS)
def test_questions_out_of_reach_get_an_honest_answer(kind):
    none = theory.delta_for(1e-9, kind, rounds=100, **without(NUMBERS[kind], "delta"))
    assert none.value is None
    assert "even without noise" in str(none)
    never = theory.rounds_for(1e-9, kind, most=1000, **NUMBERS[kind])
    assert never.value is None
    assert "not within 1,000 rounds" in str(never)
    assert never.bound.value > 1e-9


def test_rounds_far_away_are_found_where_the_bound_has_a_closed_form():
    answer = theory.rounds_for(1.0, "literal", **PAPER)
    assert 1e15 < answer.value < 1e18
    assert answer.bound.value <= 1.0


def test_a_constant_step_has_a_floor():
    answer = theory.rounds_for(1.0, "spectral", step=hk.Constant(0.1), most=100_000, **SPECTRAL)
    assert answer.value is None


def test_noise_for_a_gap_from_a_problem():
    asked = {"rounds": 1000, "start": START}
    answer = theory.delta_for(5000.0, "spectral", small_polynomials(), C5, hk.RssLb(9.0), **asked)
    again = theory.finite_time("spectral", small_polynomials(), C5, hk.RssLb(answer.value), **asked)
    assert again.value == pytest.approx(5000.0, rel=1e-6)
    assert again.value <= 5000.0


def test_theorem_1_is_claimed_where_it_holds():
    found = theory.theorem1(small_polynomials(), C5, hk.RssNb(1.0), step=hk.Power(1, 20, 0.75))
    assert found.theorem == "Theorem 1"


def test_balance_of_one_s_own_noise_is_taken_on_trust():
    own = hk.RssLb(1.0, given=lambda i, j, k: 0.1 if j == (i + 1) % 5 else -0.1)
    bound = theory.lemma1(1, small_polynomials(), C5, own, step=SQRT, delta=0.1)
    assert bound.provided == ("your own noise is balanced",)


@pytest.mark.parametrize(
    "normal",
    [hk.RssNb(1.0, distribution="gaussian"), hk.FunctionSharing(2, 1.0, distribution="gaussian")],
    ids=["words", "functions"],
)
def test_a_bound_under_normal_noise_says_what_it_rests_on(normal):
    bound = theory.lemma1(3, small_polynomials(), C5, normal, step=SQRT)
    assert bound.provided == ("noise stays within a bound",)
