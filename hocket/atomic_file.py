"""Files that are replaced whole: after a crash there is the old one or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced(path: Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write to, which is `path` once it is on the disk; where writing fails, nothing has changed.

    It has a name of its own until then: of several who write at once the last one counts, and each wrote all of it.
    The `mode` is less what the process's umask takes away, from the first byte on.
    """
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def replace_text(path: Path, text: str) -> None:
    """Write a text, all of it or nothing."""
    with replaced(path) as file:
        file.write(text.encode())
