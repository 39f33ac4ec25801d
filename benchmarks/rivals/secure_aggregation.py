"""The exchange as a sum under pairwise masks: secure aggregation (Bonawitz et al. 2017), without dropouts.

Every two agents share a key by X25519, from which both draw the same mask; one adds it, the other takes it off. A
server learns the sum of all and nothing else, and tells it to everybody. Left out is what only dropouts need: a second
mask of one's own and secret shares of both, so this is the cheapest form. Masks hide perfectly, since all is counted
modulo 2³²; states are rounded to a fixed point for it.
"""

from __future__ import annotations

import struct

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jaxtyping import Float
from rivals.exchanges import Exchange

LARGEST = 64.0
"""Of a sum's magnitude that the fixed point leaves room for."""
ZEROS = memoryview(bytes(1 << 16))


class SecureAggregation(Exchange):
    """Masks from AES in counter mode, the fastest generator at hand."""

    def __init__(self, agents: int):
        private = [X25519PrivateKey.generate() for _ in range(agents)]
        self.keys = {
            (i, j): HKDF(hashes.SHA256(), 16, salt=None, info=b"pairwise mask").derive(
                private[i].exchange(private[j].public_key())
            )
            for i in range(agents)
            for j in range(agents)
            if i != j
        }
        self.unit = LARGEST / 2**31

    def __call__(self, states: Float[np.ndarray, "agents dim"], k: int) -> Float[np.ndarray, "agents dim"]:
        agents, _dim = states.shape
        sent = [self._masked(state, j, agents, k) for j, state in enumerate(states)]
        total = np.zeros(states.shape[1], np.uint32)
        for word in sent:
            total += np.frombuffer(word, np.uint32)
        mean = (total.view(np.int32) * np.float32(self.unit / agents)).astype(states.dtype).tobytes()
        self.traffic = len(sent[0]) + len(mean)
        return np.stack([np.frombuffer(mean, states.dtype)] * agents)

    def _masked(self, state: np.ndarray, j: int, agents: int, k: int) -> bytes:
        word = np.rint(state * (1 / self.unit)).astype(np.int32).view(np.uint32)
        for i in range(agents):
            if i != j:
                mask = _stream(self.keys[j, i], k, len(word))
                word = word + mask if j < i else word - mask
        return word.tobytes()


def _stream(key: bytes, k: int, count: int) -> np.ndarray:
    """Random messages of round k."""
    words = np.empty(count, np.uint32)
    room = memoryview(words).cast("B")
    cipher = Cipher(algorithms.AES(key), modes.CTR(struct.pack(">QQ", k, 0))).encryptor()
    for begin in range(0, len(room), len(ZEROS)):
        piece = room[begin : begin + len(ZEROS)]
        cipher.update_into(ZEROS[: len(piece)], piece)
    return words
