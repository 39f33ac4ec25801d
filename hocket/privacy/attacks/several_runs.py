"""Attacks on several runs on the same data, or on nearly the same: what one of them hides, together they may not.

Noise that was drawn once and kept cancels between runs, so a record that was added stands bare in their difference. A
run on other links, or under another plan, is another look at the same gradients: looks are combined by how much each
tells, and the best one decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import SAME_GRADIENT, Assumed, Attack, What
from hocket.privacy.attacks.equations import Equations, equations
from hocket.privacy.attacks.model_fit import ModelFit, assumed_of, fitted
from hocket.privacy.attacks.system import Key, Received, System
from hocket.privacy.families import Family, polynomials
from hocket.privacy.wording import Said
from hocket.runs.view import View

SAME_NOISE = Said(Assumed.SAME_NOISE)


def changed_record_attack(
    before: View, after: View, target: int | None = None, *, family: Family | None = None
) -> Attack:
    """What was added to an agent's data between two runs under the same kept noise: its gradient, in every round.

    Objectives, and what was added, are separable polynomials of degree 2 unless a `family` is given. Without a target
    it is the one who changed most, in units of what the change should be off by.
    """
    received = _received([before, after])
    targets = _common(received) if target is None else [target]
    if not set(targets) <= set(_common(received)):
        silence = equations(before, targets).silence or equations(after, targets).silence
        assert silence is not None
        return Attack("changed record", tuple(targets), Said(What.RECORD), False, silence)
    form = polynomials(2, received[0].dim) if family is None else family
    found = [_changed(received, one, form).attack(one, _record(one)) for one in targets]
    return max(found, key=_plainness)


def joint_attack(
    views: Sequence[View], target: int, *, family: Family | None = None, kept: bool = False
) -> Attack:
    """An agent's gradient from several runs on the same data, over other links or under other plans.

    Gradients are taken to stay the same unless a `family` says how they change. With `kept`, noise that was drawn once
    is the same in all runs on links that they share; else each run drew its own.
    """
    received = _received(views)
    if target not in _common(received):
        silence = next(one.silence for one in (equations(view, [target]) for view in views) if one.silence)
        return Attack("joint", (target,), Said(What.JOINT, who=(target,)), False, silence)
    form = polynomials(1, received[0].dim) if family is None else family
    every = [
        Received(one, {j: [j] for j in one.agents}, 0 if kept else number)
        for number, one in enumerate(received)
    ]
    forms: dict[Key, Family] = {j: form for one in received for j in one.agents}
    taken = assumed_of(received[0], {target: form}, None)
    taken += (SAME_NOISE,) if kept else ()
    taken += (SAME_GRADIENT,) if family is None else ()
    return fitted("joint", System(every, forms), assuming=taken).attack(target)


def changed_graph_attack(views: Sequence[View], target: int, *, family: Family | None = None) -> Attack:
    """An agent's gradient from runs over different links: links that were there before kept their noise, new ones drew
    their own, and between them the target is hidden less than by either.
    """
    return joint_attack(views, target, family=family, kept=True)


def mixed_plans_attack(views: Sequence[View], target: int, *, family: Family | None = None) -> Attack:
    """An agent's gradient from runs under different plans on the same data: the weakest plan decides for all."""
    return joint_attack(views, target, family=family)


def _received(views: Sequence[View]) -> list[Equations]:
    if not views:
        raise BadInput("there are no views to attack; give one for each run")
    return [equations(view) for view in views]


def _common(received: Sequence[Equations]) -> list[int]:
    """Agents of whom every run told enough."""
    return sorted(set.intersection(*(set(one.agents) for one in received)))


def _record(agent: int) -> Key:
    return ("record", agent)


def _changed(received: Sequence[Equations], target: int, form: Family) -> ModelFit:
    """Everybody's objective in both runs, and what the target's gained in the second."""
    roles: list[dict[int, list[Key]]] = [{j: [j] for j in one.agents} for one in received]
    roles[1][target] = [target, _record(target)]
    forms: dict[Key, Family] = {j: form for one in received for j in one.agents}
    system = System(
        [Received(one, role) for one, role in zip(received, roles, strict=True)],
        forms | {_record(target): form},
    )
    taken = assumed_of(received[0], {target: form}, None)
    return fitted("changed record", system, assuming=(*taken, SAME_NOISE, Said(Assumed.OTHERS_SAME)))


def _plainness(found: Attack) -> float:
    """How far an estimate is from nothing, in units of its error; where only rounding is left, by its size."""
    if found.estimate is None or found.predicted_sd is None or not found.identifiable:
        return -1.0
    floor = 1e-9 * (np.abs(found.estimate).max() + 1)
    return float(np.mean(np.abs(found.estimate) / np.maximum(found.predicted_sd, floor)))
