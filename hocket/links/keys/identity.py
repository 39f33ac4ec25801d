"""Who a member is: an ECDSA P-256 key and a certificate for it that nobody but the member has signed.

There is no authority. A plan names every member's certificate, members compare fingerprints by voice and sign the
plan, and links accept exactly the certificates in it. A certificate may not issue others, so that trusting it never
means trusting more. P-256, because gRPC's TLS refuses Ed25519.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.x509.oid import NameOID

from hocket.errors import BadIdentity
from hocket.files import read_bytes
from hocket.links.text import spelled
from hocket.machine import private_folder, replaced

LONGEST_FILE = 100_000
"""Bytes of a key or a certificate; ours have a few hundred."""
LABEL = b"hocket/encrypted-key/1\n"
"""Begins every encrypted key file, and is authenticated with it."""
SALT = 16
WORK = 1 << 17
"""scrypt's cost: 128 MiB and about half a second for each guess."""
NONCE = bytes(12)
"""Constant, because every salt makes a key of its own that encrypts once."""


def encrypt(secret: bytes, passphrase: str) -> bytes:
    """The secret, readable only with the passphrase: scrypt makes a key, ChaCha20-Poly1305 hides and authenticates."""
    if not passphrase:
        raise BadIdentity("the passphrase is empty; choose one, or leave it away to rely on file permissions")
    salt = os.urandom(SALT)
    return LABEL + salt + ChaCha20Poly1305(_key(passphrase, salt)).encrypt(NONCE, secret, LABEL + salt)


def decrypt(encrypted: bytes, passphrase: str) -> bytes:
    """The secret again, or an error if the passphrase or a single bit is wrong."""
    salt, hidden = encrypted[len(LABEL) : len(LABEL) + SALT], encrypted[len(LABEL) + SALT :]
    try:
        return ChaCha20Poly1305(_key(passphrase, salt)).decrypt(NONCE, hidden, LABEL + salt)
    except InvalidTag:
        raise BadIdentity("the passphrase is wrong, or the key file is damaged; try again") from None


def is_encrypted(data: bytes) -> bool:
    """Whether these bytes need a passphrase."""
    return data.startswith(LABEL)


def _key(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, n=WORK, r=8, p=1).derive(passphrase.encode())


SIGNATURE_LABEL = b"hocket/signature/1"
"""Begins whatever is signed, so that no signature can be taken for one of another protocol."""
KEY, CERTIFICATE = "key", "certificate.pem"
SLACK = timedelta(days=1)
"""How far a clock may be behind when a certificate is new."""
ANY_MEMBER = "member.invalid"
"""The name that a dialler says in the clear while TLS begins: every certificate is made out to it as well, so that
anybody who passes bytes on does not read there who is dialled."""
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""Names are host names of one part: TLS then checks them as it checks any server's."""


@dataclass(frozen=True)
class Identity:
    """A member's private key and certificate.
    Every member makes one, once, and keeps it at home; only the certificate is given away.
    """

    certificate_pem: bytes
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, name: str, *, valid_days: int = 365, now: datetime | None = None) -> Identity:
        """A new identity under this name."""
        check_name(name)
        if valid_days < 1:
            raise BadIdentity(f"{valid_days} days; a certificate must be valid for at least one day (--days)")
        now = now or datetime.now(UTC)
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SLACK)
            .not_valid_after(now + timedelta(days=valid_days))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.DNSName(name), x509.DNSName(ANY_MEMBER)]), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(serialization.Encoding.PEM), key)

    @classmethod
    def from_pem(cls, certificate_pem: bytes, private_key_pem: bytes) -> Identity:
        """An identity handed over by a process of the same member."""
        return cls(certificate_pem, _private_key(private_key_pem, Path(KEY)))

    @cached_property
    def name(self) -> str:
        """The name in the certificate."""
        return name_in(self.certificate_pem)

    @property
    def private_key_pem(self) -> bytes:
        """The key as TLS libraries read it. Never write it to disk: `save` does that with care."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def fingerprint(self) -> str:
        """The certificate's digest in words, to compare by voice."""
        return fingerprint(self.certificate_pem)

    def sign(self, message: bytes, purpose: bytes) -> bytes:
        """Sign a message for one purpose; for no other purpose will it verify."""
        return self.key.sign(_signed(message, purpose), ec.ECDSA(hashes.SHA256()))

    def save(self, folder: Path, passphrase: str | None = None) -> None:
        """Write key and certificate into a folder that only its owner can open; refuses to replace an identity."""
        check_no_identity(folder)
        secret = self.private_key_pem
        with _written(folder):
            private_folder(folder)
        # The key comes last: a folder that has one is complete.
        _write(folder / CERTIFICATE, self.certificate_pem)
        _write(folder / KEY, secret if passphrase is None else encrypt(secret, passphrase))

    @classmethod
    def load(cls, folder: Path, passphrase: str | None = None) -> Identity:
        """Read an identity back; refuses a key that others on this machine can read."""
        certificate, secret = _read(folder / CERTIFICATE), _read(folder / KEY)
        open_to = (folder / KEY).stat().st_mode & 0o077
        if open_to and os.name == "posix":
            raise BadIdentity(
                f"{folder / KEY} can be opened by other users of this machine (mode {open_to:03o} beyond its "
                f"owner); run: chmod 600 {folder / KEY}"
            )
        if secret.startswith(b"hocket/") and not is_encrypted(secret):
            raise BadIdentity(
                f"{folder / KEY} was put under its passphrase by another version of hocket; go on with that version, "
                "or make a new identity in another folder: hocket peer init --home"
            )
        if is_encrypted(secret):
            if passphrase is None:
                raise BadIdentity(f"{folder / KEY} is under a passphrase; give it")
            secret = decrypt(secret, passphrase)
        key = _private_key(secret, folder / KEY)
        if key.public_key() != _read_certificate(certificate).public_key():
            raise BadIdentity(
                f"{folder / KEY} and {folder / CERTIFICATE} do not belong together; restore both from one backup"
            )
        return cls(certificate, key)


def check_no_identity(folder: Path) -> None:
    """Refuse a folder that has a key: keys are never overwritten."""
    if (folder / KEY).exists():
        raise BadIdentity(
            f"{folder} already holds an identity; for a new key under its name: hocket peer renew; for another member "
            "name another folder with --home"
        )


def is_under_passphrase(folder: Path) -> bool:
    """Whether the identity in this folder can only be loaded with a passphrase."""
    return is_encrypted(_read(folder / KEY))


def verify(certificate_pem: bytes, message: bytes, purpose: bytes, signature: bytes) -> bool:
    """Whether the owner of this certificate signed this message for this purpose."""
    try:
        _public_key(certificate_pem).verify(signature, _signed(message, purpose), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def verify_text(certificate_pem: bytes, message: bytes, purpose: bytes, signature: str) -> bool:
    """The same for a signature as files have it, in base64; whatever else is written there is none."""
    try:
        given = base64.b64decode(signature, validate=True)
    except ValueError:  # binascii's own, or that of letters beyond ASCII
        return False
    return verify(certificate_pem, message, purpose, given)


def fingerprint(certificate_pem: bytes) -> str:
    """A certificate's SHA-256 digest in words."""
    return spelled(_read_certificate(certificate_pem).fingerprint(hashes.SHA256()))


def name_in(certificate_pem: bytes) -> str:
    """The name that a certificate is for."""
    try:
        names = _read_certificate(certificate_pem).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except ValueError:  # read no earlier than it is asked for; so BadIdentity passes here, too
        raise BadIdentity("this is no certificate in PEM; copy the whole card, with its BEGIN line") from None
    return str(names[0].value) if names else ""


def name_in_clear(certificate_pem: bytes) -> str:
    """The name under which TLS asks for a certificate: one that says nothing, where the certificate has it."""
    try:
        names = _read_certificate(certificate_pem).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        if ANY_MEMBER in names.value.get_values_for_type(x509.DNSName):
            return ANY_MEMBER
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        pass
    return name_in(certificate_pem)


def expires(certificate_pem: bytes) -> datetime:
    """The moment after which a certificate is refused."""
    return _read_certificate(certificate_pem).not_valid_after_utc


def check_certificate(certificate_pem: bytes, name: str, *, now: datetime | None = None) -> None:
    """Refuse a certificate that is not this member's own, that could issue others, or that is not valid now."""
    certificate, now = _read_certificate(certificate_pem), now or datetime.now(UTC)
    _public_key(certificate_pem)
    if name_in(certificate_pem) != name:
        raise BadIdentity(
            f"the certificate of {name} is made out to {name_in(certificate_pem)!r}; ask {name} for its own card"
        )
    try:
        certificate.verify_directly_issued_by(certificate)
        issues = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound, x509.DuplicateExtension):
        issues = True
    if issues:
        raise BadIdentity(
            f"the certificate of {name} is not signed by itself alone; make one with: hocket peer init --name {name}"
        )
    if now < certificate.not_valid_before_utc:
        raise BadIdentity(
            f"the certificate of {name} is valid only from {certificate.not_valid_before_utc:%Y-%m-%d}; "
            "set the clock right"
        )
    if now > certificate.not_valid_after_utc:
        raise BadIdentity(
            f"the certificate of {name} expired on {certificate.not_valid_after_utc:%Y-%m-%d}; {name} renews it with "
            "hocket peer renew PLAN, and all others sign the plan that this writes; where no plan is signed yet, with "
            "hocket peer renew, whose new card goes into it"
        )


def check_name(name: str) -> None:
    """Refuse a name that TLS could not check."""
    if not NAME.fullmatch(name):
        raise BadIdentity(
            f"{name!r} is no member's name; use small letters, digits and hyphens, 63 at most, such as clinic-a"
        )


def _signed(message: bytes, purpose: bytes) -> bytes:
    return SIGNATURE_LABEL + len(purpose).to_bytes(2, "big") + purpose + message


def _write(path: Path, data: bytes) -> None:
    """Write a new file that is its owner's alone from its first byte on, and is on the disk afterwards."""
    with _written(path), replaced(path, mode=0o600) as file:
        file.write(data)


@contextmanager
def _written(path: Path) -> Generator[None]:
    """What the disk complains of, with a cure."""
    try:
        yield
    except OSError as error:
        raise BadIdentity(
            f"{path} cannot be written: {error.strerror}; change that, or name another place"
        ) from error


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path, LONGEST_FILE)
    except FileNotFoundError:
        raise BadIdentity(
            f"there is no {path}; name this member's folder with --home, or make an identity with hocket peer init"
        ) from None
    except OSError as error:
        raise BadIdentity(f"{path} cannot be read: {error.strerror}") from error


def _read_certificate(certificate_pem: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate_pem)
    except (ValueError, x509.InvalidVersion):
        raise BadIdentity("this is no certificate in PEM; copy the whole card, with its BEGIN line") from None


def _public_key(certificate_pem: bytes) -> ec.EllipticCurvePublicKey:
    try:
        key = _read_certificate(certificate_pem).public_key()
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise BadIdentity(
            f"the certificate of {name_in(certificate_pem)} has no ECDSA P-256 key; make one with: hocket peer init"
        )
    return key


def _private_key(secret: bytes, path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(secret, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadIdentity(f"{path} holds no private key; restore it from a backup") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadIdentity(f"{path} is not an ECDSA key; make one with hocket peer init")
    return key
