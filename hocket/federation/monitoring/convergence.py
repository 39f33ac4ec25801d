"""How a run stands: converged to what tolerance, still moving or diverging. Status, report and watch say it from here.

That all rounds were played is no convergence. One member sees its own state alone: that it rests is called settled.
Converged is said only where what rests is everybody's: the mean of all states where members add them up
(runtime/convergence.py), the average of a joint algorithm, or a study's sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hocket.federation.plan.plan import FederationPlan
from hocket.federation.workloads.needs import needs

SETTLED = 0.01
"""Of its size: a state that as many rounds again would carry less far is called settled."""
STEEP = 3.0
"""A state that is pushed steadily grows like the first power of its rounds, with momentum like the second; one that
grows faster than this power runs away."""
FEW = 20
"""Rounds of which a tenth is too short to tell growth from a beginning."""
Kind = Literal["converged", "settled", "moving", "diverging", "unknown"]


@dataclass(frozen=True)
class ConvergenceDiagnosis:
    """How a run stands, in a few words, and why."""

    kind: Kind
    words: str
    """To go on a sentence about the member's state."""
    why: tuple[str, ...] = ()

    @property
    def rests(self) -> bool:
        """Whether it came to rest, as far as anybody could tell."""
        return self.kind in ("converged", "settled")


def diagnosis_of(plan: FederationPlan, status: Mapping[str, Any]) -> ConvergenceDiagnosis:
    """How a member's run of a plan stands, given its status."""
    if not plan.kind.counted_ahead:
        return _study(status)
    measured: Mapping[str, Any] = status["measured"]
    if "joint_movement_ahead" in measured and not status.get("dropped"):
        return _of_all(measured)
    found = standing(measured, joint=needs(plan.algorithm).averages)
    if not plan.run.means or found.kind in ("unknown", "diverging"):
        return found
    why = "Since somebody left, states are no longer added up" if status.get("dropped") else NO_SUM
    return replace(found, why=(*found.why, f"{why}: this is of this member's own state."))


def _of_all(measured: Mapping[str, Any]) -> ConvergenceDiagnosis:
    """By the mean of all members' states, and how far this member's own is from it."""
    whole = {
        name.removeprefix("joint_"): value for name, value in measured.items() if name.startswith("joint_")
    }
    found = standing(whole, joint=True)
    if found.kind == "diverging":
        return found
    at = (
        f"Said of the mean of all members' states, added up under masks after round {int(whole['round']):,}, whose "
        f"joint gradient is {whole['gradient']:.3g}."
    )
    away = whole.get("distance")
    beside = (
        [] if away is None else [f"This member's own state is {_percent(away)} of its size away from it."]
    )
    if found.kind == "converged" and away is not None and away > SETTLED:
        words = (
            f"settled, not converged: members are apart, this one by {_percent(away)} from the mean of all"
        )
        return ConvergenceDiagnosis("settled", words, (at, *beside))
    return replace(found, why=(found.why[0], at, *beside))


def standing(measured: Mapping[str, Any], *, joint: bool = False) -> ConvergenceDiagnosis:
    """How a state stands of which these numbers were measured; `joint` if it is the average over all members."""
    ahead = measured.get("movement_ahead")
    if ahead is None:
        return ConvergenceDiagnosis("unknown", "not known: its movement was not measured")
    moved, rounds = measured["movement"], int(measured["movement_rounds"])
    over = "in the last round" if rounds == 1 else f"in the last {rounds:,} rounds"
    if not math.isfinite(ahead) or _runs_away(measured):
        growth = measured.get("movement_growth", math.nan)
        grown = f"grew {growth:.2g}-fold" if math.isfinite(growth) else "went beyond all numbers"
        return ConvergenceDiagnosis("diverging", f"diverging: its size {grown} {over}", (FIX,))
    why = (
        f"With the plan's steps as many rounds again would move it by about {100 * ahead:.3g} % of its size; "
        f"{_percent(SETTLED)} is the most for a state to be called {'converged' if joint else 'settled'}.",
        SAME_FOR_ALL if joint else ALONE,
    )
    if ahead > SETTLED:
        return ConvergenceDiagnosis("moving", f"still moving, by {_percent(moved)} {over}", why)
    rests: Kind = "converged" if joint else "settled"
    return ConvergenceDiagnosis(rests, f"{rests} to {_percent(moved)} {over}", why)


FIX = "A state that grows like this has no end: stop the run, and plan smaller steps or a bounded set."
ALONE = "That a state rests is no proof that it is an optimum: only all members together could say so."
NO_SUM = "No sum of all members' states has come together yet"
SAME_FOR_ALL = "This state is the average over all members, so all of them see the same."


def _runs_away(measured: Mapping[str, Any]) -> bool:
    growth, k, rounds = (measured.get(key) for key in ("movement_growth", "round", "movement_rounds"))
    if growth is None or k is None or rounds is None or k < FEW or not 0 < rounds < k:
        return False
    return not math.isfinite(growth) or (
        growth > 0 and math.log(growth) >= STEEP * math.log(k / (k - rounds))
    )


def _study(status: Mapping[str, Any]) -> ConvergenceDiagnosis:
    if status["finished"]:
        why = "A fit that does not come to rest ends the study with an error, and no results."
        return ConvergenceDiagnosis(
            "converged", "converged: every fit of the study came to its tolerance", (why,)
        )
    return ConvergenceDiagnosis("unknown", "under way: how many sums it takes is found on the way")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
