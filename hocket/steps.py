"""Step sizes α_k, for rounds k = 1, 2, …

They are tabulated on the host before a run, so compiled rounds only look them up. Which conditions of the
theorems a step meets is derived from its numbers; from a callable nothing can be, and nothing is claimed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput

Number = int | float | Fraction


@dataclass(frozen=True)
class Conditions:
    """What the theorems ask of a step: True, False, or None where it cannot be derived."""

    non_increasing: bool | None
    sum_diverges: bool | None
    """Σ α_k = ∞. With the first and the next: what Theorem 1 needs."""
    squares_summable: bool | None
    """Σ α_k² < ∞."""
    is_inverse_sqrt: bool | None
    """α_k = a/√k. Theorem 3 is stated for it, with a = 1."""


class Step(ABC):
    """A sequence of positive step sizes. `step(k)` is α_k as a float."""

    @abstractmethod
    def _values(self, rounds: np.ndarray) -> np.ndarray:
        """α_k in float64 for consecutive rounds, not yet checked."""

    @abstractmethod
    def exact(self, k: int) -> Fraction:
        """α_k as a fraction, for exact runs."""

    @abstractmethod
    def conditions(self) -> Conditions:
        """Which conditions of the theorems hold."""

    def __call__(self, k: int) -> float:
        return float(self.table(k, k)[0])

    def table(self, first: int, last: int) -> Float[np.ndarray, " rounds"]:
        """α_first, …, α_last, both included, in float64."""
        if first < 1:
            raise BadInput(f"round {first} has no step size; rounds are numbered from 1")
        with np.errstate(all="ignore"):  # what is no step is refused below
            values = self._values(np.arange(first, last + 1))
        wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if wrong.size:
            raise BadInput(
                f"the step size of round {first + wrong[0]} is {values[wrong[0]]}; "
                f"it must be positive and finite: change {self}"
            )
        return values

    def max_ratio(self, rounds: int) -> float:
        """The largest α_{k−1}/α_k over rounds 2 … `rounds`: by how much persistent noise can outgrow its step."""
        alpha = self.table(1, rounds)
        return float(np.max(alpha[:-1] / alpha[1:])) if rounds > 1 else 1.0


@dataclass(frozen=True)
class Power(Step):
    """α_k = a / (k + b)^p.

    The choice for convergence: Theorem 1 holds for 1/2 < p ≤ 1; a larger b tames the first rounds.
    """

    a: Number
    b: Number = 0
    p: Number = 1

    def __post_init__(self) -> None:
        for name in ("a", "b", "p"):
            _check_finite(f"{name} of Power", getattr(self, name))
        if self.a <= 0:
            raise BadInput(f"a of Power is {self.a}; steps must be positive: choose a > 0")
        if self.b <= -1:
            raise BadInput(f"b of Power is {self.b}; k + b must be positive from round 1 on: choose b > -1")

    def _values(self, rounds: np.ndarray) -> np.ndarray:
        return float(self.a) / (rounds + float(self.b)) ** float(self.p)

    def exact(self, k: int) -> Fraction:
        for name in ("a", "b"):
            _check_rational(f"{name} of Power", getattr(self, name))
        if self.p != int(self.p):
            raise BadInput(
                f"p of Power is {self.p}: (k + b)^p is irrational; choose a whole p for exact runs"
            )
        return Fraction(self.a) / (k + Fraction(self.b)) ** int(self.p)

    def max_ratio(self, rounds: int) -> float:
        # (1 + 1/(k − 1 + b))^p falls with k where p is positive: then round 2 decides, however long the run.
        k = 2 if self.p >= 0 else max(rounds, 2)
        return float((k + self.b) / (k - 1 + self.b)) ** float(self.p)

    def conditions(self) -> Conditions:
        return Conditions(
            non_increasing=self.p >= 0,
            sum_diverges=self.p <= 1,
            squares_summable=2 * self.p > 1,
            is_inverse_sqrt=self.b == 0 and 2 * self.p == 1,
        )


@dataclass(frozen=True)
class Constant(Step):
    """α_k = a in every round.

    The choice for speed at the price of a floor: agents stop at a distance that grows with a.
    """

    a: Number

    def __post_init__(self) -> None:
        _check_finite("a of Constant", self.a)
        if self.a <= 0:
            raise BadInput(f"a of Constant is {self.a}; steps must be positive: choose a > 0")

    def _values(self, rounds: np.ndarray) -> np.ndarray:
        return np.full(len(rounds), float(self.a))

    def exact(self, k: int) -> Fraction:
        _check_rational("a of Constant", self.a)
        return Fraction(self.a)

    def conditions(self) -> Conditions:
        return Conditions(
            non_increasing=True, sum_diverges=True, squares_summable=False, is_inverse_sqrt=False
        )


@dataclass(frozen=True)
class Derived(Constant):
    """A constant step that was worked out from a problem and a network.

    What `step="auto"` gives where an algorithm knows how: `why` says from what.
    """

    why: str = ""
    proved: bool = False
    """Whether it is below what a theorem allows; else it is a rule of thumb."""

    def __str__(self) -> str:
        return f"{float(self.a):.4g}, {self.why}"


@dataclass(frozen=True)
class Schedule(Step):
    """α_k = fn(k), for any callable.

    The choice for warm-ups and the like; no theorem is claimed, since nothing can be derived from code.
    """

    fn: Callable[[int], Any]

    def _values(self, rounds: np.ndarray) -> np.ndarray:
        return np.array([float(self.fn(k)) for k in rounds.tolist()], dtype=np.float64)

    def exact(self, k: int) -> Fraction:
        alpha = self.fn(k)
        _check_rational(f"the schedule's step in round {k}", alpha)
        return Fraction(alpha)

    def conditions(self) -> Conditions:
        return Conditions(None, None, None, None)


def as_step(value: Step | Number | Callable[[int], Any]) -> Step:
    """A step from what users write: a Step as it is, a number as `Constant`, a callable as `Schedule`."""
    if isinstance(value, Step):
        return value
    if isinstance(value, Real):
        return Constant(value)  # type: ignore[arg-type]
    if callable(value):
        return Schedule(value)
    raise BadInput(
        f"{value!r} is no step size; give Power(a, b, p), Constant(a), a number or a callable of k"
    )


def _check_finite(name: str, value: Any) -> None:
    try:
        finite = isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # an int beyond all doubles
        finite = False
    if not finite:
        raise BadInput(f"{name} is {value!r}; give a finite number")


def _check_rational(name: str, value: Any) -> None:
    if not isinstance(value, Rational):
        raise BadInput(f"{name} is {value!r}, which is not exact; write an int or a Fraction for exact runs")


DEFAULT_STEP = Power(1.0, 20, 0.75)
"""What algorithms with decaying steps take where nobody says otherwise."""
AUTO = "auto"
"""In place of a step: what the algorithm works out."""
