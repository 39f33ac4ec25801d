"""What a member has agreed to, looked at once more when its run begins.

A plan is signed for so many runs on the same data. Between the signature and the run others may have begun, and then
the audit that was signed is of another plan than the one that would be run.
"""

from __future__ import annotations

from hocket.errors import UnsafePlan
from hocket.federation.auditing import PlanAudit, audit_plan
from hocket.federation.floor import check_floor, read_floor
from hocket.federation.home import Home
from hocket.federation.plan import FederationPlan
from hocket.federation.run_folder import RunFolder, write_json
from hocket.privacy.wording import counted


def keep_consent(plan: FederationPlan, folder: RunFolder, found: PlanAudit) -> None:
    """Put down what a member signed: the plan, as the run of which number on its data, and what it was told."""
    folder.make()
    write_json(folder.audit, {"hash": plan.hash.hex(), **found.to_json()})


def check_consent(plan: FederationPlan, home: Home, folder: RunFolder, runs: int) -> None:
    """Refuse to begin what this member has not signed: this plan, as at most the run of this number on its data.
    A floor of its own is asked as well, as it is now.
    """
    signed = folder.consent
    if signed is None:
        raise UnsafePlan(
            f"nothing in {home.folder} says that this plan was signed here, or {folder.audit} is damaged; read it and "
            "sign it here: hocket peer sign PLAN"
        )
    plan_hash, signed_runs = signed
    if plan_hash != plan.hash.hex():
        raise UnsafePlan("this member signed another version of this plan; read this one, and sign it again")
    if signed_runs < runs:
        raise UnsafePlan(
            f"this member signed the plan as run {signed_runs} on the data {plan.task.dataset}, and it would begin as "
            f"run {runs}: {counted(runs - 1, 'run')} on these data {'was' if runs == 2 else 'were'} begun before. "
            "Fresh noise averages out over runs; sign it again with the runs as they are now: hocket peer sign PLAN"
        )
    if home.floor.exists():
        check_floor(read_floor(home), plan, audit_plan(plan, runs=runs), file=home.floor)
