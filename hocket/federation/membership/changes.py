"""Who has left a run, as one member sees it: votes are collected and checked, and then somebody is dropped.

A vote is only ever a wish. Members count as gone when this member's operator and all other survivors have voted, the
survivors still are connected, and what remains is within the plan's limit and this member's policy, or the operator has
accepted in so many words that it is not. That is written into the journal before anything comes of it, and only what
is written there is acted upon, now and after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hocket.errors import BadPlan, UnsafeRemainder
from hocket.federation.audit.survivors import SurvivorsVerdict, judge_survivors
from hocket.federation.membership.roster import Roster
from hocket.federation.membership.votes import Vote, agreed_leavers, check_survivors, read_vote, vote
from hocket.federation.monitoring.metrics import Log
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.policy import Policy
from hocket.federation.state.accounts import Accounts
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.run_folder import RunFolder, write_json
from hocket.links.journals.journal_tables import Ballots
from hocket.links.wire import Frame, Limits, pack, unpack


@dataclass
class MembershipChanges:
    """All votes that one member knows of, and whom it has dropped."""

    roster: Roster
    ballots: Ballots
    log: Log
    folder: RunFolder
    policy: Policy
    """What this member asks for, whatever the plan says."""
    pass_on: Callable[[Frame, str], Awaitable[None]]
    """Tells all neighbours but one."""
    drop: Callable[[str], None]
    """Goes on without a member."""
    round: Callable[[], int]
    """The round in which this member is now."""
    earlier: Sequence[EarlierRun] = ()
    """The runs that these data have served before, each with its plan."""
    accounts: Accounts | None = None
    """Where it stands who left, for later runs; None where none are kept."""
    still: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while this member computes: nobody is dropped meanwhile."""
    wanted: set[str] = field(default_factory=set[str])
    """Whom the plan's rule is to vote on; the votes are cast as soon as they can be signed."""
    refused: str = ""
    """Why those whom all have voted to drop are not dropped."""
    _settling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _said_unheard: tuple[str, ...] = ()

    @property
    def plan(self) -> FederationPlan:
        return self.roster.plan

    @property
    def me(self) -> str:
        return self.roster.identity.name

    @property
    def gone(self) -> frozenset[str]:
        """Members who were dropped, after all checks."""
        return frozenset(self.ballots.left)

    @property
    def against_me(self) -> list[str]:
        """Who has voted to drop this very member."""
        return sorted(self.ballots.votes(self.me))

    async def hear(self, frame: Frame, source: str) -> None:
        """A vote that came over a link."""
        found = read_vote(self.roster, frame)
        if found is None:
            self.log.say("vote refused", neighbour=source)
        else:
            await self.take(found, source)

    async def take(self, found: Vote, source: str = "") -> None:
        """Keep a vote, pass it on, and act if it was the last one missing."""
        if self._holds(found.voter, found.leaver):
            return
        self.ballots.add(found.voter, found.leaver, pack(found.frame(self.plan)))
        self.log.say("vote", voter=found.voter, leaver=found.leaver)
        await self.pass_on(found.frame(self.plan), source)
        await self.settle()

    async def collect(self) -> None:
        """Vote as this member's operator asks for in its folder, or its rule, once all who are to stay were heard of.

        A vote names the numbers of those who are to believe it, so it cannot be signed before. A vote whose signature
        a renewed certificate has outdated is signed anew.
        """
        named = {path.stem for path in self.folder.votes.glob("*.vote")} | self.wanted
        asked = named & {*self.plan.names} - {self.me}
        voted = {name for name in self.plan.names if self.me in self.ballots.votes(name)}
        outdated = {name for name in voted if not self._holds(self.me, name)}
        if not asked and not outdated:
            return
        unheard = tuple(self.roster.missing({*asked, *voted}))
        if unheard != self._said_unheard:
            self._said_unheard = unheard
            self.log.say("vote waits", unheard=list(unheard))
        if unheard:
            return
        for leaver in sorted({*asked, *outdated}):
            await self.take(vote(self.roster, leaver))
            self.wanted.discard(leaver)
            (self.folder.votes / f"{leaver}.vote").unlink(missing_ok=True)

    async def settle(self) -> None:
        """Drop whom all have voted to drop, if the others can go on without them; stop if they should not."""
        async with self._settling:
            votes = {name: self.ballots.votes(name) for name in self.plan.names}
            before = self.ballots.left
            leaving = agreed_leavers(self.plan.names, votes, self.me) - {*before}
            if not leaving or not self._can_go_on(leaving | {*before}):
                return
            last, verdict = await self._judged(leaving, before)
            self._check_accepted(verdict, last)
            if self.accounts is not None:  # first, as run folders may be removed
                await asyncio.to_thread(self.accounts.leave, self.plan.run_hash.hex(), last)
            async with self.still:
                self.ballots.leave(leaving, last[min(leaving)])
                write_json(self.folder.survivors, verdict.to_json())
                self.log.say("dropped", leavers=sorted(leaving))
                self.log.say("verdict", words=list(verdict.words))
                for leaver in sorted(leaving):
                    self.drop(leaver)

    async def settled(self) -> None:
        """Wait until nobody is being judged: a round that ends meanwhile is not followed by another."""
        async with self._settling:
            pass

    async def _judged(
        self, leaving: Collection[str], before: Mapping[str, int]
    ) -> tuple[Mapping[str, int], SurvivorsVerdict]:
        """The last round of each who left, and what remains, judged in the round in which they leave."""
        while True:
            k = self.round()
            last = {**before, **dict.fromkeys(leaving, k)}
            verdict = await asyncio.to_thread(
                judge_survivors, self.plan, last, earlier=self.earlier, policy=self.policy
            )
            if self.round() == k:
                return last, verdict

    def known(self) -> list[Vote]:
        """All votes that others can believe under this plan's certificates."""
        pairs = [(voter, leaver) for leaver in self.plan.names for voter in self.ballots.votes(leaver)]
        known = [self._vote(*pair) for pair in pairs]
        return [one for one in known if one is not None and one.holds(self.plan)]

    def _can_go_on(self, gone: frozenset[str]) -> bool:
        try:
            check_survivors(self.plan, gone)
        except BadPlan as error:
            if self.refused != str(error):
                self.refused = str(error)
                self.log.say("drop refused", leavers=sorted(gone), reason=self.refused)
            return False
        self.refused = ""
        return True

    def _check_accepted(self, verdict: SurvivorsVerdict, last: Mapping[str, int]) -> None:
        """Stop where what remains is not safe and the operator has not said that it may be so."""
        if verdict.safe or frozenset(last) in self.folder.accepted:
            return
        names = sorted(last)
        write_json(self.folder.survivors, verdict.to_json())
        self.log.say("unsafe remainder", leavers=names, words=list(verdict.words))
        raise UnsafeRemainder(
            f"{', '.join(names)} would be dropped by everybody's vote, and what remains is not safe. "
            f"{' '.join(verdict.words)} Nothing was said since. Begin a new plan; or accept this with: hocket peer "
            f"drop PLAN {' '.join(names)} --accept-unsafe, and run the same command again",
            round=self.round(),
        )

    def _vote(self, voter: str, leaver: str) -> Vote | None:
        data = self.ballots.votes(leaver).get(voter)
        if data is None:
            return None
        _, _, numbers, signature = map(bytes, unpack(data, Limits(len(data))).parts)
        return Vote(voter, leaver, numbers, signature)

    def _holds(self, voter: str, leaver: str) -> bool:
        known = self._vote(voter, leaver)
        return known is not None and known.holds(self.plan)
