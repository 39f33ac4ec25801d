"""Who is there, who is waited for, and who has left: what one member knows about the others while it runs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket import __version__
from hocket.engines.peers import Peer
from hocket.errors import BadPlan
from hocket.federation.leaving import Vote, check_survivors, judge_survivors, read_vote
from hocket.federation.metrics import Log
from hocket.federation.plan import FederationPlan
from hocket.links.agreeing import Agreeing
from hocket.links.conversation import Conversation
from hocket.links.journal import Journal
from hocket.links.wire import Frame, Kind, Limits, pack, unpack

PATIENCE = 5.0
"""Seconds of waiting before it is said for whom."""


@dataclass
class Presence:
    """Listens to everything beside the exchanges, and keeps what an operator wants to see."""

    plan: FederationPlan
    name: str
    journal: Journal
    log: Log
    conversation: Conversation | None = None
    agreeing: Agreeing | None = None
    peer: Peer | None = None
    measured: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why a neighbour is not connected, as far as it is known."""
    verdict: tuple[str, ...] = ()
    finished: bool = False
    _said_waiting: tuple[str, ...] = ()

    @property
    def gone(self) -> frozenset[str]:
        """Members whom all survivors have voted to drop."""
        gone: frozenset[str] = frozenset()
        votes = {leaver: set(self.journal.votes(leaver)) for leaver in self.plan.names}
        while True:
            left = {
                leaver
                for leaver, voters in votes.items()
                if leaver not in gone and voters >= set(self.plan.names) - gone - {leaver}
            }
            if not left:
                return gone
            gone |= left

    async def joined(self, neighbour: str, version: str) -> None:
        talk = self._talk()
        self.reasons.pop(neighbour, None)
        self.log.say("joined", neighbour=neighbour)
        if version and version != __version__:
            self.log.say("other version", neighbour=neighbour, theirs=version, mine=__version__)
        if self.agreeing is not None and talk.now.round <= 1:
            await self.agreeing.greet(talk, neighbour)
        for known in self._votes():
            await talk.send(neighbour, pack(known.frame(self.plan.hash)))

    async def lost(self, neighbour: str, reason: str) -> None:
        if self.reasons.get(neighbour) != reason:
            self.log.say("lost", neighbour=neighbour, reason=reason)
        self.reasons[neighbour] = reason

    async def heard(self, neighbour: str, frame: Frame) -> None:
        if frame.kind is not Kind.VOTE:
            if self.agreeing is not None:
                await self.agreeing.hear(self._talk(), neighbour, frame)
            return
        found = read_vote(self.plan, frame)
        if found is None:
            self.log.say("vote refused", neighbour=neighbour)
        else:
            await self.take(found, neighbour)

    async def take(self, found: Vote, source: str = "") -> None:
        """Keep a vote, pass it on, and act if it was the last one missing."""
        if found.voter in self.journal.votes(found.leaver):
            return
        before = self.gone
        self.journal.add_vote(found.voter, found.leaver, found.signature)
        self.log.say("vote", voter=found.voter, leaver=found.leaver)
        talk = self._talk()
        for name in talk.neighbours:
            if name != source:
                await talk.send(name, pack(found.frame(self.plan.hash)))
        if self.gone != before:
            await self._drop(self.gone - before)

    async def collect_votes(self, folder: Path) -> None:
        """Take up votes that this member's operator left in its folder."""
        for path in sorted(folder.glob("*.vote")):
            data = path.read_bytes()
            found = read_vote(self.plan, unpack(data, Limits(len(data)), plan=self.plan.hash))
            path.unlink()
            if found is not None:
                await self.take(found)

    def complain_of_waiting(self) -> None:
        """Say once for whom this member waits, when it has waited for a while."""
        waiting = tuple(self.waiting)
        if waiting != self._said_waiting:
            self._said_waiting = waiting
            if waiting:
                self.log.say("waiting", neighbours=list(waiting), reasons=self.reasons)

    @property
    def waiting(self) -> list[str]:
        """For whom this member has waited longer than usual."""
        talk = self.conversation
        if talk is None or self.finished or time.monotonic() - talk.waiting_since < PATIENCE:
            return []
        return talk.missing

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
            "waiting_for": {name: self.reasons.get(name, "connected, but silent") for name in self.waiting},
            "waiting_seconds": 0.0
            if talk is None or not self.waiting
            else time.monotonic() - talk.waiting_since,
            "dropped": sorted(self.gone),
            "verdict": list(self.verdict),
            "measured": self.measured,
        }

    async def _drop(self, leavers: frozenset[str]) -> None:
        try:
            check_survivors(self.plan, self.gone)
        except BadPlan as error:
            self.log.say("drop refused", leavers=sorted(leavers), reason=str(error))
            return
        for leaver in leavers:
            if self.peer is not None:
                self.peer.drop(self.plan.agent(leaver))
            else:
                self._talk().forget(leaver)
        self.log.say("dropped", leavers=sorted(leavers))
        self.verdict = (await asyncio.to_thread(judge_survivors, self.plan, self.gone)).words
        self.log.say("verdict", words=list(self.verdict))

    def _votes(self) -> list[Vote]:
        return [
            Vote(voter, leaver, signature)
            for leaver in self.plan.names
            for voter, signature in self.journal.votes(leaver).items()
        ]

    def _talk(self) -> Conversation:
        assert self.conversation is not None
        return self.conversation
