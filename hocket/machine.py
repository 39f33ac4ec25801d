"""What hocket asks of the machine: files that are replaced whole, ports for processes to come and the commands that
start them, tables that it has already, one thread at work.

After a crash there is the old file or the new one, never half of one.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import secrets
import site
import socket
import stat
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@contextmanager
def replaced(path: Path, *, mode: int = 0o666, durable: bool = True) -> Generator[IO[bytes]]:
    """A file to write to, which is `path` once it is on the disk; where writing fails, nothing has changed.

    It has a name of its own until then: of several who write at once the last one counts, and each wrote all of it.
    The `mode` is less what the process's umask takes away, from the first byte on. What is not `durable` is whole too,
    but after a loss of power it may be gone.
    """
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    if durable:
        _force_folder(path.parent)


def _force_folder(folder: Path) -> None:
    """Have a folder's names on the disk, where the system lets one ask for that."""
    with suppress(OSError):
        about = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(about)
        finally:
            os.close(about)


def replace_text(path: Path, text: str) -> None:
    """Write a text, all of it or nothing."""
    with replaced(path) as file:
        file.write(text.encode())


def private_folder(folder: Path) -> Path:
    """A folder that its owner alone can open: made like that, with those above it that are missing, or closed if it was
    open. PermissionError where it is another user's."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    about = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _close_to_others(about, folder, 0o700)
    finally:
        os.close(about)
    return folder


def private_file(path: Path, flags: int = os.O_RDWR) -> int:
    """A descriptor of a file that its owner alone can open: made like that, or closed to others if it was open. A link
    is not followed, and another user's file is refused by a PermissionError."""
    file = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _close_to_others(file, path, 0o600)
    except BaseException:
        os.close(file)
        raise
    return file


def _close_to_others(file: int, path: Path, mode: int) -> None:
    if os.name != "posix":
        return
    about, me = os.fstat(file), os.geteuid()
    if me not in (about.st_uid, 0):
        raise PermissionError(errno.EPERM, "it belongs to another user of this machine", str(path))
    if stat.S_IMODE(about.st_mode) & 0o077:
        os.fchmod(file, mode)


def scikit_table(name: str, file: str, *, head: int = 0) -> np.ndarray:
    """One of scikit-learn's own data sets, what is to be told last in every row; ImportError where that is missing.

    Read from its file, past so many lines: to import scikit-learn for it takes longer than to fit a model to it.
    """
    import numpy as np  # here, because a relay does without

    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("scikit-learn is not installed")
    path = Path(found.origin).parent / "datasets" / "data" / file
    if path.is_file():
        return np.loadtxt(path, delimiter=",", skiprows=head)
    data = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")()
    return np.column_stack([data.data, data.target])


def running(module: str, *words: str, isolated: bool = False) -> list[str]:
    """The command that runs a module by this very interpreter, and takes no code from the folder it is started in.

    One that runs no code of the user's may be `isolated`: where hocket lies among the interpreter's own packages,
    neither the environment nor the user's own packages bring it any other.
    """
    own = str(Path(__file__).parents[1]) in site.getsitepackages()
    return [os.path.abspath(sys.executable), "-I" if isolated and own else "-P", "-m", module, *words]


def leave_current_folder() -> None:
    """Look for no code in the folder where a command was typed, nor let any process that is started from here: relative
    and empty parts of PYTHONPATH mean that folder."""
    named = os.environ.get("PYTHONPATH")
    if named is None:
        return
    parts = named.split(os.pathsep)
    kept = [part for part in parts if os.path.isabs(part)]
    gone = {os.path.abspath(part) for part in parts} - {os.path.abspath(part) for part in kept}
    sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) not in gone]
    os.environ["PYTHONPATH"] = os.pathsep.join(kept)


LOOPBACK = "127.0.0.1"
UNIX = "unix:"
"""Begins gRPC's name for a socket that is a file."""


@contextmanager
def held_ports(count: int) -> Generator[list[int]]:
    """Free ports that the system gives to nobody else meanwhile; anybody who is told of one can listen on it.

    A socket that is bound and never listens keeps a port from being given away. Servers that reuse addresses, as
    those of gRPC and asyncio do, may take it all the same, and only one of them.
    """
    with ExitStack() as holding:
        held = [holding.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((LOOPBACK, 0))
        yield [one.getsockname()[1] for one in held]


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra by one thread: of thousands of small factorisations, a second one costs more than it brings."""
    return _linear_algebra().limit(limits=1, user_api="blas")


@cache
def _linear_algebra() -> Any:
    """The libraries for it. To look for them takes longer than many a factorisation: once is enough."""
    # Each brings a library of its own, which is found once it is loaded.
    for name in ("numpy.linalg", "scipy.linalg"):
        importlib.import_module(name)
    return importlib.import_module("threadpoolctl").ThreadpoolController()
