"""Where a member's secrets come from: the operating system, or, to replay a run in a test, a seed."""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from hocket.links.handshake import Offer
from hocket.links.noise_keys import KEY_BYTES, LinkKeys, derive

ESCROW_LABEL = b"hocket/escrow/1"


class Secrets(Protocol):
    """Fresh secrets for one run of one member."""

    def offer(self, me: int, neighbour: int) -> Offer:
        """Nonce and private key for a link."""
        ...

    def own_chain(self, me: int) -> bytes:
        """The first chain of the noise that a member draws for itself."""
        ...


class FromSystem:
    """Secrets from the operating system: the only choice outside of tests."""

    def offer(self, me: int, neighbour: int) -> Offer:
        return Offer(os.urandom(KEY_BYTES), os.urandom(KEY_BYTES))

    def own_chain(self, me: int) -> bytes:
        return os.urandom(KEY_BYTES)


@dataclass(frozen=True)
class SeedEscrow:
    """Secrets that whoever knows the seed can derive again.
    For tests, which compare a federation with the simulator on the same noise. It protects nothing.
    """

    seed: int

    def offer(self, me: int, neighbour: int) -> Offer:
        return Offer(self._secret(b"private", me, neighbour), self._secret(b"nonce", me, neighbour))

    def own_chain(self, me: int) -> bytes:
        return self._secret(b"own", me, me)

    def keys(self, plan: bytes, i: int, j: int) -> LinkKeys:
        """What agents i and j agree on under this plan, i < j, if neither kept anything from an earlier run."""
        lower, higher = self.offer(i, j), self.offer(j, i)
        private = X25519PrivateKey.from_private_bytes(lower.private)
        shared = private.exchange(X25519PublicKey.from_public_bytes(higher.public))
        return derive(shared, (lower.nonce, higher.nonce), plan, (i, j))

    def _secret(self, what: bytes, me: int, neighbour: int) -> bytes:
        return hmac.digest(ESCROW_LABEL + struct.pack("<QII", self.seed, me, neighbour), what, "sha256")
