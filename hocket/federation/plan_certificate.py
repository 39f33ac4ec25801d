"""The certificate of a plan: recomputed by whoever signs, checks or runs it, and again when members leave.

A plan says which ε it promises and what for; the number itself always comes from the plan's own network and noise. What
earlier runs on the same data were certified for is composed with it: squares of μ add up, save where the very same
noise is kept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hocket.algorithm import Algorithm, Setting
from hocket.errors import HocketError, UnsafePlan
from hocket.federation.earlier_runs import EarlierRun
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_sections import CertificateSection
from hocket.federation.served_plan import ServedPlan
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism
from hocket.privacy import gdp
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.certify import certify
from hocket.privacy.sensitivity import least_squares_sensitivity
from hocket.privacy.verdict.theorem import privacy_claim
from hocket.privacy.wording import counted
from hocket.problems.objective_class import ObjectiveClass
from hocket.steps import Step, as_step

SAME = 1e-6
"""Two machines may differ by so much in what they compute of one plan."""


@dataclass(frozen=True)
class PlanCertificate:
    """What a plan's certificate says, of its own run and of all runs on the same data."""

    section: CertificateSection
    certificate: Certificate
    composed: float
    """μ of all runs on these data together, this one included; infinite where nothing is promised of them."""
    history: tuple[str, ...] = ()
    """How it was composed, in words."""

    @property
    def epsilon(self) -> float:
        """ε of this run, at the plan's δ."""
        return self.certificate.epsilon(self.section.delta)

    @property
    def composed_epsilon(self) -> float:
        """ε of all runs on these data, at the plan's δ."""
        return gdp.epsilon(self.composed, self.section.delta)

    @property
    def words(self) -> tuple[str, ...]:
        """First what is promised, in one sentence."""
        return (in_words(self.section, self.certificate), *self.history)

    def to_json(self) -> dict[str, Any]:
        """The certificate in plain values; what is infinite is null."""
        together = {"mu": self.composed, "epsilon": self.composed_epsilon}
        return self.certificate.to_json() | {
            "wanted": self.section.model_dump(exclude_none=True),
            "composed": {key: value if math.isfinite(value) else None for key, value in together.items()},
        }


def in_words(section: CertificateSection, found: Certificate) -> str:
    """The certificate in one sentence, at the plan's own δ."""
    if not found.holds:
        return f"No certificate: {found.reason}."
    model = "exact arithmetic" if found.arithmetic == "exact" else "real-arithmetic model"
    return (
        f"Certificate (Theorem {found.theorem}, {model}): against {found.against}, over {found.lasting}, "
        f"{section.hidden} is hidden with ε = {found.epsilon(section.delta):.4g} at δ = {section.delta:g} "
        f"(μ = {found.mu:.6g}).{_unchecked(section)}"
    )


def _unchecked(section: CertificateSection) -> str:
    """What nobody can check of what is protected, as a sentence more."""
    if section.columns is not None or section.protect == "member":
        return ""
    return " That it moves no more is every member's own word: no columns are declared by which it could be checked."


def certificate_of_plan(plan: FederationPlan, *, leavers: Collection[int] = ()) -> Certificate | None:
    """What the plan's noise is worth for what it promises; None if it promises nothing. Members who left count as
    colluders, beside as many as the plan expects."""
    if plan.certificate is None:
        return None
    return _certificate(
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


def check_certificate(plan: FederationPlan, *, earlier: Sequence[EarlierRun] = ()) -> PlanCertificate | None:
    """Refuse a plan whose certificate does not hold as it is written; returns it, with what came before."""
    section, found = plan.certificate, certificate_of_plan(plan)
    if section is None or found is None:
        return None
    wrong = [*_wrong(section, found, plan)]
    if wrong:
        raise UnsafePlan(
            "\n".join(
                [
                    *(f"the plan's certificate does not hold: {line}" for line in wrong),
                    "Have it drawn up again with hocket peer plan --epsilon; nobody can accept a number that is wrong.",
                ]
            )
        )
    composed, history = _with_earlier(plan, found, earlier)
    return PlanCertificate(section, found, composed, tuple(history))


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


def _wrong(section: CertificateSection, found: Certificate, plan: FederationPlan) -> Iterator[str]:
    if not found.holds:
        yield found.reason
        return
    epsilon = found.epsilon(section.delta)
    if epsilon > section.epsilon * (1 + SAME):
        yield f"it promises ε = {section.epsilon:g} at δ = {section.delta:g}, and its noise gives {epsilon:.6g}"
    if found.mu > section.mu * (1 + SAME):
        yield f"it says μ = {section.mu:.6g}, and its noise gives {found.mu:.6g}"
    needed = sensitivity_of(section, plan)
    if needed is not None and section.sensitivity < needed * (1 - SAME):
        yield (
            f"it counts a record as {section.sensitivity:.6g}, and within the declared columns one may weigh "
            f"{needed:.6g}"
        )
    if section.protect == "member":
        yield from _unclipped(section, plan)


def _unclipped(section: CertificateSection, plan: FederationPlan) -> Iterator[str]:
    """What a member does in a round is bounded by the algorithm itself, or by nothing."""
    noise = plan.algorithm.mechanism(Setting(plan.network, plan.task.dimension, plan.step, plan.run.rounds))
    moves = noise.sensitivity if isinstance(noise, Mechanism) else None
    if moves is None:
        yield "it is about members, and nothing clips what a member does in a round"
    elif section.sensitivity < moves * (1 - SAME):
        yield f"it counts what a member does in a round as {section.sensitivity:g}, and that may be {moves:g}"


def sensitivity_of(section: CertificateSection, plan: FederationPlan) -> float | None:
    """S of a record within the declared columns; None where none are declared."""
    stored = plan.algorithm.stored
    if section.columns is None or section.target is None:
        return None
    return least_squares_sensitivity(
        rows=section.columns,
        target=section.target,
        change="move" if section.protect == "transfer" else "replace",
        grid=None if stored is None else stored.unit,
        dim=plan.task.dimension,
    )


def _certificate(
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
    hidden: dict[str, Any] = {
        "transfer" if section.protect == "transfer" else "sensitivity": section.sensitivity
    }
    found = certify(
        network,
        algorithm,
        colluders=min(colluders, network.n - len(leavers) - 1),
        leavers=leavers,
        step=step,
        rounds=rounds,
        dim=dim,
        release="mixed",
        linear=objectives.degree is not None and objectives.degree <= 1,
        **hidden,
    )
    # What a network cannot show of noise functions is that their span holds all objectives.
    if algorithm.functions is not None:
        claim = privacy_claim(algorithm, objectives, dim=dim)
        if not claim:
            return _void(found, f"what noise functions do not span stays exposed: {claim.reason}")
    if section.protect == "record" and local_steps > 1 and algorithm.functions is None:
        return _void(
            found, f"a record takes part in {local_steps} local steps, and their whole way is not clipped"
        )
    return found


def _void(found: Certificate, reason: str) -> Certificate:
    return replace(found, mu=math.inf, reason=reason)


def _with_earlier(
    plan: FederationPlan, found: Certificate, earlier: Sequence[EarlierRun]
) -> tuple[float, list[str]]:
    """μ of this run and all earlier ones, and how it comes about."""
    others = [one for one in earlier if not _same_noise(one.plan, plan)]
    kept, dataset = len(earlier) - len(others), plan.task.dataset
    said = (
        [
            f"{counted(kept, 'earlier run')} on {dataset} kept the same noise, and told nothing that this one does not."
        ]
        if kept
        else []
    )
    back = {plan.agent(name) for one in earlier for name in one.left if name in plan.names}
    mine = found if not back else certificate_of_plan(plan, leavers=back)
    assert mine is not None
    mus = [mine.mu]
    for one in others:
        mu = _earlier_mu(one, plan)
        if isinstance(mu, str):
            return math.inf, [*said, f"Nothing is promised of all runs on {dataset} together: {mu}."]
        mus.append(mu)
    together = gdp.composed(*mus)
    if others and plan.certificate is not None:
        delta = plan.certificate.delta
        said.append(
            f"With {counted(len(others), 'earlier run')} on {dataset}, ε = {gdp.epsilon(together, delta):.4g} at δ = "
            f"{delta:g} in all (μ = {together:.6g}: squares add up)."
        )
    return together, said


def _earlier_mu(one: EarlierRun, plan: FederationPlan) -> float | str:
    """μ of an earlier run as its plan was certified, with whoever left since among the colluders; or why there is
    none."""
    before, section = one.plan, plan.certificate
    assert section is not None
    if before is None or before.certificate is None:
        return f"an earlier run ({one.words}) has no certificate"
    if before.certificate.protect != section.protect:
        return f"an earlier run ({one.words}) was certified for {before.certificate.hidden}"
    algorithm = before.run.algorithm
    assert isinstance(algorithm, Algorithm)
    if algorithm.keeps_noise:
        return f"an earlier run ({one.words}) kept noise on other terms, which the two may show together"
    strangers = {*before.names} - {*plan.names} | {*one.left}
    gone = [before.names.index(name) for name in strangers if name in before.names]
    try:
        found = _certificate(
            before.certificate,
            before.run.network,
            algorithm,
            before.objectives,
            dim=before.run.dim,
            step=as_step(before.run.step),
            rounds=before.run.rounds,
            local_steps=before.local_steps,
            colluders=plan.audit.colluders,
            leavers=gone,
        )
    except HocketError as error:
        return str(error)
    return found.mu if found.holds else found.reason


def _same_noise(before: ServedPlan | None, plan: FederationPlan) -> bool:
    """Whether an earlier run followed the very sums that this one follows."""
    if before is None or plan.algorithm.stored is None:
        return False
    mine = ServedPlan.of(plan)
    return (
        before.names == mine.names
        and before.run.network.links.tolist() == mine.run.network.links.tolist()
        and repr(before.run.algorithm) == repr(mine.run.algorithm)
    )
