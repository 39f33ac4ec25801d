"""What a certificate rests on, and what takes it away: conditions of the theorems, each judged by itself.

A certificate stands only if no condition objects, whatever the others say: so no option can switch another's refusal
off. Each looks at the fact that it is about and at nothing else. What is left to rest on is listed beside it, as
assumed, as verified, or as not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import numpy as np

from hocket.algorithm import Algorithm, Setting, derives_step
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import NOISE_ON, named, rewritten
from hocket.errors import NoTheorem
from hocket.noise.draws import Draw, Gaussian
from hocket.noise.mechanism import Mechanism
from hocket.privacy.audit.theorem import privacy_claim
from hocket.privacy.dp.conduct import (
    gradients_inside,
    masks_last,
    points_of,
    projects_gradients,
    projects_received,
    unfit,
)
from hocket.privacy.dp.protected import Protected, Record, Shift, Transfer
from hocket.privacy.dp.reasons import Assumption, Condition, Refusal, Status
from hocket.privacy.dp.source import Source
from hocket.privacy.leakage.levels import Levels
from hocket.privacy.questions import Question
from hocket.privacy.stand_ins import TYPICAL
from hocket.privacy.wording import Said
from hocket.problems import Objective
from hocket.problems.objective_class import ANY, QUADRATIC, ObjectiveClass
from hocket.problems.problem import Problem
from hocket.problems.regression import LeastSquares, Logistic
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.steps import Derived

EVERYWHERE = Everywhere()


@dataclass(frozen=True)
class Asked:
    """What a certificate is asked of."""

    question: Question
    given: str | Algorithm
    """The algorithm, or its key."""
    source: Source
    protected: Protected

    @property
    def code(self) -> Algorithm | None:
        """The algorithm itself, where more than its key was given."""
        return self.given if isinstance(self.given, Algorithm) else None

    @property
    def read(self) -> tuple[Algorithm, Setting] | None:
        """The algorithm and its setting, where its code can be read."""
        setting = self.source.setting
        return None if self.code is None or setting is None else (self.code, setting)

    @property
    def mechanism(self) -> Mechanism | None:
        """None where an algorithm states no normal noise, and its code alone is read."""
        return self.source.mechanism if isinstance(self.source.mechanism, Mechanism) else None

    @property
    def problem(self) -> Problem | None:
        return self.question.objectives.problem

    @cached_property
    def objectives(self) -> ObjectiveClass | None:
        """The class of all objectives, as declared or as the problem's form says; None where nobody said."""
        return self.question.objectives.known

    @property
    def dim(self) -> int | None:
        """How many numbers a state has, where anybody said so."""
        return self.question.objectives.dim if self.problem is None else self.problem.dim

    @property
    def on_objective(self) -> bool:
        """Whether noise is added to objectives, and not to gradients."""
        if self.mechanism is not None:
            return self.mechanism.on == "objective"
        played = self.source.algorithm
        return not isinstance(played, str) and functions_of(played) is not None

    @property
    def of_records(self) -> bool:
        """Whether records are protected, and not what moves between agents."""
        return isinstance(self.protected, Record)

    @property
    def rate(self) -> float:
        return float(self.question.neighbouring.rate)

    @property
    def kept(self) -> bool:
        return self.question.horizon.kept is True

    @property
    def batches(self) -> bool:
        return self.question.objectives.batches or self.rate < 1

    @property
    def own_steps(self) -> bool:
        """Whether agents descend along anything but their exact gradients."""
        groups = () if self.problem is None else self.problem.groups
        return any(type(group.objective).local is not Objective.local for group in groups)

    @property
    def some_records(self) -> bool:
        return self.batches or self.own_steps

    @property
    def clipped(self) -> float | None:
        """How far one agent's step can move, where the algorithm's own code cuts it; None where nothing does."""
        return None if self.mechanism is None else self.mechanism.sensitivity

    @property
    def rounded(self) -> bool:
        """Whether what is hidden counts what rounding to a grid adds to it."""
        stated = self.of_records and self.question.neighbouring.sensitivity is None
        return bool(self.question.neighbouring.on_grid) or stated


Check = Callable[[Asked], Iterable[Said]]


def by_theorem(asked: Asked) -> tuple[Said, ...]:
    """Everything that takes the closed forms away."""
    return _all(asked, (*EITHER, *CLOSED))


def by_code(asked: Asked, levels: Levels, setting: Setting) -> tuple[Said, ...]:
    """Everything that takes the general accountant away, which reads the code itself."""
    found = _all(asked, (*EITHER, linear_states))
    return (*(one for one in _unread(asked, levels, setting) if one not in found), *found)


def _all(asked: Asked, conditions: Iterable[Check]) -> tuple[Said, ...]:
    found: list[Said] = []
    for condition in conditions:
        found += [why for why in condition(asked) if why not in found]
    return tuple(found)


def public_step(asked: Asked) -> Iterator[Said]:
    """The step is nobody's secret: one that is worked out from the objectives shows in every message."""
    step, played = asked.source.step, asked.source.algorithm
    if isinstance(step, Derived):
        yield Said(Refusal.SECRET_STEP, step=str(step))
    if step is None and not isinstance(played, str) and derives_step(played) and asked.on_objective:
        yield Said(Refusal.DERIVED_STEP)


def released(asked: Asked) -> Iterator[Said]:
    """What is published without noise; under noise on objectives everything that follows from the noisy one may be."""
    bare = {"raw": Refusal.RELEASED_RAW, "means": Refusal.RELEASED_MEANS}
    what = bare.get(asked.question.adversary.release)
    if what is not None and not asked.on_objective:
        yield Said(what, fix="publish what one more exchange makes of the last x")


def in_span(asked: Asked) -> Iterator[Said]:
    """What changes lies in the span of the noise: outside it nothing is hidden.

    Noise on objectives spans its family's functions. Noise on gradients that cancels spans linear functions, which
    slopes are that are named by move= or shift=; independent noise, on which a record's certificate stands, spans
    everything.
    """
    kind, protected, played, dim = asked.objectives, asked.protected, asked.source.algorithm, asked.dim
    if not asked.on_objective:
        steep = kind is not None and (kind.degree is None or kind.degree > 1)
        if isinstance(protected, Transfer) and kind is not None and steep:
            yield Said(Refusal.NOT_SLOPES, objectives="of any kind" if kind.kind == "any" else kind.words)
        return
    if isinstance(protected, Shift) and not isinstance(played, str) and dim is not None:
        functions = functions_of(played)
        width = None if functions is None else functions.family.width(dim)
        given = protected.rows.shape[1]
        if width is not None and given > width:
            yield Said(Refusal.TOO_WIDE, given=given, name=played.title, dim=dim, width=width)
    if kind is None:
        return
    if isinstance(played, str) and kind.in_dimension(dim or 2) == QUADRATIC:
        yield Said(Refusal.UNKNOWN_FAMILY, name=played)
    elif not (claim := privacy_claim(played, kind, dim=dim)):
        yield Said(Refusal.NOT_SPANNED, reason=claim.reason, fix=_wider(kind))


def _wider(objectives: ObjectiveClass) -> str:
    """Noise functions that span this class, or what to do where none do; goes on a sentence."""
    if objectives == ANY:
        return ""  # what to declare has been said
    if QUADRATIC.includes(objectives):
        return "; take the full quadratic family, degree=2 and family='quadratic'"
    if objectives.degree is not None:
        return f"; take noise functions of that degree, degree={objectives.degree}"
    return "; protect records that are clipped, with clip=, under independent noise"


def whole_data(asked: Asked) -> Iterator[Said]:
    """Noise on objectives is on all records, and every step looks at all of them; what moves shows at both ends of the
    move alike, and is not cut short at one end and left at the other."""
    if asked.on_objective and asked.some_records:
        yield Said(Refusal.SOME_RECORDS)
    elif not asked.on_objective and not asked.of_records:
        if asked.some_records:
            yield Said(Refusal.PARTLY_MOVED)
        if asked.clipped is not None:
            yield Said(Refusal.CLIPPED_MOVE)


def sums(asked: Asked) -> Iterator[Said]:
    """What moves leaves the total as it is."""
    groups = () if asked.problem is None else asked.problem.groups
    means = any(getattr(group.objective, "reduction", None) == "mean" for group in groups)
    if isinstance(asked.protected, Transfer) and means:
        yield Said(Refusal.MEANS)


def one_way(asked: Asked) -> Iterator[Said]:
    """Where something moves, nothing that is not linear follows the step: no penalty's proximal map, and no projection
    that may be active. By a bare name, without a problem, that none is active is said to be assumed."""
    if asked.of_records or not _after_step(asked):
        return
    if asked.problem is not None and asked.problem.penalty is not None:
        yield Said(Refusal.PENALTY)
    known = asked.problem is not None or asked.code is not None
    if known and not (asked.problem is not None and isinstance(asked.problem.feasible, Everywhere)):
        yield Said(Refusal.PROJECTED)


def linear_states(asked: Asked) -> Iterator[Said]:
    """The general accountant takes states for linear in noise; under noise on objectives too."""
    problem = asked.problem
    if not asked.on_objective or problem is None:
        return
    if isinstance(problem.feasible, Everywhere) and problem.penalty is None:
        return
    if asked.read is None or not projects_received(*asked.read):
        yield Said(Refusal.NOT_AFFINE, has="a bounded set" if problem.penalty is None else "a penalty")


def _after_step(asked: Asked) -> bool:
    """Whether what a gradient is part of is projected: as is known of an algorithm, or as its code does; of a bare name
    without either everything is possible."""
    if asked.on_objective:
        return False
    projects = None if asked.mechanism is None else asked.mechanism.projects
    if asked.read is None or projects == "after the step":
        return projects != "before the step"
    return projects_gradients(*asked.read)


def bounded_records(asked: Asked) -> Iterator[Said]:
    """No record moves a gradient by more than S, wherever members may send an agent."""
    protected, cut = asked.protected, asked.clipped
    if not isinstance(protected, Record) or asked.on_objective or asked.problem is None:
        return
    if cut is not None and protected.least >= cut * (1 - 1e-9):
        return
    inside = asked.read is not None and gradients_inside(*asked.read)
    reach = replaced_reach(asked.problem, inside=inside)
    if reach is None or protected.size >= reach * (1 - 1e-9):
        return
    if reach < math.inf:
        where = "at any point of X" if inside else "at any point"
        yield Said(Refusal.TOO_SMALL, size=protected.size, reach=reach, where=where)
    elif cut is not None:
        yield Said(Refusal.BELOW_CLIP, size=protected.size, cut=cut)
    else:
        fix = ", or hk.CertifiedRssNb on a bounded set, with a sensitivity= that counts all of it"
        yield Said(Refusal.UNBOUNDED, fix="" if inside else fix)


def conduct(asked: Asked) -> Iterator[Said]:
    """An agent does nothing between two messages that the theorems on gradients do not know, and its message after the
    last step has noise like all others."""
    if asked.read is None:
        return
    found = () if asked.on_objective else unfit(*asked.read)
    yield from found
    if not asked.on_objective and not found and not masks_last(*asked.read):
        yield Said(Refusal.LAST_BARE)


EITHER: tuple[Check, ...] = (
    public_step,
    released,
    in_span,
    whole_data,
    sums,
    one_way,
    bounded_records,
)
"""Whatever computes the number."""
CLOSED: tuple[Check, ...] = (conduct,)
"""Where it is computed from what an algorithm states."""


def _unread(asked: Asked, levels: Levels, setting: Setting) -> Iterator[Said]:
    """What the general accountant does not follow in an algorithm's own code."""
    drawn = dict(levels.draws)
    if isinstance(asked.given, str):
        if named(asked.given) is not type(TYPICAL[asked.given]):
            yield Said(Refusal.STATED, why=asked.source.mechanism)
        if (
            asked.given not in NOISE_ON
        ):  # by whose name draws are what they are without a deviation of one's own
            drawn = dict(TYPICAL[asked.given].noise(setting))
    for name, draw in drawn.items():
        if not _is_normal(draw):
            yield Said(Refusal.UNIFORM, name=name)
    if asked.code is not None:
        yield from (Said(Refusal.MISREAD, why=why) for why in _misread(asked, asked.code, setting))
    yield from unfit(levels.algorithm, setting, carries=True, rounds=setting.rounds)
    if not asked.of_records:
        return
    try:
        rule = points_of(levels.algorithm, setting)
    except NoTheorem:  # which `unfit` has said
        return
    if any(len(rule.point(k)) != 1 for k in (1, 2, 3)) or np.any(rule.setup[:, :, 1]):
        yield Said(Refusal.SEVERAL_POINTS)
    problem = asked.problem
    moved_back = problem is not None and not (
        isinstance(problem.feasible, Everywhere) and problem.penalty is None
    )
    if moved_back and rule.states > 1 and any(rule.projects_gradient(k) for k in (1, 2, 3)):
        yield Said(Refusal.CARRIED_PROJECTED)


def _misread(asked: Asked, code: Algorithm, setting: Setting) -> Iterator[str]:
    """Why an algorithm's rounds, as they are read, are not those that a run plays."""
    kind = type(code).__name__
    if why := rewritten(code):
        yield why
    if getattr(code, "given", None) is not None:
        yield f"given= of {kind} takes the place of random draws, and nothing is known of it"
    if _own(code, "arrange"):
        yield f"{kind} has arrange of its own, which may give a run another problem or network"
    if not _own(code, "configure"):
        return
    if asked.problem is None:
        yield f"{kind} has configure of its own, which may make another algorithm of it: pass problem="
    elif not eqx.tree_equal(code.configure(asked.problem, setting.network, setting.step)[0], code):
        yield f"configure of {kind} makes another algorithm of it for this problem"


def _own(code: Algorithm, name: str) -> bool:
    """Whether a method is no class's of hocket."""
    kind = next(kind for kind in type(code).__mro__ if name in vars(kind))
    return kind.__module__.partition(".")[0] != "hocket"


def _is_normal(draw: Draw) -> bool:
    given = getattr(draw, "given", None) is not None
    normal = isinstance(draw, Gaussian) or bool(getattr(draw, "normal", False))
    return not np.any(draw.sd) or (not given and normal)


def replaced_reach(problem: Problem, *, inside: bool) -> float | None:
    """How far a gradient moves at most if one record is replaced by another as large as those of this problem; infinite
    if nothing bounds it or nobody knows, None where agents have no records.

    Members may be malicious, so that every point is reached that nothing keeps out: with `inside`, where gradients are
    taken at a projection, the points of X; else all points there are.
    """
    where, found = problem.feasible if inside else EVERYWHERE, []
    for group in problem.groups:
        objective: Any = group.objective
        if (
            type(objective).local is not Objective.local
        ):  # of agents that descend by themselves: what they clip
            clip = getattr(objective, "clip", None)
            found.append(math.inf if clip is None else float(clip.sensitivity(objective.batch, replace=True)))
        elif objective.reduction is not None:
            found.append(2 * _largest(objective, group.data, where, problem.dim))
    return max(found, default=None)


def _largest(objective: Objective, data: Any, where: FeasibleSet, dim: int) -> float:
    """The longest gradient of one record at any point of a set."""
    if type(objective) not in (LeastSquares, Logistic):
        return math.inf
    rows, targets = (np.asarray(leaf, dtype=np.float64) for leaf in data.values)
    weight, length = np.asarray(data.weight, dtype=np.float64), np.linalg.norm(rows, axis=-1)
    if type(objective) is Logistic:
        return float((weight * length).max(initial=0.0))
    centre, radius = where.enclosing_ball(dim)
    # |aᵀx − b| is largest where the ball reaches farthest along a.
    with np.errstate(invalid="ignore"):  # of padding that counts for nothing, on a set without bounds
        far = np.where(length > 0, length * radius, 0.0)
        longest = weight * length * (np.abs(rows @ centre - targets) + far)
    return float(longest[weight > 0].max(initial=0.0))


def assumptions(asked: Asked) -> tuple[Assumption, ...]:
    """What must be so where the closed forms hold."""
    mechanism, protected = asked.mechanism, asked.protected
    assert mechanism is not None
    said = [_assumed(Condition.MASKS if mechanism.masked else Condition.SECRET), _needless(Condition.HONESTY)]
    said.append(_assumed(Condition.RANGE))
    said += _of_objectives(asked) if asked.on_objective else _of_gradients(asked, mechanism)
    if isinstance(protected, Shift) and protected.left_over:
        largest = np.abs(protected.rows).max()
        said.append(_assumed(Condition.ROUNDED_SHIFT, left=protected.left_over, largest=largest))
    if asked.question.horizon.runs > 1:
        # The same noise under two gradients shows their difference bare.
        again = Condition.SAME_DATA if asked.on_objective else Condition.SAME_PERSISTENT
        said.append(_assumed(again if asked.kept else Condition.FRESH_RUNS))
    exact = mechanism.exact and asked.rounded
    said.append(_if(True, Condition.ON_GRID) if exact else _assumed(Condition.REAL_NUMBERS))
    return tuple(said)


def assumptions_of_code(asked: Asked) -> tuple[Assumption, ...]:
    """What must be so where the general accountant reads an algorithm's own code."""
    published = asked.mechanism is not None and asked.mechanism.start == "published"
    said = [
        _assumed(Condition.SECRET),
        _needless(Condition.HONESTY),
        _assumed(Condition.RANGE),
        _assumed(Condition.PUBLISHED_START if published else Condition.PUBLIC_START),
        _assumed(Condition.NOT_RELEASED),
        _assumed(Condition.EVERY_ROUND),
        _if(True, Condition.AFFINE),
        _if(True, Condition.LED_BY_MESSAGES),
    ]
    every = asked.question.neighbouring.every
    part = "every round" if every == 1 else f"one round of every {every}"
    records = _assumed(Condition.ONE_IN_SO_MANY, part=part)
    said.append(records if asked.of_records else _assumed(Condition.LINEAR))
    if asked.question.horizon.runs > 1:
        said.append(_assumed(Condition.FRESH_RUNS))
    return (*said, _assumed(Condition.REAL_NUMBERS))


def _assumed(what: Condition, **about: Any) -> Assumption:
    return Assumption(Status.ASSUMED, Said(what, **about))


def _needless(what: Condition) -> Assumption:
    return Assumption(Status.NOT_NEEDED, Said(what))


def _if(verified: bool, what: Condition, **about: Any) -> Assumption:
    return Assumption(Status.VERIFIED if verified else Status.ASSUMED, Said(what, **about))


def _of_objectives(asked: Asked) -> list[Assumption]:
    code, problem = asked.code is not None, asked.problem
    derived = problem is not None and asked.objectives is not None and problem.declared_objectives is None
    said = [
        _if(code, Condition.FROM_OBJECTIVE),
        _if(problem is not None, Condition.ALL_RECORDS),
        _assumed(Condition.PUBLIC_STEP),
        _if(code, Condition.NO_VALUE),
        _if(code and derived, Condition.IN_SPAN),
        _assumed(Condition.UNITS),
        _needless(Condition.ANY_METHOD),
    ]
    if asked.of_records:
        return [*said, _assumed(Condition.DRAWN_ONCE)]
    summed = problem is not None and all(group.objective.reduction == "sum" for group in problem.groups)
    return [*said, _if(summed, Condition.SUMS)]


def _of_gradients(asked: Asked, mechanism: Mechanism) -> list[Assumption]:
    code = asked.code is not None
    said = [
        _assumed(Condition.PUBLIC_START if mechanism.start == "public" else Condition.PUBLISHED_START),
        _if(code, Condition.OWN_MESSAGE),
        _if(code, Condition.NO_MOMENTUM),
        _if(code, Condition.LAST_MASKED),
        _assumed(Condition.NO_RAW_X),
        _assumed(Condition.EVERY_ROUND),
    ]
    if not isinstance(asked.protected, Record):
        return [*said, _assumed(Condition.LINEAR_MOVE)]
    said += [_clipped(asked, asked.protected), _needless(Condition.ANY_GRADIENTS)]
    if mechanism.persistent_sd is not None:
        said.append(_needless(Condition.NO_PERSISTENT))
    return [*said, _assumed(Condition.COINS, rate=asked.rate)] if asked.rate < 1 else said


def _clipped(asked: Asked, protected: Record) -> Assumption:
    """By what a record's part in a step is bounded, and who divides it by what."""
    cut, problem = asked.clipped, asked.problem
    if cut is not None and protected.least >= cut * (1 - 1e-9):
        return _if(True, Condition.CUT)
    if problem is not None and not asked.some_records:
        sampled = any(group.objective.reduction is not None for group in problem.groups)
        none = Status.VERIFIED if sampled else Status.ASSUMED
        return _if(True, Condition.ALL_TAKE_PART, none=none.value)
    return _assumed(Condition.DIVISOR)
