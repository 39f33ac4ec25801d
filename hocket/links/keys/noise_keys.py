"""Noise that both ends of a link draw alike and that never travels.

    shared  = X25519(my private key, its public key)                   fresh for every run and link, see handshake.py
    chain_1 = HKDF-SHA256(shared, salt = nonce_i ‖ nonce_j, info = CHAIN_LABEL ‖ plan hash ‖ i ‖ j)      i < j, u32
    once    = the same with ONCE_LABEL, the key of what is drawn once and kept: persistent noise and noise functions
    chain_{k+1} = HMAC-SHA256(chain_k, NEXT_LABEL);  key_k = HMAC-SHA256(chain_k, ROUND_LABEL)
    numbers = ChaCha20(key_k, counter 0, nonce = label u32 ‖ 0⁸), a signed little-endian word for each
    whole numbers on a grid: discrete Gaussians of the same stream's bits under `once`, the lowest bit of a byte first
    mask    = ChaCha20(HMAC-SHA256(key_k, MASK_LABEL ‖ exchange u32 ‖ point), counter 0, nonce 0), see secure_sum.py
    batch   = HMAC-SHA256(own chain_k, BATCH_LABEL ‖ step u32), the seed of what a member's task draws in a local step

When chain_k is overwritten by chain_{k+1}, nobody can draw round k's noise again: a machine that is seized later does
not reveal it. `once` has to be kept for as long as the data are, so what is drawn from it has no such protection.
Both nonces are fresh, so a plan that is run again draws other noise. Test vectors: tests/peers/vectors.json.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hocket.errors import BadInput

NOISE = 1
"""Raised when the same keys would give other noise; part of every plan and every label."""
CHAIN_LABEL = b"hocket/noise/1 chain"
ONCE_LABEL = b"hocket/noise/1 once"
READY_LABEL = b"hocket/noise/1 ready"
NEXT_LABEL = b"hocket/noise/1 next"
ROUND_LABEL = b"hocket/noise/1 round"
BATCH_LABEL = b"hocket/noise/1 batch"
MASK_LABEL = b"hocket/noise/1 mask"

KEY_BYTES = 32
WORDS = {np.dtype(np.float64): ("<i8", 2.0**-63), np.dtype(np.float32): ("<i4", 2.0**-31)}
"""The word that each number is made of, and the value of its last bit."""
PIECE = 1 << 16
"""Numbers that are drawn at a time: what is made of them stays in the processor's cache."""
ZEROS = memoryview(bytes(8 * PIECE))
"""What is encrypted, to have the cipher's stream alone."""


class LinkKeys(NamedTuple):
    """All that two neighbours agree on for one run."""

    chain: bytes
    """For round 1; each round has its own, see `next_chain`."""
    once: bytes
    """For what is drawn once and kept."""
    ready: bytes
    """Proves to the other end that this end has derived the same; see handshake.py."""


def derive(shared: bytes, nonces: tuple[bytes, bytes], plan: bytes, pair: tuple[int, int]) -> LinkKeys:
    """The keys of a link, from the secret that its ends share; everything is in the order of the pair (i, j), i < j."""
    context = plan + struct.pack("<II", *pair)

    def key(label: bytes) -> bytes:
        return HKDF(hashes.SHA256(), KEY_BYTES, salt=b"".join(nonces), info=label + context).derive(shared)

    return LinkKeys(key(CHAIN_LABEL), key(ONCE_LABEL), key(READY_LABEL))


def next_chain(chain: bytes) -> bytes:
    """The next round's chain, from which this round's cannot be found again."""
    return hmac.digest(chain, NEXT_LABEL, "sha256")


def key_of(chain: bytes) -> bytes:
    """This round's key."""
    return hmac.digest(chain, ROUND_LABEL, "sha256")


def batch_seed(chain: bytes, step: int) -> int:
    """What a member draws the samples of one local step by, from this round's chain of its own."""
    return int.from_bytes(hmac.digest(chain, BATCH_LABEL + struct.pack("<I", step), "sha256"), "little")


def mask(chain: bytes, exchange: int, point: bytes, count: int) -> np.ndarray:
    """Numbers of the group, uniform, for one sum and no other: two words each, the low ones first."""
    key = hmac.digest(key_of(chain), MASK_LABEL + struct.pack("<I", exchange) + point, "sha256")
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor().update(bytes(16 * count))
    return np.frombuffer(stream, "<u8").reshape(2, count).astype(np.uint64)


class Source:
    """Numbers from [-1, 1], uniform, under a key, one after the other; those with different labels are independent.
    A link draws both directions from one source: those of its lower-numbered end first.

    Every number has as many random bits as its type can hold. On a coarser grid a reader could test a guessed state:
    subtract it from a message, and look whether the rest lies on the grid.
    """

    def __init__(self, key: bytes, label: int, dtype: np.dtype | type):
        self.dtype = np.dtype(dtype)
        try:
            word, last_bit = WORDS[self.dtype]
        except KeyError:
            raise BadInput(f"noise of {self.dtype} cannot be drawn; use float64 or float32") from None
        self._word, self._last_bit = np.dtype(word), last_bit
        self._cipher = _cipher(key, label)

    def take(self, count: int) -> np.ndarray:
        """The next numbers."""
        numbers = np.empty(count, self.dtype)
        for place, piece in self.pieces(count):
            numbers[place] = piece
        return numbers

    def pieces(self, count: int, scale: float = 1.0) -> Iterator[tuple[slice, np.ndarray]]:
        """The next numbers, scaled, in pieces with their places. The next piece overwrites the last one."""
        unit = self.dtype.type(scale * self._last_bit)
        words, numbers = np.empty(min(PIECE, count), self._word), np.empty(min(PIECE, count), self.dtype)
        stream = words.data.cast("B")
        for begin in range(0, count, PIECE):
            length = min(PIECE, count - begin)
            size = length * self._word.itemsize
            self._cipher.update_into(ZEROS[:size], stream[:size])
            piece = numbers[:length]
            piece[...] = words[
                :length
            ]  # in two passes: a product of words by the unit is made by way of a buffer
            piece *= unit
            yield slice(begin, begin + length), piece


def secret_bytes(key: bytes, label: int) -> Callable[[int], bytes]:
    """The cipher's stream under a key and a label: every call gives the next so many bytes."""
    cipher = _cipher(key, label)
    return lambda count: cipher.update(bytes(count))


def _cipher(key: bytes, label: int) -> CipherContext:
    return Cipher(algorithms.ChaCha20(key, struct.pack("<II", 0, label) + bytes(8)), None).encryptor()


def stream(key: bytes, label: int, count: int, dtype: np.dtype | type) -> np.ndarray:
    """The first numbers of a source."""
    return Source(key, label, dtype).take(count)
