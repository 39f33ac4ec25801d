"""A problem: minimise Σ_j f_j(x) over a feasible set, f_j and its data known to agent j alone."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Float, PyTree, Shaped

from hocket.errors import BadProblem
from hocket.problems import WeightedSum
from hocket.problems.declared import check_declared
from hocket.problems.objective import largest_known
from hocket.problems.objective_class import ANY, ObjectiveClass, checked_declaration
from hocket.problems.objective_groups import AnyLoss, Group, group_agents
from hocket.problems.optimum import Optimum, given_optimum, reference_optimum
from hocket.problems.penalty import Penalised, Penalty
from hocket.problems.sets import TOLERANCE, FeasibleSet
from hocket.rationals import as_fractions, check_dense_real, is_exact


@dataclass(frozen=True)
class Constants:
    """What the theorems need to know about a problem; None where it is not known."""

    L: float | None
    """Bound on ‖∇f_j‖, for every agent."""
    N: float | None
    """Lipschitz constant of ∇f_j, for every agent."""
    diameter: float
    """Of the feasible set; infinite where that is unbounded."""


class Problem(eqx.Module):
    """Objectives and data of n agents, and the set their states must lie in.

    `loss(x, data_j)` is any JAX function or an `Objective`, or a list with one per agent. `data` are arrays
    stacked along a leading axis of agents, in tuples or dicts, or a list with an entry per agent. Numbers are
    leaves and functions static: one compiled run serves all problems that differ in numbers alone.

    What cannot be derived may be declared: `convex`; `lipschitz` (L) and `smoothness` (N), valid wherever
    gradients are evaluated; the `optimum`, as a number f* or a vector x*; the class of the `objectives`, such as
    "polynomial:2", which theorems on privacy are about (`hocket.problems.objective_class`).

    `prox` is a penalty that every agent adds to its objective, such as `L1(0.1)`: `value` and `total` include it,
    `gradient` does not, since algorithms take its proximal map instead.
    """

    groups: tuple[Group, ...]
    feasible: FeasibleSet
    dim: int = eqx.field(static=True)
    lipschitz: Any
    smoothness: Any
    known_value: Any
    known_point: Any
    declared_convex: bool | None = eqx.field(static=True)
    declared_objectives: ObjectiveClass | None = eqx.field(static=True)
    names: tuple[str, ...] | None = eqx.field(static=True)
    penalty: Penalty | None

    def __init__(
        self,
        loss: AnyLoss | list[AnyLoss],
        data: PyTree = None,
        *,
        feasible: FeasibleSet,
        dim: int,
        convex: bool | None = None,
        lipschitz: float | None = None,
        smoothness: float | None = None,
        optimum: Any = None,
        objectives: ObjectiveClass | str | None = None,
        names: list[str] | None = None,
        prox: Penalty | None = None,
    ):
        if dim < 1:
            raise BadProblem(f"dim is {dim}; a state needs at least one coordinate")
        feasible.check_dim(dim)
        for leaf in jax.tree.leaves(data):
            check_dense_real(leaf, "the data")
        if prox is not None:
            prox.check(feasible, dim)
        self.penalty = prox
        self.names = None if names is None else tuple(names)
        self.groups = group_agents(loss, data, dim, self.name)
        self.feasible = feasible
        self.dim = dim
        self.declared_convex = convex
        self.lipschitz = _declared("lipschitz", lipschitz)
        self.smoothness = _declared("smoothness", smoothness)
        self.known_value, self.known_point = _known_optimum(optimum, feasible, dim)
        self.declared_objectives = checked_declaration(objectives, self._derived_class)
        if self.declared_objectives is not None and self._derived_class == ANY and not self._traced:
            check_declared(self.declared_objectives, self.groups, feasible, dim, self.name)
        if self.names is not None and len(self.names) != self.n:
            raise BadProblem(f"there are {len(self.names)} names for {self.n} agents; give one each")
        twice = [name for place, name in enumerate(self.names or ()) if name in (self.names or ())[:place]]
        if twice:
            raise BadProblem(f"two agents are called {twice[0]!r}; give each a name of its own")

    @property
    def n(self) -> int:
        """How many agents there are."""
        return sum(len(group.members) for group in self.groups)

    def name(self, j: int) -> str:
        """What errors and reports call agent j."""
        return (
            f"agent {j} ({self.names[j]})" if self.names is not None and j < len(self.names) else f"agent {j}"
        )

    def value(self, j: int, x: Any) -> Any:
        """f_j(x), penalty included, on the host: a float, or a fraction where `x` holds fractions."""
        value = self._evaluate("value", j, x)[()]
        return value if self.penalty is None else value + self.penalty.value(self._vector(x))

    def gradient(self, j: int, x: Any) -> Shaped[np.ndarray, " dim"]:
        """∇f_j(x), on the host: exact where `x` holds fractions."""
        return self._evaluate("gradient", j, x)

    def total(self, x: Shaped[Any, " dim"]) -> Any:
        """Σ_j f_j(x), the objective of all; traceable in `x`.

        Inside compiled code hand `problem.pooled()` over as an argument and use n times its total: traced
        data are summed agent by agent.
        """
        if self._traced:
            smooth = sum(_group_total(group, x) for group in self.groups)
            return smooth if self.penalty is None else smooth + self.n * self.penalty.value(x)
        if isinstance(x, jax.Array):
            (group,) = self.pooled().groups
            return self.n * group.objective.value(x, group.data_of(0))
        x = self._vector(x)
        if is_exact(x):
            return sum(self.value(j, x) for j in range(self.n))
        return self.n * float(self.pooled().value(0, x))

    @property
    def _traced(self) -> bool:
        """Whether its data are those of a program that is being compiled."""
        return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(self.groups))

    def pooled(self) -> Problem:
        """The problem of one agent that holds (1/n) Σ_j f_j, in as few numbers as possible."""
        return self if self.n == 1 and self.penalty is None else self._pooled

    @functools.cached_property
    def _pooled(self) -> Problem:
        parts, entries = zip(*(group.objective.pooled(group.data) for group in self.groups), strict=True)
        if len(parts) == 1:
            objective, data = parts[0], entries[0]
        else:
            shares = np.array([len(group.members) / self.n for group in self.groups])
            objective, data = WeightedSum(parts), (shares, entries)
        if self.penalty is not None:
            objective = Penalised(objective, self.penalty)
        return Problem(
            [objective],
            [data],
            feasible=self.feasible,
            dim=self.dim,
            convex=self.declared_convex,
            lipschitz=self.lipschitz,
            smoothness=self.smoothness if self.penalty is None else None,
            optimum=self.known_point if self.known_value is None else self.known_value / self.n,
            objectives=self.declared_objectives,
        )

    @functools.cached_property
    def convex(self) -> bool | None:
        """Whether every f_j is convex on the set: declared, or derived where that is possible, or None."""
        return self._each_convex()

    @property
    def sum_convex(self) -> bool | None:
        """Whether Σ_j f_j is convex on the set: where every f_j is, or where the others outweigh those that are not."""
        # Not the pool's own property: what is kept on a module changes its structure as JAX sees it, and with it what
        # is compiled and which checkpoint is a run's own.
        return self.convex or self.pooled()._each_convex()

    def _each_convex(self) -> bool | None:
        if self.declared_convex is not None:
            return self.declared_convex
        known = {group.objective.convex(group.data, self.feasible, self.dim) for group in self.groups}
        return False if False in known else None if None in known else True

    @property
    def strong_convexity(self) -> float | None:
        """μ: the least that the mean objective bends up, in any direction anywhere on X; None where nobody knows."""
        (group,) = self.pooled().groups
        return group.objective.least_curvature(group.data, self.feasible, self.dim)

    @property
    def least_strong_convexity(self) -> float | None:
        """The least that any agent's own objective bends up, negative where one bends down; None where nobody knows."""
        known = [
            group.objective.least_curvature(group.data, self.feasible, self.dim) for group in self.groups
        ]
        bends = [one for one in known if one is not None]
        return min(bends) if len(bends) == len(known) else None

    @property
    def degree(self) -> int | None:
        """The highest power in any agent's objective, or None where some objective is not a polynomial."""
        degrees = [group.objective.degree(group.data) for group in self.groups]
        known = [degree for degree in degrees if degree is not None]
        return max(known) if len(known) == len(degrees) else None

    @property
    def objective_class(self) -> ObjectiveClass:
        """The class that every objective is of: declared, or derived where that is possible, or `any`."""
        return self._derived_class if self.declared_objectives is None else self.declared_objectives

    @property
    def _derived_class(self) -> ObjectiveClass:
        kinds = [group.objective.objective_class(group.data) for group in self.groups]
        return functools.reduce(ObjectiveClass.joined, kinds).in_dimension(self.dim)

    def constants(self, *, inflate: float = 0.0) -> Constants:
        """L and N on the feasible set, or on what lies within `inflate` of it; never guessed.

        Inflate by α₁Δ where gradients are evaluated at points that noise has carried out of the set.
        """
        where = self.feasible.inflated(inflate)
        bounds = [group.objective.constants(group.data, where, self.dim) for group in self.groups]
        slopes, bends = zip(*bounds, strict=True)
        return Constants(
            L=largest_known(slopes) if self.lipschitz is None else float(self.lipschitz),
            N=largest_known(bends) if self.smoothness is None else float(self.smoothness),
            diameter=self.feasible.diameter(self.dim),
        )

    @functools.cached_property
    def best(self) -> Optimum | None:
        """The optimum of Σ_j f_j on the set: declared, or found by a trusted solver, or None."""
        return given_optimum(self) or reference_optimum(self)

    def check_start(self, start: Any = None) -> Shaped[np.ndarray, "agents dim"]:
        """The start with a row per agent, from one vector or a row each; else the point of X nearest 0."""
        if start is None:
            start = self.feasible.project(np.zeros(self.dim))
        check_dense_real(start, "the start")
        given = _numbers(start, "the start")
        rows = given[:, None] if self.dim == 1 and given.shape == (self.n,) else given
        if rows.shape not in ((), (1,), (self.dim,), (self.n, self.dim)):
            raise BadProblem(
                f"the start has shape {given.shape}; give one vector ({self.dim},) or a row per agent "
                f"({self.n}, {self.dim})"
            )
        rows = np.array(np.broadcast_to(rows, (self.n, self.dim)))
        tol = TOLERANCE * (1 + self.feasible.radius(self.dim)) if self.feasible.bounded else TOLERANCE
        for j in np.flatnonzero(~self.feasible.contains(rows, tol))[:1]:
            raise BadProblem(
                f"{self.name(j)} starts at {np.array2string(rows[j], threshold=6)}, outside {self.feasible}; "
                "move it inside, for example with feasible.project"
            )
        return rows

    def astype(self, dtype: Any) -> Problem:
        """The same problem with its data in another precision; `object` makes them fractions."""

        def cast(leaf: Any) -> Any:
            if not (leaf.dtype == object or np.issubdtype(leaf.dtype, np.floating)):
                return leaf
            return as_fractions(leaf) if np.dtype(dtype) == object else leaf.astype(dtype)

        groups = tuple(Group(g.objective, jax.tree.map(cast, g.data), g.members) for g in self.groups)
        return eqx.tree_at(lambda problem: problem.groups, self, groups)

    def _evaluate(self, method: str, j: int, x: Any) -> np.ndarray:
        group, place = self.place(j)
        x = self._vector(x)
        if group.objective.exact:
            return np.asarray(getattr(group.objective, method)(x, group.data_of(place)))
        if is_exact(x):
            kind = type(group.objective).__name__
            raise BadProblem(f"the {kind} of {self.name(j)} cannot be run on fractions; polynomials can")
        with jax.enable_x64(True):
            return np.asarray(_compiled(group.objective, method, x, group.data_of(place)))

    def place(self, j: int) -> tuple[Group, int]:
        """The group in which agent j is, and which of its members."""
        for group in self.groups:
            place = np.flatnonzero(group.members == j)
            if place.size:
                return group, int(place[0])
        raise BadProblem(f"there is no agent {j}; agents are numbered 0 to {self.n - 1}")

    def _vector(self, x: Any) -> np.ndarray:
        vector = np.atleast_1d(_numbers(x, "x"))
        if vector.shape != (self.dim,):
            raise BadProblem(f"x has shape {vector.shape}; this problem has states of shape ({self.dim},)")
        return vector


@eqx.filter_jit
def _compiled(objective: Any, method: str, x: Any, data: PyTree) -> Any:
    return getattr(objective, method)(x, data)


def _group_total(group: Group, x: Any) -> Any:
    if not jax.tree.leaves(group.data):
        return len(group.members) * group.objective.value(x, group.data)
    return jax.vmap(group.objective.value, in_axes=(None, 0))(x, group.data).sum()


def _numbers(values: Any, what: str) -> np.ndarray:
    """Floats in float64, fractions as they are."""
    try:
        array = np.asarray(values)
        return as_fractions(array) if array.dtype == object else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadProblem(f"{what} is {values!r}; give numbers in rows of equal length") from error


def _declared(name: str, value: float | None) -> Float[np.ndarray, ""] | None:
    if value is not None and not (np.isfinite(value) and value >= 0):
        raise BadProblem(f"{name} is {value}; it bounds a size and must be finite and not negative")
    return None if value is None else np.asarray(value, dtype=np.float64)


def _known_optimum(optimum: Any, feasible: FeasibleSet, dim: int) -> tuple[Any, Any]:
    """(f*, None) from a number, (None, x*) from a vector."""
    if optimum is None:
        return None, None
    given = np.asarray(optimum, dtype=np.float64)
    if not np.isfinite(given).all() or given.shape not in ((), (dim,)):
        raise BadProblem(
            f"the optimum is {optimum}; give the finite number f* or a vector x* of shape ({dim},)"
        )
    if given.ndim == 0:
        return given, None
    if not feasible.contains(given):
        raise BadProblem(f"the optimum {optimum} lies outside {feasible}; correct one of the two")
    return None, given
