"""What a run measures that no privacy claim is about, and that so stays with those who measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.noise.mechanism import Mechanism

if TYPE_CHECKING:
    from hocket.runs.job import Job

RAW = ("x", "mean", "path", "transcript", "noise", "infeasibility")
"""Of a run: what is made of members' own states, or of the noise that hides them."""
MEASURED = ("gap", "loss", "disagreement", "time_average", "history")
"""What `hk.solve` measures on these states, and by everybody's objective."""
REMARK = (
    "gap, loss, disagreement, noise and history are measured on members' own states and objectives, which no "
    "certificate is about: they stay at home, as run.x does; show run.published in their place"
)
PUBLIC_START = "supposed: the start is public, and follows from nobody's data: no noise hides one that does"


def is_certified(job: Job) -> bool:
    """Whether a certificate of differential privacy may be asked for this run's noise, or a promise is printed."""
    return job.algorithm.promises or isinstance(job.algorithm.mechanism(job.plan), Mechanism)


def hides_records(job: Job) -> bool:
    """Whether noise of each agent's own hides records, or whole objectives: then all that a run shows is under it."""
    if job.algorithm.promises:
        return True
    mechanism = job.algorithm.mechanism(job.plan)
    return isinstance(mechanism, Mechanism) and mechanism.own_sd > 0


def promised_remarks(job: Job) -> list[str]:
    """What a run says beside its numbers where a promise may be made of it; nothing elsewhere."""
    if not is_certified(job):
        return []
    usual = np.array_equal(job.start, job.problem.check_start())
    return [REMARK, *([] if usual else [PUBLIC_START])]


def kept_at_home(job: Job) -> dict[str, Any]:
    """For the settings of a run: the names of what stays at home; nothing where nothing is promised."""
    return {"stays_at_home": [*RAW, *MEASURED]} if is_certified(job) else {}


def marked(settings: dict[str, Any]) -> str:
    """What stands behind a number of a run's history where people read it."""
    return " (stays at home)" if history_stays(settings) else ""


def history_stays(settings: dict[str, Any]) -> bool:
    """Whether measurements of a run with these settings stay at home."""
    return "history" in settings.get("stays_at_home", ())
