"""The theory holds along every run: lemmas in every round, bounds at the end, and questions both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket import theory
from tests.laws.table import CANCELLING, Row, networks, quadratics

ROUNDS = 60
KINDS = ("literal", "corrected", "spectral")

steps = st.one_of(
    st.builds(hk.Power, st.floats(0.01, 2), st.floats(0, 20), st.floats(0, 1)),
    st.builds(hk.Constant, st.floats(0.001, 0.5)),
)


FEW = {
    "rows": [row for row in CANCELLING if row.name in ("rss-nb", "rss-lb")],
    "dims": [2],
    "places": ["mixed"],
}
ALL = {"rows": [row for row in CANCELLING if row.printed], "dims": [1, 3], "places": ["mixed", "projected"]}
"""What is compiled: every combination is a program of its own."""


@st.composite
def runs(draw: st.DrawFn, rows: list[Row], dims: list[int], places: list[str], step: Any = steps) -> hk.Run:
    """A short run of a cancelling algorithm on any graph, at any noise, from any start in the box."""
    row, network = draw(st.sampled_from(rows)), draw(networks())
    problem = quadratics(network.n, draw(st.sampled_from(dims)), draw(st.integers(0, 100)))
    start = np.random.default_rng(draw(st.integers(0, 100))).uniform(-5, 5, size=(network.n, problem.dim))
    return hk.solve(
        problem,
        network,
        row.build(draw(st.sampled_from([0.0, 0.01, 1.0, 30.0]))),
        step=draw(step),
        rounds=ROUNDS,
        seed=draw(st.integers(0, 2**32)),
        start=start,
        grad_at=draw(st.sampled_from(places)),
        keep="path",
    )


def check_every_round(run: hk.Run) -> None:
    seen = theory.monitor(run)
    assert seen.holds, str(seen)
    assert {"Lemma 1", "Lemma 2", "ξ² ≤ η²", "Theorem 3, spectral"} <= {
        margin.name for margin in seen.margins
    }


@settings(max_examples=10)
@given(run=runs(**FEW))
def test_no_round_violates_the_theory(run):
    check_every_round(run)


@pytest.mark.slow
@settings(max_examples=200)
@given(run=runs(**ALL))
def test_no_round_of_200_runs_violates_the_theory(run):
    check_every_round(run)


@settings(max_examples=6)
@given(run=runs(**FEW, step=st.just(hk.Power(1, 0, 0.5))))
def test_the_time_average_stays_within_every_bound(run):
    """Theorem 3 as a user asks it beforehand, against what the run says afterwards."""
    problem, named = run.problem, dict(run.settings["algorithm"])
    algorithm = getattr(hk, named.pop("name"))(**named)
    gap = max(problem.total(x) for x in run.time_average) - problem.best.value
    for kind in KINDS:
        asked = {"rounds": ROUNDS, "start": run.path[0], "grad_at": run.settings["grad_at"]}
        assert gap <= theory.finite_time(kind, problem, run.network, algorithm, **asked).value


@given(run=runs(**FEW), k=st.integers(1, ROUNDS))
@settings(max_examples=6)
def test_a_lemma_asked_alone_is_what_the_monitor_checks(run, k):
    problem, named = run.problem, dict(run.settings["algorithm"])
    algorithm = getattr(hk, named.pop("name"))(**named)
    seen = theory.monitor(run)
    about = {"step": theory.measured.measure(run).step, "grad_at": run.settings["grad_at"]}
    first = theory.lemma1(seen["Lemma 1"].round, problem, run.network, algorithm, start=run.path[0], **about)
    assert first.value == pytest.approx(seen["Lemma 1"].bound, rel=1e-9)
    at = seen["Lemma 2"].round
    second = theory.lemma2(at, problem, run.network, algorithm, x=run.path[at - 1], **about)
    assert second.value == pytest.approx(seen["Lemma 2"].bound, rel=1e-9, abs=1e-9)
    later = theory.lemma2(k, problem, run.network, algorithm, x=run.path[k - 1], **about)
    assert ((run.path[k] - problem.best.x) ** 2).sum() <= later.value + 1e-9  # float64, η² up to 450


numbers = st.fixed_dictionaries(
    {
        "n": st.integers(1, 50),
        "L": st.floats(0.1, 100),
        "N": st.floats(0, 100),
        "diameter": st.floats(0.1, 100),
        "rho": st.floats(0.01, 0.5),
        "start_norm": st.floats(0, 50),
        "start_spread": st.floats(0, 50),
        "lam": st.floats(0, 0.99),
        "eta1_sq": st.floats(0, 1000),
        "phi1": st.floats(0, 100),
    }
)


def for_kind(kind: str, all_numbers: dict) -> dict:
    spare = ("rho", "start_norm", "start_spread") if kind == "spectral" else ("lam", "eta1_sq", "phi1")
    return {name: value for name, value in all_numbers.items() if name not in spare}


@pytest.mark.parametrize("kind", KINDS)
@given(all_numbers=numbers, delta=st.floats(1e-3, 1e3), rounds=st.integers(1, 5000))
def test_the_noise_for_a_gap_gives_that_gap(kind, all_numbers, delta, rounds):
    plain = for_kind(kind, all_numbers)
    gap = theory.finite_time(kind, rounds=rounds, delta=delta, **plain).value
    answer = theory.delta_for(gap, kind, rounds=rounds, **plain)
    assert answer.bound.value <= gap
    # Where Δ hardly moves the bound, a rounding of the bound is a larger step of Δ: L + Δ ≥ 1e-5 Δ at least.
    assert answer.value == pytest.approx(delta, rel=1e-6, abs=1e-9 * (1 + plain["L"]))


@pytest.mark.parametrize("kind", KINDS)
@given(all_numbers=numbers, delta=st.floats(0, 100), rounds=st.integers(1, 300_000))
def test_the_rounds_for_a_gap_are_the_first_that_give_it(kind, all_numbers, delta, rounds):
    plain = for_kind(kind, all_numbers) | {"delta": delta}
    gap = theory.finite_time(kind, rounds=rounds, **plain).value * (1 + 1e-12)
    answer = theory.rounds_for(gap, kind, **plain)
    assert answer.value <= rounds
    assert answer.bound.value <= gap
    if answer.value > 1:
        assert theory.finite_time(kind, rounds=answer.value - 1, **plain).value > gap * (1 - 1e-9)


@given(all_numbers=numbers, delta=st.floats(0, 100), rounds=st.integers(1, 100_000))
def test_correcting_the_paper_never_lowers_its_bound(all_numbers, delta, rounds):
    plain = for_kind("literal", all_numbers) | {"delta": delta}
    printed, corrected = (
        theory.finite_time(kind, rounds=rounds, **plain).value for kind in ("literal", "corrected")
    )
    assert corrected >= printed * (1 - 1e-12)
