"""What has to hold for an honest member's masked sums: its own numbers under all its masks, once, and nothing else."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from hocket.algorithm import SecureSum
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import MaskedSum, Tree, tree_of
from hocket.federation.workloads.task import LocalSteps
from hocket.links.wire import Limits, unpack
from hocket.secagg.group import FixedPoint, Words, add

from .hostile import Honest, Said

CLOSE = 1e-12
"""Sums are exact; a mean of them is rounded once."""
Planned = Callable[[int], ChainStreams]
"""The planned noise of a round."""


def unplanned_sums(one: Honest, planned: Planned) -> Iterator[str]:
    """Numbers that are not this member's own under every one of its masks, and states that are not their mean."""
    role = one.member.role()
    seat = Seat(one, role, tree_of(role.plan.network), planned)
    yield from numbers_twice(one)
    for said in {said.message: said for said in one.said}.values():
        yield from seat.unplanned(said)
    for played in one.played:
        means = [FixedPoint().decode(words) / role.plan.network.n for words in seat.totals(played.k)]
        off = min((float(np.abs(mean - played.x).max()) for mean in means), default=np.inf)
        if off > CLOSE:
            yield f"its state after round {played.k} is {off:.3g} away from the mean that it was shown"


def numbers_twice(one: Honest) -> Iterator[str]:
    """Other numbers for one exchange, to whomever: under the same masks they would tell their difference."""
    found: dict[tuple[int, int], set[bytes]] = defaultdict(set)
    for said in one.said:
        _, *numbers = _parts(said)
        found[said.round, said.exchange] |= set(numbers)
    for (k, exchange), different in found.items():
        if len(different) > 1:
            yield f"{len(different)} different sums in exchange {exchange} of round {k}"


class Seat:
    """One honest member's place in the tree, and what it may pass on from there."""

    def __init__(self, one: Honest, role: MemberRole, tree: Tree, planned: Planned):
        self.one, self.role, self.tree, self.planned = one, role, tree, planned
        self.names = list(one.member.plan.names)
        self.received: dict[tuple[int, int, str], dict[bytes, bytes]] = defaultdict(dict)
        """By round, exchange and sender: the numbers of each message, with the point under which they were said."""
        for word in one.received:
            if len(parts := _parts(word)) == 2:
                self.received[word.round, word.exchange, word.receiver][parts[1]] = parts[0]

    def unplanned(self, said: Said) -> Iterator[str]:
        """What is wrong with one word, if anything."""
        point, *numbers = _parts(said)
        if not numbers:
            return
        sum_ = self._own(said.round, point)
        where = f"exchange {said.exchange} of round {said.round}"
        if self.names.index(said.receiver) not in sum_._receivers(self.role.index, said.exchange):
            yield f"numbers to {said.receiver} in {where}, where none are due"
        climbs = said.exchange < self.tree.height
        allowed = self._partials(said.round, point) if climbs else self.totals(said.round, point)
        if numbers[0] not in {words.astype("<u8").tobytes() for words in allowed}:
            yield f"its numbers in {where} are not its own under all its masks, with what it heard"

    def totals(self, k: int, point: bytes | None = None) -> list[Words]:
        """The sums that this member can have in the end."""
        me, height = self.role.index, self.tree.height
        parent = self.tree.parent[me]
        if parent is None:
            points = (
                {_parts(said)[0] for said in self.one.said if said.round == k} if point is None else {point}
            )
            return [words for one in points for words in self._partials(k, one)]
        step = height + self.tree.depth[me] - 1
        return [_words(numbers) for numbers in self.received[k, step, self.names[parent]]]

    def _partials(self, k: int, point: bytes) -> list[Words]:
        """This member's masked numbers with those of all below it, in every way in which these were said."""
        received = [
            [
                _words(numbers)
                for numbers in self.received[k, self.tree.height - self.tree.depth[c], self.names[c]]
            ]
            for c in self.tree.children(self.role.index)
        ]
        found = []
        for below in itertools.product(*received):
            total = self._own(k, point).partial
            for words in below:
                total = add(total, words)
            found.append(total)
        return found

    def _own(self, k: int, point: bytes) -> MaskedSum:
        """The sum as this member begins it, from the state that it had."""
        drawn = self.planned(k)
        [x, *_] = self.one.states[k]
        if k > 1:
            local = LocalSteps(self.one.member.task, 1, self.planned(k - 1).batch)
            x = self.role.agent(k - 1, {}, local).descend(x, k - 1)
        return MaskedSum.of(self.role, self.tree, drawn, SecureSum(x), k, 0, point, self.names)


def _parts(said: Said) -> list[bytes]:
    parts = unpack(said.message, Limits(len(said.message))).parts
    return [bytes(part) for part in parts if not isinstance(part, np.ndarray)] or [b""]


def _words(numbers: bytes) -> Words:
    return np.frombuffer(numbers, "<u8").reshape(2, -1).astype(np.uint64)
