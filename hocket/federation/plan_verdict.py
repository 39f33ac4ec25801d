"""The verdict on any plan: by what its members show each other, be it words under noise or nothing but sums."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.federation.earlier_runs import EarlierRun
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_audit import PlanAudit, audit_plan
from hocket.federation.study_audit import StudyAudit, audit_study

PlanVerdict = PlanAudit | StudyAudit


def judge_plan(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    earlier: Sequence[EarlierRun] = (),
) -> PlanVerdict:
    """Audit a plan; an unsafe one is refused, unless it says that its members accept what the audit found."""
    judge = audit_plan if plan.study is None else audit_study
    return judge(plan, colluders=colluders, earlier=earlier)
