"""One agent's shares of the noise, drawn from chain keys that only it and its neighbours know.

Balanced noise is dealt by the same code as in the simulator. Pairwise noise is summed here, link by link, since one
agent has too few links to lay out a table of them; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hocket.federation.runtime.role import MemberRole, NoiseKind
from hocket.federation.runtime.stored import link_draws, lost
from hocket.links.keys.noise_keys import Source, batch_seed, key_of, mask, next_chain, secret_bytes
from hocket.noise.discrete_gaussian import Bits
from hocket.noise.draws import Pair, When
from hocket.noise.threefry import normal_pairs


class ChainStreams:
    """One member's streams in one round; `advance` destroys the round's keys for the next one's.

    `chains` and `once` are by neighbour's number; `own` is the chain of what this member draws for itself.
    """

    def __init__(
        self, k: int, chains: Mapping[int, bytes], once: Mapping[int, bytes], own: bytes, dtype: np.dtype
    ):
        self.k = k
        self.chains = dict(chains)
        self.once = dict(once)
        self.own_chain = own
        self.dtype = dtype

    def fresh(self, neighbour: int, label: int, k: int) -> Source:
        """What this link's two ends draw for round k, and for no other; the lower-numbered end's draw first."""
        self._check(k)
        return Source(key_of(self.chains[neighbour]), label, self.dtype)

    def kept(self, neighbour: int, label: int) -> Source:
        """What this link's two ends drew once, for these data; the lower-numbered end's draw first."""
        return Source(self.once[neighbour], label, self.dtype)

    def own(self, label: int, k: int) -> Source:
        """What this agent alone draws for round k, slot by slot."""
        self._check(k)
        return Source(key_of(self.own_chain), label, self.dtype)

    def mask(self, neighbour: int, k: int, exchange: int, point: bytes, count: int) -> np.ndarray:
        """What hides one sum on this link, from those who are not at its ends."""
        self._check(k)
        return mask(self.chains[neighbour], exchange, point, count)

    def fresh_bits(self, neighbour: int, label: int, k: int) -> Bits:
        """Bits of this link's two ends for round k."""
        self._check(k)
        return Bits(secret_bytes(key_of(self.chains[neighbour]), label))

    def own_bits(self, label: int, k: int) -> Bits:
        """Bits of this agent alone for round k."""
        self._check(k)
        return Bits(secret_bytes(key_of(self.own_chain), label))

    def batch(self, k: int, step: int) -> int:
        """The seed by which this agent alone draws its samples in a local step of round k."""
        self._check(k)
        return batch_seed(self.own_chain, step)

    def advance(self) -> None:
        """Go on to the next round."""
        self.k += 1
        self.chains = {neighbour: next_chain(chain) for neighbour, chain in self.chains.items()}
        self.own_chain = next_chain(self.own_chain)

    def advanced(self) -> ChainStreams:
        """The next round's streams, beside these."""
        ahead = ChainStreams(self.k, self.chains, self.once, self.own_chain, self.dtype)
        ahead.advance()
        return ahead

    def at(self, k: int, chains: Mapping[int, bytes], me: int) -> ChainStreams:
        """The streams of another round, given its chains; under this member's own number that of its own noise."""
        others = {other: chain for other, chain in chains.items() if other != me}
        return ChainStreams(k, others, self.once, chains.get(me, b""), self.dtype)

    def drop(self, neighbour: int) -> None:
        """Destroy what was agreed with a neighbour who left for good, but for what is kept on the disk anyway: noise
        that is stored with an objective is taken off by it."""
        self.chains.pop(neighbour, None)

    def _check(self, k: int) -> None:
        assert k == self.k, f"noise of round {k} was asked for in round {self.k}"


class _Ahead(NamedTuple):
    """The next round's noise."""

    role: MemberRole
    streams: ChainStreams
    shares: Mapping[str, Any]


@dataclass
class RoundNoise:
    """One member's noise, round by round; the next round's is drawn while this round's messages are under way."""

    streams: ChainStreams
    _ahead: _Ahead | None = None
    _again: ChainStreams | None = None

    def batch(self, k: int, step: int) -> int:
        """The seed by which this member alone draws its samples in a local step of round k."""
        return (self._again or self.streams).batch(k, step)

    @contextmanager
    def again(self, streams: ChainStreams) -> Generator[None]:
        """While an earlier round is made again, its streams decide which samples are drawn."""
        self._again = streams
        try:
            yield
        finally:
            self._again = None

    def of(self, role: MemberRole, k: int) -> Mapping[str, Any]:
        """The shares of the present round."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.role is role and ahead.streams is self.streams:
            return ahead.shares
        return shares(role, self.streams, k)

    def draw_ahead(self, role: MemberRole, k: int) -> None:
        """Draw the next round's, k; its keys stay in memory until that round is in the journal."""
        streams = self.streams.advanced()
        self._ahead = _Ahead(role, streams, shares(role, streams, k))

    def advance(self, role: MemberRole) -> None:
        """Go on to the next round, without those who left in this one."""
        if self._ahead is not None and self._ahead.role is role:
            self.streams = self._ahead.streams
            return
        self.streams.advance()
        for gone in role.dropped:
            self.streams.drop(gone)


def shares(role: MemberRole, streams: ChainStreams, k: int) -> dict[str, Any]:
    """This agent's noise in round k, by kind."""
    gone = lost(role, streams.once)
    return {name: _share(role, streams, name, k) for name in role.kinds} | (
        {} if gone is None else {"lost": gone}
    )


def kept_shares(role: MemberRole, streams: ChainStreams) -> dict[str, Any]:
    """This agent's share of the noise that was drawn once: an algorithm may set up its state with it."""
    return {name: _share(role, streams, name, 1) for name, kind in role.kinds.items() if kind.once}


def directed(role: MemberRole, streams: ChainStreams, name: str, k: int) -> Pair:
    """Both ends' draws on every slot's link, scaled: what a replay hands to the simulator."""
    if (stored := role.stored) is not None:
        dim = role.plan.dim
        both = np.array([link_draws(streams.once[one], role.stored_on(one), dim) for one in role.neighbours])
        return Pair(*stored.values(both).swapaxes(0, 1)[:, None])
    kind = role.kinds[name]
    drawn = np.zeros((2, 1, role.tables.slots, kind.width), dtype=role.dtype)
    if kind.grid is not None:
        for slot, pair in _on_grid(role, streams, kind, k):
            drawn[:, 0, slot] = pair
        return Pair(drawn[0], drawn[1])
    for link in _links(role, streams, kind, k):
        if kind.normal:
            drawn[:, 0, link.slot] = link.normal_draws(kind.width)
            continue
        for said in drawn[:, 0, link.slot]:
            for place, numbers in link.source.pieces(kind.width, link.scale):
                said[place] = numbers
    if kind.relative is not None:
        drawn *= kind.relative
    return Pair(drawn[0], drawn[1])


class _Link(NamedTuple):
    """Where one link's draws come from, and their scale."""

    slot: int
    scale: float
    source: Source

    def normal_draws(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Both ends' draws where noise is normal: made of two uniform ones each, so both are made at once."""
        first, second = self.source.take(width), self.source.take(width)
        return normal_pairs(self.scale, first, second, first.dtype)


def _share(role: MemberRole, streams: ChainStreams, name: str, k: int) -> Any:
    kind = role.kinds[name]
    if kind.own:
        return _own(role, streams, kind, k)
    return _balanced(role, streams, name, k) if kind.balanced else _paired(role, streams, kind, k)


def _own(role: MemberRole, streams: ChainStreams, kind: NoiseKind, k: int) -> np.ndarray:
    """Normal noise by this agent's own chain, which nobody else knows and which moves on with every round."""
    if kind.grid is not None:
        return kind.grid.of_own(streams.own_bits(kind.label, k), kind.width)
    source = streams.own(kind.label, k)
    first, second = source.take(kind.width), source.take(kind.width)
    return normal_pairs(kind.scale, first, second, role.dtype)[0]


def _paired(role: MemberRole, streams: ChainStreams, kind: NoiseKind, k: int) -> np.ndarray:
    """d_j = Σ_i (s^{i,j} − s^{j,i}): the higher-numbered end gains what the lower one says, and the other way."""
    total = np.zeros(kind.width, dtype=role.dtype)
    if kind.grid is not None:
        for slot, pair in _on_grid(role, streams, kind, k):
            total += (pair[0] - pair[1]) * (1.0 if role.index > role.neighbours[slot] else -1.0)
        return total
    for link in _links(role, streams, kind, k):
        if kind.active is not None and not kind.active[(k - 1) % len(kind.active), link.slot]:
            continue
        sign = 1.0 if role.index > role.neighbours[link.slot] else -1.0
        if kind.normal:
            lower, higher = link.normal_draws(kind.width)
            total += sign * (lower - higher)
            continue
        by_lower = sign * link.scale
        for scale in (by_lower, -by_lower):
            for place, numbers in link.source.pieces(kind.width, scale):
                total[place] += numbers
    return total if kind.relative is None else total * kind.relative.astype(role.dtype)


def _on_grid(
    role: MemberRole, streams: ChainStreams, kind: NoiseKind, k: int
) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
    """What both ends of each link draw as whole numbers, by slot."""
    assert kind.grid is not None
    assert kind.scale is not None
    if k < kind.first:
        return
    for slot, neighbour in enumerate(role.neighbours):
        sd = float(kind.scale[(k - 1) % len(kind.scale), slot])
        if neighbour not in role.dropped and sd > 0:
            bits = streams.fresh_bits(neighbour, kind.label, k)
            yield slot, kind.grid.on_link(sd).of_link(bits, kind.width)


def _links(role: MemberRole, streams: ChainStreams, kind: NoiseKind, k: int) -> Iterator[_Link]:
    """What is drawn in round k, link by link; neither with those who left nor before the first round with noise."""
    if k < kind.first and not kind.once:
        return
    assert kind.scale is not None
    scale = kind.scale[(k - 1) % len(kind.scale)].tolist()
    for slot, neighbour in enumerate(role.neighbours):
        if neighbour in role.dropped:
            continue
        source = streams.kept(neighbour, kind.label) if kind.once else streams.fresh(neighbour, kind.label, k)
        yield _Link(slot, scale[slot], source)


def _balanced(role: MemberRole, streams: ChainStreams, name: str, k: int) -> np.ndarray:
    kind, links = role.kinds[name], role.tables
    drawn = streams.own(kind.label, k).take(links.slots * kind.width)
    raw = drawn.reshape(1, 1, links.slots, kind.width) * links.filled[:, :, None]
    when = When(np.array([k]), np.array([(k - 1) % links.period]))
    return role.dealing[name](raw, when, links)[0, 0].astype(role.dtype, copy=False)
