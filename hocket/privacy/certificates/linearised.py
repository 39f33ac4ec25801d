"""Certificates for any algorithm whose words are affine: the general accountant, with its conditions checked.

Gradients may depend on all that was said before, and the bound still holds, if the points where they are taken follow
from words alone: then noise can be rotated to arrive in the order of the words, each round is a Gaussian release whose
shift is chosen in the light of earlier ones, and however it is chosen the squares add up to no more than the largest
δᵀ X δ [Denisov et al. 2022]. For one agent's records, of which each round shows a change of norm at most S,
μ² ≤ S² Σ |X_st| over the rounds in which they take part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.errors import BadInput, NoTheorem
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Gaussian
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.accountant import account
from hocket.privacy.certificates.certificate import Certificate, against_words
from hocket.privacy.certificates.conditions import (
    FRESH_RUNS,
    LIARS,
    PUBLIC_START,
    PUBLISHED_START,
    RANGE,
    SECRET,
    Circumstances,
)
from hocket.privacy.certificates.conduct import points_of, unfit
from hocket.privacy.certificates.magnitudes import check_magnitude
from hocket.privacy.certificates.protected import Cost, Protected, Record, Shift
from hocket.privacy.certificates.refusals import Asked, by_code
from hocket.privacy.certificates.source import Source
from hocket.privacy.certificates.vouched import misread, replaced
from hocket.privacy.estimate.leakage import levels_of
from hocket.privacy.estimate.levels import Levels, stands_for
from hocket.privacy.estimate.listener import Listener
from hocket.privacy.estimate.recursion import Course
from hocket.privacy.wording import braced, counted
from hocket.problems.sets import Everywhere
from hocket.steps import Constant

MOST = 100
"""Coalitions that are accounted for one by one; more are refused."""


def by_linearisation(
    network: Network,
    source: Source,
    protected: Protected,
    members: frozenset[int] | None,
    colluders: int,
    gone: frozenset[int],
    about: Circumstances,
    *,
    every: int,
) -> Certificate:
    """The certificate of the general accountant."""
    if source.rounds is None:
        raise BadInput("the general accountant follows every round; say how many: rounds=")
    if source.step is not None:
        check_magnitude("the step", source.step.table(1, source.rounds))
    levels = _levels(network, source, about)
    setting = Setting(network, 1, source.step or Constant(1.0), source.rounds)
    mechanism = source.mechanism if isinstance(source.mechanism, Mechanism) else None
    asked = Asked(source.algorithm, mechanism, protected, about)
    reasons = tuple(dict.fromkeys((*_refused(levels, setting, protected, about), *by_code(asked))))
    candidates = [j for j in range(network.n) if j not in gone and j not in protected.agents]
    size = min(colluders, len(candidates))
    if members is None and not reasons and math.comb(len(candidates), size) > MOST:
        raise BadInput(
            f"{math.comb(len(candidates), size):,} coalitions of {size} are too many to account for one by one; name a "
            'coalition, or ask by="theorem", which bounds all of them'
        )
    chosen = (
        [tuple(sorted(members))]
        if members is not None
        else [tuple(sorted({*one, *gone})) for one in itertools.combinations(candidates, size)]
    )
    found, coalition = Cost(math.inf, protected.agents, "; ".join(reasons)), chosen[0]
    if not reasons:
        costs = [(_cost(levels, setting, protected, one, about, every), one) for one in chosen]
        largest = max(cost.squared for cost, _ in costs)
        # Of coalitions that are alike the first.
        found, coalition = next(pair for pair in costs if pair[0].squared >= largest * (1 - 1e-9))
    exactly = (
        "the coalition named, exactly"
        if members is not None
        else f"the worst of all {counted(len(chosen), 'coalition')}"
    )
    return Certificate(
        mu=math.sqrt(found.squared * (1 if about.kept else about.runs)) if found.squared else 0.0,
        algorithm=source.title,
        topology=network.name,
        theorem="L",
        protected=protected.words,
        against=against_words(members, colluders, gone),
        coalition=coalition,
        agent=found.agents[0] if len(found.agents) == 1 else found.agents or None,
        kappa=None,
        per_round=None,
        rounds=source.rounds,
        runs=about.runs,
        searched=exactly,
        arithmetic="real-arithmetic model",
        assumptions=_assumptions(
            protected,
            about,
            every,
            PUBLISHED_START
            if isinstance(source.mechanism, Mechanism) and source.mechanism.start == "published"
            else PUBLIC_START,
        ),
        reason=found.reason,
    )


def _levels(network: Network, source: Source, about: Circumstances) -> Levels:
    if about.kept and about.runs > 1:
        raise BadInput("the general accountant takes runs with fresh noise each; leave kept= away, or runs=")
    if isinstance(source.algorithm, Algorithm):
        known = (
            isinstance(source.mechanism, Mechanism)
            and (source.mechanism.on == "objective" or source.mechanism.scaled_by == "last step")
            and not replaced(source.algorithm)
        )
        if source.step is None and not known:
            raise BadInput(
                f"what words of {source.title} tell depends on how large steps are beside its noise; say which: step="
            )
        step, rounds = source.step or Constant(1.0), source.rounds or 1
        return levels_of(network, source.algorithm, 0.0, 0.0, about.dim, step, rounds)
    if source.sigma is None or math.isnan(source.sigma) or math.isnan(source.anchor_sigma) or source.own:
        raise BadInput(
            "by its key the general accountant takes one sigma for all links, and no own noise; pass the algorithm "
            "itself"
        )
    stands_for(source.algorithm, anchored=source.anchor_sigma > 0)
    return levels_of(network, source.algorithm, source.sigma, source.anchor_sigma, 1, Constant(1.0), 1)


def _refused(levels: Levels, setting: Setting, protected: Protected, about: Circumstances) -> tuple[str, ...]:
    found = [
        f"{name} noise is drawn uniformly, and what uniform draws hide has edges: no Gaussian certificate covers it"
        for name, draw in levels.draws.items()
        if not _normal(draw)
    ]
    if isinstance(about.algorithm, Algorithm) and (why := misread(about.algorithm)):
        found.append(f"{why}, so that what is read off its code is not what it does")
    found += unfit(levels.algorithm, setting, carries=True, rounds=setting.rounds)
    if isinstance(protected, Record):
        found += _unfollowed(levels, setting, about)
    return tuple(found)


def _unfollowed(levels: Levels, setting: Setting, about: Circumstances) -> Iterator[str]:
    """What of a record's way into messages the general accountant does not follow."""
    try:
        rule = points_of(levels.algorithm, setting)
    except NoTheorem:  # which `unfit` has said
        return
    if any(len(rule.point(k)) != 1 for k in (1, 2, 3)) or np.any(rule.setup[:, :, 1]):
        yield "gradients are taken at several points between two words, and how far they differ is not accounted for"
    problem = about.problem
    moved_back = problem is not None and not (
        isinstance(problem.feasible, Everywhere) and problem.penalty is None
    )
    if moved_back and rule.states > 1 and any(rule.projects_gradient(k) for k in (1, 2, 3)):
        yield (
            "more than a state is carried from round to round, and states are projected after the step: what one "
            "gradient does to later messages is then not accounted for; pass a problem= on the whole space, or project "
            "what was mixed"
        )


def _normal(draw: Draw) -> bool:
    silent = not np.any(draw.sd)
    given = getattr(draw, "given", None) is not None
    return silent or (not given and (isinstance(draw, Gaussian) or bool(getattr(draw, "normal", False))))


def _cost(
    levels: Levels,
    setting: Setting,
    protected: Protected,
    coalition: tuple[int, ...],
    about: Circumstances,
    every: int,
) -> Cost:
    """The squared μ against one coalition that hears all words."""
    inside = sorted({*coalition} & {*protected.agents})
    if inside:
        raise BadInput(
            f"agent {inside[0]} is in the coalition {braced(coalition)}; change what honest agents have"
        )
    listener = Listener(
        setting.network,
        levels,
        setting.step,
        setting.rounds + 1,
        coalition=frozenset(coalition),
        threat="states",
    )
    course = Course(listener, setting.rounds, "mixed" if about.release == "mixed" else "nothing")
    if isinstance(protected, Shift):
        return _of_shift(course, protected)
    if isinstance(protected, Record):
        return _of_records(course, protected, every)
    return _of_transfer(course, protected.size)  # type: ignore[attr-defined]


def _of_shift(course: Course, protected: Shift) -> Cost:
    rows = protected.rows[course.listener.honest]
    found = account(course, rows[:, rows.any(axis=0)], constant=True)
    if found.exposed:
        return Cost(math.inf, protected.agents, UNCOVERED)
    return Cost(float(found.information.sum()), protected.agents)


def _of_transfer(course: Course, size: float) -> Cost:
    honest = course.listener.honest
    pairs = [*itertools.combinations(range(len(honest)), 2)]
    directions = np.zeros((len(honest), len(pairs)))
    for column, (i, j) in enumerate(pairs):
        directions[i, column], directions[j, column] = -1.0, 1.0
    found = account(course, directions, constant=True)
    if found.exposed:
        pair = pairs[found.exposed[0]]
        return Cost(math.inf, tuple(int(honest[one]) for one in pair), UNCOVERED)
    worst = int(found.information[:, 0, 0].argmax())
    agents = tuple(int(honest[one]) for one in pairs[worst])
    return Cost(size**2 * float(found.information[worst, 0, 0]), agents)


def _of_records(course: Course, protected: Record, every: int) -> Cost:
    honest = course.listener.honest.tolist()
    agents = [*protected.agents] or honest
    directions = np.zeros((len(honest), len(agents)))
    directions[[honest.index(one) for one in agents], np.arange(len(agents))] = 1.0
    found = account(course, directions)
    if found.exposed:
        return Cost(math.inf, (agents[found.exposed[0]],), UNCOVERED)
    # Rounds r, r + b, r + 2b, …: whichever comes first, the worst.
    cost = np.max(
        [np.abs(found.information[:, r::every, r::every]).sum(axis=(1, 2)) for r in range(every)], axis=0
    )
    if isinstance(protected.held, int):
        worst = int(cost.argmax())
        return Cost((protected.size * protected.held) ** 2 * float(cost[worst]), (agents[worst],))
    total = sum(protected.held[agent] * math.sqrt(one) for agent, one in zip(agents, cost, strict=True))
    return Cost((protected.size * total) ** 2, tuple(agents))


UNCOVERED = (
    "some words change in a direction in which they carry no noise, such as a sum over honest agents that hang "
    "together: the change shows for certain"
)


def _assumptions(protected: Protected, about: Circumstances, every: int, start: str) -> tuple[str, ...]:
    said = [
        SECRET,
        LIARS,
        RANGE,
        start,
        "supposed: no raw x is released, and no projection is active",
        "checked: all noise is normal; words are affine in states, gradients and noise",
        "checked: an agent mixes what it said, and takes its gradient where words alone lead, so that gradients may "
        "depend on all words before",
    ]
    if isinstance(protected, Record):
        part = "every round" if every == 1 else f"one round of every {every}"
        said.append(
            f"supposed: a record takes part in {part}, and changes its agent's gradient there by no more than S; sums "
            "are divided by a public constant"
        )
    else:
        said.append("supposed: what moves is a linear function, the same in every round")
    if about.runs > 1:
        said.append(FRESH_RUNS)
    said.append(
        "supposed: numbers are real; rounding of floating-point sums can void this (real-arithmetic model)"
    )
    return tuple(said)
