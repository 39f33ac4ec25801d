"""Being asked to stop: a signal leaves a note, and the run ends where it can be taken up again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
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
