"""Where data files lie, whether they are the right ones, and hash-checked downloads of those that are missing.

A file is looked for in the folder that the user names, then in the cache of earlier downloads. Whatever is found is
hashed before it is read: results are only comparable on the same data.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from hocket.errors import BadProblem, NoData
from hocket.machine import replaced

VARIABLE = "HOCKET_DATA"
"""Names the data folder where no argument does."""
SECONDS = 30
"""How long a silent server is waited for."""
LARGEST = 1 << 30
"""Bytes of a download that are read at most."""


@dataclass(frozen=True)
class PublishedFile:
    """One published file."""

    dataset: str
    """The folder it belongs to."""
    name: str
    """Without .gz, packed or not."""
    sha256: str
    """Of its content, unpacked."""
    url: str
    """Where it is published; it ends in .gz where that file is packed."""
    download_sha256: str
    """Of the file at that address."""

    @property
    def download_name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


def data_folder(data: str | Path | None) -> Path | None:
    """The folder that the user named, by argument or by variable; None if neither."""
    named = os.environ.get(VARIABLE) if data is None else data
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        how = f"the variable {VARIABLE}" if data is None else "the data folder"
        raise BadProblem(f"{how} names {folder}, which is no folder; name the one that holds your data")
    return folder


def read(source: PublishedFile, data: str | Path | None = None, *, fetch: bool = False) -> bytes:
    """The file's content, unpacked and checked; with `fetch` it is downloaded where it is missing."""
    folder = data_folder(data)
    path = _within(source, folder) if folder is not None else _kept(source, fetch)
    content = _unpacked(path)
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise BadProblem(
            f"{path} is not the published {source.name}: its SHA-256 is {found[:16]}… instead of "
            f"{source.sha256[:16]}…; delete it and fetch it again from {source.url}"
        )
    return content


def _within(source: PublishedFile, folder: Path) -> Path:
    for parent in (folder / source.dataset, folder):
        for name in (source.name, source.name + ".gz"):
            if (parent / name).is_file():
                return parent / name
    raise BadProblem(
        f"{folder} holds no {source.name}, packed or not, neither directly nor in {source.dataset}/; "
        f"put it there from {source.url}"
    )


def _kept(source: PublishedFile, fetch: bool) -> Path:
    path = cached(source)
    if not path.is_file():
        if not fetch:
            raise NoData(
                f"there is no {source.name}: name the folder that holds it, set {VARIABLE}, or allow a download"
            )
        download(source)
    return path


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadProblem(
            f"{path} cannot be unpacked after {len(content)} bytes ({error}); it is damaged or cut short: "
            "delete it and fetch it again"
        ) from error


def cached(source: PublishedFile) -> Path:
    """Where an earlier download lies, if there was one."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "hocket" / source.dataset / source.download_name


def download(source: PublishedFile) -> None:
    """Fetch the file into the cache; content with another hash is refused."""
    from rich.console import Console
    from rich.progress import wrap_file

    try:
        with (
            urlopen(source.url, timeout=SECONDS) as answer,
            wrap_file(
                answer,
                total=int(answer.headers.get("Content-Length") or 0),
                description=source.download_name,
                console=Console(stderr=True),
                transient=True,
                disable=not sys.stderr.isatty(),
            ) as file,
        ):
            content = file.read(LARGEST)
    except OSError as error:
        raise BadProblem(
            f"{source.url} could not be downloaded ({error}); try again, or fetch it yourself and name its folder"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != source.download_sha256:
        raise BadProblem(
            f"{source.url} could not be downloaded (its SHA-256 hash is {found[:16]}… instead of "
            f"{source.download_sha256[:16]}…); try again, or fetch it yourself and name its folder"
        )
    path = cached(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        file.write(content)
