"""Feasible sets: projections, sizes, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hocket.errors import BadProblem
from hocket.problems.sets import Ball, Box, Everywhere, FeasibleSet, Simplex

DIM = 4
SETS = [
    Box(-1.0, 2.0),
    Box([-1.0, 0.0, -3.0, 2.0], [0.5, 1.0, 3.0, 4.0]),
    Ball(2.0),
    Ball(0.5, [1.0, -1.0, 0.0, 3.0]),
    Simplex(),
    Simplex(3.0),
    Everywhere(),
]
vectors = hnp.arrays(np.float64, DIM, elements=st.floats(-1e3, 1e3, allow_subnormal=False))
rationals = st.lists(st.fractions(-20, 20, max_denominator=50), min_size=DIM, max_size=DIM)
project_rows = jax.jit(lambda feasible, rows: jax.vmap(feasible.project)(rows))
ROUNDING = 1e-10  # float64 and numbers up to 1e3: some 1e-13 per operation, a handful of operations


@pytest.fixture(params=SETS, ids=str, scope="module")
def feasible(request: pytest.FixtureRequest) -> FeasibleSet:
    return request.param


class TestProjection:
    @given(x=vectors)
    def test_lands_in_the_set_and_stays(self, feasible: FeasibleSet, x: np.ndarray) -> None:
        once = feasible.project(x)
        assert feasible.contains(once)
        np.testing.assert_allclose(feasible.project(once), once, atol=ROUNDING)

    @given(x=vectors, y=vectors)
    def test_never_moves_points_apart(self, feasible: FeasibleSet, x: np.ndarray, y: np.ndarray) -> None:
        apart = np.linalg.norm(feasible.project(x) - feasible.project(y))
        assert apart <= np.linalg.norm(x - y) + ROUNDING

    @given(x=vectors, y=vectors)
    def test_is_the_nearest_point(self, feasible: FeasibleSet, x: np.ndarray, y: np.ndarray) -> None:
        # The obtuse angle that characterises the projection on a convex set; the products are up to 1e6.
        nearest, other = feasible.project(x), feasible.project(y)
        assert (x - nearest) @ (other - nearest) <= 1e-6

    @given(x=vectors)
    def test_jax_and_numpy_agree(self, feasible: FeasibleSet, x: np.ndarray) -> None:
        with jax.enable_x64(True):
            batch = np.stack([x, -x])
            expected = [feasible.project(row) for row in batch]
            np.testing.assert_allclose(project_rows(feasible, batch), expected, atol=ROUNDING)

    def test_keeps_single_precision(self, feasible: FeasibleSet) -> None:
        with jax.enable_x64(True):
            assert feasible.project(jnp.full(DIM, 9.0, dtype=jnp.float32)).dtype == jnp.float32

    @pytest.mark.parametrize(
        "exact", [Box(-1.0, 2.0), Box(-0.1, [1, 2, 3, 4]), Simplex(), Everywhere()], ids=str
    )
    @given(x=rationals)
    def test_is_exact_on_fractions(self, exact: FeasibleSet, x: list[Fraction]) -> None:
        projected = exact.project(np.array(x, dtype=object))
        assert all(isinstance(value, Fraction | int) for value in projected)
        if isinstance(exact, Simplex):
            assert sum(projected) == 1
        floats = exact.project(np.array(x, dtype=float))
        np.testing.assert_allclose(projected.astype(float), floats, atol=ROUNDING)

    def test_a_ball_is_exact_inside_and_refuses_outside(self) -> None:
        inside = np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object)
        assert list(Ball(1.0).project(inside)) == list(inside)
        with pytest.raises(BadProblem, match=r"irrational.*use a Box"):
            Ball(0.5).project(inside)

    def test_far_away_the_simplex_keeps_its_digits(self) -> None:
        assert Simplex().project(np.array([1e12, 1e12, 0.0])).sum() == pytest.approx(1.0, abs=1e-15)


class TestSizes:
    @given(x=vectors, y=vectors)
    def test_bound_every_pair_of_points(self, feasible: FeasibleSet, x: np.ndarray, y: np.ndarray) -> None:
        p, q = feasible.project(x), feasible.project(y)
        assert np.linalg.norm(p - q) <= feasible.diameter(DIM) + ROUNDING
        assert np.linalg.norm(p) <= feasible.radius(DIM) + ROUNDING
        low, high = feasible.bounding_box(DIM)
        assert np.all((low - ROUNDING <= p) & (p <= high + ROUNDING))
        center, radius = feasible.enclosing_ball(DIM)
        assert np.linalg.norm(p - center) <= radius + ROUNDING

    @given(x=vectors, direction=vectors, by=st.floats(0, 5))
    def test_inflating_covers_what_lies_within(
        self, feasible: FeasibleSet, x: np.ndarray, direction: np.ndarray, by: float
    ) -> None:
        offset = by * direction / max(np.linalg.norm(direction), 1e-9)
        assert feasible.inflated(by).contains(feasible.project(x) + offset, ROUNDING)

    @pytest.mark.parametrize(
        ("chosen", "diameter", "radius"),
        [
            (Box(-30, 30), 120.0, 60.0),
            (Ball(3.0, 1.0), 6.0, 5.0),
            (Simplex(2.0), 2 * 2**0.5, 2.0),
            (Everywhere(), np.inf, np.inf),
        ],
        ids=str,
    )
    def test_known_values(self, chosen: FeasibleSet, diameter: float, radius: float) -> None:
        assert chosen.diameter(DIM) == pytest.approx(diameter)
        assert chosen.radius(DIM) == pytest.approx(radius)
        assert chosen.bounded == np.isfinite(diameter)

    def test_membership_answers_row_by_row(self) -> None:
        rows = np.array([[0.0, 0.0], [2.0, 0.0]])
        for chosen in (Box(-1, 1), Ball(1.0), Box(-1, 1).inflated(0.5)):
            np.testing.assert_array_equal(chosen.contains(rows), [True, False])
        assert not Everywhere().contains(np.array([np.nan]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Box([0.0, 3.0], [1.0, 2.0]), "coordinate 1 of a Box: low 3.0 is not below high 2.0"),
        (lambda: Box(1.0, 1.0), "low 1.0 is not below high 1.0"),
        (lambda: Box(0.0, np.inf), r"high of a Box is inf.*Everywhere\(\)"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), "low of a Box has 2 coordinates and high 3"),
        (lambda: Ball(0.0), "radius of a Ball is 0.*positive"),
        (lambda: Ball(1.0, [np.nan]), "center of a Ball"),
        (lambda: Simplex(-1.0), "total of a Simplex"),
        (lambda: Box(0.0, 1.0).inflated(-1.0), "inflated by a finite distance of zero or more, not by -1.0"),
        (lambda: Box([0.0, 0.0], 1.0).check_dim(3), "the Box has 2 coordinates and the problem 3"),
        (lambda: Ball(1.0, [0.0, 0.0]).check_dim(3), "2 coordinates and the problem 3"),
    ],
)
def test_refuses(build, message: str) -> None:
    with pytest.raises(BadProblem, match=message):
        build()


def test_new_bounds_need_no_new_compilation() -> None:
    traces = []

    @jax.jit
    def project(feasible: FeasibleSet, x: jax.Array) -> jax.Array:
        traces.append(feasible)
        return feasible.project(x)

    assert [float(project(Box(0.0, high), jnp.array([5.0]))[0]) for high in (1.0, 2.0)] == [1.0, 2.0]
    assert len(traces) == 1


def test_sets_may_be_built_from_traced_bounds() -> None:
    assert jax.jit(lambda high: Box(0.0, high).project(jnp.array([5.0])))(3.0)[0] == 3.0
    assert jax.jit(lambda size: Ball(size).project(jnp.array([5.0])))(3.0)[0] == 3.0
