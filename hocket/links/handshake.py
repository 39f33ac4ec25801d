"""How two neighbours agree on noise for one run, over a connection that TLS has authenticated.

    NONCE   a fresh nonce                                                both ways
    KEY     a fresh X25519 public key, what is kept, and a signature     both ways, once the other's nonce is known
    READY   proof that the keys are derived and in the journal           both ways

A member's offer, its nonce and private key, is in its journal before it is sent and is erased there when the other's
READY arrives. So whichever end crashes, and whenever, both derive the same keys when they meet again. An end that
comes with another nonce later than that has lost its journal: it needs a new run.

The identity key signs both nonces, the plan and the pair with the public key: what was said for one run, plan or link
is worth nothing in another.
"""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from hocket.errors import BadHandshake
from hocket.links.keys.identity import Identity, name_in, verify
from hocket.links.keys.noise_keys import KEY_BYTES, LinkKeys, derive

PURPOSE = b"hocket/noise/1 key"
"""What the identity key signs here, and nowhere else."""
KEPT_LABEL = b"hocket/noise/1 persistent"
NOTHING_KEPT = bytes(KEY_BYTES)


class Offer(NamedTuple):
    """One end's fresh secrets for one link of one run."""

    private: bytes
    nonce: bytes

    @property
    def public(self) -> bytes:
        """The X25519 public key."""
        return X25519PrivateKey.from_private_bytes(self.private).public_key().public_bytes_raw()


class PublicKey(NamedTuple):
    """What KEY says."""

    public: bytes
    kept: bytes
    """Shows which `once` key this end has kept for the data, without telling it; zeros if none."""
    signature: bytes


@dataclass(frozen=True)
class Handshake:
    """One end of an agreement: `nonce` and `key` are sent, `agree` reads what comes back."""

    identity: Identity
    certificate: bytes
    """The neighbour's, from the plan."""
    plan: bytes
    me: int
    neighbour: int
    offer: Offer
    kept: bytes | None = None
    """The `once` key kept from an earlier run on the same data."""

    @property
    def nonce(self) -> bytes:
        """What NONCE says."""
        return self.offer.nonce

    def key(self, nonce: bytes) -> PublicKey:
        """What KEY says in answer to the neighbour's nonce."""
        kept, public = self._shown(nonce), self.offer.public
        signature = self.identity.sign(self._signed(self.me, nonce, public, kept), PURPOSE)
        return PublicKey(public, kept, signature)

    def agree(self, nonce: bytes, key: PublicKey) -> LinkKeys:
        """The keys of this link, if the neighbour signed its part and keeps what this end keeps."""
        name = name_in(self.certificate)
        if len(nonce) != KEY_BYTES or len(key.public) != KEY_BYTES or len(key.kept) != KEY_BYTES:
            raise BadHandshake(
                f"{name} sent a key or nonce of the wrong length; it must run the same version of hocket"
            )
        signed = self._signed(self.neighbour, nonce, key.public, key.kept)
        if not verify(self.certificate, signed, PURPOSE, key.signature):
            raise BadHandshake(
                f"the noise key of {name} is not signed by its certificate for this plan, run and link; "
                "compare the plan and the fingerprint with it by voice"
            )
        try:
            private = X25519PrivateKey.from_private_bytes(self.offer.private)
            shared = private.exchange(X25519PublicKey.from_public_bytes(key.public))
        except ValueError:
            raise BadHandshake(
                f"the noise key of {name} is no key of X25519; it deviates on purpose"
            ) from None
        keys = derive(shared, self._nonces(nonce), self.plan, self._pair)
        self._check_kept(name, nonce, key.kept)
        return keys if self.kept is None else keys._replace(once=self.kept)

    def ready(self, keys: LinkKeys) -> bytes:
        """What READY says: send it when the keys are in the journal."""
        return _proof(keys, self.me)

    def check_ready(self, keys: LinkKeys, proof: bytes) -> None:
        """Refuse to begin with a neighbour that has derived other keys."""
        if not hmac.compare_digest(proof, _proof(keys, self.neighbour)):
            raise BadHandshake(
                f"{name_in(self.certificate)} has other noise keys; if it lost its journal, begin a new run together"
            )

    @property
    def _pair(self) -> tuple[int, int]:
        return min(self.me, self.neighbour), max(self.me, self.neighbour)

    def _nonces(self, nonce: bytes) -> tuple[bytes, bytes]:
        return (self.nonce, nonce) if self.me < self.neighbour else (nonce, self.nonce)

    def _signed(self, signer: int, nonce: bytes, public: bytes, kept: bytes) -> bytes:
        whose = struct.pack("<III", *self._pair, signer)
        return b"".join([self.plan, whose, *self._nonces(nonce), public, kept])

    def _shown(self, nonce: bytes) -> bytes:
        if self.kept is None:
            return NOTHING_KEPT
        return hmac.digest(self.kept, b"".join([KEPT_LABEL, *self._nonces(nonce)]), "sha256")

    def _check_kept(self, name: str, nonce: bytes, theirs: bytes) -> None:
        """Both ends must deal the same persistent noise and noise functions, and the same as before for the same
        data."""
        mine = self._shown(nonce)
        if hmac.compare_digest(mine, theirs):
            return
        if self.kept is None:
            who = f"{name} has kept, and this member has not,"
        elif theirs == NOTHING_KEPT:
            who = f"{name} no longer has"
        else:
            who = f"{name} has another key than this member for"
        raise BadHandshake(
            f"{who} the noise that was kept for these data; restore it from a backup (the file of kept noise), or "
            "agree on a new dataset name and count the runs so far as leaked"
        )


def _proof(keys: LinkKeys, who: int) -> bytes:
    return hmac.digest(keys.ready, struct.pack("<I", who), "sha256")


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
    """Secrets that anybody who knows the seed can derive again.
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
