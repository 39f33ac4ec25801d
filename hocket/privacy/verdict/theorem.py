"""Which theorem on privacy covers a run or a plan, and why none does: the only place where that is decided.

The simulator's verdict, a plan's, the pages, the JSON and a member's report all ask here. Two theorems are claimed.

Theorem T is about agents who say nothing but totals, each masked link by link in a finite group: whatever is summed, a
coalition's view depends on nothing but the sum over each honest component. It needs nothing of objectives, steps or
batches, and holds against members who do as they like. Uniform masks make it exact; ChaCha20's, which hide totals over
links, make it hold against whoever cannot tell them from uniform ones.

Theorem 2 of the paper is about noise functions whose span holds every objective, and one exact gradient step of
f_j + p_j between two exchanges. That objectives lie in the span cannot be seen from a network or an algorithm: somebody
must have said so. A projection changes nothing, since each word stays a function of f_j + p_j and of words heard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY
from hocket.errors import BadInput
from hocket.privacy.certificates.vouched import rewritten
from hocket.problems import Objective
from hocket.problems.objective_class import ANY, QUADRATIC, ObjectiveClass
from hocket.runs.run import Run
from hocket.steps import Derived, Step

THEOREM = "Theorem 2"
TOTALS = "Theorem T"
ANY_SPAN = "separable polynomials no higher in degree than its noise"
"""What noise functions hide whose family nobody has named; one with cross terms hides quadratics too."""


@dataclass(frozen=True)
class PrivacyClaim:
    """What a theorem says about privacy, or why none says anything."""

    theorem: str | None
    reason: str
    """Why the theorem applies, or why there is none; goes on a sentence."""
    supposing: str = ""
    """What must be so for the theorem to hold, where nobody has said that it is; empty where nothing is open."""
    would_cover: str = ""
    """The objectives for which it would hold, where the algorithm has a theorem and these objectives do not."""
    part: str = "objective"
    """What of one agent is hidden."""
    told: str = "Only the sum over all honest agents is exposed, and what the model itself reveals."
    """What stays open where P2 holds."""
    needs: str = ""
    """On what the theorem rests, in a sentence, where that is not said by its conditions."""

    def __bool__(self) -> bool:
        return self.theorem is not None

    def __str__(self) -> str:
        if self.theorem is None:
            return f"no theorem: {self.reason}"
        return f"{self.theorem}, if {self.supposing}" if self.supposing else f"{self.theorem}: {self.reason}"

    def kept_over_runs(self) -> PrivacyClaim:
        """The same over several runs on the same data: fresh noise functions in each would average out, and fresh masks
        tell no more than the sums of each run."""
        kept = "noise functions are the same in all runs"
        return (
            self
            if self.theorem != THEOREM
            else replace(self, supposing=f"{self.supposing} and {kept}".removeprefix(" and "))
        )

    def to_json(self) -> dict[str, Any]:
        """The claim in plain values."""
        plain = {"theorem": self.theorem, "reason": self.reason, "supposing": self.supposing or None}
        return plain | ({"rests_on": self.needs} if self.needs else {})


BY_TOTALS = PrivacyClaim(
    TOTALS,
    "agents say nothing but totals, under masks that are new in every round",
    part="contribution",
    told="The sum over all honest agents is exposed in every round, exactly: of their gradients, or of where their "
    "local steps lead; and with it what the model itself reveals. Nobody's own is, but for what these sums tell: of "
    "few records they can tell the records, and not whose they are.",
    needs="It rests on masks that are uniform to all but the two ends of a link: over links they are ChaCha20's, under "
    "keys of that link; a simulation adds up in the open.",
)
"""What is claimed of agents who say nothing but totals."""


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
    known = _typical(algorithm)
    foreign = "" if isinstance(algorithm, str) else rewritten(algorithm)
    if foreign:
        return PrivacyClaim(None, f"there is none for {type(algorithm).__name__}: {foreign}")
    if known is not None and known.only_totals:
        return BY_TOTALS
    if known is None or known.uncovered or known.functions is None:
        name = algorithm if isinstance(algorithm, str) else algorithm.uncovered or algorithm.title
        return PrivacyClaim(None, f"there is none for {name}")
    covers = None if isinstance(algorithm, str) else known.functions.family.covers
    span = ANY_SPAN if covers is None else covers.words
    if local_steps > 1:
        return PrivacyClaim(None, f"Theorem 2 is about one step between two exchanges, not {local_steps}")
    if batches:
        return PrivacyClaim(None, "Theorem 2 is about gradients over all records, not over batches")
    if isinstance(step, Derived):
        why = f"Theorem 2 is about a step that is public, and this one is worked out from the objectives ({step})"
        return PrivacyClaim(None, why)
    if objectives is None:
        return PrivacyClaim(THEOREM, f"its noise hides {span}", f"objectives are {span}")
    return _judged(objectives if dim is None else objectives.in_dimension(dim), covers, span)


def _judged(objectives: ObjectiveClass, covers: ObjectiveClass | None, span: str) -> PrivacyClaim:
    """Theorem 2's word on objectives of a class, under noise whose span is that of a class."""
    if objectives == ANY:
        example = ObjectiveClass("polynomial", 2) if covers is None else covers
        why = f"nobody has said that objectives are {span if covers else 'separable polynomials'}"
        return PrivacyClaim(None, f"{why}; declare objectives, such as {example}", would_cover=span)
    if covers is None:
        if objectives == QUADRATIC:
            return PrivacyClaim(
                THEOREM,
                f"objectives are {objectives.words}",
                "its noise is of the quadratic family, with cross terms",
            )
        if objectives.kind != "polynomial":
            return PrivacyClaim(
                None, f"{objectives.words} are outside the span of its noise", would_cover=span
            )
        return PrivacyClaim(
            THEOREM,
            f"objectives are {objectives.words}",
            f"its noise is of degree {objectives.degree} or more",
        )
    if covers.includes(objectives):
        return PrivacyClaim(THEOREM, f"objectives are {objectives.words}, as declared, which its noise hides")
    return PrivacyClaim(
        None, f"objectives are {objectives.words}, and its noise hides {span}", would_cover=span
    )


def _typical(algorithm: str | Algorithm) -> Algorithm | None:
    """The algorithm itself, or one that stands for its name."""
    if not isinstance(algorithm, str):
        return algorithm.effective()
    return BY_KEY[algorithm].typical() if algorithm in BY_KEY else None


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
