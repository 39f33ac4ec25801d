"""A secret on disk under a passphrase: scrypt makes the key, ChaCha20-Poly1305 hides and authenticates."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from hocket.errors import BadIdentity

LABEL = b"hocket/sealed/1\n"
"""Begins every sealed file, and is authenticated with it."""
SALT = 16
WORK = 1 << 17
"""scrypt's cost: 128 MiB and about half a second for each guess."""
NONCE = bytes(12)
"""Constant, because every salt makes a key of its own that seals once."""


def seal(secret: bytes, passphrase: str) -> bytes:
    """The secret, readable only with the passphrase."""
    if not passphrase:
        raise BadIdentity("the passphrase is empty; choose one, or leave it away to rely on file permissions")
    salt = os.urandom(SALT)
    return LABEL + salt + ChaCha20Poly1305(_key(passphrase, salt)).encrypt(NONCE, secret, LABEL + salt)


def unseal(sealed: bytes, passphrase: str) -> bytes:
    """The secret again, or an error if the passphrase or a single bit is wrong."""
    salt, hidden = sealed[len(LABEL) : len(LABEL) + SALT], sealed[len(LABEL) + SALT :]
    try:
        return ChaCha20Poly1305(_key(passphrase, salt)).decrypt(NONCE, hidden, LABEL + salt)
    except InvalidTag:
        raise BadIdentity("the passphrase is wrong, or the key file is damaged; try again") from None


def is_sealed(data: bytes) -> bool:
    """Whether these bytes need a passphrase."""
    return data.startswith(LABEL)


def _key(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, n=WORK, r=8, p=1).derive(passphrase.encode())
