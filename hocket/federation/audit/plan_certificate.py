"""The certificate of a plan, from its own network and noise; and what is left of it when members leave.

A plan says which ε it promises and what for; the number itself is never taken from it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import CertificateSection
from hocket.networks.network import Network
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.privacy.dp.reasons import Assumption, Refusal, Status
from hocket.privacy.questions import Adversary, Horizon, Neighbouring, Objectives
from hocket.privacy.wording import Said
from hocket.problems.objective_class import ObjectiveClass
from hocket.steps import Step

SAME = 1e-6
"""Two machines may differ by so much in what they compute of one plan."""


class Planned(Enum):
    """What a plan verifies of a certificate's conditions, by the names that these have."""

    RANGE = "messages beyond the plan's reach are refused, and both ends of a link draw its noise themselves"
    NO_RAW_X = "members publish what one more exchange makes of their last messages, and no raw x"
    ALL_RECORDS = "the stored sum is over all records, and asked for once"
    SUMS = "the stored sum is of records' coefficients, and no mean"
    DIVISOR = "as a member begins: its task says that it clips, and by which constant it divides"


def _as_planned(one: Assumption) -> Assumption:
    """A condition that is assumed elsewhere, and that a plan verifies."""
    if one.status is not Status.ASSUMED or one.said.what.name not in Planned.__members__:
        return one
    return Assumption(Status.VERIFIED, Said(Planned[one.said.what.name]))


def in_words(section: CertificateSection, found: Certificate) -> str:
    """The certificate in one sentence, at the plan's own δ."""
    if not found.holds:
        return f"No certificate: {found.reason}."
    model = "exact arithmetic" if found.arithmetic == "exact" else "real-arithmetic model"
    promised = found.promise(section.delta, of=section.hidden.removesuffix(","))
    return (
        f"Certificate (Theorem {found.theorem}, {model}): against {found.against}, over {found.lasting}, the plan "
        f"gives {promised}.{_unchecked(section, found)}"
    )


def _unchecked(section: CertificateSection, found: Certificate) -> str:
    """What nobody can check of what is protected, as a sentence more."""
    if section.columns is not None or section.protect == "member":
        return ""
    if found.rounds is not None and section.protect == "record":
        return " That it moves no more is every member's own word, and that of its task, which says how it clips."
    return " That it moves no more is every member's own word: no columns are declared by which it could be checked."


def certificate_of_plan(plan: FederationPlan, *, leavers: Collection[int] = ()) -> Certificate | None:
    """What the plan's noise is worth for what it promises; None if it promises nothing. Members who left count as
    colluders, beside as many as the plan expects."""
    if plan.certificate is None:
        return None
    return certificate_for(
        plan.certificate,
        plan.network,
        plan.algorithm,
        plan.objectives,
        dim=plan.task.dimension,
        step=plan.step,
        rounds=plan.run.rounds,
        local_steps=plan.run.local_steps,
        colluders=plan.audit.colluders,
        leavers=leavers,
    )


class Remaining(NamedTuple):
    """What is left of a plan's certificate when members have left."""

    words: str
    kept: bool
    """Whether it is still what all have signed."""


def certificate_without(plan: FederationPlan, left: Collection[int]) -> Remaining | None:
    """The plan's certificate once these have left, who know what they heard: they count as colluders, beside as many as
    the plan expects. None where the plan promises nothing."""
    section = plan.certificate
    if section is None:
        return None
    if len(plan.names) - len(left) < 2:
        return Remaining("Of the certificate nothing is left: nobody remains to hide behind.", False)
    found = certificate_of_plan(plan, leavers=left)
    assert found is not None
    kept = found.holds and found.epsilon(section.delta) <= section.epsilon * (1 + SAME)
    signed = f"ε = {section.epsilon:g}, which all have signed"
    held = f"That keeps {signed}." if kept else f"That is more than {signed}."
    return Remaining(f"{in_words(section, found)} {held}", kept)


def certificate_for(
    section: CertificateSection,
    network: Network,
    algorithm: Algorithm,
    objectives: ObjectiveClass,
    *,
    dim: int,
    step: Step,
    rounds: int,
    local_steps: int,
    colluders: int,
    leavers: Collection[int],
) -> Certificate:
    """What noise on a network is worth for what a plan's section promises."""
    moved, rate = section.protect == "transfer", section.rate or 1.0
    found = certify(
        network,
        algorithm,
        adversary=Adversary(
            min(colluders, network.n - len(leavers) - 1), leavers=frozenset(leavers), release="mixed"
        ),
        horizon=Horizon(rounds, step),
        neighbouring=Neighbouring(
            transfer=section.sensitivity if moved else None,
            sensitivity=None if moved else section.sensitivity,
            rate=rate,
            # Columns give a sensitivity that counts rounding, and a clipped way is cut on the grid itself.
            on_grid=section.columns is not None or section.protect == "member",
        ),
        objectives=Objectives(objectives, dim=dim),
    )
    found = replace(found, assumptions=tuple(map(_as_planned, found.assumptions)))
    if section.rate is not None and section.protect != "record":
        return _void(found, Refusal.RATE_FOR_MEMBERS, rate=section.rate, protect=section.protect)
    if section.protect != "member" and local_steps > 1 and functions_of(algorithm) is None:
        return _void(found, Refusal.UNCLIPPED_STEPS, steps=local_steps)
    return found


def _void(found: Certificate, reason: Refusal, **about: Any) -> Certificate:
    return replace(found, mu=math.inf, reasons=(Said(reason, **about),))
