"""Random numbers from chain keys: each round's from its own key, which the next round's cannot reveal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hocket.links.noise_keys import ratchet, stream


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

    def fresh(self, neighbour: int, label: int, width: int, k: int) -> np.ndarray:
        self._check(k)
        return self._pair(ratchet(self.chains[neighbour])[1], label, width)

    def kept(self, neighbour: int, label: int, width: int) -> np.ndarray:
        return self._pair(self.once[neighbour], label, width)

    def own(self, label: int, slots: int, width: int, k: int) -> np.ndarray:
        self._check(k)
        return stream(ratchet(self.own_chain)[1], label, slots * width, self.dtype).reshape(slots, width)

    def advance(self) -> None:
        """Go on to the next round."""
        self.k += 1
        self.chains = {neighbour: ratchet(chain)[0] for neighbour, chain in self.chains.items()}
        self.own_chain = ratchet(self.own_chain)[0]

    def at(self, k: int, chains: Mapping[int, bytes], me: int) -> ChainStreams:
        """The streams of another round, given its chains; under this member's own number that of its own noise."""
        others = {other: chain for other, chain in chains.items() if other != me}
        return ChainStreams(k, others, self.once, chains.get(me, b""), self.dtype)

    def drop(self, neighbour: int) -> None:
        """Destroy what was agreed with a neighbour who left for good."""
        self.chains.pop(neighbour, None)
        self.once.pop(neighbour, None)

    def _pair(self, key: bytes, label: int, width: int) -> np.ndarray:
        return stream(key, label, 2 * width, self.dtype).reshape(2, width)

    def _check(self, k: int) -> None:
        assert k == self.k, f"noise of round {k} was asked for in round {self.k}"
