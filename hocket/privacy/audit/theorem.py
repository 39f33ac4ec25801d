"""Which theorem on privacy covers a run or a plan, and why none does: the only place where that is decided.

The simulator's verdict, a plan's, the pages, the JSON and a member's report all ask here. Two theorems are claimed.

Theorem T is about agents who send nothing but secure sums, each masked link by link in a finite group: whatever is
summed, a coalition's view depends on nothing but the sum over each honest component. It needs nothing of objectives,
steps or batches, and holds against malicious members. Uniform masks make it exact; ChaCha20's, which hide sums over
links, make it hold against adversaries that cannot tell them from uniform ones.

Theorem 2 of the paper is about noise functions whose span holds every objective, and one exact gradient step of
f_j + p_j between two exchanges. That objectives lie in the span cannot be seen from a network or an algorithm: somebody
must have said so. A projection changes nothing, since each message stays a function of f_j + p_j and of messages
received.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import foreign, named, only_sums
from hocket.errors import BadInput
from hocket.privacy.profile import profile, uncovered
from hocket.privacy.stand_ins import TYPICAL
from hocket.privacy.wording import Said, rendered
from hocket.problems import Objective
from hocket.problems.objective_class import ANY, QUADRATIC, ObjectiveClass
from hocket.runs.run import Run
from hocket.steps import Derived, Step


class Theorem(Enum):
    """What may be claimed."""

    FUNCTIONS = "Theorem 2"
    SUMS = "Theorem T"


class Reason(Enum):
    """Why a theorem applies, or why there is none."""

    SUMS = "agents send nothing but secure sums, under masks that are new in every round"
    NO_NOISE = "no noise hides anything from an adversary that knows all of it"
    FOREIGN = "there is none for {name}: {why}"
    NONE_FOR = "there is none for {name}"
    GIVEN = "its noise is given by hand, and theorems are about noise that is drawn at random"
    LOCAL_STEPS = "Theorem 2 is about one step between two exchanges, not {steps}"
    BATCHES = "Theorem 2 is about gradients over all records, not over batches"
    SECRET_STEP = (
        "Theorem 2 is about a step that is public, and this one is worked out from the objectives ({step})"
    )
    HIDES = "its noise hides {span}"
    UNDECLARED = "nobody has said that objectives are {span}; declare objectives, such as {example}"
    ARE = "objectives are {objectives}"
    OUTSIDE = "{objectives} are outside the span of its noise"
    AS_DECLARED = "objectives are {objectives}, as declared, which its noise hides"
    HIDES_OTHERS = "objectives are {objectives}, and its noise hides {span}"


class Assumes(Enum):
    """What must be so for a theorem to hold, where nobody has said that it is."""

    IN_SPAN = "objectives are {span}"
    CROSS_TERMS = "its noise is of the quadratic family, with cross terms"
    DEGREE = "its noise is of degree {degree} or more"
    KEPT = "noise functions are the same in all runs"


ANY_SPAN = "separable polynomials no higher in degree than its noise"
"""What noise functions hide whose family nobody has named; one with cross terms hides quadratics too."""


@dataclass(frozen=True)
class PrivacyClaim:
    """What a theorem says about privacy, or why none says anything."""

    theorem: Theorem | None
    reason: Said
    assumed: tuple[Said, ...] = ()
    """What must be so for the theorem to hold, where nobody has said that it is; empty where nothing is open."""
    would_cover: str = ""
    """The objectives for which it would hold, where the algorithm has a theorem and these objectives do not."""

    def __bool__(self) -> bool:
        return self.theorem is not None

    @property
    def condition(self) -> str:
        """What is assumed, as a part of a sentence; empty where nothing is."""
        return rendered(self.assumed)

    def __str__(self) -> str:
        if self.theorem is None:
            return f"no theorem: {self.reason}"
        theorem = self.theorem.value
        return f"{theorem}, if {self.condition}" if self.assumed else f"{theorem}: {self.reason}"

    def over_runs(self) -> PrivacyClaim:
        """The same over several runs on the same data: fresh noise functions in each would average out, and fresh masks
        tell no more than the sums of each run."""
        if self.theorem is not Theorem.FUNCTIONS:
            return self
        return replace(self, assumed=(*self.assumed, Said(Assumes.KEPT)))

    def to_json(self) -> dict[str, Any]:
        """The claim in plain values."""
        theorem = None if self.theorem is None else self.theorem.value
        return {"theorem": theorem, "reason": str(self.reason), "assumed": self.condition or None}


def privacy_claim(
    algorithm: str | Algorithm,
    objectives: ObjectiveClass | None,
    *,
    dim: int | None = None,
    local_steps: int = 1,
    batches: bool = False,
    step: Step | None = None,
) -> PrivacyClaim:
    """The theorem on privacy that covers this algorithm on objectives of this class.

    Without a class, `objectives=None`, only a topology is judged, and what must be so of the objectives is said with
    the claim; `any` is a class of which no theorem speaks. `dim` is how many numbers a state has, where that is known.

    >>> print(privacy_claim("function-sharing", ANY))
    no theorem: nobody has said that objectives are separable polynomials; declare objectives, such as polynomial:2
    """

    def none(reason: Reason, **about: Any) -> PrivacyClaim:
        return PrivacyClaim(None, Said(reason, **about))

    known = TYPICAL.get(algorithm) if isinstance(algorithm, str) else algorithm
    if known is not None and (why := foreign(known)):
        return none(Reason.FOREIGN, name=type(known).__name__, why=why)
    if isinstance(algorithm, str) and named(algorithm) is not type(known):
        return none(Reason.NONE_FOR, name=algorithm)
    if known is not None and only_sums(known):
        return PrivacyClaim(Theorem.SUMS, Said(Reason.SUMS))
    functions = functions_of(known)
    if known is None or functions is None or profile(known).uncovered:
        name = algorithm if isinstance(algorithm, str) else uncovered(algorithm)
        return none(Reason.NONE_FOR, name=name)
    if getattr(known, "given", None) is not None:
        return none(Reason.GIVEN)
    covers = None if isinstance(algorithm, str) else functions.family.covers
    span = ANY_SPAN if covers is None else covers.words
    if local_steps > 1:
        return none(Reason.LOCAL_STEPS, steps=local_steps)
    if batches:
        return none(Reason.BATCHES)
    if isinstance(step, Derived):
        return none(Reason.SECRET_STEP, step=str(step))
    if objectives is None:
        return _function_sharing(Said(Reason.HIDES, span=span), Said(Assumes.IN_SPAN, span=span))
    return _of_class(objectives if dim is None else objectives.in_dimension(dim), covers, span)


def _function_sharing(reason: Said, *assumed: Said) -> PrivacyClaim:
    return PrivacyClaim(Theorem.FUNCTIONS, reason, assumed)


def _of_class(objectives: ObjectiveClass, covers: ObjectiveClass | None, span: str) -> PrivacyClaim:
    """Theorem 2's word on objectives of a class, under noise whose span is that of a class."""
    if objectives == ANY:
        example = str(ObjectiveClass("polynomial", 2) if covers is None else covers)
        said = Said(Reason.UNDECLARED, span=span if covers else "separable polynomials", example=example)
        return PrivacyClaim(None, said, would_cover=span)
    words = objectives.words
    if covers is not None:
        if covers.includes(objectives):
            return _function_sharing(Said(Reason.AS_DECLARED, objectives=words))
        return PrivacyClaim(None, Said(Reason.HIDES_OTHERS, objectives=words, span=span), would_cover=span)
    if objectives == QUADRATIC:
        return _function_sharing(Said(Reason.ARE, objectives=words), Said(Assumes.CROSS_TERMS))
    if objectives.kind == "polynomial":
        degree = Said(Assumes.DEGREE, degree=objectives.degree)
        return _function_sharing(Said(Reason.ARE, objectives=words), degree)
    return PrivacyClaim(None, Said(Reason.OUTSIDE, objectives=words), would_cover=span)


def objectives_of(run: Run, declared: ObjectiveClass | None) -> tuple[ObjectiveClass, bool]:
    """The class of a run's objectives, and whether agents descend along anything but their exact gradients."""
    if declared is not None:
        raise BadInput(
            "a run says itself of which class its objectives are; leave objectives= away, or the run"
        )
    if run.problem is None:
        return ANY, False
    own = [type(group.objective).local is not Objective.local for group in run.problem.groups]
    return run.problem.objective_class, any(own)
