"""A plan's certificate as anybody who signs, checks or runs it finds it: refused if it does not hold, and composed with
what earlier runs told (`account`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithm import Setting
from hocket.algorithms.function_sharing import functions_of, stored_of
from hocket.claims import mechanism
from hocket.errors import UnsafePlan
from hocket.federation.audit.plan_certificate import SAME, certificate_of_plan, in_words
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import CertificateSection
from hocket.federation.state.account import ComposedAccount, ReleaseLoss, account_of
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.noise.mechanism import Mechanism
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.sensitivity import least_squares_sensitivity
from hocket.privacy.wording import counted


@dataclass(frozen=True)
class PlanCertificate:
    """What a plan's certificate says, of its own run and of all runs on the same data."""

    section: CertificateSection
    certificate: Certificate
    account: ComposedAccount
    """This run and all earlier ones together."""

    @property
    def epsilon(self) -> float:
        """ε of this run, at the plan's δ."""
        return self.certificate.epsilon(self.section.delta)

    @property
    def composed(self) -> float:
        """μ of all runs on these data together; infinite where nothing is promised of them."""
        return self.account.mu

    @property
    def composed_epsilon(self) -> float:
        """ε of all runs on these data, at the plan's δ."""
        return self.account.epsilon

    @property
    def words(self) -> tuple[str, ...]:
        """First what is promised, in one sentence."""
        return (in_words(self.section, self.certificate), *self.account.words)

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
    return PlanCertificate(section, found, account_with(plan, found, earlier))


def _wrong(section: CertificateSection, found: Certificate, plan: FederationPlan) -> Iterator[str]:
    if not found.holds:
        yield found.reason
        return
    if functions_of(plan.algorithm) is not None and stored_of(plan.algorithm) is None:
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
    if section.columns is not None and functions_of(plan.algorithm) is None:
        yield (
            "columns bound the coefficients of a record's objective, and this algorithm's noise is on gradients, which "
            "grow with x; bound them by --sensitivity, of tasks that clip, or by --clip"
        )
        return
    if (section.columns is None) != (section.target is None):
        yield "columns and target bound a record together, and it declares one of the two"
        return
    if section.columns is not None and len(section.columns) != plan.task.dimension:
        # One bound for all would be held against each column, and counted as the length of a whole record.
        yield (
            f"it declares bounds for {counted(len(section.columns), 'column')}, and records have "
            f"{plan.task.dimension}: every column needs a bound of its own"
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
    noise = mechanism(plan.algorithm, Setting(plan.network, plan.task.dimension, plan.step, plan.run.rounds))
    moves = noise.sensitivity if isinstance(noise, Mechanism) else None
    if moves is None:
        yield "it is about members, and nothing clips what a member does in a round"
    elif section.sensitivity < moves * (1 - SAME):
        yield f"it counts what a member does in a round as {section.sensitivity:g}, and that may be {moves:g}"


def sensitivity_of(section: CertificateSection, plan: FederationPlan) -> float | None:
    """S of a record within the declared columns; None where none are declared."""
    stored = stored_of(plan.algorithm)
    if section.columns is None or section.target is None:
        return None
    return least_squares_sensitivity(
        rows=section.columns,
        target=section.target,
        change="move" if section.protect == "transfer" else "replace",
        grid=None if stored is None else stored.unit,
        dim=plan.task.dimension,
    )


def account_with(
    plan: FederationPlan, found: Certificate, earlier: Sequence[EarlierRun], *, dropped: Iterable[str] = ()
) -> ComposedAccount:
    """This run, whose certificate is `found`, and all earlier ones; anybody who left one of them counts among the
    colluders of this one, beside those who were dropped from it."""
    assert plan.certificate is not None
    back = {name for one in earlier for name in one.left if name in plan.names}
    gone = {plan.agent(name) for name in (*back, *dropped)}
    mine = found if not back else certificate_of_plan(plan, leavers=gone)
    assert mine is not None
    return account_of(plan, ReleaseLoss(mine.mu, mine.view), plan.certificate.delta, earlier)
