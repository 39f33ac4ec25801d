"""Every process shows that it is alive, and ends with a word when another one no longer does.

A collective waits for all processes, for ever if one of them is gone. So a thread beside it looks at the others'
signs of life in the key-value store of JAX's coordinator, and ends the process when one has stopped giving them: from
there nothing can be raised in the thread that waits.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

BEAT = 1.0
"""Seconds between two signs of life."""
PATIENCE = 20.0
"""Seconds without one after which a process is lost."""
ALARMED = 5.0
"""The same once a collective has failed somewhere: then somebody is missing, and only who is open."""
DYING = 2.0
"""Seconds in which a process that was killed may still take calls: its port is not the first thing to be closed."""
ALIVE, ALARM = "hocket/alive/", "hocket/alarm/"
LEFT, BUSY = "left", "busy"
GONE = "process 0, which coordinates the cluster, no longer answers; it or its machine is lost"
ABORTED = "JAX ended this process, and said why above"


class LivenessWatch(threading.Thread):
    """Gives signs of life, and looks for those of the others."""

    def __init__(
        self,
        store: Any,
        number: int,
        count: int,
        *,
        listening: Callable[[], bool] = lambda: True,
        ended: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        super().__init__(daemon=True, name="hocket-watch")
        self._store, self._number, self._count = store, number, count
        self._listening = listening
        """Whether process 0 still takes calls."""
        self._ended = ended or _end
        self._clock, self._sleep = clock, sleep
        self._playing = self._busy = False
        self._leaving = threading.Event()
        now = clock()
        self._seen = {other: ("", now) for other in range(count) if other != number}
        self._answered = now

    def run(self) -> None:
        """Until the process leaves."""
        atexit.register(self.leave)
        beat = 0
        while not self._leaving.is_set():
            beat += 1
            self._tell(ALIVE, BUSY if self._busy else str(beat))
            self._look()
            self._leaving.wait(BEAT)

    def leave(self) -> None:
        """The last thing that this process does in the cluster, while Python still stands.

        A thread that comes back from C++ to a Python that is being taken down is unwound through code that cannot be
        unwound, and aborts the process: so the thread ends first, and anybody who aborts later is not answered in
        Python."""
        self._leaving.set()
        self.join(PATIENCE)
        ctypes.CDLL(None).signal(signal.SIGABRT, signal.SIG_DFL)
        self._tell(ALIVE, LEFT)

    @contextmanager
    def busy(self) -> Generator[None]:
        """While code of others keeps Python's lock, and with it this thread from beating: nobody is lost for that."""
        self._busy = True
        self._tell(ALIVE, BUSY)
        try:
            yield
        finally:
            self._busy = False

    @contextmanager
    def over(self) -> Generator[None]:
        """While a run is played nobody may leave; a collective that fails in it raises the alarm."""
        self._playing = True
        try:
            yield
        except Exception as error:
            if not _is_collective(error):
                raise
            # At once: JAX ends this process from C++ when it notices that its coordinator is gone.
            if not self._listening():
                self._ended(GONE)
            self._tell(ALARM, type(error).__name__)
            # The thread ends the process as soon as it knows who is lost.
            self._sleep(PATIENCE + ALARMED)
            raise
        finally:
            self._playing = False

    def speak_when_aborted(self) -> None:
        """JAX may notice first that its coordinator is gone; it then aborts the process from C++, after a stack trace.

        A handler of Python's would run after that, which is never. One in C runs in the thread that aborts.
        """

        def speak(_: int) -> None:
            self._ended(self._why_aborted())

        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(speak)  # kept for as long as C may call it
        ctypes.CDLL(None).signal(signal.SIGABRT, self._handler)

    def _why_aborted(self) -> str:
        until = self._clock() + DYING
        while self._listening():
            if self._clock() > until:
                return ABORTED
            self._sleep(BEAT / 10)
        return GONE

    def _tell(self, folder: str, word: str) -> None:
        self._asked(lambda: self._store.key_value_set(f"{folder}{self._number}", word, allow_overwrite=True))

    def _look(self) -> None:
        now = self._clock()
        signs = self._asked(lambda: dict(self._store.key_value_dir_get(ALIVE)))
        alarms = self._asked(lambda: dict(self._store.key_value_dir_get(ALARM)))
        patience = ALARMED if alarms else PATIENCE
        if signs is None:
            if now - self._answered > patience:
                self._ended(GONE)
            return
        self._answered = now
        lost = []
        for other, (last, since) in self._seen.items():
            sign = signs.get(f"{ALIVE}{other}", "")
            if sign != last or sign == BUSY:
                self._seen[other] = (sign, now)
            elif now - since > patience and (sign != LEFT or self._playing):
                what = "left before the run was over" if sign == LEFT else "is lost"
                lost.append(f"process {other} of {self._count} {what}")
        if lost:
            if self._number == 0:  # the others look here for who is lost, and lose this process next
                self._sleep(2 * BEAT)
            self._ended(f"{', '.join(lost)}: no sign of life for {patience:g} s; see what was printed there")

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What the coordinator answers; None where it does not."""
        try:
            return ask()
        except Exception:
            return None


def _is_collective(error: Exception) -> bool:
    """Whether messages could not be carried between processes, as XLA reports it."""
    text = str(error).lower()
    return any(name in text for name in ("gloo", "nccl", "connection closed by peer", "coordination service"))


def _end(message: str) -> None:
    sys.stderr.write(f"hocket: {message}; what was reached is in the checkpoint, if one was asked for\n")
    sys.stderr.flush()
    os._exit(1)
