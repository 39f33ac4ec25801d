"""Theorem T in the auditor: nothing but sums over honest components, by the same cuts as P1 and P2; and no more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy import exposure, guarantees
from hocket.privacy.attacks import total_attack
from hocket.privacy.audit import text
from hocket.privacy.audit.theorem import Theorem, privacy_claim
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.report.audit_page import audit_page
from hocket.report.verdict_page import verdict_page

RING = hk.Network.cycle(5)
JOINT = hk.JointAverage()
PARTS = [[0, 1, 2], [0, -3, 1], [0, 2, 1], [0, 5, 3], [0, -1, 1]]


def play(parts=PARTS, **options):
    problem = hk.polynomials(parts, box=(-9, 9))
    return hk.solve(
        problem, RING, JOINT, step=hk.Constant(Fraction(1, 20)), rounds=6, keep="transcript", **options
    )


@pytest.mark.parametrize("objectives", [None, ANY, ObjectiveClass("polynomial", 2)])
def test_it_is_claimed_whatever_is_summed(objectives):
    for course in ({}, {"local_steps": 10}, {"batches": True}, {"dim": 3}):
        found = privacy_claim("joint-average", objectives, **course)
        assert found == privacy_claim(JOINT, objectives, **course)
        assert found.theorem is Theorem.SUMS
        assert not found.assumed
        assert (
            found.over_runs() == found
        )  # masks are new in every run; noise functions would have to be the same


def test_an_audit_says_it_with_its_assumption_and_what_stays_open():
    found = hk.audit(RING, colluders=1, algorithm=JOINT, rounds=9, local_steps=5)
    assert found.covered
    assert found.p1
    assert found.p2
    assert found.answer == (
        "Under Joint average, any 1 colluder would learn only the sum over all others, and no contribution by itself "
        "(Theorem T)."
    )
    first, told, rests = text.proved(found)
    assert first.startswith("Joint averaging: against any 1 colluder P1 and P2 hold (Theorem T)")
    assert "the sum over all honest agents is exposed in every round, exactly" in told.lower()
    assert "ChaCha20" in rests
    assert not text.estimated(found)
    assert not any("no theorem covers" in line for line in found.verdict)
    assert found.to_json()["claim"]["theorem"] == "Theorem T"


def test_whoever_is_cut_off_is_exposed():
    found = hk.audit(RING, coalition={0, 2}, algorithm=JOINT, rounds=9)
    assert not found.p1
    assert found.exposed == (1,)
    assert (
        found.answer == "Under Joint average, agents 0 and 2 would know the contribution of agent 1 exactly."
    )
    assert "exposed are the contributions of agent 1 and the sum over {3, 4}" in " ".join(text.proved(found))
    assert hk.audit(hk.Network.path(4), colluders=1, algorithm=JOINT, rounds=5).p2 is False


@pytest.mark.parametrize("network", [RING, hk.Network.path(4), hk.Network.star(5), hk.Network.complete(4)])
def test_cuts_decide_as_the_likelihood_does(network):
    """Masks written down one by one (`leakage`) leave known just whom the theorem says is exposed."""
    for coalition in ({0}, {1}, {0, 2}, {1, 3}):
        theorem = exposure(network, coalition, algorithm=JOINT)
        sd = hk.leakage(network, JOINT, coalition=coalition, rounds=5).sd
        assert {j for part in theorem.components for j in part if sd[j] == 0} == set(theorem.surrounded)
    assert guarantees(network, 1, algorithm="joint-average").p2 == (network.name in ("cycle:5", "complete:4"))


def test_other_contributions_with_the_same_sum_look_the_same():
    """The witness, on fractions: move a polynomial from an honest agent to another, and no total changes by a bit."""
    moved = [list(map(Fraction, row)) for row in PARTS]
    for power, shift in ((1, Fraction(7, 3)), (2, Fraction(-1, 5))):
        moved[3][power] += shift
        moved[4][power] -= shift
    true, other = (play(parts, engine="exact").view({0, 1}) for parts in (PARTS, moved))
    assert true.words[0].keys() == other.words[0].keys()
    for link, words in true.words[0].items():
        assert (words == other.words[0][link]).all()
    for member, path in true.states.items():
        assert (path == other.states[member]).all()


def test_the_sum_is_all_that_an_attack_finds():
    run = play()
    found = total_attack(run.view({0, 2}))
    assert found.target == (1, 3, 4)
    assert found.at is not None
    truth = [sum(run.problem.gradient(j, x) for j in found.target) for x in found.at]
    np.testing.assert_allclose(found.estimate, truth, atol=1e-12)  # float64, divided by a step of 0.05
    judged = hk.audit(RING, coalition={0}, run=run)
    (best,) = judged.measured
    assert best.exact
    assert [one.name for one in judged.tried if one.found] == ["total"]
    assert "nothing but secure sums" in str(next(one.why for one in judged.tried if one.name == "averaging"))


def test_the_attack_is_on_totals_only():
    run = hk.solve(hk.paper_polynomials(), RING, hk.Dgd(), rounds=5, keep="transcript")
    with pytest.raises(BadInput, match="this attack is on secure sums, and agents of Dgd"):
        total_attack(run.view({0}))


def test_the_page_speaks_of_its_theorem():
    text = audit_page(verdict_page(hk.audit(RING, colluders=1, algorithm=JOINT, rounds=5)))
    assert "Under joint averaging (Theorem T). P1: no single contribution is exposed" in text
    assert '"totals": "joint averaging"' in text
    assert "No theorem covers Joint average" not in text
