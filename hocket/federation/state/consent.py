"""What a member has agreed to, looked at once more when its run begins."""

from __future__ import annotations

from hocket.errors import UnsafePlan
from hocket.federation.audit.study_audit import PlanVerdict, judge_plan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.policy import SAME, check_policy, has_policy, read_policy
from hocket.federation.state.accounts import NO_ROWS, Digests
from hocket.federation.state.earlier_runs import earlier_runs
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import Consent, RunFolder, write_json
from hocket.federation.state.signed_rows import SignedRows
from hocket.privacy.wording import counted, judged


def keep_consent(
    plan: FederationPlan, folder: RunFolder, found: PlanVerdict, rows: SignedRows | None = None
) -> None:
    """Put down what a member signed: the plan, as the run of which number on its data, and what it was told; and the
    rows that were checked, if any were."""
    folder.make()
    if rows is not None:
        rows.save(folder.path)
    write_json(folder.audit, {"hash": plan.hash.hex(), **found.to_json()})


def check_consent(
    plan: FederationPlan,
    home: Home,
    folder: RunFolder,
    *,
    data: str = "",
    rows: Digests = NO_ROWS,
) -> PlanVerdict | None:
    """Refuse to begin what this member has not signed: this plan, after the runs on its data so far and no others.
    What runs tell together is worked out once more, and its local policy is asked, as it is now.

    Between the signature and the run others may have begun on these data, and then the audit that was signed is of
    another plan than the one that would be run. Returns the audit, if there was a reason for another one.
    """
    runs = len(home.accounts.runs(plan.task.dataset)) + 1
    signed = folder.consent
    if signed is None:
        raise UnsafePlan(
            f"nothing in {home.folder} says that this plan was signed here, or {folder.audit} is damaged; read it and "
            "sign it here: hocket peer sign PLAN"
        )
    if signed.hash != plan.hash.hex():
        raise UnsafePlan("this member signed another version of this plan; read this one, and sign it again")
    if signed.runs < runs:
        raise UnsafePlan(
            f"this member signed the plan as run {signed.runs} on the data {plan.task.dataset}, and it would begin as "
            f"run {runs}: {counted(runs - 1, 'run')} on these data {'was' if runs == 2 else 'were'} begun before. "
            "Fresh noise averages out over runs; sign it again with the runs as they are now: hocket peer sign PLAN"
        )
    earlier = earlier_runs(home, plan, data=data, rows=rows)
    missed = [one for one in earlier if one.served.plan not in signed.earlier]
    elsewhere = dict.fromkeys(one.dataset for one in missed if one.dataset)
    if elsewhere:
        whose = (
            "this member's data"
            if any(one.assumed for one in missed)
            else "these data, or some of their rows,"
        )
        raise UnsafePlan(
            f"{whose} have served {counted(len(missed), 'run')} as {' and '.join(elsewhere)}, which this member did "
            "not know when it signed: what runs tell adds up, under any name; sign it again with the data at hand: "
            f"hocket peer sign PLAN {plan.kind.brings}"
        )
    others = [one.served.plan for one in missed]
    if others:
        raise UnsafePlan(
            f"this member signed the plan after other runs on the data {plan.task.dataset} than its accounts have now: "
            f"{', '.join(one[:16] for one in others)} was not among them; sign it again: hocket peer sign PLAN"
        )
    if not earlier and not has_policy(home):
        return None
    found = judge_plan(plan, earlier=earlier)
    _check_still_true(found, signed)
    check_policy(read_policy(home), plan, found, file=home.policy)
    return found


def _check_still_true(found: PlanVerdict, signed: Consent) -> None:
    """Refuse where a gradient would be known better than this member was told when it signed."""
    if signed.least is not None and found.least < signed.least * (1 - SAME):
        size = found.plan.audit.gradient_size
        raise UnsafePlan(
            f"this member signed that the gradient known best would be {judged(signed.least, size)}; with the runs "
            f"that its accounts have now it would be {judged(found.least, size)}; sign it again: hocket peer sign PLAN"
        )
