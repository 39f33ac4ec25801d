"""A run and the person who waits for it: a progress bar, and signals that end it where it can be taken up again."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0


class Bar:
    """Progress over rounds with what was last measured; silent for runs under two seconds or without a terminal."""

    def __init__(self, rounds: int, *, show: bool | None, start: int = 0, of: str = "rounds"):
        self.rounds = rounds
        self.of = of
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
            TextColumn(self.of),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
            console=self._console(),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self.of, total=self.rounds, completed=self.start, said="")
        return self._bar

    def _console(self) -> Any:
        from rich.console import Console

        return Console(stderr=True)


@contextmanager
def asked_to_stop() -> Generator[Callable[[], bool]]:
    """Says whether Ctrl-C or SIGTERM came; the second one acts at once.

    An exception out of a signal could be raised anywhere: in a destructor or a callback, where Python drops it, or
    between a round and its measures. And processes that play together must all stop after the same round.
    """
    asked = threading.Event()
    # Python gives signals to the main thread alone.
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def note(number: int, frame: Any) -> None:
        asked.set()
        signal.signal(number, before[number])

    before = {int(number): signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
