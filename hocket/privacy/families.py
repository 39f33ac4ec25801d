"""The public form of the objectives: what a gradient is made of, once the model is known and only its numbers are not.

Whoever plans a run tells everybody what is fitted: a regression, a polynomial, a network. That is no secret, and it
helps a listener: gradients at many points are then many equations about the same few numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.problems.problem import Problem

__all__ = ["Family", "centred", "logistic", "of_problem", "polynomials", "quadratics"]

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


@partial(jax.jit, static_argnums=0)
def _gradients(gradient: Any, points: Any, theta: Any) -> Any:
    return jax.vmap(gradient, in_axes=(0, None))(points, theta)


@partial(jax.jit, static_argnums=0)
def _jacobians(gradient: Any, points: Any, theta: Any) -> Any:
    return jax.vmap(jax.jacfwd(gradient, argnums=1), in_axes=(0, None))(points, theta)


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


def centred(degree: int, dim: int = 1) -> Family:
    """Σ over coordinates and even powers of c_p (x − a)^p: for whoever knows that each is the same on both sides of
    some centre. It has no slope of its own that an anchor could hide.
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


def logistic(dim: int, samples: int, *, l2: float = 0.0) -> Family:
    """Logistic regression on so many samples, in the mean: θ holds each sample's features times its label ±1."""

    def gradient(x: Any, theta: Any) -> Any:
        signed = theta.reshape(samples, dim)
        return l2 * x - jax.nn.sigmoid(-signed @ x) @ signed / samples

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

    Of samples, whole numbers, labels that are -1, 0 or 1 and weights are taken to be public: whoever must tell one of
    two values finds it with the rest.
    """
    group, place = problem.place(agent)
    data = jax.tree.map(np.asarray, group.data_of(place))
    theta, put = _unknown(data)
    family = Family(
        f"objectives of the form of {problem.name(agent)}'s",
        problem.dim,
        len(theta),
        lambda x, theta: group.objective.gradient(x, put(theta)),
        linear=problem.degree is not None and not hasattr(data, "weight"),
        parts={"data": np.arange(len(theta))},
    )
    return family, theta


def _unknown(data: Any) -> tuple[Parameters, Callable[[Any], Any]]:
    """The numbers of some data that are secret, in a row, and the way back from such a row to data."""
    sampled = hasattr(data, "weight")
    leaves, tree = jax.tree.flatten(data.values if sampled else data)
    leaves = [leaf.astype(np.float64) if leaf.dtype == object else leaf for leaf in leaves]
    real = [
        np.issubdtype(leaf.dtype, np.floating) and not (sampled and np.isin(leaf, (-1, 0, 1)).all())
        for leaf in leaves
    ]
    with jax.enable_x64(True):
        flat, back = ravel_pytree([leaf for leaf, use in zip(leaves, real, strict=True) if use])

    def put(theta: Any) -> Any:
        found = iter(back(theta))
        whole = jax.tree.unflatten(
            tree, [next(found) if use else leaf for leaf, use in zip(leaves, real, strict=True)]
        )
        return type(data)(whole, data.weight) if sampled else whole

    return np.asarray(flat, dtype=np.float64), put
