"""Hash-checked downloads into the user's cache, with a progress bar."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.errors import BadInput, BadProblem

if TYPE_CHECKING:
    from hocket.learning.data.files import Source

SECONDS = 30
"""How long a silent server is waited for."""


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
