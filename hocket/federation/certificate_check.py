"""A plan's certificate as whoever signs, checks or runs it finds it: refused if it does not hold, and composed with
what earlier runs on the same data were certified for.

Squares of μ add up over runs, save where the very same noise is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithm import Algorithm, Setting
from hocket.errors import HocketError, UnsafePlan
from hocket.federation.earlier_runs import EarlierRun
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_certificate import SAME, certificate_for, certificate_of_plan, in_words
from hocket.federation.plan_sections import CertificateSection
from hocket.federation.row_digests import SharedRows
from hocket.federation.served_plan import ServedPlan
from hocket.noise.mechanism import Mechanism
from hocket.privacy import gdp
from hocket.privacy.certificates import sampling
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.sampling import Sampled
from hocket.privacy.sensitivity import least_squares_sensitivity
from hocket.privacy.wording import counted
from hocket.steps import as_step


@dataclass(frozen=True)
class PlanCertificate:
    """What a plan's certificate says, of its own run and of all runs on the same data."""

    section: CertificateSection
    certificate: Certificate
    composed: float
    """μ of all runs on these data together, this one included; infinite where nothing is promised of them."""
    parts: tuple[Sampled, ...]
    """Each of them, with its coins."""
    history: tuple[str, ...] = ()
    """How it was composed, in words."""

    @property
    def epsilon(self) -> float:
        """ε of this run, at the plan's δ."""
        return self.certificate.epsilon(self.section.delta)

    @property
    def composed_epsilon(self) -> float:
        """ε of all runs on these data, at the plan's δ."""
        return sampling.epsilon(self.parts, self.section.delta, known=self.composed)

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
    composed, parts, history = _with_earlier(plan, found, earlier)
    return PlanCertificate(section, found, composed, parts, tuple(history))


def _wrong(section: CertificateSection, found: Certificate, plan: FederationPlan) -> Iterator[str]:
    if not found.holds:
        yield found.reason
        return
    if plan.algorithm.functions is not None and plan.algorithm.stored is None:
        yield (
            "its noise is on objectives, and without a grid members follow whatever gradients their tasks give, of a "
            "few records say, which the noise was never added to; on a grid they follow the stored sum alone"
        )
    if plan.run.verifiable:
        yield "the run is verifiable, and what members disclose for that shows gradients bare; leave --verifiable away"
    epsilon = found.epsilon(section.delta)
    if epsilon > section.epsilon * (1 + SAME):
        yield f"it promises ε = {section.epsilon:g} at δ = {section.delta:g}, and its noise gives {epsilon:.6g}"
    if found.mu > section.mu * (1 + SAME):
        yield f"it says μ = {section.mu:.6g}, and its noise gives {found.mu:.6g}"
    if section.columns is not None and plan.algorithm.functions is None:
        yield (
            "columns bound the coefficients of a record's objective, and this algorithm's noise is on gradients, which "
            "grow with x; bound them by --sensitivity, of tasks that clip, or by --clip"
        )
        return
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


def _with_earlier(
    plan: FederationPlan, found: Certificate, earlier: Sequence[EarlierRun]
) -> tuple[float, tuple[Sampled, ...], list[str]]:
    """μ of this run and all earlier ones, what each is a part of, and how it comes about."""
    others = [one for one in earlier if one.dataset or not _same_noise(one.plan, plan)]
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
    every = [mine]
    for one in others:
        before = _before(one, plan)
        if isinstance(before, str):
            why = f"Nothing is promised of all runs on {dataset} together: {before}."
            return math.inf, (Sampled(math.inf),), [*said, why]
        every.append(before)
    together, parts = gdp.composed(*(one.mu for one in every)), tuple(one.view for one in every)
    if others and plan.certificate is not None:
        delta = plan.certificate.delta
        how = "squares add up" if all(one.rate == 1 for one in every) else "losses of all rounds add up"
        said.append(
            f"With {counted(len(others), 'earlier run')} on {_names(dataset, others)}, ε = "
            f"{sampling.epsilon(parts, delta, known=together):.4g} at δ = {delta:g} in all (μ = {together:.6g}: {how})."
        )
    return together, parts, said


def _names(dataset: str, earlier: Sequence[EarlierRun]) -> str:
    """What the data of runs were called, and whether they are the same."""
    names = {one.dataset: one.shared for one in earlier}
    return " and ".join(_name(name, shared) if name else dataset for name, shared in names.items())


def _name(other: str, shared: SharedRows | None) -> str:
    if shared is None:
        return f"{other} (the same data under another name)"
    return f"{other} ({shared.shared:,} of {shared.of:,} rows are the same)"


def _before(one: EarlierRun, plan: FederationPlan) -> Certificate | str:
    """The certificate of an earlier run for what this plan hides, with whoever left since among the colluders; or why
    there is none. What a member does in a round is clipped by each run for itself."""
    before, section = one.plan, plan.certificate
    assert section is not None
    if before is None or before.certificate is None:
        return f"an earlier run ({one.words}) has no certificate"
    if before.certificate.protect != section.protect:
        return f"an earlier run ({one.words}) was certified for {before.certificate.hidden}"
    algorithm = before.run.algorithm
    assert isinstance(algorithm, Algorithm)
    if algorithm.keeps_noise and not one.dataset:
        return f"an earlier run ({one.words}) kept noise on other terms, which the two may show together"
    # An earlier run may have counted what is hidden now as smaller: of more it told more.
    size = before.certificate.sensitivity
    if section.protect == "transfer" or (
        section.protect == "record" and (algorithm.functions is None) == (plan.algorithm.functions is None)
    ):
        size = max(size, section.sensitivity)
    strangers = {*before.names} - {*plan.names} | {*one.left}
    gone = [before.names.index(name) for name in strangers if name in before.names]
    try:
        found = certificate_for(
            before.certificate.model_copy(update={"sensitivity": size}),
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
    return found if found.holds else found.reason


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
