"""Going on without a member: only when every survivor's operator says so, and knowing what it costs.

A vote is signed with the voter's identity key and floods over the links. When all survivors have voted, each of them
drops the leaver by itself, in whatever round it is: it waits for it no longer, moves its weight to the diagonal and
destroys the noise keys of their link. The leaver is counted as a colluder from then on, for it keeps what it saw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import networkx

from hocket.errors import BadPlan
from hocket.federation.plan import FederationPlan
from hocket.links.identity import Identity, verify
from hocket.links.wire import Frame, Kind

PURPOSE = b"hocket/vote/1"
"""What members sign a vote for."""


class Vote(NamedTuple):
    """One survivor's word that a member is to be dropped."""

    voter: str
    leaver: str
    signature: bytes

    def frame(self, plan: bytes) -> Frame:
        """The vote as it travels."""
        return Frame(Kind.VOTE, plan, parts=(self.voter.encode(), self.leaver.encode(), self.signature))


def vote(plan: FederationPlan, identity: Identity, leaver: str) -> Vote:
    """This member's vote, if the survivors can do without the leaver."""
    check_survivors(plan, frozenset({leaver}))
    if leaver == identity.name:
        raise BadPlan(f"{leaver} is you; to leave, stop: the others then vote")
    return Vote(identity.name, leaver, identity.sign(_message(plan, leaver), PURPOSE))


def read_vote(plan: FederationPlan, frame: Frame) -> Vote | None:
    """The vote in a message; None if no member of the plan signed it."""
    if len(frame.parts) != 3 or not all(isinstance(part, bytes) for part in frame.parts):
        return None
    voter, leaver, signature = map(bytes, frame.parts)
    found = Vote(voter.decode(errors="replace"), leaver.decode(errors="replace"), signature)
    if found.voter not in plan.names or found.leaver not in plan.names or found.voter == found.leaver:
        return None
    certificate = plan.card(found.voter).certificate_pem
    return found if verify(certificate, _message(plan, found.leaver), PURPOSE, signature) else None


@dataclass(frozen=True)
class Verdict:
    """What remains when members have left, in words."""

    remaining: tuple[str, ...]
    words: tuple[str, ...]


def check_survivors(plan: FederationPlan, gone: frozenset[str]) -> None:
    """Refuse to drop members without whom the others fall apart."""
    for name in gone:
        plan.agent(name)
    graph = plan.network.graph.subgraph([j for j, name in enumerate(plan.names) if name not in gone])
    if len(graph) < 2:
        raise BadPlan(f"without {_listed(gone)} nobody has anybody to talk to; begin a new plan")
    parts = [sorted(part) for part in networkx.connected_components(graph)]
    if len(parts) > 1:
        cut_off = _listed(plan.names[j] for j in min(parts, key=len))
        raise BadPlan(
            f"without {_listed(gone)} the others fall apart: {cut_off} could no longer be reached; begin a new plan "
            "with another topology"
        )


def judge_survivors(plan: FederationPlan, gone: frozenset[str]) -> Verdict:
    """The audit of what remains, with those who left counted as colluders."""
    from hocket.privacy import audit

    check_survivors(plan, gone)
    left = {plan.agent(name) for name in gone}
    found = audit(
        plan.network,
        coalition=left,
        algorithm=plan.algorithm,
        rounds=plan.run.rounds,
        step=plan.step,
        dim=plan.task.dimension,
    )
    words = [str(line) for line in found.verdict]
    if _keeps_noise(plan):
        words.append(
            f"{_listed(gone)} had noise that is kept: dropping its links shows that noise by the difference before and "
            "after, and with it what it hid of the one who left"
        )
    return Verdict(tuple(name for name in plan.names if name not in gone), tuple(words))


def _keeps_noise(plan: FederationPlan) -> bool:
    section = plan.algorithm_section
    return section.name == "function-sharing" or getattr(section, "anchor", 0.0) > 0


def _message(plan: FederationPlan, leaver: str) -> bytes:
    return plan.hash + leaver.encode()


def _listed(names: object) -> str:
    return ", ".join(sorted(names))  # type: ignore[call-overload]
