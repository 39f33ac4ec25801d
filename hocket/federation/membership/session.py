"""Who is there, who is waited for, and why: what one member knows about the others while it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hocket import __version__
from hocket.errors import BadHandshake
from hocket.federation.membership.changes import MembershipChanges
from hocket.federation.membership.restart import refused_or_begun_anew
from hocket.federation.membership.roster import Roster
from hocket.federation.membership.silence_rule import DropRule
from hocket.federation.monitoring.metrics import Log
from hocket.federation.monitoring.reachability import PATIENCE, not_yet
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.policy import NONE, Policy
from hocket.federation.plan.relays import relays_used
from hocket.federation.runtime.convergence import JointMeans
from hocket.federation.runtime.peer import Peer
from hocket.federation.runtime.rollback import LinkMemory, Memories
from hocket.federation.state.accounts import Accounts
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.run_folder import RunFolder, words_in
from hocket.federation.workloads.needs import needs
from hocket.links.conversation import Conversation
from hocket.links.journals.journal import Journal
from hocket.links.keys.noise_agreement import NoiseAgreement
from hocket.links.wire import Frame, Kind, pack


@dataclass
class Session:
    """Listens to everything beside the exchanges, and keeps what an operator wants to see."""

    roster: Roster
    journal: Journal
    log: Log
    folder: RunFolder
    memories: Memories
    policy: Policy = NONE
    earlier: Sequence[EarlierRun] = ()
    """The runs that these data have served before, each with its plan."""
    accounts: Accounts | None = None
    """Where it stands who left, for later runs."""
    conversation: Conversation | None = None
    agreeing: NoiseAgreement | None = None
    peer: Peer | None = None
    measured: dict[str, float] = field(default_factory=dict[str, float])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    """Why a neighbour is not connected, as far as it is known."""
    versions: dict[str, str] = field(default_factory=dict[str, str])
    """Neighbours that have another version of hocket than this member."""
    finished: bool = False
    still: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while this member computes: nobody is dropped meanwhile."""
    _said_waiting: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.membership = MembershipChanges(
            self.roster,
            self.journal.ballots,
            self.log,
            self.folder,
            self.policy,
            pass_on=self._pass_on,
            drop=self._drop,
            round=lambda: self._talk().now.round,
            earlier=self.earlier,
            accounts=self.accounts,
            still=self.still,
        )
        self.rule = DropRule(self.membership)
        self.means = (
            JointMeans(self.roster, self.journal.state_sums, self.log, self._pass_on)
            if self.plan.run.means
            else None
        )

    @property
    def plan(self) -> FederationPlan:
        return self.roster.plan

    @property
    def name(self) -> str:
        return self.roster.identity.name

    @property
    def gone(self) -> frozenset[str]:
        """Members who were dropped from the run."""
        return self.membership.gone

    async def joined(self, neighbour: str, version: str) -> None:
        talk = self._talk()
        self.reasons.pop(neighbour, None)
        self.log.say("joined", neighbour=neighbour)
        if version and version != __version__:
            self.versions[neighbour] = version
            self.log.say("other version", neighbour=neighbour, theirs=version, mine=__version__)
        await talk.send(neighbour, pack(self.memories.frame(neighbour)))
        if self.agreeing is not None and talk.now.round <= 1:
            await self.agreeing.greet(talk, neighbour)
        votes = (known.frame(self.plan) for known in self.membership.known())
        means = () if self.means is None else self.means.known()
        for frame in (*self.roster.frames(), *votes, *means):
            await talk.send(neighbour, pack(frame))

    async def lost(self, neighbour: str, reason: str) -> None:
        if self.reasons.get(neighbour) != reason:
            self.log.say("lost", neighbour=neighbour, reason=reason)
        self.reasons[neighbour] = reason

    async def received(self, neighbour: str, frame: Frame) -> None:
        if frame.kind is Kind.ROSTER:
            entry = self.roster.take(frame, neighbour)
            if entry is not None:
                await self._pass_on(self.roster.frame(entry), neighbour)
        elif frame.kind is Kind.VOTE:
            await self.membership.hear(frame, neighbour)
        elif frame.kind is Kind.STATE_SUM:
            if self.means is not None:
                await self.means.hear(frame, neighbour)
        elif frame.kind is Kind.RECORD:
            await self._compare(neighbour, frame)
        elif self.agreeing is not None:
            await self._agree(neighbour, frame)

    async def compare_with_all(self) -> None:
        """Wait until every neighbour who has not left has told what it remembers: nothing may be said before."""
        talk = self._talk()
        while not self.memories.compared.issuperset(talk.neighbours):
            await talk.attend()

    def complain_of_waiting(self) -> None:
        """Say once for whom this member waits, when it has waited for a while."""
        waiting = tuple(self.waiting)
        if waiting != self._said_waiting:
            self._said_waiting = waiting
            if waiting:
                self.log.say("waiting", neighbours=list(waiting), reasons=self.waiting_for())

    @property
    def waiting(self) -> list[str]:
        """For whom this member has waited longer than usual."""
        talk = self.conversation
        if talk is None or time.monotonic() - talk.waiting_since < PATIENCE:
            return []
        return self._awaited(talk)

    def _awaited(self, talk: Conversation) -> list[str]:
        if self.finished:
            return []
        if self.peer is not None:
            return talk.missing
        return [name for name in talk.neighbours if not self._met(name)]

    async def vote_by_rule(self) -> None:
        """Vote to go on without those who are silent, as the plan says; anybody who has not begun is waited for."""
        talk = self.conversation
        if self.plan.run.drop_after and talk is not None and self.journal.round:
            await self.rule.look(talk, self._awaited(talk))

    def _met(self, neighbour: str) -> bool:
        """Whether all is settled with a neighbour that must be before a word is said."""
        agreed = self.agreeing is None or self.agreeing.has_agreed(neighbour)
        return agreed and neighbour in self.memories.compared

    def status(self) -> dict[str, Any]:
        """How it stands, for an operator; no state, gradient or noise is in it."""
        talk = self.conversation
        return {
            "member": self.name,
            "plan": self.plan.fingerprint,
            "task": self.plan.task.name,
            "round": 0 if talk is None else min(talk.now.round, self.plan.run.rounds),
            "rounds": self.plan.run.rounds,
            "finished": self.finished,
            "connected": [] if talk is None else sorted(talk.connected),
            "relays": {} if talk is None else relays_used(talk.channels),
            "waiting_for": self.waiting_for(),
            "stays_for": talk.missing if talk is not None and self.finished else [],
            "waiting_seconds": self.waiting_seconds,
            "dropped": sorted(self.gone),
            "drop_refused": self.membership.refused,
            "rule": self.rule.reason,
            "votes_against_me": self.membership.against_me,
            "other_versions": self.versions,
            "verdict": words_in(self.folder.survivors),
            "runs": len(self.earlier) + 1,
            "measured": self.measured | ({} if self.means is None else self.means.measured),
        }

    async def tell_means(self, k: int, before: np.ndarray, after: np.ndarray) -> None:
        """Have this member's state added up with all others', where the plan says so and nobody has left. No round
        begins while it is judged who leaves in this one."""
        await self.membership.settled()
        peer = self.peer
        if self.means is not None and k in self.means.rounds and peer is not None and not self.gone:
            await self.means.say(k, before, after, peer.role, peer.noise.streams)

    def waiting_for(self) -> dict[str, str]:
        """For whom this member has waited longer than usual, and why."""
        return {name: self._why(name) for name in self.waiting}

    @property
    def waiting_seconds(self) -> float:
        """For how long it has."""
        talk = self.conversation
        return 0.0 if talk is None or not self.waiting else time.monotonic() - talk.waiting_since

    def _why(self, neighbour: str) -> str:
        """Why a neighbour is waited for."""
        talk = self._talk()
        if neighbour in talk.refused:
            return talk.refused[neighbour]
        if neighbour in talk.connected:
            return "connected, but silent"
        return self.reasons.get(neighbour) or not_yet(self.plan, self.name, neighbour)

    async def _compare(self, neighbour: str, frame: Frame) -> None:
        """A neighbour that has forgotten what was received from it is not listened to until it remembers."""
        talk, theirs = self._talk(), LinkMemory.read(frame)
        if theirs is None:
            return self._refuse(
                neighbour, f"{neighbour} sent a mark of the wrong form; it deviates on purpose"
            )
        fault = self.memories.compare(neighbour, theirs)
        if fault is not None:
            return self._refuse(neighbour, fault)
        if talk.refused.pop(neighbour, None) is not None:
            self.log.say("accepted again", neighbour=neighbour)
            await talk.send_again(neighbour)

    async def _agree(self, neighbour: str, frame: Frame) -> None:
        assert self.agreeing is not None
        try:
            await self.agreeing.receive(self._talk(), neighbour, frame)
        except BadHandshake as error:
            if self.peer is None:
                raise
            self._refuse(neighbour, str(error))  # in the middle of a run nobody needs new keys

    def _refuse(self, neighbour: str, reason: str) -> None:
        talk = self._talk()
        if talk.refused.get(neighbour) != reason:
            talk.refused[neighbour] = reason
            self.log.say("refused", neighbour=neighbour, reason=reason)

    def _drop(self, leaver: str) -> None:
        if needs(self.plan.algorithm).sums:
            raise refused_or_begun_anew(self.plan, self.gone, self._talk().now.round)
        if self.peer is not None:
            self.peer.drop(self.plan.agent(leaver))
        else:
            self._talk().forget(leaver)

    async def _pass_on(self, frame: Frame, source: str) -> None:
        talk = self._talk()
        for name in [*talk.neighbours]:  # somebody may leave meanwhile
            if name != source:
                await talk.send(name, pack(frame))

    def _talk(self) -> Conversation:
        assert self.conversation is not None
        return self.conversation
