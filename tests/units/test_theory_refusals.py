"""What is asked wrongly of the theory is refused, and the error names what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import hocket as hk
from hocket import theory
from hocket.errors import BadAlgorithm, BadInput, NoTheorem, NotRecorded
from hocket.problems.standard import PAPER_POLYNOMIALS
from tests.units.theory_cases import (
    C5,
    PAPER,
    SPECTRAL,
    SQRT,
    START,
    any_loss,
    kept,
    small_polynomials,
    without,
)

unbounded = hk.polynomials(PAPER_POLYNOMIALS, feasible=hk.Everywhere())
concave = hk.polynomials([[0, 0, -1]] * 5, box=(-1, 1))


def silent_links() -> hk.Network:
    return hk.Network.varying([[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 4)]], n=5)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "theorem 1, p = 1/2": (
        lambda: theory.theorem1(small_polynomials(), C5, hk.Dgd(), step=SQRT),
        NoTheorem,
        r"Theorem 1 assumes that Σα_k² < ∞, but Power.*1/2 < p ≤ 1",
    ),
    "theorem 1, p > 1": (
        lambda: theory.theorem1(small_polynomials(), C5, hk.Dgd(), step=hk.Power(1, 0, 2)),
        NoTheorem,
        r"Σα_k = ∞",
    ),
    "theorem 1, a callable": (
        lambda: theory.theorem1(small_polynomials(), C5, hk.Dgd(), step=lambda k: 1 / k),
        NoTheorem,
        "cannot be derived",
    ),
    "theorem 1, unbounded": (
        lambda: theory.theorem1(unbounded, C5, hk.Dgd(), step=hk.Power(1)),
        NoTheorem,
        "X is compact and convex.*Everywhere.*Box, Ball or Simplex",
    ),
    "lemma 1, unbounded": (
        lambda: theory.lemma1(1, unbounded, C5, hk.Dgd(), step=SQRT),
        NoTheorem,
        "Lemma 1 assumes that X is compact",
    ),
    "theorem 3, infinite diameter": (
        lambda: theory.finite_time("literal", rounds=5, **PAPER | {"diameter": float("inf")}),
        NoTheorem,
        "X is compact",
    ),
    "silent links": (
        lambda: theory.finite_time("spectral", small_polynomials(), silent_links(), hk.Dgd(), rounds=5),
        NoTheorem,
        "every B_k has the graph's support.*silent",
    ),
    "not convex": (
        lambda: theory.lemma2(1, concave, C5, hk.Dgd(), step=SQRT, x=0.0),
        NoTheorem,
        "the sum of the objectives is convex",
    ),
    "noise that does not cancel": (
        lambda: theory.finite_time("literal", small_polynomials(), C5, hk.IndependentNoise(1.0), rounds=5),
        NoTheorem,
        "IndependentNoise is not one of",
    ),
    "another step": (
        lambda: theory.finite_time("literal", rounds=5, step=hk.Power(2, 0, 0.5), **PAPER),
        NoTheorem,
        "assumes that α_k = 1/√k.*spectral",
    ),
    "no mixing": (
        lambda: theory.finite_time("spectral", rounds=5, **SPECTRAL | {"lam": 1.0}),
        NoTheorem,
        "connected network",
    ),
    "no rounds": (lambda: theory.finite_time("literal", rounds=0, **PAPER), BadInput, "0 rounds.*at least 1"),
    "half a round": (lambda: theory.lemma1(1.5, step=SQRT, n=5), BadInput, "whole number"),  # type: ignore[arg-type]
    "negative noise": (
        lambda: theory.finite_time("literal", rounds=5, **PAPER | {"delta": -1}),
        BadInput,
        "delta = -1.0; it must be finite and not negative",
    ),
    "negative noise of an algorithm": (lambda: hk.RssNb(-1.0), BadAlgorithm, "delta = -1.0"),
    "L unknown": (
        lambda: theory.finite_time("literal", rounds=5, **without(PAPER, "L")),
        BadInput,
        "L is not known.*pass L=",
    ),
    "L and N unknown to the problem": (
        lambda: theory.finite_time("spectral", any_loss(), C5, hk.Dgd(), rounds=5),
        BadInput,
        "L is not known.*lipschitz=.*N is not known.*smoothness=",
    ),
    "Δ unknown with one's own noise": (
        lambda: theory.lemma1(
            1, small_polynomials(), C5, hk.RssNb(1.0, given=lambda i, j, k: 0.1), step=SQRT
        ),
        BadInput,
        "delta is not known",
    ),
    "a misspelt number": (
        lambda: theory.lemma1(1, step=SQRT, rhoo=0.1),  # type: ignore[call-arg]
        BadInput,
        "rhoo= is no quantity.*rho=",
    ),
    "not a number": (
        lambda: theory.lemma1(1, step=SQRT, **PAPER | {"L": "6"}),
        BadInput,
        "L = '6'; it must be a number",
    ),
    "rho of zero": (lambda: theory.lemma1(1, step=SQRT, rho=0), BadInput, "rho = 0.0; .* above 0"),
    "half an agent": (lambda: theory.lemma1(1, step=SQRT, n=2.5), BadInput, "n = 2.5"),  # type: ignore[arg-type]
    "no such kind": (
        lambda: theory.finite_time("exact", rounds=5),  # type: ignore[arg-type]
        BadInput,
        "kind = 'exact'; choose one of 'literal', 'corrected', 'spectral'",
    ),
    "no network": (
        lambda: theory.finite_time("spectral", small_polynomials(), rounds=5),
        BadInput,
        "lacks the network",
    ),
    "a start without a problem": (
        lambda: theory.finite_time("literal", rounds=5, start=START, **PAPER),
        BadInput,
        "start= needs a problem",
    ),
    "states without a problem": (
        lambda: theory.lemma2(1, step=SQRT, x=START, n=5, L=1, N=1, delta=0),
        BadInput,
        "x= need a problem",
    ),
    "lemma 2 without a state": (
        lambda: theory.lemma2(1, step=SQRT, n=5, L=1, N=1, delta=0, spread=0.1),
        BadInput,
        "eta_sq is not known",
    ),
    "a negative distance": (
        lambda: theory.lemma2(1, step=SQRT, n=5, L=1, N=1, delta=0, spread=-0.1, eta_sq=1, gap=0),
        BadInput,
        "spread = -0.1",
    ),
    "a gap of zero": (
        lambda: theory.rounds_for(0, "literal", **PAPER),
        BadInput,
        "gap = 0; ask for a positive",
    ),
    "the noise that is asked for": (
        lambda: theory.delta_for(1.0, "literal", rounds=5, **PAPER),
        BadInput,
        "delta= is what delta_for looks for",
    ),
    "the noise of DGD": (
        lambda: theory.delta_for(1.0, "spectral", small_polynomials(), C5, hk.Dgd(), rounds=5),
        BadAlgorithm,
        "Dgd has no Δ to choose",
    ),
    "a run without states": (
        lambda: theory.monitor(kept(hk.Dgd(), keep="metrics")),
        NotRecorded,
        "keep='path'",
    ),
    "a run on an unbounded set": (
        lambda: theory.monitor(kept(hk.Dgd(), problem=unbounded, step=hk.Power(0.01))),
        NoTheorem,
        "X is compact",
    ),
    "a run with one's own noise": (
        lambda: theory.monitor(kept(hk.RssNb(1.0, given=lambda i, j, k: 0.1))),
        BadInput,
        "the user's own, so delta cannot be derived.*transcript",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_wrong(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()
