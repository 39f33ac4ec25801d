"""Claims of the lemmas, checked in every round of many short runs, and of the steps between them."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]

from hocket.problems.standard import heterogeneous_polynomials
from hocket.theory.lemmas import Mixing
from reproductions.claims.cases import STEP, kept, many, monitors, tightest
from reproductions.claims.ledger import Finding, Group
from reproductions.tradeoff.noise_level import INVERSE_SQRT

LEMMAS = Group("Lemmas and steps of the proofs")


def _bound(name: str) -> Finding:
    holds, ratio = tightest(name)
    return Finding(
        holds,
        f"holds in every round of {len(monitors())} runs (both algorithms, three Δ, three steps); the closest comes "
        f"within a factor {ratio:.3g} of the bound",
        {"tightest": ratio},
    )


LEMMAS.claim(
    "lemma-1",
    "Lemma 1",
    "Disagreement: max‖δ_{k+1}‖ ≤ nθβ^k max‖x_1‖ + 2α_k(L+Δ) + nθ(L+Δ) Σβ^{k+1−l}α_{l−1}.",
)(partial(_bound, "Lemma 1"))
LEMMAS.claim(
    "lemma-2",
    "Lemma 2, and Section V with 2N in ΣF_k",
    "Iterates: η²_{k+1} ≤ (1+F_k) η²_k − 2α_k (f(x̄_k) − f(y)) + H_k.",
    corrected="F_k has the factor N of the lemma and the appendix; the sketch in Section V prints 2N.",
)(partial(_bound, "Lemma 2"))


@LEMMAS.claim("lemma-3", "Lemma 3", "Σ_k Σ_j β^{k−j} ζ_j < ∞ where Σζ_k < ∞.")
def lemma3() -> Finding:
    """The double sum is the single one divided by 1 − β, at most."""
    zeta, beta = np.arange(1, 200_001) ** -1.5, Mixing.of(5, 0.25).beta
    inner = np.asarray(scipy.signal.lfilter([1.0], [1.0, -beta], zeta))
    ratio = float(inner.sum() / (zeta.sum() / (1 - beta)))
    return Finding(
        ratio <= 1,
        f"for ζ_k = k^−1.5 and β of C5 the double sum over 200,000 terms is {ratio:.4f} of its limit Σζ/(1 − β)",
        {"ratio": ratio},
    )


LEMMAS.claim("lemma-4", "Lemma 4", "|Φ(k,s) − 1/n| ≤ θβ^{k−s+1}, θ = (1−ρ/4n²)⁻², β = 1−ρ/4n².")(
    partial(_bound, "|Φ − 1/n| ≤ θβ^(k−s+1)")
)


@LEMMAS.claim(
    "lemma-5", "Lemma 5, in the proof of Theorem 1", "ΣF_k, ΣH_k and Σα_k (f(x̄_k) − f*) are finite."
)
def lemma5() -> Finding:
    """Σ F_k, Σ H_k and Σ α_k (f(x̄_k) − f*) converge: each decade adds less than the one before."""
    runs = many("RSS-NB", "heterogeneous", "C5")
    k = runs.history["round"][1:]
    alpha = STEP.table(1, int(k[-1]) + 1)[k]
    spread = np.median(runs.history["disagreement"], axis=0)[1:]
    best = heterogeneous_polynomials().best
    assert best is not None
    gap = np.median(runs.history["loss"], axis=0)[1:] - best.value
    terms = {"α_k max‖δ_k‖": alpha * spread, "α_k²": alpha**2, "α_k (f(x̄_k) − f*)": alpha * gap}
    added = {
        name: [_sum_between(k, term, low, 10 * low) for low in (10, 100, 1000)]
        for name, term in terms.items()
    }
    return Finding(
        all(sums[0] > sums[1] > sums[2] for sums in added.values()),
        "the parts of F_k, H_k and G_k, summed over k = 10–10², 10²–10³, 10³–10⁴: "
        + "; ".join(f"{name}: {', '.join(f'{value:.2g}' for value in sums)}" for name, sums in added.items()),
    )


def _sum_between(k: np.ndarray, term: np.ndarray, low: int, high: int) -> float:
    """Σ of a term that was recorded at some rounds only: it changes like a power between them."""
    every = np.arange(low, high)
    return float(np.exp(np.interp(np.log(every), np.log(k), np.log(np.maximum(term, 1e-300)))).sum())


# Mixing brings nobody farther from a common point, taken together.
LEMMAS.claim("mixing-contracts", "Appendix, eq. for ξ² and its alternate proof", "ξ²_k ≤ η²_k.")(
    partial(_bound, "ξ² ≤ η²")
)


@LEMMAS.claim("consensus", "Claim 1", "All agents asymptotically agree.")
def consensus() -> Finding:
    """Disagreement goes to zero like the step."""
    parts, numbers, holds = [], {}, True
    for name in ("RSS-NB", "RSS-LB", "FS"):
        history = many(name, "heterogeneous", "C5").history
        worst = history["disagreement"].max(axis=0)
        marks = [int(np.searchsorted(history["round"], k)) for k in (100, 1000, 10_000)]
        values = [float(worst[mark]) for mark in marks]
        holds &= values[0] > values[1] > values[2]
        numbers[name] = values[-1]
        parts.append(f"{name}: {', '.join(f'{value:.2g}' for value in values)}")
    return Finding(
        holds,
        "largest disagreement of 100 seeds at k = 10², 10³, 10⁴ on the heterogeneous problem: "
        + "; ".join(parts),
        numbers,
    )


@LEMMAS.claim(
    "time-average",
    "Section V, proof of Theorem 3",
    "The mean of the time averages equals Σα_k x̄_k.",
    corrected="Divided by Σα_k, as the appendix has it.",
)
def average_identity() -> Finding:
    """The mean of the time averages is the time average of the means, once both are divided by Σα."""
    run = kept("RSS-NB")
    assert run.path is not None
    alpha = INVERSE_SQRT.table(1, run.rounds)
    states = run.path[:-1, :, 0]
    averages = alpha @ states / alpha.sum()
    off = float(abs(averages.mean() - alpha @ states.mean(axis=1) / alpha.sum()))
    undivided = float(abs(averages.mean() - alpha @ states.mean(axis=1)))
    return Finding(
        off < 1e-14 < undivided,
        f"divided by Σα_k both agree within {off:.0e}; as printed in the main text they differ by {undivided:.2g}",
        {"off": off, "undivided": undivided},
    )


@LEMMAS.claim(
    "past-steps",
    "Appendix, proof of Theorem 3",
    "Σ_k α_{k+1} Σ_l β^{k+1−l} α_{l−1} ≤ C1 (log T + 1).",
    corrected="The geometric sum has T−1−k terms, its closed form T−k; the bound is larger and stands.",
)
def past_steps() -> Finding:
    """The double sum over past steps stays within C1 (log T + 1), although one line is off by one."""
    beta, T = Mixing.of(5, 0.25).beta, 10_000
    alpha = INVERSE_SQRT.table(1, T)
    past = np.asarray(scipy.signal.lfilter([0.0, beta], [1.0, -beta], alpha))
    actual = float(alpha[1:] @ past[:-1])  # Σ_k α_{k+1} Σ_l β^{k+1−l} α_{l−1}
    C1 = beta * (1 - beta ** (T - 1)) / (1 - beta)
    bound = float(C1 * (np.log(T) + 1))
    return Finding(
        actual <= bound,
        f"at T = 10⁴ on C5 the sum is {actual:,.0f}, the bound C1 (log T + 1) {bound:,.0f}",
        {"sum": actual, "bound": bound},
    )
