"""Whether data are still those that a name stands for: a digest that never leaves the member, salted by its own secret.

Kept noise cancels in the difference of two runs, so if a record was added between them, the difference is that record.
The salt keeps whoever finds a digest from trying out guesses of small data.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from contextlib import suppress

from hocket.errors import JournalError
from hocket.federation.home import Home
from hocket.federation.task import Task
from hocket.machine import private_folder

LABEL = b"hocket/data/1\n"
SECRET = 32
"""Bytes of a home's secret."""


def salted_digest(home: Home, task: Task | None) -> str:
    """The digest that a task gives of its data, under this home's secret; empty if it gives none."""
    given = getattr(task, "data_digest", None)
    digest = None if given is None else given()
    if digest is None:
        return ""
    key = home_secret(home)
    return f"{hashlib.sha256(key).hexdigest()[:8]}:{hmac.new(key, LABEL + digest, 'sha256').hexdigest()}"


def check_same_data(dataset: str, digest: str, before: Iterable[str]) -> None:
    """Refuse data that are not those of earlier runs under the same name; empty digests say nothing."""
    others = [one for one in before if one and digest and one != digest]
    if not others:
        return
    if others[0].partition(":")[0] != digest.partition(":")[0]:
        raise JournalError(
            f"whether the data are those that {dataset!r} stood for cannot be told: the secret that salts their "
            "digests, digest.key in this member's home, is another one than before; restore it from a backup, or agree "
            "on a new dataset name"
        )
    raise JournalError(
        f"these are not the data that {dataset!r} stood for in earlier runs: the task's digest has changed. Noise that "
        "is kept for a dataset cancels in the difference of two runs, which would show what was changed between them, "
        "to a record. Run on the data as they were; or agree on a new dataset name, for which noise is drawn afresh: "
        "it counts as another dataset, and whatever records it shares with the old one have been told of twice"
    )


def unchecked(digest: str) -> list[str]:
    """What to say where a task gives no digest."""
    if digest:
        return []
    return [
        "The task gives no digest of its data (data_digest): nobody checks that they are those of earlier runs, and "
        "noise that is kept hides nothing of what changes between runs."
    ]


def home_secret(home: Home) -> bytes:
    """This home's secret, made when it is first asked for."""
    path = home.digest_key
    if not path.exists():
        private_folder(path.parent)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.touch(mode=0o600)
        new.write_bytes(os.urandom(SECRET))
        with suppress(FileExistsError):  # whoever comes first has made it, whole
            os.link(new, path)
        new.unlink()
    key = path.read_bytes()
    if len(key) != SECRET:
        raise JournalError(f"{path} is damaged: it has not {SECRET} bytes; restore it from a backup")
    return key
