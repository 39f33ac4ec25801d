"""What takes a certificate away: conditions of the theorems that do not hold, each in a sentence.

Every condition is judged by itself, whatever the others say, and a certificate stands only if none of them objects: so
no option can switch another's refusal off. A condition looks at the fact that it is about and at nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hocket.algorithm import Algorithm
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.conditions import Circumstances
from hocket.privacy.certificates.conduct import (
    gradients_inside,
    masks_last,
    projects_gradients,
    projects_received,
    unfit,
)
from hocket.privacy.certificates.protected import Protected, Record, Transfer
from hocket.privacy.certificates.record_reach import replaced_reach
from hocket.privacy.certificates.span import outside_span
from hocket.privacy.certificates.vouched import is_ours, unvouched
from hocket.problems import Objective
from hocket.problems.sets import Everywhere
from hocket.steps import Derived


@dataclass(frozen=True)
class Asked:
    """What a certificate is asked of."""

    algorithm: str | Algorithm
    mechanism: Mechanism | None
    """None where an algorithm states no normal noise, and its code alone is read."""
    protected: Protected
    about: Circumstances

    @property
    def on(self) -> str:
        """What noise is added to."""
        if self.mechanism is not None:
            return self.mechanism.on
        functions = None if isinstance(self.algorithm, str) else self.algorithm.functions
        return "gradients" if functions is None else "objective"

    @property
    def of_records(self) -> bool:
        """Whether records are protected, and not what moves between agents."""
        return isinstance(self.protected, Record)

    @property
    def some_records(self) -> bool:
        """Whether agents descend along anything but their exact gradients."""
        problem = self.about.problem
        return self.about.batches or (
            problem is not None
            and any(type(group.objective).local is not Objective.local for group in problem.groups)
        )

    @property
    def clipped(self) -> float | None:
        """How far one agent's step can move, where the algorithm's own code cuts it; None where nothing does."""
        return None if self.mechanism is None else self.mechanism.sensitivity


def by_theorem(asked: Asked) -> tuple[str, ...]:
    """Everything that takes the closed forms away."""
    return _all(asked, (*EITHER, *CLOSED))


def by_code(asked: Asked) -> tuple[str, ...]:
    """Everything that takes the general accountant away, but for what it reads off the code itself."""
    return _all(asked, (*EITHER, linear_states))


def _all(asked: Asked, conditions: Iterable[Callable[[Asked], Iterable[str]]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(why for condition in conditions for why in condition(asked)))


def stated(asked: Asked) -> Iterable[str]:
    """What the algorithm itself says."""
    return () if asked.mechanism is None else asked.mechanism.void


def public_step(asked: Asked) -> Iterator[str]:
    """The step is nobody's secret: one that is worked out from the objectives shows in every message."""
    step = asked.about.step
    if isinstance(step, Derived):
        yield (
            f"the step is worked out from the objectives ({step}), and every message shows how large it is; give a "
            "public number, step=0.1 say, here and in the run"
        )
    derives = not isinstance(asked.algorithm, str) and asked.algorithm.derives_step
    if step is None and derives and asked.on == "objective":
        yield (
            "without step= the algorithm inside works its step out from the objectives, and every message shows how "
            "large it is; give a public number, step=0.1 say, here and in the run"
        )


def released(asked: Asked) -> Iterable[str]:
    """What is published without noise; under noise on objectives everything that follows from the noisy one may be."""
    return asked.about.bare if asked.on == "gradients" else ()


def in_span(asked: Asked) -> Iterable[str]:
    """What the noise does not span."""
    about = asked.about
    dim = about.problem.dim if about.problem is not None else about.said_dim
    return outside_span(asked.algorithm, asked.on, asked.protected, about.objectives, dim=dim)


def declared_linear(asked: Asked) -> Iterator[str]:
    """What moves under noise on gradients is linear."""
    if asked.on == "gradients" and not asked.of_records and not asked.about.linear:
        yield (
            "what moves is not linear, and whoever hears all words adds them up, free of noise: curvatures and "
            "all that is not a slope are read exactly, however much noise there is (the sum attack)"
        )


def all_records(asked: Asked) -> Iterator[str]:
    """Noise on objectives is on all records, and every step looks at all of them."""
    if asked.on == "objective" and asked.some_records:
        yield (
            "noise is on the objective over all records, and a step along some of them shows what the noise was "
            "never added to"
        )


def whole_steps(asked: Asked) -> Iterator[str]:
    """What moves shows at both ends of the move alike."""
    if asked.on == "gradients" and not asked.of_records and asked.some_records:
        yield (
            "a step looks at some records only: what moves may show at one agent and not at the other, and then the "
            "sum over honest agents changes, which pairwise noise does not hide"
        )


def uncut(asked: Asked) -> Iterator[str]:
    """What moves is not cut short at one end and left at the other."""
    if asked.on == "gradients" and not asked.of_records and asked.clipped is not None:
        yield (
            "gradients are clipped, which is not linear: what moves changes the sum over honest agents, and pairwise "
            "noise does not hide that"
        )


def sums(asked: Asked) -> Iterator[str]:
    """What moves leaves the total as it is."""
    groups = () if asked.about.problem is None else asked.about.problem.groups
    means = any(getattr(group.objective, "reduction", None) == "mean" for group in groups)
    if isinstance(asked.protected, Transfer) and means:
        yield (
            "objectives are means over records: a record that moves changes the weight of all others, so that the "
            'total changes; use reduction="sum"'
        )


def one_penalty(asked: Asked) -> Iterator[str]:
    """A penalty's proximal map does not follow the step, where something moves."""
    problem = asked.about.problem
    if not asked.of_records and problem is not None and problem.penalty is not None and _after_step(asked):
        yield (
            "the proximal map of a penalty follows the step, and is not linear: what moves changes the sum over honest "
            "agents, which pairwise noise does not hide; leave the penalty out, or take project='mixed'"
        )


def one_projection(asked: Asked) -> Iterator[str]:
    """Nor does a projection that may be active."""
    if asked.of_records or not _after_step(asked):
        return
    problem = asked.about.problem
    # By a bare name, without a problem, that the set is the whole space is said to be assumed.
    known = problem is not None or not isinstance(asked.algorithm, str)
    if known and not (problem is not None and isinstance(problem.feasible, Everywhere)):
        yield (
            "states are projected after the step: one on the edge of the set is known, and shows its noise bare; "
            "project what was mixed, before the step, or pass a problem= on the whole space"
        )


def linear_states(asked: Asked) -> Iterator[str]:
    """The general accountant takes states for linear in noise; under noise on objectives too."""
    problem, about = asked.about.problem, asked.about
    if asked.on != "objective" or problem is None:
        return
    if isinstance(problem.feasible, Everywhere) and problem.penalty is None:
        return
    if (
        about.algorithm is None
        or about.setting is None
        or not projects_received(about.algorithm, about.setting)
    ):
        what = "the problem has a penalty" if problem.penalty is not None else "the problem has a bounded set"
        yield (
            f"{what}: states that are projected are not linear in the noise, as linearisation takes them to be; ask "
            'by="theorem", which holds with any projection, or pass a problem= on the whole space without a penalty'
        )


def _after_step(asked: Asked) -> bool:
    """Whether what a gradient is part of is projected: as an algorithm states, or as its code does; of a bare name
    nothing is known, and RSS-NB does so unless it is told otherwise."""
    if asked.on == "objective":
        return False
    about, mechanism = asked.about, asked.mechanism
    if mechanism is not None and mechanism.projects == "after the step":
        return True
    if about.algorithm is None or about.setting is None:
        return True
    return projects_gradients(about.algorithm, about.setting)


def bounded_records(asked: Asked) -> Iterator[str]:
    """No record moves a gradient by more than S, wherever members may send an agent."""
    protected, about, cut = asked.protected, asked.about, asked.clipped
    if not isinstance(protected, Record) or asked.on != "gradients" or about.problem is None:
        return
    if about.algorithm is not None and not is_ours(type(about.algorithm)):
        cut = None  # that it clips is its own word
    if cut is not None:
        held = protected.held if isinstance(protected.held, int) else min(protected.held.values())
        if protected.size * held >= cut * (1 - 1e-9):
            return
    read = about.algorithm is not None and about.setting is not None
    inside = read and gradients_inside(about.algorithm, about.setting)  # type: ignore[arg-type]
    reach = replaced_reach(about.problem, inside=inside)
    if reach is None or protected.size >= reach * (1 - 1e-9):
        return
    if reach < float("inf"):
        where = "at any point of X" if inside else "at any point"
        yield (
            f"sensitivity = {protected.size:.6g} is too small for this problem: one of its records, replaced by "
            f"another as large, moves a gradient by up to {reach:.6g} {where}; give sensitivity={reach:.6g}, or clip="
        )
    elif cut is not None:
        yield (
            f"sensitivity = {protected.size:.6g} is less than what the clip lets a step move, {cut:.6g}, and no other "
            "number bounds a record's gradient, which grows with x; leave sensitivity= out"
        )
    else:
        yield (
            "nothing clips a record's gradient, which grows with x: no number bounds it; take clip="
            + (
                ""
                if inside
                else ", or RssNb.certified on a bounded set, with a sensitivity= that counts all of it"
            )
        )


def conduct(asked: Asked) -> Iterable[str]:
    """An agent does nothing between two messages that the theorems on gradients do not know."""
    about = asked.about
    if asked.on != "gradients" or about.algorithm is None or about.setting is None:
        return ()
    return unfit(about.algorithm, about.setting)


def vouched(asked: Asked) -> Iterable[str]:
    """The code is that of the class which states the noise."""
    about, mechanism = asked.about, asked.mechanism
    if about.algorithm is None or about.setting is None or mechanism is None:
        return ()
    return unvouched(about.algorithm, about.setting, mechanism)


def last_message(asked: Asked) -> Iterator[str]:
    """The message after the last step has noise like all others."""
    about = asked.about
    if asked.on != "gradients" or about.algorithm is None or about.setting is None:
        return
    if not unfit(about.algorithm, about.setting) and not masks_last(about.algorithm, about.setting):
        yield "the word after the last step has no noise in it, and shows the last gradient bare"


EITHER = (
    stated,
    public_step,
    released,
    in_span,
    declared_linear,
    all_records,
    whole_steps,
    uncut,
    sums,
    one_penalty,
    one_projection,
    bounded_records,
)
"""Whatever computes the number."""
CLOSED = (conduct, vouched, last_message)
"""Where it is computed from what an algorithm states."""
