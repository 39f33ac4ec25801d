"""Function sharing: the quadratic family, normal coefficients by their deviation, own noise, and sums on a grid."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import equinox as eqx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import Setting
from hocket.claims import mechanism
from hocket.errors import BadAlgorithm, BadProblem, NoTheorem
from hocket.federation.runtime.role import MemberRole
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.functions import PolynomialFamily, QuadraticFamily
from hocket.privacy.audit.theorem import privacy_claim
from hocket.problems import LeastSquares, Polynomial, Quadratic
from hocket.problems.objective import KnownObjective
from hocket.problems.objective_class import QUADRATIC, ObjectiveClass
from hocket.problems.regression import record_coefficients
from hocket.rationals import as_fractions
from hocket.runs.job import Job
from hocket.runs.theorems import claim

RING, STEP = hk.Network.cycle(5), hk.Power(0.1, 20, 0.75)
SETTING = Setting(RING, 2, STEP, 10)
GRID = 2.0**-20
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, size=(5, 4, 2))
SQUARES = hk.least_squares(ROWS, ROWS @ [1.0, -0.5], feasible=hk.Ball(5.0))


@cache
def quadratic(**how) -> hk.FunctionSharing:
    return hk.FunctionSharing(2, family="quadratic", **{"sd": 1.0, **how})


@given(dim=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_the_family_holds_every_quadratic(dim, seed):
    """Least squares by coefficients has the gradient of least squares by records, in floats and in fractions."""
    rng = np.random.default_rng(seed)
    problem = hk.least_squares(
        rng.normal(size=(1, 3, dim)), rng.normal(size=(1, 3)), feasible=hk.Everywhere(), reduction="mean"
    )
    data, x = problem.groups[0].data_of(0), rng.normal(size=dim)
    family = QuadraticFamily(2)
    records = family.coefficients(LeastSquares(), data, dim)
    assert records.shape == (3, dim * (dim + 3) // 2) == (3, family.width(dim))
    np.testing.assert_allclose(family.gradient(x, records.sum(axis=0)), problem.gradient(0, x), atol=1e-12)
    exact = family.gradient(as_fractions(x), as_fractions(records.sum(axis=0)))
    np.testing.assert_allclose(exact.astype(float), problem.gradient(0, x), atol=1e-12)


@given(seed=st.integers(0, 2**32))
def test_quadratics_are_objectives_of_their_own(seed):
    rng = np.random.default_rng(seed)
    root, slope = rng.normal(size=(3, 3)), rng.normal(size=3)
    bend, (p, q) = root @ root.T + np.eye(3), np.triu_indices(3)
    data = np.concatenate([slope, np.where(p == q, 0.5, 1.0) * bend[p, q]])[None]
    problem = hk.Problem(Quadratic(), data, feasible=hk.Ball(100.0), dim=3)
    x = rng.normal(size=3)
    assert problem.value(0, x) == pytest.approx(slope @ x + x @ bend @ x / 2)
    assert problem.convex
    assert problem.objective_class == QUADRATIC
    np.testing.assert_allclose(problem.best.x, -np.linalg.solve(bend, slope), atol=1e-5)
    found = problem.constants()
    assert pytest.approx(np.linalg.norm(bend, 2)) == found.N
    edge = 100 * x / np.linalg.norm(x)
    assert np.linalg.norm(problem.gradient(0, edge)) <= found.L * (1 + 1e-12)
    assert not hk.Problem(Quadratic(), -data, feasible=hk.Ball(1.0), dim=3).convex


def test_polynomials_without_cross_terms_are_in_the_family():
    problem = hk.polynomials([[[1, 2], [3, 4], [5, 6]]], box=(-1, 1))
    rows = QuadraticFamily(2).coefficients(problem.groups[0].objective, problem.groups[0].data_of(0), 2)
    assert rows.tolist() == [[3, 4, 5, 0, 6]]
    steep = hk.polynomials([[0, 0, 0, 1]], box=(-1, 1))
    assert QuadraticFamily(2).coefficients(steep.groups[0].objective, steep.groups[0].data_of(0), 1) is None


def test_squares_get_half_the_variance():
    """Of all other coefficients, x_p² of noise σ/√2: 12,000 draws of each know a deviation to 0.7 %."""
    network = hk.Network.complete(50)
    for algorithm in (quadratic(), quadratic(own=1.0)):
        draws = Job.asked(
            hk.polynomials([[0, 1, 1]] * 50, box=(-1, 1), dim=2), network, algorithm, step=STEP, rounds=1
        ).draws(algorithm)
        when = hk.noise.When(np.array([0]), np.array([0]))
        key = (np.uint32(1), np.uint32(2))
        drawn = draws["function"].raw(key, when, tabulate(network, slots_needed=True), np.float64)
        sd = np.concatenate([side[0] for side in drawn]).std(axis=0)
        np.testing.assert_allclose(sd, np.sqrt([1, 1, 0.5, 1, 0.5]), rtol=0.06)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: hk.FunctionSharing(2), "give either bound=, the largest coefficient, or sd="),
        (lambda: hk.FunctionSharing(2, 1.0, sd=1.0), "give either bound="),
        (lambda: hk.FunctionSharing(2, sd=-1.0), "sd = -1.0"),
        (lambda: hk.FunctionSharing(2, sd=1.0, own=math.inf), "own = inf"),
        (
            lambda: hk.FunctionSharing(3, sd=1.0, family="quadratic"),
            "the quadratic family has degree 2, not 3",
        ),
        (lambda: hk.FunctionSharing(2, 1.0, grid=GRID), "on a grid noise is normal; give sd="),
        (lambda: hk.FunctionSharing(2, sd=1.0, grid=0.1), "a power of two"),
        (lambda: hk.FunctionSharing(2, sd=1.0, family="cosine", grid=GRID), "none can be put on a grid"),
        (
            lambda: hk.solve(SQUARES, RING, quadratic(grid=0.25), rounds=1),
            "grid = 0.25 is too coarse for sd = 1",
        ),
        (lambda: hk.sweep(SQUARES, RING, quadratic(grid=GRID), rounds=1), "use solve for each seed"),
        (
            lambda: MemberRole(0, SETTING, quadratic(own=1.0), hk.Everywhere(), np.dtype(float)).draws,
            "Gaussian noise",
        ),
    ],
)
def test_mistakes_are_named(build, said):
    with pytest.raises(BadAlgorithm, match=said):
        build()


def test_the_cure_for_a_coarse_grid_is_one():
    with pytest.raises(BadAlgorithm, match=r"take grid = 2\*\*-4"):
        quadratic(grid=0.25).validate(SETTING)
    quadratic(grid=2.0**-4).validate(SETTING)


def test_what_is_not_in_the_span_cannot_be_put_on_a_grid():
    with pytest.raises(BadProblem, match="LeastSquares of agent 0 is not known to be in the span"):
        hk.solve(SQUARES, RING, hk.FunctionSharing(2, sd=1.0, grid=GRID), rounds=1)


def test_a_sum_beyond_the_range_is_refused():
    with pytest.raises(BadAlgorithm, match="take a coarser grid, or scale the data"):
        hk.solve(SQUARES, RING, quadratic(grid=2.0**-60), rounds=1)


def test_what_a_certificate_is_told():
    found = mechanism(quadratic(sd=0.6, own=0.2), SETTING)
    assert (found.on, found.own_sd, found.exact) == ("objective", 0.2, False)
    assert found.link_sd.tolist() == [[0.6] * 5]
    whole = mechanism(quadratic(sd=0.6, own=0.2, grid=GRID), SETTING)
    assert whole.exact
    for given_sd, told in ((0.6, whole.link_sd[0, 0]), (0.2, whole.own_sd)):
        assert told == pytest.approx(math.sqrt(given_sd**2 - 16 * GRID**2), rel=1e-15)
        assert told < given_sd
    bounded = hk.FunctionSharing(2, 1.0, family="quadratic", distribution="gaussian")
    sd = float(mechanism(bounded, SETTING).link_sd[0, 0])
    assert sd == bounded.noise(SETTING)["function"].sd[0, 0]


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        (hk.FunctionSharing(2, 1.0), "uniformly"),
        (hk.FunctionSharing(1, sd=1.0, given=lambda i, j, k: [0, 1]), "of the user's own"),
        (hk.FunctionSharing(1, sd=1.0, family="cosine"), "waves"),
        (hk.FunctionSharing(1, sd=0.0), "plain DGD"),
    ],
)
def test_why_there_is_no_certificate(algorithm, why):
    assert why in mechanism(algorithm, SETTING)


def test_theorem_2_on_quadratics_needs_cross_terms():
    assert privacy_claim(quadratic(), QUADRATIC, dim=2)
    assert privacy_claim(quadratic(), ObjectiveClass("polynomial", 2), dim=2)
    assert not privacy_claim(quadratic(), ObjectiveClass("polynomial", 3), dim=2)
    assert not privacy_claim(hk.FunctionSharing(2, 1.0), QUADRATIC, dim=2)
    claim = privacy_claim("function-sharing", QUADRATIC)
    assert claim.condition == "its noise is of the quadratic family, with cross terms"


def test_own_noise_has_no_theorem_of_convergence():
    found = claim(Job.asked(SQUARES, RING, quadratic(own=0.5), step=STEP, rounds=2))
    assert found.theorem is None
    assert "cancels nowhere" in found.statement
    assert claim(Job.asked(SQUARES, RING, quadratic(), step=STEP, rounds=2)).theorem == "Theorem 1"
    assert "own noise of deviation 0.5" in str(
        hk.solve(SQUARES, RING, quadratic(own=0.5), step=STEP, rounds=2).remarks
    )


FIRST = hk.polynomials([[0, 1 + j, 1] for j in range(5)], box=(-10, 10))
MOVED = 0.3
"""A slope that no float holds, moved from agent 1 to agent 2."""
SECOND = hk.polynomials([[0, 1 + j + MOVED * ((j == 2) - (j == 1)), 1] for j in range(5)], box=(-10, 10))


def words(problem: hk.Problem, noise) -> bytes:
    algorithm = hk.FunctionSharing(2, sd=1.0, given=noise, grid=GRID)
    run = hk.solve(problem, RING, algorithm, step=STEP, rounds=30, keep="transcript")
    return run.transcript.words[0].tobytes()


def test_words_are_the_same_for_two_ways_to_the_same_sum():
    """Bit for bit, whichever part is objective and which noise; that in floats they are not, test_rounding_attacks
    makes use of."""
    moved = float(np.rint(MOVED / GRID)) * GRID
    drawn = {(i, (i + 1) % 5): np.rint(0.7 * (i + 1) / GRID) * GRID for i in range(5)}

    def one(sender: int, receiver: int, k: int) -> list[float]:
        return [0.0, drawn.get((sender, receiver), 0.0), 0.0]

    def other(sender: int, receiver: int, k: int) -> list[float]:
        back = moved if (sender, receiver) == (2, 1) else 0.0
        return [0.0, drawn.get((sender, receiver), 0.0) + back, 0.0]

    assert words(FIRST, one) == words(SECOND, other)
    assert words(FIRST, one) != words(FIRST, other)


def test_the_exact_engine_follows_the_same_sum():
    how = {"step": hk.Constant(Fraction(1, 8)), "rounds": 3, "seed": 4}
    floats = hk.solve(FIRST, RING, hk.FunctionSharing(2, sd=1.0, grid=GRID), **how)
    exact = hk.solve(FIRST, RING, hk.FunctionSharing(2, sd=1.0, grid=GRID), engine="exact", **how)
    np.testing.assert_allclose(exact.x.astype(float), floats.x, atol=1e-12)  # values of 10, 3 rounds


@given(seed=st.integers(0, 2**63))
def test_noise_on_a_grid_cancels_to_the_last_unit(seed):
    """Objectives and sums add up to the same whole numbers, on any seed; own noise does not."""
    for own in (0.0, 1.0):
        algorithm = quadratic(own=own, grid=GRID)
        job = Job.asked(SQUARES, RING, algorithm, step=STEP, rounds=1, seed=seed)
        stored, total = algorithm.stored, 0
        for j in range(5):
            group, place = SQUARES.place(j)
            total = total + stored.objective(stored.records_of(group.objective, group.data_of(place), 2, ""))
        kept = stored.units(job.own_problem.groups[0].data)
        assert (kept.sum(axis=0) == total).all() == (own == 0)


def test_a_record_takes_the_same_whole_numbers_to_another_member():
    """Rounded record by record: the sum over all does not depend on who holds what."""
    stored, (rows, targets) = quadratic(grid=GRID).stored, (ROWS[0], ROWS[0] @ [1.0, -0.5])
    every = record_coefficients(rows, targets)
    parts = stored.objective(every[:1]) + stored.objective(every[1:])
    assert (stored.objective(every) == parts).all()


@cache
def crossed() -> hk.Run:
    """Least squares under noise with cross terms, every message kept; all hear all."""
    return hk.solve(SQUARES, hk.Network.complete(5), quadratic(), step=STEP, rounds=20, keep="transcript")


def test_a_witness_says_what_it_cannot_show():
    with pytest.raises(NoTheorem, match="for separable polynomials"):
        hk.privacy.witness(crossed(), {0}, {1: [0, 1, 1]})
    how = {"step": hk.Constant(Fraction(1, 8)), "rounds": 2, "engine": "exact"}
    for algorithm, why in (
        (hk.FunctionSharing(2, sd=1.0, grid=GRID), "put them on a grid"),
        (hk.FunctionSharing(2, sd=1.0, own=1.0), "drew noise of their own"),
    ):
        with pytest.raises(NoTheorem, match=why):
            hk.privacy.witness(hk.solve(FIRST, RING, algorithm, **how), {0}, {1: [0, 1, 1]})


def test_an_audit_of_a_run_with_cross_terms():
    run = crossed()
    assert "P1 and P2 hold (Theorem 2)" in str(hk.audit(run.network, coalition={0}, run=run))


def test_the_sum_over_a_component_is_exposed_with_cross_terms_too():
    """Pairwise noise is all that hides it, and that cancels where all begin: at one point."""
    run = crossed()
    found = hk.privacy.attacks.component_attack(run.view({0}), [1, 2, 3, 4])
    true = sum(SQUARES.gradient(j, run.path[0, 0]) for j in range(1, 5))
    np.testing.assert_allclose(found.estimate[0], true, atol=1e-9)  # float64, over steps of 0.01
    alone = hk.privacy.attacks.component_attack(run.view({0}), [1])
    assert alone.typical_sd > 0.5


class Watched(hk.Dgd):
    """DGD that shows whom it is played for."""

    seen: list

    def round(self, agent, state, k):
        self.seen.append(agent)
        return (yield from super().round(agent, state, k))


@pytest.mark.parametrize("terms", [2, 4, 6], ids=["fewer", "as many", "more"])
@pytest.mark.parametrize("shared", [True, False], ids=["one for all coordinates", "one for each"])
def test_a_polynomial_and_its_noise_are_descended_as_one(terms, shared):
    own = as_fractions(RNG.integers(-9, 9, size=(terms,) if shared else (terms, 3)))
    dealt = as_fractions(RNG.integers(-9, 9, size=4 * 3))
    x = as_fractions([Fraction(1, 3), Fraction(-2, 7), Fraction(5)])
    known = KnownObjective(Polynomial(), own)
    agent = Agent(0, lambda k: 1, known, hk.Box(-1.0, 1.0), {"function": dealt})
    seen = []
    inner = hk.FunctionSharing(3, bound=1.0, inner=Watched(seen))
    next(inner.round(agent, x, 1))
    (inside,) = seen
    assert inside.plus is None
    assert isinstance(inside.objective, KnownObjective)
    parts = known(x) + PolynomialFamily(3).gradient(x, dealt)
    assert (inside.gradient(x) == parts).all()  # in fractions: the very same function


@pytest.mark.parametrize("objective", ["joined", "apart"])
def test_a_projected_gradient_asks_objective_and_noise_at_one_point(objective):
    """Asked at two points, what is sent is no function of f + p, and no theorem holds."""
    known = KnownObjective(Polynomial(), np.array([0.0, 1.0, 1.0]))
    asked = known if objective == "joined" else lambda v: known(v)
    seen = []
    sharing = hk.FunctionSharing(2, bound=1.0, inner=Watched(seen))
    agent = Agent(0, lambda k: 1, asked, hk.Box(-1.0, 1.0), {"function": np.ones(3)}, grad_at="projected")
    next(sharing.round(agent, np.full(1, 3.0), 1))
    assert seen[0].gradient(np.full(1, 3.0)) == pytest.approx([(1 + 2 * 1.0) + (1 + 2 * 1.0)])


class Wandering(hk.problems.Polynomial):
    """A polynomial whose agents take two steps between exchanges."""

    def local(self, data):
        def steps(v, k, *, step, feasible, plus):
            for _ in range(2):
                slope = self.gradient(v, data) if plus is None else self.gradient(v, data) + plus(v)
                v = feasible.project(v - step / 2 * slope)
            return v

        return steps


def test_local_steps_are_disguised_too():
    plain = hk.polynomials(np.random.default_rng(0).uniform(0.5, 1.5, size=(5, 3)), box=(-5, 5))
    wandering = eqx.tree_at(lambda one: one.groups[0].objective, plain, Wandering())
    for problem in (plain, wandering):
        bare, noisy = (
            hk.solve(problem, hk.Network.cycle(5), one, rounds=4, step=hk.Constant(0.05), start=0.0).x
            for one in (hk.Dgd(), hk.FunctionSharing(2, 5.0))
        )
        assert np.abs(bare - noisy).max() > 0.1
