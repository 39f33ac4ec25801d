"""The exchange under homomorphic encryption: CKKS, with TenSEAL.

Agents share a secret key that a server does not have. Each sends its encrypted state to the server, which mixes what it
cannot read and returns to every agent the mixture that it is due. What is sent is as small and made as quickly as the
library allows: a shared secret key instead of a public one, and no more primes than the mixing needs.
"""

from __future__ import annotations

import numpy as np
import tenseal
from jaxtyping import Float
from rivals.exchanges import Exchange


class Ckks(Exchange):
    """Mixing by weights, which takes one multiplication; or sums alone, divided after decryption.

    Sums do for a ring, where all weights are equal, and need fewer and shorter primes. Both have 128 bits of security
    by the library's own tables.
    """

    def __init__(self, *, weighted: bool):
        self.weighted = weighted
        degree, bits = (8192, [60, 40, 60]) if weighted else (4096, [40, 40])
        self.context = tenseal.context(
            tenseal.SCHEME_TYPE.CKKS, degree, -1, bits, encryption_type=tenseal.ENCRYPTION_TYPE.SYMMETRIC
        )
        self.context.global_scale = 2.0**40 if weighted else 2.0**28
        self.slots = degree // 2

    def __call__(self, states: Float[np.ndarray, "agents dim"], k: int) -> Float[np.ndarray, "agents dim"]:
        agents, dim = states.shape
        sent = [self._encrypted(state) for state in states]
        at_server = [[tenseal.ckks_vector_from(self.context, part) for part in parts] for parts in sent]
        returned = [
            [self._mixed(parts).serialize() for parts in zip(*self._due(at_server, j), strict=True)]
            for j in range(agents)
        ]
        self.traffic = sum(len(part) for parts in sent + returned for part in parts) // agents
        mixed = np.stack([self._decrypted(parts, dim) for parts in returned])
        return (mixed if self.weighted else mixed / 3).astype(states.dtype)

    def _encrypted(self, state: np.ndarray) -> list[bytes]:
        pieces = np.split(state, range(self.slots, len(state), self.slots))
        return [tenseal.ckks_vector(self.context, piece.tolist()).serialize() for piece in pieces]

    def _due(self, at_server: list, j: int) -> tuple[list, list, list]:
        return at_server[j - 1], at_server[j], at_server[(j + 1) % len(at_server)]

    def _mixed(self, parts: tuple) -> tenseal.CKKSVector:
        left, own, right = parts
        if self.weighted:
            return left * (1 / 3) + own * (1 / 3) + right * (1 / 3)
        return left + own + right

    def _decrypted(self, parts: list[bytes], dim: int) -> np.ndarray:
        opened = [tenseal.ckks_vector_from(self.context, part).decrypt() for part in parts]
        return np.concatenate([np.asarray(numbers) for numbers in opened])[:dim]
