"""Going on without a member: only when every survivor's operator says so, and knowing what it costs.

A vote is signed with the voter's identity key, for one run, and floods over the links. When all survivors have voted,
each of them drops the leaver by itself, in whatever round it is: it waits for it no longer, moves its weight to the
diagonal and destroys the noise keys of their link. What that does to privacy is in audit/survivors.py.

Nobody is dropped here for whom this member's own operator has not voted, whatever others have signed: else those who
collude could have the honest ones drop each other, and would be left alone with each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from hocket.errors import BadPlan
from hocket.federation.membership.roster import Roster
from hocket.federation.plan.plan import FederationPlan
from hocket.links.keys.identity import verify
from hocket.links.wire import Frame, Kind

PURPOSE = b"hocket/vote/1"
"""What members sign a vote for."""


class Vote(NamedTuple):
    """One survivor's word that a member is to be dropped from this run."""

    voter: str
    leaver: str
    numbers: bytes
    """The attendance as the voter knew it: a member believes the vote if its own number is in it."""
    signature: bytes

    def frame(self, plan: FederationPlan) -> Frame:
        """The vote as it travels."""
        parts = (self.voter.encode(), self.leaver.encode(), self.numbers, self.signature)
        return Frame(Kind.VOTE, plan.run_hash, parts=parts)

    def holds(self, plan: FederationPlan) -> bool:
        """Whether the plan's certificate of the voter signed it."""
        message = _message(plan, self.leaver, self.numbers)
        return verify(plan.card(self.voter).certificate_pem, message, PURPOSE, self.signature)


def vote(roster: Roster, leaver: str) -> Vote:
    """This member's vote, for the run whose attendance this is; what would remain is judged when all have voted."""
    numbers = roster.numbers()
    signature = roster.identity.sign(_message(roster.plan, leaver, numbers), PURPOSE)
    return Vote(roster.identity.name, leaver, numbers, signature)


def read_vote(roster: Roster, frame: Frame) -> Vote | None:
    """The vote in a message; None if no member of the plan signed it for this run."""
    parts = frame.plain(4)
    if parts is None:
        return None
    voter, leaver, numbers, signature = parts
    found = Vote(voter.decode(errors="replace"), leaver.decode(errors="replace"), numbers, signature)
    names = roster.plan.names
    if found.voter not in names or found.leaver not in names or found.voter == found.leaver:
        return None
    return found if roster.includes_me(numbers) and found.holds(roster.plan) else None


def agreed_leavers(names: Sequence[str], votes: Mapping[str, Collection[str]], me: str) -> frozenset[str]:
    """The members whom all others have voted to drop, from the voters by leaver, as far as `me` has voted too.

    Several who are silent together cannot vote on each other, so it is the largest set each of whom has the vote of
    everybody outside the set. One's own vote is among those, so a set with oneself in it never counts.

    >>> sorted(agreed_leavers("abcd", {"c": {"a", "b"}, "d": {"a", "b"}}, "a"))
    ['c', 'd']
    >>> sorted(agreed_leavers("abcd", {"a": {"c", "d"}, "b": {"c", "d"}}, "a"))
    []
    """
    gone = {leaver for leaver, voters in votes.items() if me in voters and leaver != me}
    while missed := {leaver for leaver in gone if not set(votes[leaver]) >= {*names} - gone}:
        gone -= missed
    return frozenset(gone)


def check_leaver(plan: FederationPlan, voter: str, leavers: frozenset[str]) -> None:
    """Refuse a vote against oneself, or one that the survivors cannot follow."""
    check_survivors(plan, leavers)
    if voter in leavers:
        raise BadPlan(f"{voter} is you; to leave, stop: the others then vote")


def check_survivors(plan: FederationPlan, gone: frozenset[str]) -> None:
    """Refuse to drop members without whom the others fall apart."""
    for name in gone:
        plan.agent(name)
    graph = plan.network.graph.subgraph([j for j, name in enumerate(plan.names) if name not in gone])
    if len(graph) < 2:
        raise BadPlan(f"without {listed(gone)} nobody has anybody to talk to; begin a new plan")
    import networkx  # slow, and needed only where members leave

    parts = [sorted(part) for part in networkx.connected_components(graph)]
    if len(parts) > 1:
        cut_off = listed(plan.names[j] for j in min(parts, key=len))
        raise BadPlan(
            f"without {listed(gone)} the others fall apart: {cut_off} could no longer be reached; begin a new plan "
            "with another topology"
        )


def _message(plan: FederationPlan, leaver: str, numbers: bytes) -> bytes:
    return plan.run_hash + numbers + leaver.encode()


def listed(names: Iterable[str]) -> str:
    """Names in their order, as words."""
    return ", ".join(sorted(names))
