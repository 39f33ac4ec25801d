"""Whether a run converges as a whole: now and then all members add up where they stand, and judge by the mean.

By itself a member sees its own state alone, and how far about the last tenth of its rounds carried it (`Movement`). So
after some rounds, as the plan says, each tells its state before and after the round, folded into few numbers, under
masks that cancel in the sum over all members; words are signed, passed along the links beside the exchanges, and nobody
waits for them. Everybody comes to the mean of all states and how far the round moved it, and to nothing else (Theorem
T). The rounds themselves do not change by a bit.

What it costs: the sum of all states is told, and with it the sum of all gradients, to every member and free of noise.
An eavesdropper on all links knows it anyway; the audit of a plan counts it. Only linear numbers are summed: beside the
sum of two members' gradients the sum of their squares would tell both. After somebody was dropped nothing is summed any
more: sums with it and without it differ by what it gave."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import combinations
from typing import NamedTuple

import networkx as nx
import numpy as np
from jaxtyping import Float

from hocket.federation.membership.roster import Roster, RosterEntry
from hocket.federation.monitoring.metrics import Log
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, link_masks
from hocket.links.journals.journal_tables import StateSums
from hocket.links.keys.identity import verify
from hocket.links.wire import Frame, Kind
from hocket.secagg.group import FixedPoint, add
from hocket.steps import Step

PURPOSE = b"hocket/state-sum/1"
"""What members sign their masked numbers for."""
NUMBERS = 64
"""A state of more numbers is folded into so many, under public signs: its size is kept to a sixth or so."""
EXCHANGE = 1 << 16
"""Names the masks: no exchange of a round has this number."""
JOINTLY = (
    "joint_round",
    "joint_movement",
    "joint_movement_rounds",
    "joint_movement_ahead",
    "joint_movement_growth",
    "joint_gradient",
)
"""After which round the mean is; its movement relative to its size, over how many rounds, over as many rounds again as
were played, and by what factor it grew; how far the round moved it, over its step. `joint_distance` is how far this
member's own state is from the mean, relative to that."""


def told_after(plan: FederationPlan) -> tuple[int, ...]:
    """The rounds after which states are added up, evenly apart; the last one so late that its word still comes to
    everybody with those of the rounds that are left."""
    if not plan.run.means:
        return ()
    rounds, most = plan.run.rounds, plan.run.means
    last = max(1, rounds + 1 - nx.diameter(plan.network.graph))
    return tuple(sorted(range(last, 0, -max(1, rounds // most))[:most]))


def folded(x: Float[np.ndarray, " dim"], run: bytes) -> Float[np.ndarray, " few"]:
    """A state as few numbers, linearly: what is folded onto one place has random signs, the same in all of a run, so
    that squared sizes are kept on average. Up to NUMBERS numbers are kept as they are, but for their signs."""
    bits = np.frombuffer(hashlib.shake_256(PURPOSE + run).digest(-(-x.size // 8)), np.uint8)
    count = min(x.size, NUMBERS)
    rows = np.zeros((-(-x.size // count), count))
    rows.ravel()[: x.size] = np.where(np.unpackbits(bits, count=x.size), x, -x)
    return rows.sum(axis=0)


@dataclass
class JointMeans:
    """What one member tells of its states and hears of others', and what it knows of the mean."""

    roster: Roster
    words: StateSums
    """On the disk before anybody hears them: two words under one mask would tell their difference."""
    log: Log
    pass_on: Callable[[Frame, str], Awaitable[None]]
    """Tells all neighbours but one."""
    measured: dict[str, float] = field(default_factory=dict[str, float])
    """What is known of the whole, by the last sum that is complete."""
    _own: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])
    """This member's states after such rounds, folded; a restart forgets them."""

    def __post_init__(self) -> None:
        self._look()

    @property
    def plan(self) -> FederationPlan:
        return self.roster.plan

    @cached_property
    def rounds(self) -> frozenset[int]:
        """After which rounds states are added up."""
        return frozenset(told_after(self.plan))

    async def say(
        self, k: int, before: np.ndarray, after: np.ndarray, role: MemberRole, streams: ChainStreams
    ) -> None:
        """Put this member's masked numbers after a round on the disk, and tell them; once, whatever crashes."""
        own = np.concatenate([folded(one, self.plan.run_hash) for one in (before, after)])
        self._own = {k: own[own.size // 2 :]}
        me = self.roster.identity
        if me.name not in self.words.after(k):
            most = 0.99 * self._point.reach(len(self.plan.names))
            numbers = self._point.encode(np.clip(own, -most, most), members=len(self.plan.names))
            masks = link_masks(role, streams, own.size, k, EXCHANGE, BEGINNING)
            told = reduce(add, masks, numbers).astype("<u8").tobytes()
            signature = me.sign(self._message(k, self.roster.number, told), PURPOSE)
            self.words.add(k, me.name, told, signature)
        await self.pass_on(self._frame(k, me.name, *self.words.after(k)[me.name]), "")
        self._look()

    async def hear(self, frame: Frame, source: str) -> None:
        """What another member told, from itself or passed on: believed if it is news, of the right form and signed."""
        name, told, signature = frame.plain(3) or (b"", b"", b"")
        k, entry = frame.round, self.roster.entries.get(name.decode(errors="replace"))
        fits = k in self.rounds and len(told) == 2 * FixedPoint.size * min(self.plan.task.dimension, NUMBERS)
        if fits and entry is not None and entry.name in self.words.after(k):
            return None
        if not fits or entry is None or not self._is_signed(k, entry, told, signature):
            return self.log.say("mean refused", neighbour=source)
        self.words.add(k, entry.name, told, signature)
        await self.pass_on(frame, source)
        self._look()
        return None

    def known(self) -> list[Frame]:
        """What a neighbour who connects may have missed."""
        latest = [k for k in sorted(self.rounds) if self.words.after(k)][-2:]
        return [self._frame(k, name, *word) for k in latest for name, word in self.words.after(k).items()]

    def _look(self) -> None:
        """Judge by the last sum that is complete, and the one before it."""
        names = {*self.plan.names}
        complete = [k for k in sorted(self.rounds, reverse=True) if self.words.after(k).keys() >= names]
        if not complete or complete[0] == self.measured.get("joint_round"):
            return
        k, *earlier = complete[:2]
        before, after = self._mean(k)
        size = self.plan.run.reach * math.ceil(self.plan.task.dimension / after.size)
        if not np.abs([before, after]).max() <= size:
            return self.log.say("mean refused", reason="no mean of states is so large: somebody told others")
        seen = [*(self._mean(one)[1] for one in earlier), before, after]
        since = earlier[0] if earlier else k - 1
        first, last = (float(np.linalg.norm(one)) for one in (seen[0], after))
        largest = max(first, last) or 1.0
        # The farthest two: a mean that swings may be back where it was.
        moved = max(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) / largest
        step = self.plan.step
        ahead = float(step.table(k + 1, 2 * k).sum() / step.table(since + 1, k).sum())
        gradient = float(np.linalg.norm(after - before)) / float(step(k))
        numbers = (k, moved, k - since, moved * ahead, last / first if first else 1.0, gradient)
        self.measured = dict(zip(JOINTLY, map(float, numbers), strict=True))
        if k in self._own:
            self.measured["joint_distance"] = float(np.linalg.norm(self._own[k] - after)) / largest
        return None

    def _mean(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Of all members' states, before and after round k."""
        words = [np.frombuffer(told, "<u8").reshape(2, -1) for told, _ in self.words.after(k).values()]
        total = self._point.decode(reduce(add, (one.astype(np.uint64) for one in words)))
        before, after = np.split(total / len(words), 2)
        return before, after

    @cached_property
    def _point(self) -> FixedPoint:
        """As fine as the largest numbers that a plan allows leave room for."""
        largest = self.plan.run.reach * (1 + self.plan.task.dimension / NUMBERS) * len(self.plan.names)
        return FixedPoint(int(np.clip(126 - math.ceil(math.log2(largest)), 0, 64)))

    def _frame(self, k: int, name: str, told: bytes, signature: bytes) -> Frame:
        return Frame(Kind.STATE_SUM, self.plan.run_hash, k, parts=(name.encode(), told, signature))

    def _is_signed(self, k: int, entry: RosterEntry, told: bytes, signature: bytes) -> bool:
        message = self._message(k, entry.number, told)
        return verify(self.plan.card(entry.name).certificate_pem, message, PURPOSE, signature)

    def _message(self, k: int, number: bytes, told: bytes) -> bytes:
        return self.plan.run_hash + struct.pack("<I", k) + number + told


MEASURED = ("movement", "movement_rounds", "movement_ahead", "movement_growth")
"""The state's movement relative to its size, over how many rounds, over as many rounds again as were played, and by
what factor the state grew in these rounds."""
TENTH = 10


class _Mark(NamedTuple):
    """A state that was passed by."""

    round: int
    x: Float[np.ndarray, " dim"]


@dataclass
class Movement:
    """Looks at a member's states as rounds go by; what it remembers is two states, and it gives out numbers alone."""

    rounds: int
    step: Step
    _marks: tuple[_Mark, ...] = field(default=())
    """The older first; after a crash they begin where the member went on."""

    def pass_by(self, k: int, x: Float[np.ndarray, " dim"]) -> None:
        """Remember the state after round k, if a tenth of all rounds has gone by since the last one."""
        last = self._marks[-1].round if self._marks else 0
        # So that in the last round it is just the last tenth that is looked back upon.
        end = self.rounds - _tenth(self.rounds)
        if not self._marks or k - last >= _tenth(k) or last < end <= k:
            self._marks = (*self._marks[-1:], _Mark(k, np.array(x)))

    def look(self, k: int, x: Float[np.ndarray, " dim"]) -> dict[str, float]:
        """What is known after round k, of which x is the next state; nothing before two rounds were passed by."""
        past = [mark for mark in self._marks if mark.round <= k - _tenth(k)] or list(self._marks[:1])
        if not past or past[-1].round == k:
            return {}
        since, before = past[-1]
        size, first = float(np.linalg.norm(x)), float(np.linalg.norm(before))
        largest = max(size, first)
        # The farthest two: a state that is shaken may be back by chance where it was.
        seen = [*(mark.x for mark in self._marks if since <= mark.round < k), x]
        farthest = max(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))
        moved = farthest / largest if largest else 0.0
        growth = size / first if first else 1.0
        # How much longer the steps of as many rounds again are together than those that were measured.
        longer = float(self.step.table(k + 1, 2 * k).sum() / self.step.table(since + 1, k).sum())
        return dict(zip(MEASURED, (moved, k - since, moved * longer, growth), strict=True))


def _tenth(rounds: int) -> int:
    return max(1, rounds // TENTH)
