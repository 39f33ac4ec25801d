"""Lemma 1, how far agents can disagree, and Lemma 2, how one round moves them towards the optimum."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.theory.bound import Bound
from hocket.theory.quantities import Known, Quantities, gather


class Mixing(NamedTuple):
    """How fast products of weight matrices average: |Φ(k, s) − 1/n| ≤ θ β^(k−s+1)."""

    beta: float
    theta: float
    decay: float
    """−log β, exact where β is nearly 1."""

    @staticmethod
    def of(n: float, rho: float) -> Mixing:
        """β = 1 − ρ/(4n²) and θ = β⁻² [paper, Lemma 4]."""
        decay = -math.log1p(-rho / (4 * n**2))
        return Mixing(math.exp(-decay), math.exp(2 * decay), decay)


def lemma1(
    k: int,
    problem: Problem | None = None,
    network: Network | list[Network] | None = None,
    algorithm: Algorithm | None = None,
    *,
    step: Any,
    start: Any = None,
    grad_at: str = "mixed",
    **quantities: Unpack[Quantities],
) -> Bound:
    """Lemma 1: a bound on max_j ‖x_{k+1}^j − x̄_{k+1}‖, the disagreement after round k.

    For knowing when agents agree well enough. Plain numbers: n, rho, L, delta, start_norm.

    >>> from hocket.steps import Power
    >>> round(lemma1(1, step=Power(1, 0, 0.5), n=5, rho=0.25, L=6, delta=1, start_norm=1).value, 7)
    19.0125313
    """
    known = gather(
        "Lemma 1", problem, network, algorithm, quantities, step=step, rounds=k, start=start, grad_at=grad_at
    )
    numbers = disagreement_numbers(known)
    mixing = Mixing.of(numbers["n"], numbers["rho"])
    terms = disagreement_terms(known.step.table(1, known.rounds), numbers)
    last = {name: float(term[-1]) for name, term in terms.items()}
    constants = {"beta": mixing.beta, "theta": mixing.theta} | last
    statement = f"max_j ‖δ_{k + 1}^j‖"
    return Bound(sum(last.values()), "lemma 1", statement, constants, numbers, known.provided)


def disagreement_numbers(known: Known) -> dict[str, float]:
    """What Lemma 1 is computed from."""
    return known.need("n", "rho", "L", "delta", "start_norm", of="Lemma 1")


def disagreement_terms(
    alpha: Float[np.ndarray, " rounds"], numbers: dict[str, float]
) -> dict[str, Float[np.ndarray, " rounds"]]:
    """The terms of Lemma 1 in every round: what is left of the start and of past steps, and the last step."""
    n, push = numbers["n"], numbers["L"] + numbers["delta"]
    mixing = Mixing.of(n, numbers["rho"])
    k = np.arange(1, len(alpha) + 1)
    # Σ_{l=2}^{k} β^{k+1−l} α_{l−1} obeys y_k = β (y_{k−1} + α_{k−1}), y_1 = 0.
    past = np.asarray(scipy.signal.lfilter([0.0, mixing.beta], [1.0, -mixing.beta], alpha))
    return {
        "start": n * mixing.theta * np.exp(-mixing.decay * k) * numbers["start_norm"],
        "past_steps": n * mixing.theta * push * past,
        "last_step": 2 * push * alpha,
    }


def lemma2(
    k: int,
    problem: Problem | None = None,
    network: Network | list[Network] | None = None,
    algorithm: Algorithm | None = None,
    *,
    step: Any,
    x: Any = None,
    spread: float | None = None,
    eta_sq: float | None = None,
    gap: float | None = None,
    grad_at: str = "mixed",
    **quantities: Unpack[Quantities],
) -> Bound:
    """Lemma 2: the bound `(1 + F_k) η²_k − 2 α_k (f(x̄_k) − f(y)) + H_k` on `η²_{k+1} = Σ_j ‖x_{k+1}^j − y‖²`.

    For following a run round by round. With a problem, give the states `x` of round k; then y is its optimum.
    Plain numbers: n, L, N, delta, spread = max_j ‖δ_k^j‖, eta_sq = η²_k and gap = f(x̄_k) − f(y).
    """
    known = gather("Lemma 2", problem, network, algorithm, quantities, step=step, rounds=k, grad_at=grad_at)
    said = {"spread": spread, "eta_sq": eta_sq, "gap": gap}
    state = _state(_measured(known, x) if x is not None else {}, said)
    numbers = iterate_numbers(known)
    alpha = known.step(k)
    F, H = growth(alpha, state["spread"], numbers)
    return Bound(
        value=float((1 + F) * state["eta_sq"] - 2 * alpha * state["gap"] + H),
        kind="lemma 2",
        statement=f"η²_{k + 1}",
        constants={"F_k": float(F), "H_k": float(H)},
        quantities=numbers | state,
        provided=known.provided,
    )


def iterate_numbers(known: Known) -> dict[str, float]:
    """What Lemma 2 is computed from."""
    return known.need("n", "L", "N", "delta", of="Lemma 2")


def growth(alpha: Any, spread: Any, numbers: dict[str, float]) -> tuple[Any, Any]:
    """F_k and H_k, with the factor N of the appendix, not the 2N of the main text [maths, decision 14]."""
    n, L, N, delta = (numbers[name] for name in ("n", "L", "N", "delta"))
    F = alpha * N * (spread + alpha * delta)
    H = 2 * alpha * n * (L + N / 2 + delta) * spread + alpha**2 * n * (N * delta + (L + delta) ** 2)
    return F, H


def _state(measured: dict[str, float], said: dict[str, float | None]) -> dict[str, float]:
    """What Lemma 2 takes from round k: measured, unless said otherwise."""
    state = measured | {name: float(value) for name, value in said.items() if value is not None}
    for name in said:
        if name not in state:
            raise BadInput(
                f"Lemma 2 cannot be computed: {name} is not known; pass {name}=, or a problem and x="
            )
        if not math.isfinite(state[name]) or (name != "gap" and state[name] < 0):
            limit = "finite" if name == "gap" else "finite and not negative"
            raise BadInput(f"{name} = {state[name]}; it must be {limit}")
    return state


def _measured(known: Known, x: Any) -> dict[str, float]:
    """What Lemma 2 needs to know about states, with the problem's optimum as y."""
    if known.job is None:
        raise BadInput("states x= need a problem; with plain numbers say spread=, eta_sq= and gap=")
    problem = known.job.problem
    rows = np.asarray(problem.check_start(x), dtype=np.float64)
    mean = rows.mean(axis=0)
    spread = float(np.linalg.norm(rows - mean, axis=1).max())
    best = problem.best
    if best is None or best.x is None:
        return {"spread": spread}
    gap = float(problem.total(mean) - problem.total(best.x))
    return {"spread": spread, "eta_sq": float(((rows - best.x) ** 2).sum()), "gap": gap}
