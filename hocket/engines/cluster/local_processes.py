"""A cluster on one machine: processes started together, watched, and ended together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from hocket.engines.cluster.processes import ADDRESS, COUNT, NUMBER
from hocket.errors import ClusterError, Interrupted
from hocket.machine import LOOPBACK, held_ports, running

LOOK_EVERY = 0.05
"""Seconds between two looks at the processes."""
GRACE = 3.0
"""Seconds in which processes may end by themselves once one has failed: often all fail for the same reason."""
FAREWELL = 60.0
"""Seconds in which processes may write their checkpoint after Ctrl-C."""
LAST_WORDS = 400
"""Characters of a failed process's errors that are shown."""


@dataclass(frozen=True)
class Ended:
    """How processes that were started together ended."""

    output: str
    """What process 0 printed."""
    codes: tuple[int, ...]

    @property
    def well(self) -> bool:
        return not any(self.codes)


class _Process:
    """One process of the group, with what it prints."""

    def __init__(self, command: Sequence[str], number: int, count: int, address: str):
        self.number = number
        self._out: IO[bytes] = _scratch()
        # Process 0 has the progress bar, if there is a terminal for it; otherwise what was said last is kept, for when
        # the process fails.
        self._errors = _scratch() if number or not sys.stderr.isatty() else None
        # JAX's CPU devices unless somebody chose: processes on one machine would all ask for the same GPU.
        chosen = {"JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")}
        own = {ADDRESS: address, COUNT: str(count), NUMBER: str(number)}
        self._popen = subprocess.Popen(
            running(*command),
            env={**os.environ, **chosen, **own},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is for the one who watches, who passes it on
        )

    @property
    def code(self) -> int | None:
        return self._popen.poll()

    @property
    def output(self) -> str:
        return _read(self._out)

    def send(self, number: int) -> None:
        if self.code is None:
            self._popen.send_signal(number)

    def close(self) -> None:
        self.send(signal.SIGKILL)
        self._popen.wait()
        self._out.close()
        if self._errors is not None:
            self._errors.close()

    def obituary(self, count: int) -> str:
        """Who it was and how it ended."""
        code = self.code or 0
        how = f"by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"with exit code {code}"
        last = _read(self._errors).strip()[-LAST_WORDS:] if self._errors is not None else ""
        return f"process {self.number} of {count} is lost: it ended {how}" + (
            f", saying: {last}" if last else ""
        )


def run_together(command: Sequence[str], processes: int) -> Ended:
    """Run `python -m` with the command in so many processes that know of each other, until all have ended.

    When one is lost all are ended, and the error names it. Ctrl-C reaches all of them after the same round.
    """
    with _group(command, processes) as group:
        try:
            return _wait(group)
        except KeyboardInterrupt:
            for process in group:
                process.send(signal.SIGINT)
            _settle(group, FAREWELL)
            if group[0].code is None:
                raise Interrupted("interrupted; the processes did not end and were killed", round=0) from None
            return _ended(group)


@contextmanager
def _group(command: Sequence[str], count: int) -> Generator[list[_Process]]:
    group: list[_Process] = []
    with held_ports(1) as [port]:
        try:
            for number in range(count):
                group.append(_Process(command, number, count, f"{LOOPBACK}:{port}"))
            yield group
        finally:
            for process in group:
                process.close()


def _wait(group: list[_Process]) -> Ended:
    while any(process.code is None for process in group):
        failed = next((process for process in group if process.code), None)
        if failed is None:
            time.sleep(LOOK_EVERY)
            continue
        _settle(group, GRACE)
        if failed.code and failed.code > 0 and (group[0].code or 0) > 0:
            break  # process 0 has said itself what is wrong
        raise ClusterError(f"{failed.obituary(len(group))}; the others were ended")
    return _ended(group)


def _settle(group: list[_Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(process.code is None for process in group):
        time.sleep(LOOK_EVERY)


def _ended(group: list[_Process]) -> Ended:
    return Ended(group[0].output, tuple(process.code or 0 for process in group))


def _scratch() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")
