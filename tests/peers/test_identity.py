"""Identities: kept private, known by their fingerprints, and worth nothing beyond their date or purpose."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from hocket.errors import BadIdentity
from hocket.links.keys.identity import (
    CERTIFICATE,
    KEY,
    Identity,
    check_certificate,
    decrypt,
    encrypt,
    expires,
    fingerprint,
    is_under_passphrase,
    name_in,
    verify,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clinic():
    return Identity.create("clinic-a")


def test_a_new_identity_is_its_own_and_nobody_elses(clinic):
    check_certificate(clinic.certificate_pem, "clinic-a")
    assert clinic.name == name_in(clinic.certificate_pem) == "clinic-a"
    assert clinic.fingerprint == fingerprint(clinic.certificate_pem)
    assert clinic.fingerprint != Identity.create("clinic-a").fingerprint
    assert [len(word) for word in clinic.fingerprint.split("-")] == [5] * 8


@pytest.mark.parametrize("name", ["", "Clinic", "clinic_a", "-a", "a-", "a.b", "a b", "é", "a" * 64])
def test_names_that_tls_cannot_check_are_refused(name):
    with pytest.raises(BadIdentity, match="small letters, digits and hyphens, 63 at most"):
        Identity.create(name)


def test_a_certificate_must_last(clinic):
    with pytest.raises(BadIdentity, match="at least one day"):
        Identity.create("clinic-a", valid_days=0)


def test_signatures_are_for_one_message_and_purpose(clinic):
    signature = clinic.sign(b"message", b"plan")
    assert verify(clinic.certificate_pem, b"message", b"plan", signature)
    assert not verify(clinic.certificate_pem, b"Message", b"plan", signature)
    assert not verify(clinic.certificate_pem, b"message", b"vote", signature)
    # The border between purpose and message is part of what is signed.
    assert not verify(clinic.certificate_pem, b"nmessage", b"pla", signature)
    assert not verify(Identity.create("clinic-a").certificate_pem, b"message", b"plan", signature)
    assert not verify(clinic.certificate_pem, b"message", b"plan", b"")


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_saved_and_loaded(tmp_path, clinic, passphrase):
    folder = tmp_path / "home" / "identity"
    clinic.save(folder, passphrase)
    again = Identity.load(folder, passphrase)
    assert again.certificate_pem == clinic.certificate_pem
    assert again.private_key_pem == clinic.private_key_pem
    assert is_under_passphrase(folder) == (passphrase is not None)
    assert (clinic.private_key_pem in (folder / KEY).read_bytes()) == (passphrase is None)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


SAVES = """
import os, sys
from pathlib import Path
from hocket.links.keys.identity import Identity
left, force = int(sys.argv[2]), os.fsync
def killed(file):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    force(file)
os.fsync = killed
Identity.create("clinic-a").save(Path(sys.argv[1]))
"""
"""Saves an identity, and is killed before the system is asked so many times to have something on the disk."""


def test_a_key_that_another_version_encrypted_is_refused_in_words(tmp_path, clinic):
    clinic.save(tmp_path, "correct horse")
    key = tmp_path / KEY
    key.write_bytes(key.read_bytes().replace(b"hocket/encrypted-key/1", b"hocket/sealed/1"))
    with pytest.raises(BadIdentity, match="by another version of hocket"):
        Identity.load(tmp_path, "correct horse")


def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_key_or_none(tmp_path):
    codes = []
    for place in range(5):
        folder = tmp_path / str(place)
        done = subprocess.run([sys.executable, "-c", SAVES, str(folder), str(place)], cwd=ROOT, check=False)
        codes.append(done.returncode)
        if not (folder / KEY).exists():
            Identity.create("clinic-a").save(folder)
        assert Identity.load(folder).name == "clinic-a"
    assert codes == [9, 9, 9, 9, 0]  # certificate, folder, key, folder


def test_a_key_is_on_the_disk_and_so_is_its_name(tmp_path, clinic, monkeypatch):
    forced, force = [], os.fsync

    def noted(file: int) -> None:
        forced.append((os.fstat(file).st_ino, (tmp_path / "identity" / KEY).exists()))
        force(file)

    monkeypatch.setattr(os, "fsync", noted)
    clinic.save(tmp_path / "identity")
    inodes = {path.name: path.stat().st_ino for path in (tmp_path / "identity").iterdir()}
    assert (inodes[KEY], False) in forced  # before it had its name
    assert forced[-1] == ((tmp_path / "identity").stat().st_ino, True)


def test_an_identity_is_never_replaced(tmp_path, clinic):
    clinic.save(tmp_path / "identity")
    with pytest.raises(BadIdentity, match="already holds an identity"):
        Identity.create("clinic-b").save(tmp_path / "identity")
    assert Identity.load(tmp_path / "identity").fingerprint == clinic.fingerprint


def test_a_passphrase_is_needed_and_must_be_right(tmp_path, clinic):
    clinic.save(tmp_path / "identity", "right")
    with pytest.raises(BadIdentity, match="is under a passphrase; give it"):
        Identity.load(tmp_path / "identity")
    with pytest.raises(BadIdentity, match="the passphrase is wrong"):
        Identity.load(tmp_path / "identity", "wrong")
    with pytest.raises(BadIdentity, match="the passphrase is empty"):
        encrypt(b"secret", "")
    sealed = encrypt(b"secret", "right")
    with pytest.raises(BadIdentity, match="or the key file is damaged"):
        decrypt(sealed[:-1] + bytes([sealed[-1] ^ 1]), "right")


def test_a_key_that_others_can_read_is_refused(tmp_path, clinic):
    clinic.save(tmp_path / "identity")
    (tmp_path / "identity" / KEY).chmod(0o640)
    with pytest.raises(BadIdentity, match="run: chmod 600"):
        Identity.load(tmp_path / "identity")


def test_damaged_folders_say_what_is_wrong(tmp_path, clinic):
    with pytest.raises(BadIdentity, match="make an identity with hocket peer init"):
        Identity.load(tmp_path / "nowhere")
    folder = tmp_path / "identity"
    clinic.save(folder)
    (folder / CERTIFICATE).write_bytes(Identity.create("clinic-a").certificate_pem)
    with pytest.raises(BadIdentity, match="do not belong together"):
        Identity.load(folder)
    (folder / CERTIFICATE).write_bytes(b"no certificate")
    with pytest.raises(BadIdentity, match="no certificate in PEM"):
        Identity.load(folder)
    (folder / KEY).write_bytes(b"no key")
    with pytest.raises(BadIdentity, match="holds no private key"):
        Identity.load(folder)


def test_a_folder_that_cannot_be_written(folder_of_nobody, clinic):
    home = folder_of_nobody / "home"
    home.mkdir(mode=0o500)
    with pytest.raises(
        BadIdentity, match="identity cannot be written: Permission denied; change that, or name"
    ):
        clinic.save(home / "identity")


def test_dates(clinic):
    now = datetime.now(UTC)
    assert now + timedelta(days=364) < expires(clinic.certificate_pem) < now + timedelta(days=366)
    check_certificate(
        clinic.certificate_pem, "clinic-a", now=now - timedelta(hours=23)
    )  # a clock that is behind
    with pytest.raises(
        BadIdentity,
        match=r"expired on \d{4}-\d\d-\d\d; clinic-a renews it with .* renew PLAN.*; where no plan is signed",
    ):
        check_certificate(clinic.certificate_pem, "clinic-a", now=now + timedelta(days=366))
    with pytest.raises(BadIdentity, match=r"valid only from \d{4}-\d\d-\d\d; set the clock right"):
        check_certificate(clinic.certificate_pem, "clinic-a", now=now - timedelta(days=3))


def test_certificates_of_others_and_of_authorities_are_refused(clinic):
    with pytest.raises(BadIdentity, match="the certificate of clinic-b is made out to 'clinic-a'"):
        check_certificate(clinic.certificate_pem, "clinic-b")
    authority = trustme.CA()
    issued = authority.issue_cert("clinic-a", common_name="clinic-a", key_type=trustme.KeyType.ECDSA)
    with pytest.raises(BadIdentity, match="not signed by itself alone"):
        check_certificate(issued.cert_chain_pems[0].bytes(), "clinic-a")
    rsa = authority.issue_cert("clinic-a", common_name="clinic-a", key_type=trustme.KeyType.RSA)
    with pytest.raises(BadIdentity, match="has no ECDSA P-256 key"):
        check_certificate(rsa.cert_chain_pems[0].bytes(), "clinic-a")
