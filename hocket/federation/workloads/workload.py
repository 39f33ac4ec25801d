"""What members carry out together: they follow gradients, or they add up what a study asks for.

A `Workload` is one member's part in it; what depends on the plan alone is its `PlanKind`. Nothing else in a run asks
which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from hocket.agent import Local
from hocket.federation.runtime.termination import ResultSigning
from hocket.federation.workloads.analysis import Analysis

if TYPE_CHECKING:
    from hocket.federation.monitoring.metrics import Log
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.noise_shares import RoundNoise
    from hocket.federation.runtime.peer import Finished, Peer, Played
    from hocket.federation.runtime.role import MemberRole
    from hocket.links.journals.journal import Journal
    from hocket.links.keys.lasting_noise import LastingNoise


class RoundInput(NamedTuple):
    """What a member brings to its rounds."""

    local: Local | Analysis
    """What it computes at home."""
    start: np.ndarray
    """Where it begins."""
    recall: Callable[[], bytes] = lambda: b""
    """Its task's own state, to be kept with each round."""
    restore: Callable[[bytes], None] = lambda state: None
    signing: ResultSigning | None = None
    """How members sign what they have come to, where they do."""


class Workload(Protocol):
    """One member's part. A run calls it in this order; only `begin` and `export` leave anything on the disk."""

    def remarks(self) -> list[str]:
        """What the operator should know before it begins."""
        ...

    def is_repeatable(self, start: np.ndarray | None = None) -> bool:
        """Whether what is computed twice comes out the same, at the public start or another; refuses what cannot be
        computed at all."""
        ...

    def begin(self) -> None:
        """Remember what is about to be told, in the transaction in which the run is recorded; refuses what must not
        be."""
        ...

    def round_input(
        self, role: MemberRole, journal: Journal, noise: RoundNoise, lasting: LastingNoise | None, log: Log
    ) -> RoundInput:
        """What its rounds begin with, from the disk or anew."""
        ...

    def measure(self, peer: Peer, played: Played, log: Log) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """What can be told of a round that was played, and what of it stays at home."""
        ...

    def pass_by(self, peer: Peer, played: Played) -> None:
        """Look at a round, whether it is measured or not."""
        ...

    def export(self, peer: Peer, finished: Finished) -> None:
        """Put the result on the disk, before anybody is stayed for."""
        ...

    def conclude(self, peer: Peer, finished: Finished) -> None:
        """Complete it with what others sent while this member stayed."""
        ...


def workload_of(member: Member) -> Workload:
    """A member's part in its plan."""
    from hocket.federation.workloads.study import StudyTask

    if isinstance(member.task, StudyTask):
        from hocket.federation.workloads.study import StudyWorkload

        return StudyWorkload(member, member.task)
    from hocket.federation.workloads.gradient import GradientWorkload

    return GradientWorkload(member)
