"""Theorem 3: how far the α-weighted time average of any agent can be from the optimum after T rounds.

The paper's bound, as printed and as its proof gives it, and our own: the same proof with the spectral norm of the
weights in place of θβ^k. With φ_1 = ‖δ_1‖_F and φ_{k+1} = λ φ_k + α_k √n (L + e), for any step and every agent,

    gap ≤ nL Σα_kφ_k/Σα_k
          + [η₁² + Σ{α_k² n (L+e)² + 2α_k((L+e)√n λφ_k + N√n·diam·(λφ_k + α_k√n e))}] / (2Σα_k).

It depends on the step through four sums only, so it costs nothing to ask it again with another noise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.steps import Step
from hocket.theory.bound import INVERSE_SQRT, Bound, require_inverse_sqrt
from hocket.theory.lemmas import Mixing
from hocket.theory.quantities import Known, Quantities, gather

BLOCK = 1 << 18
"""Rounds summed at once: some megabytes, however many rounds there are."""

SPECTRAL_QUANTITIES = ("n", "lam", "L", "N", "noise", "diameter", "eta1_sq", "phi1")
KINDS = {
    "literal": "Theorem 3 as printed",
    "corrected": "Theorem 3 as its proof gives it",
    "spectral": "with λ in place of θβ^k",
}
PAPER_QUANTITIES = ("n", "rho", "L", "N", "delta", "diameter", "start_norm", "start_spread")
HEAD = 1000
"""Terms of C0 that are added one by one; from there on an integral is exact to rounding."""


class Sums(NamedTuple):
    """Sums over rounds 1 … T, as numbers or for every T of a block."""

    steps: Any
    """Σ α_k."""
    squares: Any
    """Σ α_k²."""
    start: Any
    """Σ α_k λ^{k−1}: what is left of the start's disagreement."""
    drift: Any
    """Σ α_k ψ_k with ψ_1 = 0, ψ_{k+1} = λψ_k + α_k: what a unit of drift in every step adds."""


def spectral_terms(sums: Sums, numbers: dict[str, float]) -> dict[str, Any]:
    """The bound term by term; they add up to it."""
    n, lam, L, N, e, diameter, eta1_sq, phi1 = (numbers[name] for name in SPECTRAL_QUANTITIES)
    push, root = L + e, math.sqrt(n)
    weighted = phi1 * sums.start + root * push * sums.drift  # Σ α_k φ_k
    return {
        "start": eta1_sq / (2 * sums.steps),
        "steps": n * push**2 * sums.squares / (2 * sums.steps),
        "agreement": n * L * weighted / sums.steps,
        "mixing": (push + N * diameter) * root * lam * weighted / sums.steps,
        "noise": n * N * diameter * e * sums.squares / sums.steps,
    }


def sums_after(step: Step, lam: float, rounds: int) -> Sums:
    """The sums over all rounds."""
    ((_, last),) = deque(sums_by_round(step, lam, rounds), maxlen=1)
    return Sums(*(float(column[-1]) for column in last))


def sums_by_round(step: Step, lam: float, rounds: int) -> Iterator[tuple[int, Sums]]:
    """The sums for every T = 1 … rounds, in blocks: the first T of a block, and its sums."""
    totals, left, drift = Sums(0.0, 0.0, 0.0, 0.0), 1.0, 0.0
    for first in range(1, rounds + 1, BLOCK):
        alpha = step.table(first, min(first + BLOCK - 1, rounds))
        powers = left * lam ** np.arange(len(alpha) + 1)
        # ψ_{k+1} = λψ_k + α_k, from the ψ that the block before left behind.
        after = np.asarray(scipy.signal.lfilter([1.0], [1.0, -lam], alpha, zi=[lam * drift])[0])
        psi = np.concatenate([[drift], after[:-1]])
        columns = (alpha, alpha**2, alpha * powers[:-1], alpha * psi)
        block = Sums(*(total + np.cumsum(column) for total, column in zip(totals, columns, strict=True)))
        yield first, block
        totals = Sums(*(float(column[-1]) for column in block))
        left, drift = float(powers[-1]), float(after[-1])


Kind = Literal["literal", "corrected", "spectral"]


def finite_time(
    kind: Kind,
    problem: Problem | None = None,
    network: Network | list[Network] | None = None,
    algorithm: Algorithm | None = None,
    *,
    rounds: int,
    step: Any = INVERSE_SQRT,
    start: Any = None,
    grad_at: str = "mixed",
    **quantities: Unpack[Quantities],
) -> Bound:
    """A bound on f(x̂_T^j) − f* for every agent j, x̂_T its α-weighted time average over T rounds.

    Choose `spectral`: it holds for any step and is by far the tightest. `literal` is Theorem 3 as printed,
    `corrected` what its proof gives (f is nL-Lipschitz, and C11 lacks a term); both are for α_k = 1/√k.
    Plain numbers: n, rho, L, N, delta, diameter, start_norm, start_spread; for `spectral` n, lam, L, N, delta
    or the realised `noise`, diameter, eta1_sq, phi1.

    >>> numbers = dict(n=5, rho=0.25, L=6, N=14, delta=1, diameter=2, start_norm=1, start_spread=1)
    >>> round(finite_time("literal", rounds=10_000, **numbers).value, 4)
    309392.5757
    """
    known = gather_for(
        kind, problem, network, algorithm, quantities, step=step, rounds=rounds, start=start, grad_at=grad_at
    )
    return bound_after(kind, known, known.rounds)


def gather_for(kind: str, problem: Any, network: Any, algorithm: Any, given: Quantities, **how: Any) -> Known:
    """Where the numbers of a kind of bound come from."""
    check_kind(kind)
    return gather(f"the {kind} finite-time bound", problem, network, algorithm, given, **how)


def check_kind(kind: str) -> None:
    """Refuse a kind that does not exist."""
    if kind not in KINDS:
        raise BadInput(f"kind = {kind!r}; choose one of {', '.join(map(repr, KINDS))}")


def numbers_for(kind: Kind, known: Known) -> dict[str, float]:
    """What a kind of bound is computed from; refuses a step that the kind does not cover."""
    if kind != "spectral":
        require_inverse_sqrt(known.step)
    names = SPECTRAL_QUANTITIES if kind == "spectral" else PAPER_QUANTITIES
    return known.need(*names, of=f"the {kind} finite-time bound")


def bound_after(kind: Kind, known: Known, rounds: int, sums: Sums | None = None) -> Bound:
    """The bound after this many rounds; `sums` saves adding them up again for a spectral one."""
    numbers = numbers_for(kind, known)
    if kind == "spectral":
        constants = spectral_terms(sums or sums_after(known.step, numbers["lam"], rounds), numbers)
        value = sum(constants.values())
    else:
        constants = paper_constants(rounds, numbers, corrected=kind == "corrected")
        value = paper_value(rounds, constants)
    return Bound(
        value=float(value),
        kind=kind,
        statement=f"max_j f(x̂_T^j) − f* at T = {rounds} ({KINDS[kind]})",
        constants={name: float(constant) for name, constant in constants.items()},
        quantities=numbers,
        provided=known.provided,
        trivial=numbers["n"] * numbers["L"] * numbers["diameter"],
    )


def paper_value(rounds: Any, C: dict[str, Any]) -> Any:
    """The last line of the appendix's proof."""
    T = np.asarray(rounds, dtype=np.float64)
    log, root = np.log(T), np.sqrt(T)
    return (C["C11"] + C["C12"] * log) / root + (C["C8"] + (C["C9"] + C["C10"]) * log) / (2 * root)


def paper_constants(rounds: Any, numbers: dict[str, float], *, corrected: bool) -> dict[str, Any]:
    """β, θ, D0 and C0 … C12 of the appendix, for one T or an array of them."""
    n, rho, L, N, delta, diameter, start_norm, start_spread = (numbers[name] for name in PAPER_QUANTITIES)
    mixing = Mixing.of(n, rho)
    T = np.asarray(rounds, dtype=np.float64)
    push = L + delta
    C = {"beta": mixing.beta, "theta": mixing.theta, "D0": n * diameter**2}
    C["C0"] = discounted_steps(T, mixing.decay)
    C["C1"] = mixing.beta * -np.expm1(-mixing.decay * (T - 1)) / -np.expm1(-mixing.decay)
    # Lemma 1, summed: Σ_{k≤T} α_k max_j ‖δ_k^j‖ ≤ base + slope · log T.
    at_start = start_spread + n * mixing.theta * C["C0"] * start_norm
    slope = n * mixing.theta * push * C["C1"] + 2 * push
    base = at_start + slope
    weight = 2 * n * (L + N / 2 + delta)
    squares = n * (push**2 + N * delta)
    C["C2"], C["C3"], C["C4"] = N * delta + N * base, N * delta, N * slope
    C["C5"], C["C6"], C["C7"] = weight * base + squares, squares, weight * slope
    C["C8"] = C["D0"] * C["C2"] + C["C5"] + C["D0"]
    C["C9"] = C["D0"] * C["C3"] + C["C6"]
    C["C10"] = C["D0"] * C["C4"] + C["C7"]
    if corrected:
        C["C11"], C["C12"] = n * L * base, n * L * slope
    else:
        C["C11"], C["C12"] = L * (at_start + 2 * push), L * slope
    return C


def discounted_steps(T: Any, decay: float) -> Any:
    """C0 = Σ_{k=1}^{T−1} β^k/√(k+1), β = exp(−decay), in the same time for any T.

    The first terms are added up; Euler and Maclaurin's formula stands for the rest, exact to 1e-12.
    """
    k = np.arange(1, HEAD + 1)
    head = np.concatenate([[0.0], np.cumsum(np.exp(-decay * k) / np.sqrt(k + 1))])
    last = np.maximum(T - 1, HEAD)

    def integral(b: Any) -> Any:
        return np.exp(decay) * np.sqrt(np.pi / decay) * scipy.special.erf(np.sqrt(decay * (b + 1)))

    def term(b: Any) -> Any:
        return np.exp(-decay * b) / np.sqrt(b + 1)

    def correction(b: Any) -> Any:
        return term(b) / 2 - term(b) * (decay + 0.5 / (b + 1)) / 12

    tail = integral(last) - integral(HEAD) + correction(last) - correction(HEAD)
    return head[np.minimum(T - 1, HEAD).astype(np.int64)] + tail
