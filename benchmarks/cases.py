"""The problems that solvers are compared on, written out for all agents at once, and hocket's own rounds of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import hocket as hk
from hocket.engines.compiled.player import Compiled
from hocket.engines.prepare import prepare
from hocket.engines.schedule import STOPS, Looks
from hocket.engines.simulator import step_table
from hocket.runs.job import Job


@dataclass(frozen=True)
class Case:
    """A problem with its gradient and projection, for arrays of NumPy and JAX alike."""

    name: str
    problem: hk.Problem
    network: hk.Network
    step: hk.Power | hk.Constant
    rounds: int
    """A multiple of the block in which noise is drawn."""
    start: np.ndarray
    gradient: Callable[[Any], Any]
    project: Callable[[Any], Any]
    data: dict[str, np.ndarray]
    """The numbers in the objectives, for rivals in other processes."""

    @property
    def alpha(self) -> np.ndarray:
        """The step sizes of all rounds."""
        return self.step.table(1, self.rounds)


def polynomials(rounds: int = 512 * 512) -> Case:
    """The paper's five polynomials in one variable, on a ring: a_j x² + b_j x⁴ within [−30, 30]."""
    problem = hk.paper_polynomials()
    coefficients = np.asarray(problem.groups[0].data)
    square, fourth = 2 * coefficients[:, 2:3], 4 * coefficients[:, 4:5]
    return Case(
        "polynomials, ring of 5",
        problem,
        hk.Network.cycle(5),
        hk.Power(1.0, 20, 0.75),
        rounds,
        np.array([1, -0.5, 0.25, -0.75, 0.5])[:, None],
        gradient=lambda v: v * (square + fourth * (v * v)),
        project=lambda v: _library(v).minimum(_library(v).maximum(v, -30.0), 30.0),
        data={"square": square, "fourth": fourth},
    )


def logistic(rounds: int = 256) -> Case:
    """Logistic regression of 100 agents with 4 neighbours each: 100 samples of 50 numbers, in a ball."""
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(100, 100, 50)), np.sign(rng.normal(size=(100, 100)))
    signed = features * labels[:, :, None]
    on_device = jnp.asarray(signed)

    def gradient(v: Any) -> Any:
        rows = signed if isinstance(v, np.ndarray) else on_device
        margin = (rows @ v[:, :, None])[:, :, 0]
        slope = 1 / (1 + _library(v).exp(margin))
        return -(slope[:, None, :] @ rows)[:, 0] / rows.shape[1] + 0.1 * v

    return Case(
        "logistic regression, 100 agents",
        hk.logistic(features, labels, l2=0.1, reduction="mean", feasible=hk.Ball(10.0), optimum=0.0),
        hk.Network.random_regular(4, 100),
        hk.Power(1.0, 20, 0.75),
        rounds,
        np.zeros((100, 50)),
        gradient,
        _onto_ball,
        data={"signed": signed, "features": features, "labels": labels},
    )


def least_squares(rounds: int = 4) -> Case:
    """Least squares of 2,000 agents with 8 neighbours each: 20 rows of 1,000 numbers, in a ball."""
    rng = np.random.default_rng(0)
    n, rows, dim = 2000, 20, 1000
    A, b = rng.normal(size=(n, rows, dim)), rng.normal(size=(n, rows))
    problem = hk.least_squares(A, b, feasible=hk.Ball(10.0), optimum=0.0)
    on_device, targets = jnp.asarray(A), jnp.asarray(b)

    def gradient(v: Any) -> Any:
        rest = jnp.einsum("nrd,nd->nr", on_device, v) - targets
        return jnp.einsum("nrd,nr->nd", on_device, rest)

    return Case(
        "least squares, 2,000 agents",
        problem,
        hk.Network.random_regular(8, n),
        hk.Constant(1e-4),
        rounds,
        np.zeros((n, dim)),
        gradient,
        _onto_ball,
        data={},
    )


def simulated(
    case: Case, algorithm: hk.Algorithm, *, averaging: bool = False, dtype: Any = np.float64
) -> tuple[Callable[[], Any], int]:
    """The simulator's compiled rounds, without measurements; and the block in which it draws noise."""
    job = Job.asked(
        case.problem,
        case.network,
        algorithm,
        step=case.step,
        rounds=case.rounds,
        start=case.start,
        dtype=dtype,
    )
    program = Compiled(prepare(job, algorithm, averaging=averaging))
    steps = step_table(job, 0)
    carry = program.begin(jnp.asarray(job.first_states, dtype), steps)
    stops, looks = np.full(STOPS, case.rounds + 1), Looks.nowhere()

    def turn() -> Any:
        end, _ = program.advance(carry, steps, stops, looks)
        return end.state, end.weighted

    return turn, program.program.block


def _onto_ball(v: Any, radius: float = 10.0) -> Any:
    xp = _library(v)
    norm = xp.sqrt(xp.sum(v * v, axis=1, keepdims=True))
    return v * xp.minimum(1, radius / xp.maximum(norm, 1e-300))


def _library(v: Any) -> Any:
    return np if isinstance(v, np.ndarray) else jnp
