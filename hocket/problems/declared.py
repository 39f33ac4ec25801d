"""Whether objectives can be of the class that was declared: what a handful of gradients contradicts is refused.

Theorems on privacy rest on the class, and a loss that somebody wrote tells nobody its class. It has gradients, though:
those of a polynomial of degree d are polynomials of degree d − 1 along any line, and those of a separable one do not
depend on other coordinates. What a few points do not show stays a matter of who declares it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hocket.errors import BadProblem
from hocket.problems.objective import Name
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.objective_groups import Group
from hocket.problems.sets import FeasibleSet

Gradients = Callable[[Any], Any]
"""At several points, a row each."""
MOST = 12
"""The degree up to which differences are taken: beyond it rounding is all that they show."""
CLOSE = 1e-6
"""Of the largest term: what rounding leaves of a difference that vanishes."""


def check_declared(
    said: ObjectiveClass, groups: tuple[Group, ...], feasible: FeasibleSet, dim: int, name: Name
) -> None:
    """Refuse a declared class that gradients of a few agents contradict at points of X."""
    degree = 2 if said.kind == "quadratic" else said.degree
    if degree is None or degree > MOST:
        return
    rng = np.random.default_rng(0)  # a public check, by public points
    with jax.enable_x64(True):
        ends = np.stack([np.asarray(feasible.project(jnp.asarray(row))) for row in rng.normal(size=(2, dim))])
        for group in groups:
            for place in {0, len(group.members) - 1}:
                data = jax.tree.map(jnp.asarray, group.data_of(place))
                gradients = jax.vmap(lambda x, g=group, d=data: g.objective.gradient(x, d))
                if why := _contradicted(gradients, ends, degree, separable=said.kind == "polynomial"):
                    raise BadProblem(
                        f"objectives are declared as {said}, and {why} of {name(int(group.members[place]))}: nothing "
                        "would hide what is not of that class; declare another, or leave it out"
                    )


def _contradicted(gradients: Gradients, ends: np.ndarray, degree: int, *, separable: bool) -> str:
    """What of gradients no such objective has; empty where these show nothing of the kind."""
    along = np.linspace(0, 1, degree + 1)[:, None]
    signs = np.array([[(-1.0) ** i * math.comb(degree, i)] for i in range(degree + 1)])
    terms = signs * np.asarray(gradients(jnp.asarray(ends[0] + along * (ends[1] - ends[0]))))
    if _apart(terms.sum(axis=0), np.abs(terms).sum(axis=0)):
        return f"the gradient, along a line, is no polynomial of degree {max(degree - 1, 0)}"
    if not separable:
        return ""
    half = np.arange(ends.shape[1]) % 2 == 0
    moved = np.stack([ends[0], np.where(half, ends[1], ends[0])])
    others = np.asarray(gradients(jnp.asarray(moved)))[:, ~half]
    mixed = _apart(others[1] - others[0], np.abs(others).sum(axis=0))
    return "a coordinate of the gradient depends on others" if mixed else ""


def _apart(difference: np.ndarray, size: np.ndarray) -> bool:
    """Whether something is left that rounding does not explain; what is not finite shows nothing."""
    return bool(np.any(np.abs(difference) > CLOSE * (1e-12 + np.max(size, initial=0.0))))
