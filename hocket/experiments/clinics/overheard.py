"""Totals among a few members in one process, by the code that members run over links; and what one of them is sent.

Members sit on a complete network. Sums go up and down a tree, and the listener is its root: it is sent every number of
everybody else, masked. Keys are drawn from a seed, so that a page comes out the same again; members' own are secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hocket.algorithm import Setting, Total
from hocket.algorithms.totals import Totals
from hocket.federation.engine.masked_sum import BEGINNING, MaskedSum, tree_of
from hocket.federation.engine.role import Role
from hocket.federation.engine.shares import ChainStreams
from hocket.links.noise_keys import KEY_BYTES
from hocket.networks.network import Network
from hocket.noise.group import Words
from hocket.noise.summands import encoded, flat, name_of
from hocket.problems.sets import Everywhere
from hocket.steps import Constant


@dataclass(frozen=True, eq=False)
class Part:
    """One member's numbers in one total: what they are, and the words that it sent in their place."""

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
    """Carries totals among members, and keeps every part: the listener is sent all but its own."""

    members: tuple[str, ...]
    seed: int = 0
    parts: list[Part] = field(default_factory=list)
    totals: int = 0
    _point: bytes = BEGINNING

    def __post_init__(self) -> None:
        self.network = Network.complete(len(self.members))
        self._tree = tree_of(self.network)
        setting = Setting(self.network, 1, Constant(1.0), 1)
        rows = range(self.network.n)
        self._roles = [Role(j, setting, Totals(""), Everywhere(), np.dtype(np.float64)) for j in rows]
        self.streams = [self._keys(role) for role in self._roles]

    @property
    def listener(self) -> str:
        """Who is sent most: the root of the tree."""
        return self.members[self._tree.parent.index(None)]

    def __call__(self, asked: Mapping[str, Total]) -> dict[str, Any]:
        """The sum of what all ask for, for each member by its name."""
        self.totals += 1
        sums = [
            MaskedSum.of(role, self._tree, streams, asked[name], self.totals, 0, self._point, self.members)
            for role, streams, name in zip(self._roles, self.streams, self.members, strict=True)
        ]
        self.parts += [
            self._part(name, asked[name], one.partial) for name, one in zip(self.members, sums, strict=True)
        ]
        for step in range(sums[0].exchanges):
            said = [one.said(step) for one in sums]
            for one in sums:
                one.heard(step, {other: said[other][one.role.index] for other in one.due(step)})
        self._point = sums[0].next_point
        for streams in self.streams:
            streams.advance()
        return {name: one.result for name, one in zip(self.members, sums, strict=True)}

    def heard(self) -> list[Part]:
        """What the listener was sent."""
        return [part for part in self.parts if part.sender != self.listener]

    def _part(self, name: str, asked: Total, sent: Words) -> Part:
        values = flat(asked.values)
        own = encoded(asked.values, bits=asked.bits, members=len(self.members), names=asked.names)
        names = [name_of(asked.values, place, asked.names) for place in range(values.size)]
        return Part(self.totals, name, names, values, asked.bits, own, sent.copy())

    def _keys(self, role: Role) -> ChainStreams:
        """Chains that both ends of a link know, and nobody else."""
        links = {other: (self.seed, *sorted((role.index, other))) for other in role.neighbours}
        chains = {other: np.random.default_rng(link).bytes(KEY_BYTES) for other, link in links.items()}
        return ChainStreams(1, chains, {}, b"", role.dtype)
