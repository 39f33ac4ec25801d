"""One account of all that a member's data were told of under noise, by studies and by runs that follow gradients.

The store is the ledgers of the member's home: each run of either kind is a line there, its plan included, on the
disk before its first message. The account is one function of these lines.

**How releases add up.** A release that is μ-GDP for one record replaced by another, and a second one chosen in the
light of the first, are together √(μ₁² + μ₂²)-GDP (Dong, Roth and Su 2022). Runs with secret coins are added by
their losses (`sampling`). A release without noise, one whose noise the colluders know, or one that hides something
else leaves nothing to promise of all together.

**Which rows.** Runs that follow gradients are known by digests of their data. A study's table and a task's arrays
cannot be compared, so a run of the other kind counts as if it were on the same rows, and so does every study beside
a study, and every run where its data or the plan's have no digests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of, stored_of
from hocket.errors import HocketError
from hocket.federation.audit.plan_certificate import certificate_for
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import ServedPlan
from hocket.privacy import gdp
from hocket.privacy.dp import sampling
from hocket.privacy.dp.sampling import Sampled
from hocket.privacy.profile import profile
from hocket.privacy.wording import counted
from hocket.steps import as_step
from hocket.studies.disclosure.promise import Among, mu_against

ROW = ("record", "member")
"""What an earlier run may have hidden for a study's rows to count as hidden: one record, or all of a member's."""


@dataclass(frozen=True)
class ComposedAccount:
    """What a run and all earlier ones promise of one record together."""

    mu: float
    """Infinite where nothing is promised."""
    parts: tuple[Sampled, ...]
    """Each of them, with its coins."""
    delta: float
    words: tuple[str, ...] = ()
    """How it comes about."""

    @property
    def epsilon(self) -> float:
        """ε of all of them, at the plan's δ."""
        return sampling.epsilon(self.parts, self.delta, known=self.mu)

    def to_json(self) -> dict[str, Any]:
        """The account in plain values; what is infinite is null."""
        together = {"mu": self.mu, "epsilon": self.epsilon}
        return {key: value if math.isfinite(value) else None for key, value in together.items()} | {
            "delta": self.delta,
            "words": list(self.words),
        }


class ReleaseLoss(NamedTuple):
    """What one release tells of a record."""

    mu: float
    """To anybody who knows all coins."""
    part: Sampled
    """With its coins."""


def account_of(
    plan: FederationPlan, own: ReleaseLoss, delta: float, earlier: Sequence[EarlierRun]
) -> ComposedAccount:
    """What a plan tells by itself, composed with what the earlier runs told."""
    now = ServedPlan.of(plan)
    others = [one for one in earlier if one.dataset or not _same_noise(one.plan, now)]
    kept, dataset = len(earlier) - len(others), plan.task.dataset
    said = (
        [
            f"{counted(kept, 'earlier run')} on {dataset} kept the same noise, and told nothing that this one does not."
        ]
        if kept
        else []
    )
    every = [own]
    for one in others:
        told = _before(one, plan, others)
        if isinstance(told, str):
            why = f"Nothing is promised of all runs on {_names(dataset, others)} together: {told}."
            return ComposedAccount(math.inf, (Sampled(math.inf),), delta, (*said, why))
        every.append(told)
    parts = tuple(one.part for one in every)
    found = ComposedAccount(gdp.composed(*(one.mu for one in every)), parts, delta)
    if others:
        how = "squares add up" if all(one.rate == 1 for one in parts) else "losses of all rounds add up"
        said.append(
            f"With {counted(len(others), 'earlier run')} on {_names(dataset, others)}, ε = {found.epsilon:.4g} at "
            f"δ = {delta:g} in all (μ = {found.mu:.6g}: {how})."
        )
    return replace(found, words=tuple(said))


def _same_noise(before: ServedPlan | None, now: ServedPlan) -> bool:
    """Whether two runs on the same data followed the same noisy sum, which was made once."""
    if before is None or stored_of(now.run.algorithm) is None:
        return False
    return (
        before.names == now.names
        and before.run.network.links.tolist() == now.run.network.links.tolist()
        and repr(before.run.algorithm) == repr(now.run.algorithm)
    )


def _names(dataset: str, earlier: Sequence[EarlierRun]) -> str:
    """What the data of runs were called, and whether they are the same."""
    return " and ".join(dict.fromkeys(_name(one) if one.dataset else dataset for one in earlier))


def _name(one: EarlierRun) -> str:
    if one.assumed:
        return f"{one.dataset} (counted as the same rows: whether they are cannot be told)"
    if one.shared is None:
        return f"{one.dataset} (the same data under another name)"
    return f"{one.dataset} ({one.shared.shared:,} of {one.shared.of:,} rows are the same)"


def _before(one: EarlierRun, plan: FederationPlan, others: Sequence[EarlierRun]) -> ReleaseLoss | str:
    """What an earlier run told of what this plan hides, with anybody who left since among the colluders; or why nothing
    is promised of it."""
    before = one.plan
    if before is not None and before.promise is not None:
        if plan.certificate is not None and plan.certificate.protect != "record":
            return f"an earlier study ({one.words}) promised its ε of one row, and this plan hides {_hidden(plan)}"
        mu = mu_against(before.promise, Among(len(plan.names), plan.audit.colluders, plan.names))
        if not math.isfinite(mu):
            return f"in an earlier study ({one.words}) those who collude or take no part now take all noise off again"
        return ReleaseLoss(mu, Sampled(mu))
    if before is not None and before.is_study:
        return f"an earlier study ({one.words}) added no noise"
    if before is None or before.certificate is None:
        return f"an earlier run ({one.words}) has no certificate"
    hidden = ROW if plan.certificate is None else (plan.certificate.protect,)
    if before.certificate.protect not in hidden:
        return f"an earlier run ({one.words}) was certified for {before.certificate.hidden.rstrip(',')}"
    if _kept_on_other_terms(one, others, plan):
        return f"an earlier run ({one.words}) kept noise on other terms, which the two may show together"
    return _certified(one, before, plan)


def _hidden(plan: FederationPlan) -> str:
    assert plan.certificate is not None
    return plan.certificate.hidden.rstrip(",")


def _kept_on_other_terms(one: EarlierRun, others: Sequence[EarlierRun], plan: FederationPlan) -> bool:
    """Whether another run on these data, this plan's among them, may show the noise that this one kept."""
    assert one.plan is not None
    algorithm = one.plan.run.algorithm
    if not (isinstance(algorithm, Algorithm) and profile(algorithm).persistent):
        return False
    if plan.study is None and not one.dataset:
        return True  # the same sums as this plan's were left out before
    beside = [other for other in others if other is not one and other.dataset == one.dataset]
    return any(
        other.plan is not None
        and not other.plan.is_study
        and profile(other.plan.run.algorithm).persistent
        and not _same_noise(other.plan, one.plan)
        for other in beside
    )


def _certified(one: EarlierRun, before: ServedPlan, plan: FederationPlan) -> ReleaseLoss | str:
    """The certificate of an earlier run, for what is hidden now and against those who may collude now. What a member
    does in a round is clipped by each run for itself."""
    section, algorithm = plan.certificate, before.run.algorithm
    assert before.certificate is not None
    assert isinstance(algorithm, Algorithm)
    # An earlier run may have counted what is hidden now as smaller: of more it told more.
    size = before.certificate.sensitivity
    if section is not None and (
        section.protect == "transfer"
        or (
            section.protect == "record"
            and (functions_of(algorithm) is None) == (functions_of(plan.algorithm) is None)
        )
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
    return ReleaseLoss(found.mu, found.view) if found.holds else found.reason
