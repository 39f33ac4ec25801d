"""Whether an objective is all in what is traced of it: each agent's gradient then follows from its own data alone.

A run computes all agents' gradients in one program, and those of single records in a batch. Code that JAX calls beside
that program may keep something from one record to the next, and a batching rule of somebody's own sees all of them at
once: whatever is promised of one record, or of one member, is not promised of such a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from hocket.errors import BadProblem
from hocket.problems.problem import Problem

OUTSIDE = {
    "custom_vmap_call": "a batching rule of its own (jax.custom_batching), which sees all records and agents at once",
    "pure_callback": "code on the host (jax.pure_callback), which may remember other records",
    "io_callback": "code on the host (jax.experimental.io_callback), which may remember other records",
    "ffi_call": "foreign code (jax.ffi), which may remember other records",
}
"""What by its name in a traced program may tell one record's gradient of another's, and how."""


def check_traced(problem: Problem) -> None:
    """Refuse objectives whose gradients may follow from more than an agent's own data, where privacy is promised."""
    for group in problem.groups:
        gradient = jax.make_jaxpr(group.objective.gradient)
        traced = gradient(jnp.zeros(problem.dim), jax.tree.map(jnp.asarray, group.data_of(0)))
        for name in _called(traced.jaxpr):
            if name in OUTSIDE:
                raise BadProblem(
                    f"the gradient of {problem.name(int(group.members[0]))} calls {OUTSIDE[name]}: then nothing bounds "
                    "what one of them changes, and no privacy can be promised; write the function in jax.numpy alone"
                )


def _called(jaxpr: Any) -> Iterator[str]:
    """The names of everything that a traced program does, in whatever it is nested."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        inside = jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda one: hasattr(one, "eqns") or hasattr(one, "jaxpr")
        )
        for one in inside:
            if hasattr(one, "eqns") or hasattr(one, "jaxpr"):
                yield from _called(getattr(one, "jaxpr", one))
