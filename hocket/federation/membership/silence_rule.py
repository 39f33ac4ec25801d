"""Dropping silent members by rule: the votes that an operator would cast, where the signed plan says after how long.

Clocks differ, and what counts is each member's own hearing. A neighbour is silent if it is waited for and was not there
for so long, while somebody else was: anybody who hears nobody has a broken line itself, or its relay has. About those
whom it cannot hear a member follows their neighbours, if all of these have voted and it has waited for as long itself.
A vote is cast only if more than half of all members stay, so that no two parts of a broken network go on apart, if
these are connected, and if what remains is within the plan's limit, its certificate and this member's policy. Else it
waits, and says why. What follows from the votes is in changes.py: nobody is dropped before all who stay have voted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from hocket.errors import BadPlan
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.membership.changes import MembershipChanges
from hocket.federation.membership.votes import check_survivors, listed
from hocket.links.conversation import Conversation


@dataclass
class DropRule:
    """One member's part in the rule."""

    membership: MembershipChanges
    clock: Callable[[], float] = time.monotonic
    reason: str = ""
    """Why somebody who is silent is not dropped yet; empty if nobody is."""
    _seen: dict[str, float] = field(default_factory=dict[str, float])
    """When each neighbour was last there."""
    _judged: tuple[frozenset[str], int, str] = (frozenset(), 0, "")
    """Whom what remains was judged without, in which round, and what speaks against it."""

    def __post_init__(self) -> None:
        self._began = self._company = self.clock()
        """When this process began to listen, and since when it has heard somebody without a break."""

    async def look(self, talk: Conversation, waiting: Collection[str]) -> None:
        """Vote if it is time; asked once a second."""
        now, after = self.clock(), self.membership.plan.run.drop_seconds
        if not talk.connected:
            self._company = now
        self._seen |= dict.fromkeys(talk.connected, now)
        absent = [name for name in waiting if name not in talk.connected]
        received = {name: max(self._seen.get(name, self._began), self._company) for name in absent}
        silent = {name for name, last in received.items() if now - last >= after}
        stuck = bool(waiting) and now - max(talk.waiting_since, self._company) >= after
        leavers = self._leavers(silent, stuck)
        reason = await self._against(leavers) if leavers else self._early(absent, bool(talk.connected))
        if reason != self.reason:
            self.reason = reason
            if reason:
                self.membership.log.say("rule waits", reason=reason)

    def _leavers(self, silent: set[str], stuck: bool) -> frozenset[str]:
        """Those who are silent to this member, or to all of their neighbours who would stay."""
        one = self.membership
        votes = {name: one.ballots.votes(name).keys() for name in one.plan.names}
        strangers = {*one.plan.names} - {*one.plan.neighbours(one.me), one.me} - one.gone
        found = silent | {name for name in strangers if stuck and votes[name]}
        while missed := {name for name in found - silent if not self._is_followed(name, found, votes[name])}:
            found -= missed
        return frozenset(found)

    def _is_followed(self, name: str, found: Collection[str], voters: Collection[str]) -> bool:
        near = {*self.membership.plan.neighbours(name)} - {*found} - self.membership.gone
        return bool(near) and near <= {*voters}

    async def _against(self, leavers: frozenset[str]) -> str:
        """Cast the votes that are missing; or what speaks against it, or for whose votes this member waits."""
        one = self.membership
        # Votes stand, also against anybody who came back: all of them together must leave enough.
        stand = {name for name in one.plan.names if one.me in one.ballots.votes(name)}
        gone, names = leavers | stand | one.gone, listed(leavers | stand)
        if 2 * (len(one.plan.names) - len(gone)) <= len(one.plan.names):
            return f"{names}: silent, but no more than half of all members would stay, and others may do the same"
        if refused := await self._refused(gone):
            return f"{names}: silent, but not dropped by the plan's rule: {refused}"
        for name in leavers - stand:
            one.log.say("rule votes", leaver=name)
            one.wanted.add(name)
        await one.collect()
        missing = {
            who for name in leavers for who in {*one.plan.names} - gone - one.ballots.votes(name).keys()
        }
        return f"{names}: silent for {one.plan.run.drop_after}; waits for the votes of {listed(missing)}"

    async def _refused(self, gone: frozenset[str]) -> str:
        """Why the others cannot go on without them; judged once for as long as nothing moves."""
        one, k = self.membership, self.membership.round()
        if self._judged[:2] != (gone, k):
            try:
                check_survivors(one.plan, gone)
                last = one.ballots.left | dict.fromkeys(gone - one.gone, k)
                verdict = await asyncio.to_thread(
                    judge_survivors, one.plan, last, earlier=one.earlier, policy=one.policy
                )
                accepted = verdict.safe or gone in one.folder.accepted
                self._judged = gone, k, "" if accepted else f"not safe. {' '.join(verdict.words)}"
            except BadPlan as error:
                self._judged = gone, k, str(error)
        return self._judged[2]

    def _early(self, absent: list[str], company: bool) -> str:
        if not absent:
            return ""
        if not company:
            return "nobody can be reached, so that it may be this member's own line, or its relay: nobody is dropped"
        return f"{listed(absent)}: silent, and dropped after {self.membership.plan.run.drop_after} if all others agree"
