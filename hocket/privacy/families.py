"""The public form of the objectives: what a gradient is made of, once the model is known and only its numbers are not.

Anybody who plans a run tells everybody what is fitted: a regression, a polynomial, a network. That is no secret, and it
helps a listener: gradients at many points are then many equations about the same few numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.problems.objective import Reduction
from hocket.problems.problem import Problem

__all__ = ["Family", "centred", "class_form", "logistic", "of_problem", "polynomials", "quadratics"]

Points = Float[np.ndarray, "points dim"]
Parameters = Float[np.ndarray, " size"]


@dataclass(frozen=True, eq=False)
class Family:
    """Objectives of one form, f(x; θ), told apart by parameters θ that only their agent knows."""

    name: str
    """In words: "separable polynomials of degree 4 or less"."""
    dim: int
    size: int
    """How many numbers θ has."""
    gradient: Callable[[Any, Any], Any] = field(repr=False)
    """∇f(x; θ) for one point and one θ, in JAX."""
    linear: bool
    """Whether gradients are linear in θ: then one least squares finds it."""
    parts: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """What people call some of the parameters, and their places: "slopes", "curvatures"."""

    def gradients(self, points: Points, theta: Parameters) -> Float[np.ndarray, "points dim"]:
        """∇f at several points."""
        with jax.enable_x64(True):
            return np.asarray(
                _gradients(self.gradient, jnp.asarray(points, float), jnp.asarray(theta, float))
            )

    def jacobians(self, points: Points, theta: Parameters) -> Float[np.ndarray, "points dim size"]:
        """∂∇f/∂θ at several points: what a change of each parameter does to the gradients there."""
        with jax.enable_x64(True):
            return np.asarray(
                _jacobians(self.gradient, jnp.asarray(points, float), jnp.asarray(theta, float))
            )

    def guess(self, rng: np.random.Generator) -> Parameters:
        """Where a fit may begin, if nothing is known."""
        return rng.normal(size=self.size)


@eqx.filter_jit
def _gradients(gradient: Any, points: Any, theta: Any) -> Any:
    return jax.vmap(gradient, in_axes=(0, None))(points, theta)


@eqx.filter_jit
def _jacobians(gradient: Any, points: Any, theta: Any) -> Any:
    return jax.vmap(jax.jacfwd(gradient, argnums=1), in_axes=(0, None))(points, theta)


@cache  # one family, compiled once
def polynomials(degree: int, dim: int = 1) -> Family:
    """Σ over coordinates and powers 1 … degree of c_p x^p: separable, a row of coefficients per power.

    >>> polynomials(3).gradients(np.array([[2.0]]), np.array([1.0, 1.0, 1.0])).tolist()  # x + x² + x³
    [[17.0]]
    """
    if degree < 1:
        raise BadInput(f"degree = {degree!r}; a polynomial that has a gradient is of degree 1 or more")
    powers = np.arange(1, degree + 1)

    def gradient(x: Any, theta: Any) -> Any:
        terms = powers[:, None] * x[None, :] ** (powers[:, None] - 1)
        return (theta.reshape(degree, dim) * terms).sum(axis=0)

    places = np.arange(degree * dim).reshape(degree, dim)
    names = {1: "slopes", 2: "curvatures"}
    return Family(
        f"separable polynomials of degree {degree} or less",
        dim,
        degree * dim,
        gradient,
        linear=True,
        parts={names.get(p, f"coefficients of x^{p}"): places[p - 1] for p in powers.tolist()},
    )


@cache
def centred(degree: int, dim: int = 1) -> Family:
    """Σ over coordinates and even powers of c_p (x − a)^p: for anybody who knows that each is the same on both sides of
    some centre. It has no slope of its own that persistent noise could hide.
    """
    powers = np.arange(2, degree + 1, 2)

    def gradient(x: Any, theta: Any) -> Any:
        centre, *sizes = theta.reshape(len(powers) + 1, dim)
        return sum(p * size * (x - centre) ** (p - 1) for p, size in zip(powers, sizes, strict=True))

    places = np.arange((len(powers) + 1) * dim).reshape(-1, dim)
    return Family(
        f"even polynomials of degree {degree} or less around a centre",
        dim,
        places.size,
        gradient,
        linear=False,
        parts={"centres": places[0], "sizes": places[1:]},
    )


@cache
def quadratics(dim: int) -> Family:
    """½ xᵀHx + bᵀx for any symmetric H: least squares of any data, cross terms included."""
    rows, columns = np.triu_indices(dim)

    def gradient(x: Any, theta: Any) -> Any:
        upper = jnp.zeros((dim, dim)).at[rows, columns].set(theta[: len(rows)])
        return (upper + upper.T - jnp.diag(jnp.diag(upper))) @ x + theta[len(rows) :]

    size = len(rows) + dim
    return Family(
        "quadratics",
        dim,
        size,
        gradient,
        linear=True,
        parts={"curvatures": np.arange(len(rows)), "slopes": np.arange(len(rows), size)},
    )


@cache
def logistic(dim: int, samples: int, *, l2: float = 0.0, reduction: Reduction = "sum") -> Family:
    """Logistic regression on so many samples: θ holds each sample's features times its label ±1."""
    weight = 1 / samples if reduction == "mean" else 1.0

    def gradient(x: Any, theta: Any) -> Any:
        signed = theta.reshape(samples, dim)
        return l2 * x - weight * (jax.nn.sigmoid(-signed @ x) @ signed)

    return Family(
        f"logistic regressions on {samples} sample{'' if samples == 1 else 's'}",
        dim,
        samples * dim,
        gradient,
        linear=False,
        parts={"records": np.arange(samples * dim)},
    )


def of_problem(problem: Problem, agent: int) -> tuple[Family, Parameters]:
    """The form of one agent's objective with all real numbers in its data unknown, and what they truly are.

    Of samples, whole numbers, labels that are -1, 0 or 1 and weights are taken to be public: anybody who must tell one
    of two values finds it with the rest."""
    group, place = problem.place(agent)
    data = jax.tree.map(np.asarray, group.data_of(place))
    theta, form = _unknown(group.objective, data)
    family = Family(
        f"functions of the form of {type(group.objective).__name__} with all data unknown",
        problem.dim,
        len(theta),
        form,
        linear=problem.degree is not None and not hasattr(data, "weight"),
        parts={"data": np.arange(len(theta))},
    )
    return family, theta


def class_form(problem: Problem) -> Family | None:
    """The form that everybody's objective has by its class, polynomial or quadratic; None for any other."""
    kind = problem.objective_class
    if kind.kind == "polynomial":
        return polynomials(max(kind.degree or 1, 1), problem.dim)
    return quadratics(problem.dim) if kind.kind == "quadratic" else None


class _Form(eqx.Module):
    """The gradient of an objective whose data have some numbers that are not known: those of θ, in their order."""

    objective: Any
    public: list[Any]
    """What is known of the data; None where a number of θ stands."""
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    tree: Any = eqx.field(static=True)

    def __call__(self, x: Any, theta: Any) -> Any:
        ends = np.cumsum([0, *map(math.prod, self.shapes)]).tolist()
        parts = (theta[begin:end] for begin, end in pairwise(ends))
        hidden = iter([part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)])
        leaves = [next(hidden) if leaf is None else leaf for leaf in self.public]
        return self.objective.gradient(x, jax.tree.unflatten(self.tree, leaves))


def _unknown(objective: Any, data: Any) -> tuple[Parameters, _Form]:
    """The numbers of some data that are secret, in a row, and the form that they leave open."""
    leaves, tree = jax.tree.flatten(data)
    leaves = [leaf.astype(np.float64) if leaf.dtype == object else leaf for leaf in leaves]
    sampled = hasattr(data, "weight")
    last = len(leaves) - 1
    secret = [
        bool(np.issubdtype(leaf.dtype, np.floating))
        and not (sampled and (place == last or np.isin(leaf, (-1, 0, 1)).all()))
        for place, leaf in enumerate(leaves)
    ]
    hidden = [leaf for leaf, use in zip(leaves, secret, strict=True) if use]
    public = [None if use else leaf for leaf, use in zip(leaves, secret, strict=True)]
    theta = np.concatenate([np.zeros(0), *(leaf.ravel().astype(np.float64) for leaf in hidden)])
    return theta, _Form(objective, public, tuple(leaf.shape for leaf in hidden), tree)
