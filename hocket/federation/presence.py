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
from hocket.federation.leaving import Vote, agreed_leavers, check_survivors, read_vote, vote
from hocket.federation.metrics import Log
from hocket.federation.plan import FederationPlan
from hocket.federation.roll import Roll
from hocket.federation.run_folder import read_json, write_json
from hocket.federation.surviving import judge_survivors
from hocket.links.agreeing import Agreeing
from hocket.links.conversation import Conversation
from hocket.links.journal import Journal
from hocket.links.wire import Frame, Kind, Limits, pack, unpack

PATIENCE = 5.0
"""Seconds of waiting before it is said for whom."""


@dataclass
class Presence:
    """Listens to everything beside the exchanges, and keeps what an operator wants to see."""

    roll: Roll
    journal: Journal
    log: Log
    survivors: Path
    """Where the verdict on what remains is kept."""
    runs: int = 1
    """How many runs these data have served, this one included."""
    conversation: Conversation | None = None
    agreeing: Agreeing | None = None
    peer: Peer | None = None
    measured: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Why a neighbour is not connected, as far as it is known."""
    finished: bool = False
    _said_waiting: tuple[str, ...] = ()
    _said_unheard: tuple[str, ...] = ()

    @property
    def plan(self) -> FederationPlan:
        return self.roll.plan

    @property
    def name(self) -> str:
        return self.roll.identity.name

    @property
    def gone(self) -> frozenset[str]:
        """Members whom all survivors have voted to drop."""
        return agreed_leavers(self.plan.names, {name: self.journal.votes(name) for name in self.plan.names})

    async def joined(self, neighbour: str, version: str) -> None:
        talk = self._talk()
        self.reasons.pop(neighbour, None)
        self.log.say("joined", neighbour=neighbour)
        if version and version != __version__:
            self.log.say("other version", neighbour=neighbour, theirs=version, mine=__version__)
        if self.agreeing is not None and talk.now.round <= 1:
            await self.agreeing.greet(talk, neighbour)
        for frame in (*self.roll.frames(), *(known.frame(self.plan) for known in self._votes())):
            await talk.send(neighbour, pack(frame))

    async def lost(self, neighbour: str, reason: str) -> None:
        if self.reasons.get(neighbour) != reason:
            self.log.say("lost", neighbour=neighbour, reason=reason)
        self.reasons[neighbour] = reason

    async def heard(self, neighbour: str, frame: Frame) -> None:
        if frame.kind is Kind.ROLL:
            entry = self.roll.take(frame, neighbour)
            if entry is not None:
                await self._pass_on(self.roll.frame(entry), neighbour)
        elif frame.kind is Kind.VOTE:
            found = read_vote(self.roll, frame)
            if found is None:
                self.log.say("vote refused", neighbour=neighbour)
            else:
                await self.take(found, neighbour)
        elif self.agreeing is not None:
            await self.agreeing.hear(self._talk(), neighbour, frame)

    async def take(self, found: Vote, source: str = "") -> None:
        """Keep a vote, pass it on, and act if it was the last one missing."""
        known = self._vote(found.voter, found.leaver)
        if known is not None and known.holds(self.plan):
            return
        before = self.gone
        self.journal.add_vote(found.voter, found.leaver, pack(found.frame(self.plan)))
        self.log.say("vote", voter=found.voter, leaver=found.leaver)
        await self._pass_on(found.frame(self.plan), source)
        if self.gone != before:
            await self._drop(self.gone - before)

    async def collect_votes(self, folder: Path) -> None:
        """Vote as this member's operator asks for in its folder, once all who are to stay were heard of.

        A vote names the numbers of those who are to believe it, so it cannot be signed before. A vote whose signature
        a renewed certificate has outdated is signed anew.
        """
        asked = {path.stem: path for path in sorted(folder.glob("*.vote")) if path.stem in self.plan.names}
        voted = {name for name in self.plan.names if self.name in self.journal.votes(name)}
        outdated = {name for name in voted if not self._holds(self.name, name)}
        if not asked and not outdated:
            return
        unheard = tuple(self.roll.missing({*asked, *voted}))
        if unheard != self._said_unheard:
            self._said_unheard = unheard
            self.log.say("vote waits", unheard=list(unheard))
        if unheard:
            return
        for leaver in sorted({*asked, *outdated}):
            await self.take(vote(self.roll, leaver))
            if leaver in asked:
                asked[leaver].unlink()

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

    @property
    def verdict(self) -> list[str]:
        """On what remains, once somebody was dropped."""
        return read_json(self.survivors)["words"] if self.survivors.exists() else []

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
            "verdict": self.verdict,
            "runs": self.runs,
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
        await self.judge()

    async def judge(self) -> None:
        """Audit what remains, with all who left counted as colluders, and say what comes of it."""
        last = {name: self._talk().now.round for name in self.gone}
        verdict = await asyncio.to_thread(judge_survivors, self.plan, last, runs=self.runs)
        write_json(self.survivors, verdict.to_json() | {"left": last})
        self.log.say("verdict", words=list(verdict.words))

    async def _pass_on(self, frame: Frame, source: str) -> None:
        talk = self._talk()
        for name in talk.neighbours:
            if name != source:
                await talk.send(name, pack(frame))

    def _votes(self) -> list[Vote]:
        """All votes that others can believe under this plan's certificates."""
        pairs = [(voter, leaver) for leaver in self.plan.names for voter in self.journal.votes(leaver)]
        known = [self._vote(*pair) for pair in pairs]
        return [one for one in known if one is not None and one.holds(self.plan)]

    def _vote(self, voter: str, leaver: str) -> Vote | None:
        data = self.journal.votes(leaver).get(voter)
        if data is None:
            return None
        _, _, numbers, signature = map(bytes, unpack(data, Limits(len(data))).parts)
        return Vote(voter, leaver, numbers, signature)

    def _holds(self, voter: str, leaver: str) -> bool:
        known = self._vote(voter, leaver)
        return known is not None and known.holds(self.plan)

    def _talk(self) -> Conversation:
        assert self.conversation is not None
        return self.conversation
