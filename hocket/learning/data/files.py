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
from typing import Any

from hocket.errors import BadInput, BadProblem, NoData

VARIABLE = "HOCKET_DATA"
"""Names the data folder where no argument does."""
SECONDS = 30
"""How long a silent server is waited for."""


@dataclass(frozen=True)
class Source:
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


def read(source: Source, data: str | Path | None = None, *, fetch: bool = False) -> bytes:
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


def _within(source: Source, folder: Path) -> Path:
    for parent in (folder / source.dataset, folder):
        for name in (source.name, source.name + ".gz"):
            if (parent / name).is_file():
                return parent / name
    raise BadProblem(
        f"{folder} holds no {source.name}, packed or not, neither directly nor in {source.dataset}/; "
        f"put it there from {source.url}"
    )


def _kept(source: Source, fetch: bool) -> Path:
    path = download(source) if fetch else cached(source)
    if path is None:
        raise NoData(
            f"there is no {source.name}: name the folder that holds it, set {VARIABLE}, or allow a download"
        )
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


def cached(source: Source) -> Path | None:
    """An earlier download, if there is one."""
    try:
        path = _cache(source) / source.download_name
    except BadInput:  # without the means to download nothing was
        return None
    return path if path.is_file() else None


def download(source: Source) -> Path:
    """Fetch the file unless that was done before; what arrives with another hash is thrown away."""
    pooch = _pooch()
    bar = _Bar(source.download_name)
    downloader = pooch.HTTPDownloader(progressbar=bar if sys.stderr.isatty() else False, timeout=SECONDS)
    try:
        # The name of the place, not its contents: pooch says on its own logger that it downloads.
        pooch.get_logger().setLevel("WARNING")
        path = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{source.download_sha256}",
            fname=source.download_name,
            path=_cache(source),
            downloader=downloader,
        )
    except (OSError, ValueError) as error:  # no connection, or another hash
        raise BadProblem(
            f"{source.url} could not be downloaded ({error}); try again, or fetch it yourself and name its folder"
        ) from error
    finally:
        bar.close()
    return Path(path)


def _cache(source: Source) -> Path:
    return Path(_pooch().os_cache("hocket")) / source.dataset


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise BadInput(
            "downloads need the package pooch; install hocket[learning], or name a data folder"
        ) from error
    return pooch


class _Bar:
    """What pooch asks of a progress bar, drawn by rich."""

    def __init__(self, name: str):
        self.name = name
        self.total = 0
        self._bar: Any = None
        self._task: Any = None

    def update(self, count: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn(self.name),
                BarColumn(),
                DownloadColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=self.total)
        self._bar.update(self._task, advance=count)

    def reset(self) -> None:
        """Pooch starts over before its last update, which is of the whole length."""
        if self._bar is not None:
            self._bar.reset(self._task, total=self.total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
