"""Compiled programs kept on disk between processes, in a folder that nobody but their user can write to.

Anybody who can write there can run code as this user, so anything doubtful about the folder turns the cache off, and so
does `HOCKET_COMPILE_CACHE=off`. A cache that the user gave JAX is left as it is, and so is what it may hold.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax

from hocket.machine import replaced

VARIABLE = "HOCKET_COMPILE_CACHE"
"""Names another folder; "off" keeps nothing."""
MOST_BYTES = 256 << 20
"""What a process begins with at most; the oldest programs go first. JAX counts only with another package."""
WRITTEN = "whole"
"""How: folders of before may hold programs that were cut off."""
WORTH_KEEPING = 0.05
"""Seconds of compiling; what takes less is as quickly compiled as read."""


@cache
def keep_compiled() -> None:
    """Let JAX keep what it compiles from now on, for this process and the next, if there is a safe place for it."""
    config: Any = jax.config
    named = os.environ.get(VARIABLE, "")
    if config.jax_compilation_cache_dir is not None or named.lower() in ("off", "0"):
        return
    # Without a home, or room on the disk, programs are compiled as before.
    with suppress(OSError, RuntimeError):
        place = Path(named).expanduser().absolute() if named else _home() / _machine()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = place.resolve()  # links are followed once, and what they lead to is looked at
        if not _ours_alone(place):
            return
        _make_room(place)
        _write_whole()
        config.update("jax_compilation_cache_dir", str(place))
        if config.jax_persistent_cache_min_compile_time_secs == 1.0:  # JAX's own default
            config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)


@cache
def _write_whole() -> None:
    """Have programs written beside their place and moved there. JAX writes them in place, without a lock: another
    process reads half of one, and what is left by a process that is killed stays, with a warning at every start."""
    with suppress(ImportError, AttributeError):  # of a JAX that keeps programs in another way
        from jax._src.lru_cache import LRUCache

        in_place = LRUCache.put

        def put(self: Any, key: str, value: bytes) -> None:
            if self.eviction_enabled:  # then it has a lock
                in_place(self, key, value)
            elif not (place := Path(self.path, f"{key}-cache")).exists():
                with replaced(place, mode=0o600) as file:
                    file.write(value)

        LRUCache.put = put


def _home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hocket" / "compiled"


def _machine() -> str:
    """Programs use what this processor can do: a home that several machines share has a folder for each kind."""
    about = WRITTEN + platform.machine() + platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        about += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def _ours_alone(place: Path) -> bool:
    """Whether nobody else can put a file there, or another folder in its place."""
    if not hasattr(os, "geteuid"):
        return False  # a system that says nothing of owners
    own, *above = [path.stat() for path in (place, *place.parents)]
    me = os.geteuid()
    return (
        own.st_uid == me
        and not own.st_mode & 0o077
        and all(
            part.st_uid in (0, me) and (not part.st_mode & 0o022 or part.st_mode & stat.S_ISVTX)
            for part in above
        )
    )


def _make_room(place: Path) -> None:
    """Throw the oldest programs away where there are too many: down to half, so that this is seldom."""
    files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in place.rglob("*-cache*"))
    total = sum(size for _, size, _ in files)
    if total > MOST_BYTES:
        for _, size, path in files:
            path.unlink(missing_ok=True)
            total -= size
            if total <= MOST_BYTES // 2:
                return
