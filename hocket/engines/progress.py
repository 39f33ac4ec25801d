"""A progress bar that appears once a run has proved to be long, and says how it is going."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 2.0


class Bar:
    """Progress over rounds with what was last measured; silent for runs under two seconds or without a terminal."""

    def __init__(self, rounds: int, *, show: bool | None, start: int = 0):
        self.rounds = rounds
        self.start = start
        self.show = sys.stderr.isatty() if show is None else show
        self.began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def say(self, text: str) -> None:
        """A line for the person watching."""
        if self.show:
            self._console().print(text)

    def update(self, done: int, **measured: float) -> None:
        """Show how far the run is, and how it is going."""
        if not self.show or time.monotonic() - self.began < PATIENCE:
            return
        bar = self._bar or self._open()
        said = "  ".join(f"{name} {value:.3g}" for name, value in measured.items())
        bar.update(self._task, completed=done, said=said)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _open(self) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("rounds"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
            console=self._console(),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("rounds", total=self.rounds, completed=self.start, said="")
        return self._bar

    def _console(self) -> Any:
        from rich.console import Console

        return Console(stderr=True)
