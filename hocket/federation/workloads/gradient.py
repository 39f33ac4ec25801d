"""Members follow gradients of tasks of their own, round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.agent import Local
from hocket.federation.monitoring.at_home import counted_as_zero, measured_at_home
from hocket.federation.monitoring.metrics import Log
from hocket.federation.runtime.convergence import Movement
from hocket.federation.runtime.noise_keys import task_of
from hocket.federation.runtime.noise_shares import RoundNoise
from hocket.federation.runtime.role import MemberRole
from hocket.federation.state.digests import unchecked
from hocket.federation.verification.noise_disclosure import RecordedSteps
from hocket.federation.workloads.task import LocalSteps, is_repeatable
from hocket.federation.workloads.workload import RoundInput
from hocket.links.journals.journal import Journal
from hocket.links.keys.lasting_noise import LastingNoise

if TYPE_CHECKING:
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.peer import Finished, Peer, Played


@dataclass(frozen=True)
class GradientWorkload:
    """One member's task, and what is seen of it."""

    member: Member

    @property
    def certified(self) -> bool:
        """Whether an ε is promised: then nothing of this member's own state is shown."""
        return self.member.plan.certificate is not None

    def remarks(self) -> list[str]:
        return unchecked(self.member.data)

    def is_repeatable(self, start: np.ndarray | None = None) -> bool:
        at = self.member.start() if start is None else start
        return is_repeatable(self.member.task, at, certified=self.certified)

    def begin(self) -> None:
        """Nothing beside the run itself."""

    def round_input(
        self, role: MemberRole, journal: Journal, noise: RoundNoise, lasting: LastingNoise | None, log: Log
    ) -> RoundInput:
        member, plan, task = self.member, self.member.plan, self.member.task
        followed = task_of(member, role, noise.streams, lasting)
        as_zero = partial(counted_as_zero, log) if self.certified else None
        local: Local = LocalSteps(followed, plan.run.local_steps, noise.batch, as_zero)
        # A run that has begun has its state in the journal; an earlier run's is no longer needed.
        start = member.start() if journal.round == 0 else np.zeros(plan.task.dimension, member.dtype)
        if plan.run.verifiable:
            local = RecordedSteps(local, member.disclosure)
            if journal.round == 0:
                member.disclosure.begin(noise.streams, start, plan.names)
        usual = RoundInput(local, start)
        recall, restore = getattr(task, "state", usual.recall), getattr(task, "restore", usual.restore)
        return usual._replace(recall=recall, restore=restore)

    def pass_by(self, peer: Peer, played: Played) -> None:
        self._movement.pass_by(played.k, self._shown(peer, played))

    def measure(self, peer: Peer, played: Played, log: Log) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        x = self._shown(peer, played)
        moved = self._movement.look(played.k, x)
        measure: Callable[[Any], Mapping[str, float]] | None = getattr(self.member.task, "measure", None)
        if measure is None:
            return moved, {}
        return (
            (moved, measured_at_home(measure, x, log)) if self.certified else (moved | dict(measure(x)), {})
        )

    def export(self, peer: Peer, finished: Finished) -> None:
        write, place = getattr(self.member.task, "export", None), self.member.folder.published
        if write is None:
            np.save(place.with_suffix(".npy"), finished.published)
        else:
            write(finished.published, place)

    def conclude(self, peer: Peer, finished: Finished) -> None:
        """Nothing: all is there."""

    @cached_property
    def _movement(self) -> Movement:
        return Movement(self.member.plan.run.rounds, self.member.plan.step)

    def _shown(self, peer: Peer, played: Played) -> np.ndarray:
        """Under a certificate what is shown follows from messages: this member's own state holds a bare gradient."""
        return peer.role.plain_set.project(played.mixed) if self.certified else played.x
