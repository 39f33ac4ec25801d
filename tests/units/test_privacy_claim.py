"""A theorem on privacy is claimed only for what is declared."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.algorithms import BY_KEY
from hocket.errors import NoTheorem
from hocket.privacy.audit import text
from hocket.privacy.audit.theorem import Theorem, privacy_claim
from hocket.problems.objective_class import ObjectiveClass

RING = hk.Network.cycle(5)
QUICK = {"rounds": 8}
FS = hk.FunctionSharing(2, 1.0)


def claim(objectives, algorithm=FS, **course):
    return privacy_claim(algorithm, ObjectiveClass.parse(objectives), **course)


def test_what_noise_hides_is_covered():
    for declared in ("polynomial:1", "polynomial:2"):
        assert claim(declared).theorem is Theorem.FUNCTIONS
        assert not claim(declared).assumed
    assert claim("quadratic", dim=1)  # of one number there are no cross terms


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            lambda: claim("any"),
            "nobody has said that objectives are separable polynomials of degree 2 or less",
        ),
        (lambda: claim("polynomial:3"), "its noise hides separable polynomials of degree 2 or less"),
        (lambda: claim("quadratic", dim=2), "objectives are quadratics"),
        (lambda: claim("generalised-linear"), "objectives are generalised linear models"),
        (lambda: claim("polynomial:2", local_steps=40), "one step between two exchanges, not 40"),
        (lambda: claim("polynomial:2", batches=True), "not over batches"),
        (lambda: claim("polynomial:1", hk.FunctionSharing(1, 0.0)), "there is none for"),  # no noise at all
        (lambda: claim("polynomial:1", hk.FunctionSharing(1, 1.0, family="cosine")), "waves"),
    ],
)
def test_all_else_has_no_theorem_and_says_why(found, why):
    assert found().theorem is None
    assert why in str(found())
    assert str(found()).startswith("no theorem: ")


@pytest.mark.parametrize("key", sorted(set(BY_KEY) - {"function-sharing", "joint-average"}))
def test_no_other_algorithm_has_one(key):
    assert privacy_claim(key, ObjectiveClass("polynomial", 1)).theorem is None
    assert privacy_claim(key, None).theorem is None


def test_a_bare_topology_is_told_the_condition_in_the_same_sentence():
    for algorithm in (None, "function-sharing", FS):
        line = hk.audit(RING, colluders=1, algorithm=algorithm, **QUICK).verdict[0]
        assert "(Theorem 2)" in line
        assert ", if objectives are separable polynomials" in line


def test_a_plan_that_declares_nothing_gets_no_theorem():
    """`hk.audit` of degree-1 noise said that P1 and P2 hold, for any task."""
    found = hk.audit(RING, colluders=1, algorithm=hk.FunctionSharing(1, 1.0), objectives="any", **QUICK)
    assert not found.covered
    assert text.proved(found) == []
    assert "Theorem 2" not in " ".join(found.verdict)
    assert (
        "FS: no theorem: nobody has said that objectives are separable polynomials"
        in text.estimated(found)[0]
    )
    assert "P1 and P2 would hold against any 1 colluder" in text.estimated(found)[0]
    assert found.to_json()["claim"]["theorem"] is None
    with pytest.raises(NoTheorem, match="nobody has said"):
        _ = found.p1


def test_many_local_steps_have_none_either():
    found = hk.audit(RING, colluders=1, algorithm=FS, objectives="polynomial:2", local_steps=40, **QUICK)
    assert not found.covered


def test_a_run_is_judged_by_its_problem():
    def loss(x, c):
        return jnp.sum(c * x**2)

    given = {"feasible": hk.Ball(1.0), "dim": 1}
    how = {"rounds": 4, "step": 0.1, "keep": "transcript"}
    for declared, covered in (("polynomial:2", True), (None, False)):
        problem = hk.Problem(loss, np.ones((5, 1)), objectives=declared, convex=True, **given)
        run = hk.solve(problem, RING, FS, **how)
        assert hk.audit(RING, colluders=1, run=run).covered == covered
    with pytest.raises(hk.errors.BadInput, match="a run says itself"):
        hk.audit(RING, colluders=1, run=run, objectives="any")
