"""What a member has agreed to, looked at once more when its run begins.

A plan is signed for so many runs on the same data. Between the signature and the run others may have begun, and then
the audit that was signed is of another plan than the one that would be run.
"""

from __future__ import annotations

from hocket.errors import UnsafePlan
from hocket.federation.auditing import audit_plan
from hocket.federation.floor import check_floor, read_floor
from hocket.federation.home import Home
from hocket.federation.plan import FederationPlan
from hocket.federation.run_folder import RunFolder
from hocket.privacy.wording import counted


def check_consent(plan: FederationPlan, home: Home, folder: RunFolder, runs: int) -> None:
    """Refuse to begin what this member has not signed: this plan, as at most the run of this number on its data.
    Where nothing was signed in this home, the plan is audited now, as signing would have.
    """
    signed = folder.consent
    if signed is None:
        check_floor(read_floor(home), plan, audit_plan(plan, runs=runs), file=home.floor)
        return
    plan_hash, counted_runs = signed
    if plan_hash != plan.hash.hex() or counted_runs < runs:
        what = "another version of it" if counted_runs >= runs else f"run {counted_runs}"
        raise UnsafePlan(
            f"this member signed the plan as {what} on the data {plan.task.dataset}, and it would begin as run {runs}: "
            f"{counted(runs - 1, 'run')} on these data {'was' if runs == 2 else 'were'} begun before. Fresh noise "
            "averages out over runs; sign it again with the runs as they are now: hocket peer sign PLAN"
        )
