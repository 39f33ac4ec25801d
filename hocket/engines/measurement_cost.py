"""How much of a run goes into measuring it: at most a tenth, by what compiled code is counted to cost.

The gap of the worst agent needs the sum of all objectives at every agent's state: n times what it takes at the mean.
Where that is more than a tenth of the rounds, fewer agents are looked at, those farthest from the mean, and then
fewer rounds are recorded. All is decided before the run, by operations on single numbers, counted in its program
before it is compiled: what is measured must be the same on every machine, in every engine and after a break. A count is
right to a factor of two or so, and what users loop over for as long as a condition holds counts once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from hocket.engines.compiled import Blueprint, Compiled
from hocket.engines.measures import noise_size
from hocket.engines.program import FARTHEST, Carry, Program, Steps
from hocket.engines.round_noise import noise_of_round
from hocket.engines.rounds import begin, one_round
from hocket.engines.schedule import FEW, LARGE, MOST, Marks, recorded_rounds

EXPONENTIAL = {"exp", "exp2", "expm1", "log", "logistic", "tanh", "sinh", "cosh", "pow", "cbrt"}
TRIGONOMETRIC = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}
SPECIAL = {"erf", "erfc", "erf_inv", "lgamma", "digamma"}
WEIGHT = dict.fromkeys(EXPONENTIAL | TRIGONOMETRIC | SPECIAL, 10.0) | {"log1p": 32.0}
"""What a function of one number takes, in additions; seen on CPUs. The last is slow inside of `logaddexp`."""
INTEGERS = 1 / 3
"""An operation on integers, of which noise takes a hundred a number: they stay in registers."""
PRODUCTS = 4
"""Products of a matrix in the time of one addition, but for what must be read."""
FREE = {
    "reshape",
    "squeeze",
    "broadcast_in_dim",
    "convert_element_type",
    "stop_gradient",
    "transpose",
    "copy",
}
PASSES = 16
"""Additions per number of all states, at a stop: their mean, the distances from it, whether they are finite."""
STOPPING = 1 << 17
"""Additions in the time that it takes to leave the rounds and come back, some 15 µs."""
SHARE = 1 / 16
"""Of the rounds' own work: a tenth, less what counting may be wrong by."""
SLIGHT = 1 << 20
"""Numbers that may be read for measuring in any case: in a millisecond or so, a tenth of what `solve` takes to lay out
and report even the smallest run."""
EACH = 4
"""Operations that a number read takes, as far as one can tell beforehand."""
AT_THE_END = 1 / 3
"""The part of the budget that the last measurement may take."""


class Prices(NamedTuple):
    """What the parts of a run cost, in operations."""

    round: float
    total: float
    """Σ_j f_j at one point."""
    stop: float
    """A measurement of the mean, of disagreement and noise, before any agent is looked at; and what it interrupts."""


class Outline(NamedTuple):
    """A program but for its numbers. Everything here is decided by it, so once for all runs that share it."""

    blueprint: Blueprint
    structure: Any
    shapes: tuple[Any, ...]

    @staticmethod
    def of(compiled: Compiled) -> Outline:
        leaves, structure = jax.tree.flatten(compiled.numbers)
        return Outline(compiled.blueprint, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))

    @property
    def numbers(self) -> Any:
        """Shapes in the place of numbers."""
        return jax.tree.unflatten(self.structure, [jax.ShapeDtypeStruct(*shape) for shape in self.shapes])

    @property
    def program(self) -> Program:
        return self.blueprint.program(self.numbers)


def prices(compiled: Compiled) -> Prices:
    """What rounds and measurements of a program cost."""
    return _prices(Outline.of(compiled))


@lru_cache(maxsize=128)
def _prices(outline: Outline) -> Prices:
    blueprint, numbers, program = outline.blueprint, outline.numbers, outline.program
    n, dim = program.tables.n, program.problem.dim
    steps = Steps(jax.ShapeDtypeStruct((), jnp.result_type(int)), jax.ShapeDtypeStruct((4,), program.dtype))

    def of_program(function: Any) -> Any:
        return lambda numbers, *args: function(blueprint.program(numbers), *args)

    def played(program: Program, carry: Carry, steps: Steps) -> Any:
        fresh = noise_of_round(program, carry.k)
        return one_round(program, carry, carry.k, carry.moving, steps, fresh)[0]

    def cost(function: Any, *args: Any) -> float:
        return price(of_program(function), numbers, *args)

    start = jax.ShapeDtypeStruct((n, dim), program.dtype)
    carry = jax.eval_shape(of_program(begin), numbers, start, steps)
    # Noise is drawn for a block of rounds at once, and what is left of a block at a stop is drawn again.
    spoilt = max(program.block - 1, 0) * cost(noise_of_round, carry.k)
    once = cost(Program.total, jax.ShapeDtypeStruct((dim,), program.dtype))
    return Prices(
        round=cost(played, carry, steps),
        total=once,
        stop=once + cost(noise_size, carry, steps) + spoilt + PASSES * n * dim + STOPPING,
    )


def price(function: Any, *args: Any) -> float:
    """What one call of a function costs; the arguments may be mere shapes."""
    return _of(jax.make_jaxpr(function)(*args).jaxpr)


def _of(jaxpr: Any) -> float:
    return sum(map(_step, jaxpr.eqns))


def _step(step: Any) -> float:
    """What one step of a program costs."""
    name, parts = step.primitive.name, list(_parts(step.params))
    if name in FREE:
        return 0.0
    if name == "cond":
        return max(map(_of, parts))
    if parts:
        return step.params.get("length", 1) * sum(map(_of, parts))
    numbers = [math.prod(getattr(one.aval, "shape", ())) for one in (*step.invars, *step.outvars)]
    made = sum(numbers[len(step.invars) :])
    if name == "dot_general":
        (contracted, _), _ = step.params["dimension_numbers"]
        inner = math.prod(step.invars[0].aval.shape[axis] for axis in contracted)
        return max(made * inner / PRODUCTS, float(max(numbers)))
    if name == "conv_general_dilated":
        kernel = step.params["dimension_numbers"].rhs_spec
        return made * numbers[1] / step.invars[1].aval.shape[kernel[0]] / PRODUCTS
    if name in ("gather", "slice", "dynamic_slice"):  # what is read of, may be much larger
        return 2.0 * made
    whole = jax.numpy.issubdtype(step.outvars[0].aval.dtype, jax.numpy.integer)
    return max(numbers) * (INTEGERS if whole else WEIGHT.get(name, 1.0))


def _parts(params: Any) -> Iterator[Any]:
    """The programs inside a step."""
    for value in params.values():
        for one in value if isinstance(value, tuple | list) else [value]:
            if isinstance(one, core.ClosedJaxpr):
                yield one.jaxpr
            elif isinstance(one, core.Jaxpr):
                yield one


def marks(compiled: Compiled, rounds: int, *, exact: bool) -> Marks:
    """After which rounds a run is measured, and over how many agents at each of them.

    With `exact` over every agent, everywhere. So it is without, wherever that costs no more than a tenth of the run.
    """
    return _marks(Outline.of(compiled), rounds, exact)


@lru_cache(maxsize=128)
def _marks(outline: Outline, rounds: int, exact: bool) -> Marks:
    program = outline.program
    n, dim = program.tables.n, program.problem.dim
    large = n * dim > LARGE
    often = recorded_rounds(rounds, most=FEW if exact and large else MOST)
    if exact or len(often) * (n + 1) * (program.pooled_numbers + dim) <= SLIGHT:
        found = Marks.everybody(often, n)
    else:
        found = affordable(_prices(outline), rounds, n)
    for column in found:
        column.setflags(write=False)  # other runs are given the same
    return found


def affordable(prices: Prices, rounds: int, n: int) -> Marks:
    """As many agents as few stops allow, then as many stops as the budget allows; more agents at the end.

    >>> affordable(Prices(round=100.0, total=100.0, stop=150.0), 12_000_000, 20).agents[[0, -1]]
    array([20, 20])
    """
    budget = SHARE * rounds * prices.round + EACH * SLIGHT
    before = (1 - AT_THE_END) * budget
    often = min(MOST, rounds)
    agents = n
    if often * (prices.stop + n * prices.total) > before:
        agents = _bought(before / min(FEW, often), prices, min(FARTHEST, n))
        often = int(before / (prices.stop + agents * prices.total))
    last = _bought(AT_THE_END * budget, prices, n)
    if last < n:  # between few and all there is no order by distance to choose by
        last = min(last, FARTHEST)
    # Before the first round, after it and at the end a run is measured at least.
    recorded = recorded_rounds(rounds, most=max(min(often - 1, MOST), 2))
    looked_at = np.full(len(recorded), agents)
    looked_at[-1] = max(last, agents)
    return Marks(recorded, looked_at)


def _bought(budget: float, prices: Prices, most: int) -> int:
    """How many agents one measurement can look at; one at least."""
    return int(np.clip((budget - prices.stop) / max(prices.total, 1.0), 1, most))
