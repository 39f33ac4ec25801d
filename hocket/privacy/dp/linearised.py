"""Certificates for any algorithm whose messages are affine: the general accountant, with its conditions checked.

Gradients may depend on all messages before, and the bound still holds, if the points where they are taken follow from
messages alone: then noise can be rotated to arrive in the order of the messages, each round is a Gaussian release whose
shift is chosen in the light of earlier ones, and however it is chosen the squares add up to no more than the largest
δᵀ X δ [Denisov et al. 2022]. For one agent's records, of which each round shows a change of norm at most S,
μ² ≤ S² Σ |X_st| over the rounds in which they take part.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.coalitions import Coalition, every, worst_of
from hocket.privacy.dp.accountant import account
from hocket.privacy.dp.certificate import Certificate, against_words
from hocket.privacy.dp.conditions import Asked, assumptions_of_code, by_code
from hocket.privacy.dp.protected import Cost, Record, Shift, Transfer, check_range
from hocket.privacy.dp.reasons import Refusal
from hocket.privacy.dp.worst import WorstCost, costlier
from hocket.privacy.leakage.levels import Levels, levels_of, stands_for
from hocket.privacy.leakage.listener import Listener
from hocket.privacy.leakage.recursion import Course
from hocket.privacy.wording import Said, braced, counted
from hocket.steps import Constant

MOST = 100
"""Coalitions that are accounted for one by one; more are refused."""


def by_linearisation(
    network: Network, asked: Asked, members: frozenset[int] | None, colluders: int, gone: frozenset[int]
) -> Certificate:
    """The certificate of the general accountant."""
    from hocket.privacy.dp.certify import certificate_of

    source, protected = asked.source, asked.protected
    if source.rounds is None:
        raise BadInput("the general accountant follows every round; say how many: rounds=")
    if source.step is not None:
        check_range("the step", source.step.table(1, source.rounds))
    levels = _levels(network, asked)
    setting = Setting(network, 1, source.step or Constant(1.0), source.rounds)
    reasons = by_code(asked, levels, setting)
    candidates = [j for j in range(network.n) if j not in gone and j not in protected.agents]
    size = min(colluders, len(candidates))
    total = 1 if members is not None else math.comb(len(candidates), size)
    if not reasons and total > MOST:
        raise BadInput(
            f"{total:,} coalitions of {size} are too many to account for one by one; name a coalition, or ask "
            'by="theorem", which bounds all of them'
        )
    chosen = every(candidates, size, gone) if members is None else iter([tuple(sorted(members))])
    said = f"the worst of all {counted(total, 'coalition')}"
    said = said if members is None else "the coalition named, exactly"
    if reasons:
        result = WorstCost(Cost(math.inf, protected.agents, reasons), next(chosen), said)
    else:
        found = worst_of(chosen, lambda one: _cost(levels, setting, asked, one), costlier)
        runs = 1 if asked.kept else asked.question.horizon.runs
        cost = replace(found.score, squared=found.score.squared * runs)
        result = WorstCost(cost, found.coalition, said)
    return certificate_of(
        network,
        asked,
        result,
        theorem="L",
        against=against_words(members, colluders, gone),
        rounds=source.rounds,
        arithmetic="real-arithmetic model",
        assumptions=assumptions_of_code(asked),
    )


def _levels(network: Network, asked: Asked) -> Levels:
    source, mechanism = asked.source, asked.mechanism
    if asked.kept and asked.question.horizon.runs > 1:
        raise BadInput("the general accountant takes runs with fresh noise each; leave kept= away, or runs=")
    if isinstance(source.algorithm, Algorithm):
        if source.step is None and mechanism is None:
            raise BadInput(
                f"what messages of {source.title} tell depends on how large steps are beside its noise; say which: "
                "step="
            )
        step, rounds = source.step or Constant(1.0), source.rounds or 1
        return levels_of(network, source.algorithm, 0.0, 0.0, asked.dim or 1, step, rounds)
    if source.sigma is None or math.isnan(source.sigma) or math.isnan(source.persistent_sigma) or source.own:
        raise BadInput(
            "by its key the general accountant takes one sigma for all links, and no independent noise; pass the "
            "algorithm itself"
        )
    stands_for(source.algorithm, persistent=source.persistent_sigma > 0)
    return levels_of(network, source.algorithm, source.sigma, source.persistent_sigma, 1, Constant(1.0), 1)


def _cost(levels: Levels, setting: Setting, asked: Asked, coalition: Coalition) -> Cost:
    """The squared μ against one coalition that receives all messages."""
    protected = asked.protected
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
    ).alone()
    release = "mixed" if asked.question.adversary.release == "mixed" else "nothing"
    course = Course(listener, setting.rounds, release)
    if isinstance(protected, Shift):
        return _of_shift(course, protected)
    if isinstance(protected, Record):
        return _of_records(course, protected, asked.question.neighbouring.every)
    assert isinstance(protected, Transfer)
    return _of_transfer(course, protected.size)


UNCOVERED = (Said(Refusal.UNCOVERED),)


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
