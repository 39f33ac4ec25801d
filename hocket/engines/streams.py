"""Random numbers from chain keys: each round's from its own key, which the next round's cannot reveal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hocket.links.noise_keys import Source, key_of, next_chain


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
        self._check(k)
        return Source(key_of(self.chains[neighbour]), label, self.dtype)

    def kept(self, neighbour: int, label: int) -> Source:
        return Source(self.once[neighbour], label, self.dtype)

    def own(self, label: int, k: int) -> Source:
        self._check(k)
        return Source(key_of(self.own_chain), label, self.dtype)

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
        """Destroy what was agreed with a neighbour who left for good."""
        self.chains.pop(neighbour, None)
        self.once.pop(neighbour, None)

    def _check(self, k: int) -> None:
        assert k == self.k, f"noise of round {k} was asked for in round {self.k}"
