"""The class of objectives: derived, declared, compared, and written down."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadProblem
from hocket.problems.objective_class import ANY, ObjectiveClass

CLASSES = st.one_of(
    st.integers(0, 9).map(lambda degree: ObjectiveClass("polynomial", degree)),
    st.sampled_from(["quadratic", "generalised-linear", "any"]).map(ObjectiveClass.parse),
)
A, B = np.random.default_rng(0).normal(size=(3, 4, 2)), np.zeros((3, 4))


@given(CLASSES, CLASSES)
def test_what_is_written_is_read_back_and_a_join_holds_both(one, other):
    assert ObjectiveClass.parse(str(one)) == one
    both = one.joined(other)
    assert both.includes(one)
    assert both.includes(other)
    assert both == other.joined(one)
    assert one.includes(other) == (both == one)


def test_in_words():
    assert ObjectiveClass.parse("polynomial:2").words == "separable polynomials of degree 2 or less"
    assert ObjectiveClass.parse("quadratic").words == "quadratics"


@pytest.mark.parametrize("text", ["polynomial", "polynomial:-1", "polynomial:x", "quadratic:2", "convex", ""])
def test_nonsense_is_refused_with_what_may_be_written(text):
    with pytest.raises(BadProblem, match="write polynomial:2"):
        ObjectiveClass.parse(text)


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        (lambda: hk.polynomials([[0, 1, 1], [0, 0, 0, 0, 1]], box=(-1, 1)), "polynomial:4"),
        (lambda: hk.least_squares(A, B, feasible=hk.Ball(1.0)), "quadratic"),
        (lambda: hk.least_squares(A[..., :1], B, feasible=hk.Ball(1.0)), "polynomial:2"),  # no cross terms
        (lambda: hk.logistic(A, B, feasible=hk.Ball(1.0)), "generalised-linear"),
        (
            lambda: hk.Problem(lambda x, c: jnp.sum((x - c) ** 2), A[:, 0], feasible=hk.Ball(1.0), dim=2),
            "any",
        ),
    ],
)
def test_it_is_derived_where_the_form_is_known(problem, found):
    assert str(problem().objective_class) == found


def test_it_may_be_declared_and_a_wrong_declaration_is_refused():
    def loss(x, c):
        return jnp.sum((x - c) ** 2)

    given = {"feasible": hk.Ball(1.0), "dim": 2}
    declared = hk.Problem(loss, A[:, 0], objectives="polynomial:2", **given)
    assert str(declared.objective_class) == str(declared.pooled().objective_class) == "polynomial:2"
    assert hk.Problem(loss, A[:, 0], **given).objective_class == ANY
    with pytest.raises(BadProblem, match="declared as polynomial:1, and these are quadratic"):
        hk.least_squares(A, B, feasible=hk.Ball(1.0), objectives="polynomial:1")


FALSE = {
    "exponential": (lambda x, c: c * jnp.exp(x).sum(), "polynomial:2", "no polynomial of degree 1"),
    "logistic": (lambda x, c: jnp.logaddexp(0.0, c * x.sum()), "quadratic", "no polynomial of degree 1"),
    "cubic": (lambda x, c: c * (x**3).sum(), "quadratic", "no polynomial of degree 1"),
    "quartic": (lambda x, c: c * (x**4).sum(), "polynomial:3", "no polynomial of degree 2"),
    "cross terms": (lambda x, c: c * x[0] * x[1], "polynomial:2", "depends on others"),
    "a slope": (lambda x, c: c * x.sum(), "polynomial:0", "no polynomial of degree 0"),
}
TRUE = {
    "quartic": (lambda x, c: 1e6 * (c * x**4 - x).sum(), "polynomial:4"),
    "least squares": (lambda x, c: (c * x[0] - 3 * x[1] + 1) ** 2, "quadratic"),
    "constant": (lambda x, c: c + 0 * x[0], "polynomial:0"),
    "a high degree": (lambda x, c: c * (x**9).sum(), "polynomial:12"),
    "beyond what is looked at": (lambda x, c: c * (x**9).sum(), "polynomial:40"),
}


@pytest.mark.parametrize("feasible", [hk.Ball(1.0), hk.Box(-30, 30), hk.Everywhere()], ids=str)
@pytest.mark.parametrize("name", FALSE)
def test_a_declaration_that_gradients_contradict_is_refused(name, feasible):
    """Theorem 2 and certificates were printed "as declared", and what noise did not span was read exactly."""
    loss, said, why = FALSE[name]
    with pytest.raises(BadProblem, match=f"declared as {said}, and .*{why}.* of agent 0"):
        hk.Problem(loss, A[:, 0, 0], feasible=feasible, dim=2, objectives=said)
    assert hk.Problem(loss, A[:, 0, 0], feasible=feasible, dim=2, objectives="any").objective_class == ANY


@pytest.mark.parametrize("feasible", [hk.Ball(1.0), hk.Box(-30, 30), hk.Everywhere()], ids=str)
@pytest.mark.parametrize("name", TRUE)
def test_a_declaration_that_holds_is_taken(name, feasible):
    loss, said = TRUE[name]
    assert (
        str(hk.Problem(loss, A[:, 0, 0], feasible=feasible, dim=2, objectives=said).objective_class) == said
    )
