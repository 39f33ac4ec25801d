"""Wrong inputs are told what they are, what is wanted, and what to do: none is a traceback, and none runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput, BadNetwork, BadProblem, HocketError
from hocket.privacy import worst_leakage
from hocket.privacy.leakage.leakage import PlannedRun

RING, PROBLEM = hk.Network.cycle(5), hk.paper_polynomials()
RNG = np.random.default_rng(0)
X, Y, FREE = RNG.normal(size=(5, 4, 2)), RNG.normal(size=(5, 4)), hk.Everywhere()
A = (RING.B > 0) & ~np.eye(5, dtype=bool)
QUICK: dict[str, Any] = {"rounds": 5, "progress": False}


class Tensor(np.ndarray):
    """What looks like a tensor of torch, which the tests do not install."""


Tensor.__module__ = "torch"


def noisy() -> hk.Algorithm:
    return hk.CertifiedRssNb(1.0, own=0.5)


WITH_ROUNDS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda rounds: hk.solve(PROBLEM, RING, hk.Dgd(), rounds=rounds, progress=False).rounds,
    "sweep": lambda rounds: int(
        hk.sweep(PROBLEM, RING, hk.Dgd(), rounds=rounds, seeds=1).history["round"][-1]
    ),
    "compare": lambda rounds: hk.compare(PROBLEM, RING, hk.Dgd(), rounds=rounds, seeds=1).rows(last=True)[0][
        "round"
    ],
    "leakage": lambda rounds: hk.leakage(RING, "rss-nb", rounds=rounds, coalition={0}).rounds,
    "worst leakage": lambda rounds: worst_leakage(RING, "rss-nb", 1, rounds=rounds).leakage.rounds,
    "joint leakage": lambda rounds: PlannedRun(RING, "rss-nb", rounds=rounds).rounds,
    "audit": lambda rounds: (
        hk.audit(RING, algorithm="dgd", rounds=rounds, coalition=[0]).findings[0].leakage.rounds
    ),
}


@pytest.mark.parametrize("door", WITH_ROUNDS)
def test_a_whole_float_is_a_number_of_rounds_everywhere(door):
    """1e3 was 'a run needs at least one round' at one door, and 10.5 was ten rounds at another."""
    for given in (10.0, np.float64(10), np.int64(10)):
        found = WITH_ROUNDS[door](given)
        assert found == 10
        assert isinstance(found, int)
    for wrong, shown in ((10.5, "10.5"), ("10", r"'10' \(text\)"), (True, "True"), (0, "0"), (np.nan, "nan")):
        with pytest.raises(BadInput, match=rf"rounds = {shown}.*; give a whole number, 1 or more"):
            WITH_ROUNDS[door](wrong)


@pytest.mark.parametrize("door", [hk.sweep, hk.compare, hk.tune], ids=lambda door: door.__name__)
def test_a_whole_float_is_a_number_of_seeds(door):
    """2.0 was a TypeError, and '2' the seed 2."""
    assert door(PROBLEM, RING, hk.Dgd(), rounds=5, seeds=2.0)
    for wrong, shown in ((2.5, r"2\.5"), ("2", r"'2' \(text\)"), (None, "None"), (0, "0")):
        with pytest.raises(BadInput, match=rf"seeds = {shown}; give a whole number, 1 or more"):
            door(PROBLEM, RING, hk.Dgd(), rounds=5, seeds=wrong)


@pytest.mark.parametrize("name", ["local_steps", "runs"])
@pytest.mark.parametrize("wrong", [None, "a", float("nan"), 1.5, 0])
def test_an_audit_counts_steps_and_runs_in_whole_numbers(name, wrong):
    with pytest.raises(BadInput, match=rf"{name} = .*; give a whole number, 1 or more"):
        hk.audit(RING, algorithm="rss-nb", colluders=1, rounds=3, **{name: wrong})


@pytest.mark.parametrize("wrong", [0, {}, ["rss-nb"]])
def test_an_audit_of_no_algorithm_is_refused(wrong):
    with pytest.raises(BadInput, match=r"algorithm = .*; give a key, such as 'rss-nb', or an algorithm"):
        hk.audit(RING, algorithm=wrong, colluders=1, rounds=3)


def test_a_certificate_takes_a_whole_float_too():
    plan = {"sensitivity": 1.0, "colluders": 1, "step": 0.1}
    assert (
        hk.certify(RING, noisy(), rounds=1e2, **plan).mu == hk.certify(RING, noisy(), rounds=100, **plan).mu
    )
    with pytest.raises(BadInput, match=r"rounds = 10\.5; give a whole number"):
        hk.certify(RING, noisy(), rounds=10.5, **plan)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: hk.RssNb(delta="1"), r"delta = '1' of RssNb is text; give a number, delta=1"),
        (lambda: hk.RssNb("much"), r"delta = 'much' of RssNb is text; give a number, delta=1\.0"),
        (lambda: hk.RssNb(None), r"delta = None of RssNb is nothing; give a number"),
        (lambda: hk.RssNb(1j), r"delta = 1j of RssNb is complex; give a number"),
        (lambda: hk.RssNb([1.0]), r"delta = \[1\.0\] of RssNb is a list; give a number"),
        (lambda: hk.RssNb(np.zeros(1).view(Tensor)), r"delta = .* of RssNb is a torch tensor; give a number"),
        (lambda: hk.CertifiedRssNb("0.5"), r"sd = '0\.5' of CertifiedRssNb is text; give a number, sd=0\.5"),
        (
            lambda: hk.CertifiedRssNb(0.5, clip="1"),
            r"clip = '1' of CertifiedRssNb is text; give a number, clip=1",
        ),
        (
            lambda: hk.FunctionSharing("2", 1.0),
            r"degree = '2' of FunctionSharing is text; give a number, degree=2",
        ),
        (lambda: hk.PrivateDgd("1", clip=1.0, releases=5), r"epsilon = '1' of PrivateDgd is text"),
        (lambda: hk.IndependentNoise("1"), r"sd = '1' of IndependentNoise is text"),
    ],
)
def test_what_is_no_number_is_refused_where_an_algorithm_is_made(build, says):
    with pytest.raises(BadAlgorithm, match=says):
        build()


NO_ARRAYS = {
    "sparse": (
        lambda x: [sp.csr_array(one) for one in x],
        r"A\[0\] is a SciPy sparse array; .*\.toarray\(\) of it",
    ),
    "torch": (
        lambda x: x.view(Tensor),
        r"A is a torch tensor; pass a NumPy array, \.detach\(\)\.cpu\(\)\.numpy\(\) of it",
    ),
    "complex": (lambda x: x + 0j, r"A holds complex numbers.*give \.real, or real and imaginary part"),
}


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_data_that_are_no_real_arrays_are_refused_with_what_makes_them_so(kind):
    """Complex rows were fitted, and sparse ones had 'shape ()'."""
    made, says = NO_ARRAYS[kind]
    with pytest.raises(BadProblem, match=says):
        hk.least_squares(made(X), Y, feasible=FREE)
    for door in (
        lambda data: hk.least_squares(X, data, feasible=FREE),
        lambda data: hk.logistic(X, data, feasible=FREE),
        lambda data: hk.Problem(lambda x, a: ((x - a) ** 2).sum(), data, feasible=FREE, dim=2),
        lambda data: hk.polynomials(data, box=(-1, 1)),
    ):
        with pytest.raises(
            BadProblem, match=says.partition(" ")[2].partition(";")[0].partition(" numbers")[0]
        ):
            door(made(Y))


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_a_dataset_of_no_real_arrays_is_refused_with_what_makes_them_so(kind):
    """Sparse inputs were a TypeError of SciPy's, labels of torch one of its own."""
    made, says = NO_ARRAYS[kind]
    inputs, labels = np.zeros((5, 2)), np.zeros(5, int)
    what = says.partition(" ")[2].partition(";")[0].partition(" numbers")[0]
    with pytest.raises(BadProblem, match=f"the inputs of mine.* {what}"):
        hk.learning.Dataset("mine", made(inputs), labels, 2)
    with pytest.raises(BadProblem, match="the labels of mine"):
        hk.learning.Dataset("mine", inputs, made(labels[:, None]), 2)
    with pytest.raises(BadProblem, match=r"the labels of mine are a list; pass a NumPy array"):
        hk.learning.Dataset("mine", inputs, [0, 1, 0, 1, 0], 2)  # type: ignore[arg-type]


def test_a_complex_start_is_refused():
    with pytest.raises(BadProblem, match="the start holds complex numbers"):
        hk.solve(PROBLEM, RING, hk.Dgd(), start=1j, **QUICK)


@pytest.mark.parametrize(
    "matrix", [A.astype(float), sp.csr_array(A), A.astype(int).tolist()], ids=["dense", "sparse", "list"]
)
@pytest.mark.parametrize(
    "door",
    [
        lambda A: hk.solve(PROBLEM, A, hk.Dgd(), **QUICK),
        lambda A: hk.audit(A, colluders=1),
        lambda A: hk.leakage(A, "rss-nb", rounds=5, coalition={0}),
        lambda A: hk.certify(A, noisy(), sensitivity=1.0, colluders=1, rounds=5, step=0.1),
        lambda A: worst_leakage(A, "rss-nb", 1, rounds=5),
        lambda A: hk.compare(PROBLEM, A, hk.Dgd(), rounds=5, seeds=1),
        lambda A: hk.tune(PROBLEM, A, hk.Dgd(), rounds=5, seeds=1),
        lambda A: hk.Network(A),
    ],
    ids=["solve", "audit", "leakage", "certify", "worst", "compare", "tune", "Network"],
)
def test_an_adjacency_matrix_is_told_how_it_becomes_a_network(matrix, door):
    with pytest.raises(HocketError, match=r"hk\.Network\.from_adjacency\(A\)"):
        door(matrix)


def test_a_network_from_an_adjacency_matrix():
    for matrix in (A, sp.csr_array(A), A.astype(int).tolist()):
        np.testing.assert_array_equal(hk.Network.from_adjacency(matrix).B, RING.B)
    one_way = hk.Network.from_adjacency(np.roll(np.eye(4), 1, axis=1))
    assert one_way.directed
    with pytest.raises(
        BadNetwork, match=r"has 0\.5 at \(0, 1\); give 0 and 1, and weights of averaging as weights="
    ):
        hk.Network.from_adjacency(A * 0.5)
    with pytest.raises(BadNetwork, match=r"shape \(2, 3\); give a row and a column per agent"):
        hk.Network.from_adjacency(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("name", "meant"), [("DGD", "Dgd"), ("RSSNB", "RssNb"), ("Netwerk", "Network"), ("Solve", "solve")]
)
def test_a_name_that_is_not_there_is_asked_about(name, meant):
    with pytest.raises(AttributeError, match=rf"^hocket has no '{name}'; did you mean hk\.{meant}\?$"):
        getattr(hk, name)


def test_a_name_like_none_is_just_not_there():
    with pytest.raises(AttributeError, match=r"^hocket has no 'xyzzyq'$"):
        _ = hk.xyzzyq


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sigma": "1"}, r"sigma = '1'; give a standard deviation"),
        ({"sigma": [1, 2]}, r"sigma has 2 numbers; give one standard deviation"),
        ({"runs": "2"}, r"runs = '2' \(text\); give a whole number"),
        ({"local_steps": None}, r"local_steps = None; give a whole number"),
        ({"gradient_size": "1"}, r"gradient_size = '1'; give the root mean square"),
        ({"gradient_size": np.ones(2)}, r"gradient_size = array.*; give the root mean square"),
    ],
)
def test_what_is_no_number_is_refused_by_an_audit(given, says):
    with pytest.raises(BadInput, match=says):
        hk.audit(hk.Network.cycle(5), colluders=1, **given)


@pytest.mark.parametrize(
    "ask",
    [
        hk.audit,
        lambda network, coalition: hk.leakage(network, "rss-nb", coalition=coalition, rounds=2),
        lambda network, coalition: hk.certify(network, "function-sharing", coalition=coalition, transfer=1.0),
    ],
)
def test_one_agent_is_no_coalition_but_in_brackets(ask):
    with pytest.raises(BadInput, match=r"coalition = 1; give"):
        ask(hk.Network.cycle(5), coalition=1)
