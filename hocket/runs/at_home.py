"""What a run measures that no privacy claim is about, and that so stays with those who measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket.algorithms.private_dgd import PrivateDgd
from hocket.noise.mechanism import Mechanism

if TYPE_CHECKING:
    from hocket.runs.job import Job

AT_HOME = (
    "gap, loss, disagreement, noise and history are measured on members' own states and objectives, which no "
    "certificate is about: they stay at home, as run.x does; show run.published in their place"
)


def is_certified(job: Job) -> bool:
    """Whether a certificate of differential privacy may be asked for this run's noise, or a promise is printed."""
    return isinstance(job.algorithm, PrivateDgd) or isinstance(job.algorithm.mechanism(job.plan), Mechanism)
