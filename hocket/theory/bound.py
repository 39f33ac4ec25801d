"""What a bound is, and what must hold before it is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hocket.algorithm import Algorithm
from hocket.errors import NoTheorem
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.runs.coverage import ANALYSED
from hocket.runs.job import Job
from hocket.runs.theorems import Assumption, Claim, claim
from hocket.steps import Power, Step

INVERSE_SQRT = Power(1, 0, 0.5)
"""α_k = 1/√k, the step for which Theorem 3 is stated."""
_CURES = {
    "the algorithm is one of the paper's": f"use {', '.join(kind.__name__ for kind in ANALYSED)}",
    "X is compact and convex": "give the problem a Box, Ball or Simplex",
    "the sum of the objectives is convex": "price rounds by simulation instead",
    "every B_k has the graph's support": "give every phase all the links",
}


@dataclass(frozen=True)
class Bound:
    """A number that a lemma or theorem guarantees, with the constants on the way to it."""

    value: float
    kind: str
    """`lemma 1`, `lemma 2`, or the kind of finite-time bound: `literal`, `corrected`, `spectral`."""
    statement: str
    """What is at most `value`."""
    constants: Mapping[str, float]
    """What lies on the way, by the paper's names: `beta`, `theta`, `C0` … `C12`, `F_k`, `H_k`."""
    quantities: Mapping[str, float]
    """The numbers that went in: `n`, `L`, `N`, `delta` and so on."""
    provided: tuple[str, ...] = ()
    """Assumptions that nobody could derive: the bound holds provided that they do."""
    trivial: float | None = None
    """What any point of X satisfies: n·L·diameter. A bound above it says nothing."""

    def __post_init__(self) -> None:
        for name in ("constants", "quantities"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def vacuous(self) -> bool:
        """Whether any point of X satisfies the bound, so that it says nothing about the run."""
        return self.trivial is not None and self.value >= self.trivial

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        condition = f", provided that {' and '.join(self.provided)}" if self.provided else ""
        empty = f"; vacuous, since any point of X lies within {self.trivial:.6g}" if self.vacuous else ""
        return f"{self.statement} ≤ {self.value:.6g}{condition}{empty}"


def refuse_broken(assumptions: tuple[Assumption, ...], what: str) -> None:
    """Raise for the first assumption that is known to fail."""
    for assumption in assumptions:
        if assumption.holds is False:
            fix = _CURES.get(assumption.name)
            ending = f"; {fix}" if fix else ""
            raise NoTheorem(f"{what} assumes that {assumption.name}, but {assumption.why}{ending}")


def underived(assumptions: tuple[Assumption, ...]) -> tuple[str, ...]:
    """Assumptions that nobody could derive, by name."""
    return tuple(assumption.name for assumption in assumptions if assumption.holds is None)


def require_inverse_sqrt(step: Step) -> None:
    """Theorem 3 and its constants are for α_k = 1/√k and nothing else."""
    if not (step.conditions().is_inverse_sqrt and step(1) == 1):
        raise NoTheorem(
            f"Theorem 3 assumes that α_k = 1/√k, but the step is {step}; "
            "take Power(1, 0, 0.5), or kind='spectral', which holds for any step"
        )


def theorem1(
    problem: Problem,
    network: Network | list[Network],
    algorithm: Algorithm,
    *,
    step: Any,
    grad_at: str = "mixed",
) -> Claim:
    """Theorem 1 for this problem: every agent converges to one optimum.

    Ask it before a run to learn whether convergence is promised; the error names the assumption that fails.
    """
    job = Job.asked(problem, network, algorithm, step=step, rounds=1, grad_at=grad_at)
    found = claim(job)
    refuse_broken(found.assumptions, "Theorem 1")
    conditions = job.step.conditions()
    needed = {
        "α_k does not increase": conditions.non_increasing,
        "Σα_k = ∞": conditions.sum_diverges,
        "Σα_k² < ∞": conditions.squares_summable,
    }
    for condition, holds in needed.items():
        if not holds:
            failing = "does not satisfy it" if holds is False else "is code, of which it cannot be derived"
            raise NoTheorem(
                f"Theorem 1 assumes that {condition}, but {job.step} {failing}; "
                "take Power(a, b, p) with 1/2 < p ≤ 1"
            )
    return found
