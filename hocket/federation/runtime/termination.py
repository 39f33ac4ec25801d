"""The end of a run: members say that they are done, by which sums they came there, and what they found.

What a member says of its own findings, its seal, is passed along the links until it has come to everybody, in as many
exchanges as the farthest two members are apart. After a crash the same is said again: seals are made once and kept, and
only those that hold are passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import networkx as nx
import numpy as np

from hocket.errors import BadFrame, LinkError
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import check_point, tree_of
from hocket.federation.workloads.needs import needs
from hocket.links.conversation import Conversation, Moment
from hocket.links.journals.journal import EVERYBODY, Journal
from hocket.links.wire import Frame, Kind, Part, pack, pack_named, unpack_named


class ResultSigning(Protocol):
    """How members say of the end of a run that they have come to the same."""

    def own(self, published: np.ndarray, point: bytes) -> bytes:
        """What this member says, of what is published and the point that stands for all sums."""
        ...

    def holds(self, name: str, seal: bytes) -> bool:
        """Whether a member has said the same."""
        ...


@dataclass
class Termination:
    """One member's last exchanges."""

    role: MemberRole
    names: Sequence[str]
    conversation: Conversation
    journal: Journal
    sealing: ResultSigning | None
    round: int
    """The one after the last."""
    published: np.ndarray
    point: bytes
    """Stands for all sums that were shown."""
    seals: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """By member, its own included: what fits what this one has come to."""
    differing: set[str] = field(default_factory=set[str])
    """Neighbours who signed something else."""

    def __post_init__(self) -> None:
        if self.sealing is not None:
            self.seals[self.names[self.role.index]] = self.sealing.own(self.published, self.point)

    def word(self, step: int = 0) -> bytes:
        """What is said to all neighbours in one exchange."""
        seals = [] if self.sealing is None else [pack_named(dict(sorted(self.seals.items())))]
        parts: list[Part] = [self.point, *seals] if needs(self.role.algorithm).sums else []
        return pack(Frame(Kind.DONE, self.conversation.plan, self.round, step, parts))

    async def take(self, *, linger: float | None, again: bool) -> tuple[str, ...]:
        """Stay until everybody is done, or for so many seconds; returns who is not. `again` after a crash in it, or
        after its end: then all neighbours have what they need, and nobody is stayed for."""
        if again and self.sealing is None and self.journal.previous is None:
            return ()
        try:
            await asyncio.wait_for(self._exchanges(again=again), linger)
        except TimeoutError:  # what has come is looked at all the same
            self._look(self.conversation.received_by_now())
            return tuple(self.conversation.missing)
        self.journal.forget_previous()
        return ()

    async def _exchanges(self, *, again: bool) -> None:
        for step in range(self._count):
            moment, word = Moment(self.round, step), self.word(step)
            if step:
                self.journal.commit_messages(*moment, {EVERYBODY: word}, self.conversation.messages())
            before = self.journal.received(*moment) if again else {}
            said = dict.fromkeys(self.conversation.neighbours, word)
            if before:
                frames = self.conversation.relive(moment, said, before)
            else:
                frames = await self.conversation.exchange(moment, said)
            self._look(frames)

    @cached_property
    def _count(self) -> int:
        """In how many exchanges a word comes from anybody to everybody; one where nothing is passed along."""
        return 1 if self.sealing is None else max(nx.diameter(self.role.plan.network.graph), 1)

    def _look(self, frames: Mapping[str, Frame]) -> None:
        """See by which sums neighbours have come here, and keep what they say of it and pass along."""
        if not needs(self.role.algorithm).sums:
            return
        tree = tree_of(self.role.plan.network)
        for name, frame in frames.items():
            check_point(self.role, tree, self.names, self.names.index(name), frame.parts, self.point)
            if self.sealing is not None:
                said = _seals(name, frame.parts[1:])
                good = {one: seal for one, seal in said.items() if self.sealing.holds(one, seal)}
                self.seals |= good
                self.differing |= {name} & (said.keys() - good.keys())


def _seals(name: str, parts: Sequence[Part]) -> dict[str, bytes]:
    """What a neighbour passes along, by member."""
    try:
        [packed] = parts
        return unpack_named(bytes(packed))
    except (BadFrame, ValueError) as error:
        raise LinkError(
            f"{name} is done, and passes on what cannot be read; ask {name} what it runs"
        ) from error
