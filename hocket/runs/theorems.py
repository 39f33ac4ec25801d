"""Which convergence theorem of the paper covers a run, and why not where none does.

Nothing is asserted: every assumption is derived from the problem, the network, the step and the algorithm, or
reported as unknown. A run never claims a theorem other than the one derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

from hocket.algorithm import Algorithm, derives_step
from hocket.algorithms import Centralised
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import foreign
from hocket.networks.network import Network
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.problems.problem import Problem
from hocket.problems.sets import FeasibleSet
from hocket.runs.coverage import coverage
from hocket.runs.job import Job
from hocket.steps import Derived, Step

CONVEX = "the sum of the objectives is convex"
REGULAR = "gradients are bounded and Lipschitz where they are taken"
BOUNDED = "noise stays within a bound"


@dataclass(frozen=True)
class Assumption:
    """One hypothesis of a theorem; `holds` is None where it cannot be derived."""

    name: str
    holds: bool | None
    why: str


@dataclass(frozen=True)
class Claim:
    """What a theorem says about a run."""

    theorem: str | None
    """The theorem that applies, or None."""
    statement: str
    assumptions: tuple[Assumption, ...]

    def __str__(self) -> str:
        return self.statement


def claim(job: Job) -> Claim:
    """The theorem that covers this run, with every assumption and how it was derived."""
    if job.channel is not None:
        why = (
            f"on this channel ({job.channel}) messages are missing, and theorems are about given weights B_k"
        )
        return Claim(
            None, f"no theorem: {why}", (Assumption("every message arrives in its round", False, why),)
        )
    if (
        isinstance(job.step, Derived)
        and job.step.proved
        and derives_step(job.algorithm)
        and not foreign(job.algorithm)
    ):
        return _exact(job, job.step)
    return _derived(_assumptions(job), job.step, job.algorithm)


def _exact(job: Job, step: Derived) -> Claim:
    """Of a step below what is proved, and a sum that has a minimum."""
    bent, bounded = job.problem.strong_convexity, job.problem.feasible.bounded
    known = bounded or (bent is not None and bent > 0)
    assumptions = (
        Assumption("the step is below what is proved", True, step.why),
        Assumption("the sum has a minimum", True if known else None, "it has" if known else "not known"),
    )
    condition = "" if known else ", provided that the sum has a minimum"
    return Claim("exact", f"every agent converges to the optimum itself{condition}: {step.why}", assumptions)


def claim_of_members(
    algorithm: Algorithm,
    network: Network,
    step: Step,
    feasible: FeasibleSet,
    *,
    objectives: ObjectiveClass = ANY,
    local_steps: int = 1,
    gone: int = 0,
) -> Claim:
    """The theorem that covers a run of members each of whom knows its own objective alone, of whom `gone` have left.
    What only all objectives together would tell is an assumption that nobody has checked.
    """
    regular = objectives.kind in ("polynomial", "quadratic") and feasible.bounded
    together = "no member knows the objectives of all"
    assumptions = (
        Assumption(
            "members take one step between two exchanges",
            local_steps == 1,
            "they do"
            if local_steps == 1
            else f"{local_steps} local steps are taken, which no theorem covers",
        ),
        Assumption(
            "all members stay",
            not gone,
            "they did" if not gone else f"{gone} left, and what is minimised then is another sum",
        ),
        Assumption(
            "every step is along the exact gradient",
            None if objectives == ANY else True,
            "the plan says nothing of it" if objectives == ANY else f"members signed {objectives.words}",
        ),
        _of_the_paper(algorithm),
        _compact(feasible),
        Assumption(CONVEX, None, together),
        Assumption(
            REGULAR,
            True if regular else None,
            f"{objectives.words} on a compact set" if regular else together,
        ),
        _support(network),
        *_noise(algorithm),
    )
    return _derived(assumptions, step, algorithm)


def _derived(assumptions: tuple[Assumption, ...], step: Step, algorithm: Algorithm) -> Claim:
    """The theorem whose assumptions hold, or are not known to fail."""
    broken = [a for a in assumptions if a.holds is False]
    if broken:
        return Claim(None, f"no theorem: {broken[0].why}", assumptions)
    conditions = step.conditions()
    if conditions.non_increasing and conditions.sum_diverges and conditions.squares_summable:
        return _claimed("Theorem 1", "every agent converges to one optimum", assumptions)
    if conditions.is_inverse_sqrt and step(1) == 1:
        if coverage(algorithm).beyond_theorem3:
            return Claim(None, f"no theorem: {coverage(algorithm).beyond_theorem3}", assumptions)
        return _claimed(
            "Theorem 3", "only the α-weighted time average is claimed, at rate log T/√T", assumptions
        )
    if conditions.squares_summable is None:
        why = f"whether {step} has Σα_k = ∞ and Σα_k² < ∞ cannot be derived from a callable"
    else:
        why = f"{step} does not satisfy Σα_k = ∞ and Σα_k² < ∞ (Theorem 1: 1/2 < p ≤ 1), nor is it 1/√k (Theorem 3)"
    return Claim(None, f"no theorem: {why}", assumptions)


def _claimed(theorem: str, statement: str, assumptions: tuple[Assumption, ...]) -> Claim:
    unknown = [a.name for a in assumptions if a.holds is None]
    condition = f", provided that {' and '.join(unknown)}" if unknown else ""
    return Claim(theorem, f"{theorem}: {statement}{condition}", assumptions)


def largest_step(step: Step, rounds: int) -> float:
    """The largest α_k of the first rounds: the first, where steps do not increase."""
    return step(1) if step.conditions().non_increasing else float(step.table(1, rounds).max())


def _regular(job: Job) -> Assumption:
    """L and N of the objectives, wherever gradients are really taken."""
    reach, where = _gradients_taken(job)
    constants = job.problem.constants(inflate=reach)
    known = constants.L is not None and constants.N is not None
    return Assumption(
        REGULAR, True if known else None, f"L = {_shown(constants.L)}, N = {_shown(constants.N)} {where}"
    )


def _gradients_taken(job: Job) -> tuple[float, str]:
    """How far outside X gradients may be taken, and that in words [maths, decision 8]."""
    algorithm = job.algorithm
    if job.grad_at == "projected":
        return 0.0, "on X, where gradients are taken, at P_X(v)"
    if functions_of(algorithm) is not None:
        return 0.0, "on X, to which the noise functions add their own"
    known = coverage(algorithm)
    if not known.analysed or known.altered:
        return 0.0, "on X"
    if known.noise_bound is None:
        return 0.0, "on X; your own noise may carry states farther"
    reach = largest_step(job.step, job.rounds) * known.noise_bound
    return reach, f"within {reach:.4g} of X, as far as noise carries a state" if reach else "on X"


def _shown(constant: float | None) -> str:
    return "unknown" if constant is None else f"{constant:.6g}"


def _assumptions(job: Job) -> tuple[Assumption, ...]:
    problem = job.problem
    return (
        _of_the_paper(job.algorithm),
        _compact(problem.feasible),
        *_unpenalised(problem),
        Assumption(
            CONVEX,
            problem.sum_convex,
            {True: "it is", False: "the objectives' sum is not convex", None: "not known"}[
                problem.sum_convex
            ],
        ),
        _regular(job),
        _support(job.network),
        *_noise(job.algorithm),
    )


def _of_the_paper(algorithm: Algorithm) -> Assumption:
    name, altered = type(algorithm).__name__, coverage(algorithm).altered
    analysed = coverage(algorithm).analysed and not altered and not foreign(algorithm)
    if analysed:
        why = "covered"
    elif altered:
        why = f"analysed by the paper as printed, and not with {altered}"
    else:
        why = "not one of the algorithms that the paper analyses"
    return Assumption(
        "the algorithm is one of the paper's",
        analysed,
        f"{name} is {why}" + ("" if type(algorithm) is not Centralised else ", being a single agent"),
    )


def _unpenalised(problem: Problem) -> tuple[Assumption, ...]:
    if problem.penalty is None:
        return ()
    why = f"{type(problem.penalty).__name__} is taken by its proximal map, which the paper does not have"
    return (Assumption("steps end in a projection", False, why),)


def _compact(feasible: FeasibleSet) -> Assumption:
    return Assumption(
        "X is compact and convex",
        feasible.bounded,
        f"X is {feasible}" + ("" if feasible.bounded else ", which is unbounded"),
    )


def _support(network: Network) -> Assumption:
    constant = network.constant_support
    why = "weights are positive on every link" if constant else "some links are silent in some rounds"
    return Assumption("every B_k has the graph's support", constant, why)


def _noise(algorithm: Algorithm) -> tuple[Assumption, ...]:
    """That noise is bounded, as every theorem asks; and whatever else nobody but its author sees to."""
    own = (Assumption(name, None, "not known") for name in coverage(algorithm).unproved)
    return Assumption(BOUNDED, *coverage(algorithm).bounded), *own
