"""Secure sums among a few members in one process, by the code that members run over links; and what one receives.

Members sit on a complete network. Sums go up and down a tree, and the listener is its root: it receives every number
of all others, masked. Keys are drawn from a seed, so that a page comes out the same again; members' own are secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hocket.algorithm import SecureSum, Setting
from hocket.algorithms.totals import Totals
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.secure_sum import BEGINNING, MaskedSum, tree_of
from hocket.links.keys.noise_keys import KEY_BYTES
from hocket.networks.network import Network
from hocket.problems.sets import Everywhere
from hocket.secagg.group import Words
from hocket.secagg.summands import encoded, flat, name_of
from hocket.steps import Constant


@dataclass(frozen=True, eq=False)
class Contribution:
    """One member's numbers in one secure sum: what they are, and what it sent in their place."""

    total: int
    sender: str
    names: Sequence[str]
    values: np.ndarray
    bits: int
    """After the point."""
    own: Words
    """The numbers themselves, in fixed point: they stay at home."""
    sent: Words
    """The same under masks."""


@dataclass(eq=False)
class MaskedRoom:
    """Carries secure sums among members, and keeps every contribution: the listener receives all but its own."""

    members: tuple[str, ...]
    seed: int = 0
    contributions: list[Contribution] = field(default_factory=list)
    totals: int = 0
    _point: bytes = BEGINNING

    def __post_init__(self) -> None:
        self.network = Network.complete(len(self.members))
        self._tree = tree_of(self.network)
        setting = Setting(self.network, 1, Constant(1.0), 1)
        rows = range(self.network.n)
        self._roles = [MemberRole(j, setting, Totals(""), Everywhere(), np.dtype(np.float64)) for j in rows]
        self.streams = [self._keys(role) for role in self._roles]

    @property
    def listener(self) -> str:
        """Who receives most: the root of the tree."""
        return self.members[self._tree.parent.index(None)]

    def __call__(self, asked: Mapping[str, SecureSum]) -> dict[str, Any]:
        """The sum of all members' values, for each member by its name."""
        self.totals += 1
        sums = [
            MaskedSum.of(role, self._tree, streams, asked[name], self.totals, 0, self._point, self.members)
            for role, streams, name in zip(self._roles, self.streams, self.members, strict=True)
        ]
        self.contributions += [
            self._contribution(name, asked[name], one.partial)
            for name, one in zip(self.members, sums, strict=True)
        ]
        for step in range(sums[0].exchanges):
            sent = [one.said(step) for one in sums]
            for one in sums:
                one.received(step, {other: sent[other][one.role.index] for other in one.due(step)})
        self._point = sums[0].next_point
        for streams in self.streams:
            streams.advance()
        return {name: one.result for name, one in zip(self.members, sums, strict=True)}

    def received(self) -> list[Contribution]:
        """What the listener received."""
        return [one for one in self.contributions if one.sender != self.listener]

    def _contribution(self, name: str, asked: SecureSum, sent: Words) -> Contribution:
        values = flat(asked.values)
        own = encoded(asked.values, bits=asked.bits, members=len(self.members), names=asked.names)
        names = [name_of(asked.values, place, asked.names) for place in range(values.size)]
        return Contribution(self.totals, name, names, values, asked.bits, own, sent.copy())

    def _keys(self, role: MemberRole) -> ChainStreams:
        """Chains that both ends of a link know, and nobody else."""
        links = {other: (self.seed, *sorted((role.index, other))) for other in role.neighbours}
        chains = {other: np.random.default_rng(link).bytes(KEY_BYTES) for other, link in links.items()}
        return ChainStreams(1, chains, {}, b"", role.dtype)
