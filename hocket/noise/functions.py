"""Families of noise functions: linear combinations of public basis functions.

Only the coefficients are secret. Because a family is closed under addition, functions dealt in pairs cancel
coefficient by coefficient; and what it hides is exactly its span.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Shaped

from hocket.errors import BadAlgorithm
from hocket.problems import Objective, Polynomial, Quadratic
from hocket.problems.objective import KnownObjective
from hocket.problems.objective_class import QUADRATIC, ObjectiveClass
from hocket.problems.quadratic import quadratic_width, squares
from hocket.rationals import is_exact


@dataclass(frozen=True)
class Family(ABC):
    """Noise functions p(x) = Σ_m a_m φ_m(x) up to a degree."""

    degree: int
    separable: ClassVar[bool] = True
    """Whether p(x) = Σ_c Σ_m a_{m,c} φ_m(x_c): every coordinate of the gradient has coefficients of its own."""

    @abstractmethod
    def width(self, dim: int) -> int:
        """How many coefficients one function has."""

    @abstractmethod
    def gradient(self, x: Any, coefficients: Any) -> Any:
        """∇p(x) of the function with these coefficients."""

    @property
    @abstractmethod
    def hides(self) -> str:
        """What is hidden, in words."""

    @property
    def covers(self) -> ObjectiveClass | None:
        """The largest class of objectives that lies in its span, constants aside; None where none does."""
        return None

    def onto(self, objective: Any, coefficients: Any) -> KnownObjective | None:
        """f + p as one function, which is cheaper than its parts; None where f is not known to be of p's kind."""
        return None

    def relative_variance(self, dim: int) -> Float[np.ndarray, " width"] | None:
        """The variance of each coefficient's noise as a part of the plan's; None where all have the whole of it."""
        return None

    def bend(self, dim: int) -> float | None:
        """How much a function bends at most, anywhere, with coefficients of one at most; None without a bound."""
        return None

    def usual_bend(self, dim: int, functions: int, failure: float) -> float | None:
        """How much so many functions with standard normal coefficients bend at most, except with this probability."""
        return None

    def coefficients(
        self, objective: Objective, data: Any, dim: int
    ) -> Shaped[np.ndarray, "records width"] | None:
        """What each record of one agent adds to the coefficients of its objective; None where that is not in the span,
        or nobody knows."""
        return None

    def function(self, coefficients: Any, dim: int) -> tuple[Objective, Any]:
        """Functions of the family with these coefficients, a row per agent: as an objective, and its data."""
        raise BadAlgorithm(f"{self.hides} stand for no objective; use family='polynomial' or 'quadratic'")


@dataclass(frozen=True)
class PolynomialFamily(Family):
    """Powers of each coordinate, ascending; hides polynomial objectives up to its degree [paper, Theorem 2]."""

    def width(self, dim: int) -> int:
        return (self.degree + 1) * dim

    def gradient(self, x: Any, coefficients: Any) -> Any:
        return Polynomial().gradient(x, coefficients.reshape(self.degree + 1, -1))

    def onto(self, objective: Any, coefficients: Any) -> KnownObjective | None:
        # No subclass: its gradients may be others, of the same coefficients.
        if not isinstance(objective, KnownObjective) or type(objective.objective) is not Polynomial:
            return None
        noise = coefficients.reshape(self.degree + 1, -1)
        own: list[Any] = list(objective.data)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        rows = zip_longest(own, noise, fillvalue=0 * noise[0])
        return objective._replace(data=[one + added for one, added in rows])

    def bend(self, dim: int) -> float | None:
        return {1: 0.0, 2: 2.0}.get(self.degree)

    def usual_bend(self, dim: int, functions: int, failure: float) -> float | None:
        most = self.bend(dim)  # of each coordinate twice its coefficient, by the tail of a normal draw
        return None if most is None else most * math.sqrt(2 * math.log(2 * functions * dim / failure))

    @property
    def hides(self) -> str:
        if self.degree == 1:
            return "a constant offset of the gradient and nothing of the curvature"
        return f"separable polynomial parts of degree 1 to {self.degree}"

    @property
    def covers(self) -> ObjectiveClass | None:
        return ObjectiveClass("polynomial", self.degree)

    def coefficients(self, objective: Objective, data: Any, dim: int) -> np.ndarray | None:
        if not isinstance(objective, Polynomial) or objective.degree(np.asarray(data)[None]) > self.degree:
            return None
        return objective.by_coordinate(data, dim, terms=self.degree + 1).reshape(1, -1)

    def function(self, coefficients: Any, dim: int) -> tuple[Objective, Any]:
        return Polynomial(), coefficients.reshape(-1, self.degree + 1, dim)


@dataclass(frozen=True)
class QuadraticFamily(Family):
    """Slopes and all x_p x_q, p ≤ q; hides any quadratic, cross terms too, such as least squares.

    The noise of x_p² has half the variance of the others', as ½ (aᵀx − b)² has half the coefficient there: then one
    record weighs as much in every direction of x.
    """

    separable: ClassVar[bool] = False

    def width(self, dim: int) -> int:
        return quadratic_width(dim)

    def gradient(self, x: Any, coefficients: Any) -> Any:
        return Quadratic().gradient(x, coefficients)

    def bend(self, dim: int) -> float | None:
        return dim + 1.0  # the largest sum over a row of the Hessian

    def usual_bend(self, dim: int, functions: int, failure: float) -> float | None:
        # The Hessian is of the Gaussian orthogonal ensemble: its norm is 2√d at most on average, and concentrated.
        return 2 * math.sqrt(dim) + 2 * math.sqrt(math.log(2 * functions / failure))

    @property
    def hides(self) -> str:
        return "quadratics, cross terms too"

    @property
    def covers(self) -> ObjectiveClass | None:
        return QUADRATIC

    def relative_variance(self, dim: int) -> Float[np.ndarray, " width"] | None:
        relative = np.ones(self.width(dim))
        relative[squares(dim)] = 0.5
        return relative

    def coefficients(self, objective: Objective, data: Any, dim: int) -> np.ndarray | None:
        return objective.quadratic(data, dim)

    def function(self, coefficients: Any, dim: int) -> tuple[Objective, Any]:
        return Quadratic(), coefficients


@dataclass(frozen=True)
class CosineFamily(Family):
    """cos(m x_c) and sin(m x_c) for m = 1 … degree; choose it where gradients must stay bounded on an unbounded set."""

    def width(self, dim: int) -> int:
        return 2 * self.degree * dim

    def gradient(self, x: Any, coefficients: Any) -> Any:
        if is_exact(x):
            raise BadAlgorithm("waves are irrational; use family='polynomial' for exact runs")
        xp = x.__array_namespace__()
        cosines, sines = coefficients.reshape(2, self.degree, -1)
        m = xp.arange(1, self.degree + 1, dtype=x.dtype)[:, None]
        return xp.sum(m * (sines * xp.cos(m * x) - cosines * xp.sin(m * x)), axis=0)

    def bend(self, dim: int) -> float | None:
        return math.sqrt(2) * sum(m**2 for m in range(1, self.degree + 1))

    @property
    def hides(self) -> str:
        return f"waves of frequency 1 to {self.degree} in each coordinate of the gradient"


@dataclass(frozen=True)
class NoiseFunctions:
    """Noise functions as an algorithm deals them: their family, and the largest magnitude of one coefficient."""

    family: Family
    bound: float
    certain: bool = True
    """Whether no coefficient can exceed the bound."""

    @property
    def powers(self) -> int:
        """The highest power of each coordinate by itself that they hide; 0 where they are no separable polynomials."""
        return self.family.degree if isinstance(self.family, PolynomialFamily) else 0

    @property
    def bend(self) -> bool:
        """Whether their gradients differ from place to place."""
        return self.powers != 1


def _of_degree(name: str, only: int, family: Callable[[int], Family]) -> Callable[[int], Family]:
    def build(degree: int) -> Family:
        if degree != only:
            raise BadAlgorithm(
                f"the {name} family has degree {only}, not {degree}; or use family='polynomial'"
            )
        return family(degree)

    return build


FAMILIES: dict[str, Callable[[int], Family]] = {
    "polynomial": PolynomialFamily,
    "linear": _of_degree("linear", 1, PolynomialFamily),
    "quadratic": _of_degree("quadratic", 2, QuadraticFamily),
    "cosine": CosineFamily,
}
