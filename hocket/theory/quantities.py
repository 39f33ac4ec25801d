"""The numbers that bounds are made of: from a problem, a network and an algorithm, or plainly from the user.

Nothing is guessed. What a problem does not know and the user did not say is an error that names it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypedDict, Unpack

import numpy as np
import scipy
from jaxtyping import Float

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput, NoTheorem
from hocket.networks.weights import norm_off_average
from hocket.noise.draws import Paired
from hocket.noise.functions import NoiseFunctions
from hocket.problems.quadratic import hessians
from hocket.problems.sets import FeasibleSet
from hocket.runs.coverage import coverage
from hocket.runs.job import Job
from hocket.runs.theorems import BOUNDED, REGULAR, claim, largest_step
from hocket.steps import Step, as_step
from hocket.theory.bound import refuse_broken, underived

Coefficients = Float[np.ndarray, "links 2 width"]
MEANING = {
    "n": "the number of agents; pass n=",
    "rho": "ρ, the smallest non-zero weight; pass rho=",
    "lam": "λ = ‖B − 11ᵀ/n‖₂; pass lam=, for example network.lam",
    "L": "a bound on every agent's ‖∇f_j‖; pass L=, or declare lipschitz= on the problem",
    "N": "a Lipschitz constant of every agent's ∇f_j; pass N=, or declare smoothness= on the problem",
    "delta": "Δ, the bound on the noise; pass delta=",
    "noise": "e, a bound on the noise after mixing; pass noise= or delta=",
    "diameter": "the largest distance between two points of X; pass diameter=",
    "start_norm": "max_j ‖x_1^j‖; pass start_norm=",
    "start_spread": "max_j ‖δ_1^j‖, how far the farthest agent starts from the mean; pass start_spread=",
    "eta1_sq": "η₁² = Σ_j ‖x_1^j − x*‖²; pass eta1_sq=",
    "phi1": "φ₁ = ‖δ_1‖_F, the start's disagreement; pass phi1=",
}
_SUPPLY: dict[str, Callable[[Known, Job], float | None]] = {
    "n": lambda _, job: job.network.n,
    "rho": lambda _, job: job.network.rho,
    "lam": lambda known, _: known.mixing,
    "L": lambda known, _: known.gradients[0],
    "N": lambda known, _: known.gradients[1],
    "delta": lambda _, job: coverage(job.algorithm).noise_bound,  # None for the user's own noise
    "diameter": lambda _, job: job.problem.feasible.diameter(job.problem.dim),
    "start_norm": lambda _, job: float(np.linalg.norm(job.start, axis=1).max()),
    "start_spread": lambda known, _: float(np.linalg.norm(known.start_deviation, axis=1).max()),
    "eta1_sq": lambda known, _: known.start_distance,
    "phi1": lambda known, _: float(np.linalg.norm(known.start_deviation)),
}


def added_constants(
    algorithm: Algorithm, plan: Setting, feasible: FeasibleSet, drawn: Coefficients | None = None
) -> tuple[float, float]:
    """Bounds on ‖∇p_j‖ and on the Lipschitz constant of ∇p_j over the set, for every agent: what FS adds to L and N.

    FS is DGD on f_j + p_j [maths, decision 10]. Of the functions `drawn` on the links where they are known, else of the
    worst that the bound allows.
    """
    functions = functions_of(algorithm)
    assert functions is not None
    degree, given = functions.family.degree, algorithm.noise(plan)["function"]
    if drawn is None and isinstance(given, Paired) and given.given is not None:
        drawn = np.asarray(given.given[0], dtype=np.float64)
    sizes = _worst(functions, plan) if drawn is None else _sizes(drawn, plan)
    low, high = feasible.bounding_box(plan.dim)
    reach = np.maximum(abs(low), abs(high))
    if not functions.family.separable:
        return _of_pairs(sizes, reach)
    if not functions.powers:
        return _of_waves(sizes.reshape(len(sizes), 2, degree, plan.dim))
    return _of_powers(sizes.reshape(len(sizes), degree + 1, plan.dim), reach)


def _worst(functions: NoiseFunctions, plan: Setting) -> Float[np.ndarray, "agents width"]:
    """Two draws per link, each within the bound, all of one sign."""
    degree = np.bincount(plan.network.links.ravel(), minlength=plan.network.n)
    width = functions.family.width(plan.dim)
    return np.repeat(2.0 * degree[:, None] * functions.bound, width, axis=1)


def _sizes(drawn: Coefficients, plan: Setting) -> Float[np.ndarray, "agents width"]:
    """|coefficient| of p_j = Σ_i (s^{i,j} − s^{j,i})."""
    gained = drawn[:, 0] - drawn[:, 1]  # by the higher-numbered end
    total = np.zeros((plan.network.n, drawn.shape[2]))
    np.add.at(total, plan.network.links[:, 1], gained)
    np.subtract.at(total, plan.network.links[:, 0], gained)
    return abs(total)


def _of_powers(
    sizes: Float[np.ndarray, "agents terms dim"], reach: Float[np.ndarray, " dim"]
) -> tuple[float, float]:
    m = np.arange(sizes.shape[1])[:, None]
    slope = (sizes * m * reach ** np.maximum(m - 1, 0)).sum(axis=1)
    bend = (sizes * m * (m - 1) * reach ** np.maximum(m - 2, 0)).sum(axis=1)
    # p_j is a sum over coordinates: its Hessian is diagonal, and the largest entry bounds it.
    return float(np.linalg.norm(slope, axis=1).max()), float(bend.max())


def _of_pairs(
    sizes: Float[np.ndarray, "agents width"], reach: Float[np.ndarray, " dim"]
) -> tuple[float, float]:
    bends = hessians(sizes, len(reach))
    # Whatever the signs are, a matrix is no larger than that of its entries' magnitudes.
    slope = sizes[:, : len(reach)] + bends @ reach
    return float(np.linalg.norm(slope, axis=1).max()), float(np.linalg.norm(bends, 2, axis=(1, 2)).max())


def _of_waves(sizes: Float[np.ndarray, "agents 2 terms dim"]) -> tuple[float, float]:
    m = np.arange(1, sizes.shape[2] + 1)[:, None]
    # a cos(mx) + b sin(mx) is one wave of height √(a² + b²).
    height = np.hypot(sizes[:, 0], sizes[:, 1])
    slope, bend = (height * m).sum(axis=1), (height * m**2).sum(axis=1)
    return float(np.linalg.norm(slope, axis=1).max()), float(bend.max())


class Quantities(TypedDict, total=False):
    """What can be said in plain numbers; it takes precedence over what a problem would supply."""

    n: int
    rho: float
    lam: float
    L: float
    N: float
    delta: float
    noise: float
    diameter: float
    start_norm: float
    start_spread: float
    eta1_sq: float
    phi1: float


@dataclass(frozen=True)
class Known:
    """Where the numbers come from. `need` looks them up when they are asked for, and only then."""

    given: Quantities
    step: Step
    rounds: int
    job: Job | None = None
    provided: tuple[str, ...] = ()

    def need(self, *names: str, of: str) -> dict[str, float]:
        """The named quantities; an error names those that nobody supplied, and what to do about it."""
        found = {name: self.find(name) for name in names}
        missing = [name for name, value in found.items() if value is None]
        if missing:
            lines = "; ".join(f"{name} is not known: {MEANING[name]}" for name in missing)
            raise BadInput(f"{of} cannot be computed: {lines}")
        return {name: value for name, value in found.items() if value is not None}

    def find(self, name: str) -> float | None:
        """One quantity, or None where nobody knows it."""
        if name in self.given:
            return self.given[name]
        if name == "noise":
            return self.find("delta")
        return None if self.job is None else _SUPPLY[name](self, self.job)

    def saying(self, **numbers: Unpack[Quantities]) -> Known:
        """The same with other plain numbers."""
        return replace(self, given={**self.given, **numbers})

    @cached_property
    def gradients(self) -> tuple[float | None, float | None]:
        """L and N of what the agents descend, wherever they take gradients [maths, decisions 8 and 10]."""
        job, reach = self._job, 0.0
        if job.grad_at == "mixed":
            delta = self.need("delta", of="L and N where noise carries states")["delta"]
            reach = largest_step(self.step, self.rounds) * delta
        constants = job.problem.constants(inflate=reach)
        if functions_of(job.algorithm) is None:
            return constants.L, constants.N
        slope, bend = added_constants(job.algorithm, job.plan, job.problem.feasible)
        return (
            None if constants.L is None else constants.L + slope,
            None if constants.N is None else constants.N + bend,
        )

    @property
    def start_deviation(self) -> np.ndarray:
        """δ_1, how far each agent starts from the mean."""
        start = self._job.start
        return start - start.mean(axis=0)

    @property
    def start_distance(self) -> float:
        """η₁²: to the optimum where it is known for sure, else the most that X allows."""
        job, best = self._job, self._job.problem.best
        if best is not None and best.x is not None and best.certain:
            return float(((job.start - best.x) ** 2).sum())
        return job.network.n * job.problem.feasible.diameter(job.problem.dim) ** 2

    @property
    def mixing(self) -> float:
        """λ of the phase that mixes worst."""
        network = self._job.network
        if network.period == 1:
            return network.lam
        phases = (scipy.sparse.csr_array(network.B_at(k)) for k in range(1, network.period + 1))
        return max(norm_off_average(B) for B in phases)

    @property
    def _job(self) -> Job:
        assert self.job is not None
        return self.job


def gather(
    of: str,
    problem: Any,
    network: Any,
    algorithm: Any,
    given: Quantities,
    *,
    step: Any,
    rounds: Any,
    start: Any = None,
    grad_at: str = "mixed",
) -> Known:
    """Check what was handed over for a bound and say where each number will come from."""
    if isinstance(rounds, bool) or not isinstance(rounds, Integral) or rounds < 1:
        raise BadInput(f"{of} is asked for {rounds} rounds; give a whole number of at least 1")
    _check_numbers(given)
    rounds, schedule = int(rounds), as_step(step)
    subjects = {"problem": problem, "network": network, "algorithm": algorithm}
    absent = [name for name, subject in subjects.items() if subject is None]
    if len(absent) == len(subjects):
        if start is not None:
            raise BadInput("start= needs a problem; with plain numbers say start_norm= and the like")
        return Known(given, schedule, rounds)
    if absent:
        raise BadInput(
            f"{of} lacks the {absent[0]}; give problem, network and algorithm, or plain numbers only"
        )
    job = Job.asked(problem, network, algorithm, step=schedule, rounds=1, start=start, grad_at=grad_at)
    assumptions = claim(job).assumptions
    refuse_broken(assumptions, of)
    said = {REGULAR} if "L" in given and "N" in given else set()
    said |= {BOUNDED} if "delta" in given or "noise" in given else set()
    unknown = tuple(name for name in underived(assumptions) if name not in said)
    functions = functions_of(job.algorithm)
    if functions is not None and not functions.certain and REGULAR not in said:
        unknown += (BOUNDED,)  # Theorem 1 needs no bound on functions that are drawn once, but L and N do
    return Known(given, schedule, rounds, job, unknown)


def _check_numbers(given: Quantities) -> None:
    for name, value in given.items():
        if name not in MEANING:
            near = difflib.get_close_matches(name, MEANING, n=1, cutoff=0.3)
            raise BadInput(
                f"{name}= is no quantity of a bound" + (f"; did you mean {near[0]}=?" if near else "")
            )
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise BadInput(f"{name} = {value!r}; it must be a number: {MEANING[name]}")
        value = float(value)
        if name == "diameter" and value == math.inf:
            raise NoTheorem("every bound assumes that X is compact, but diameter = inf; use a bounded X")
        if not (value >= 0 and math.isfinite(value)):
            raise BadInput(f"{name} = {value}; it must be finite and not negative: {MEANING[name]}")
        if name == "n" and not (value >= 1 and value.is_integer()):
            raise BadInput(f"n = {value:g}; give a whole number of agents, at least 1")
        if name == "rho" and not 0 < value <= 1:
            raise BadInput(f"rho = {value}; the smallest non-zero weight lies above 0 and is at most 1")
        if name == "lam" and not value < 1:
            raise NoTheorem(f"every bound assumes a connected network, but lam = {value}; it must be below 1")
