"""What a member measures while it runs: lines of JSON in a file, and numbers for Prometheus on loopback.

Nothing here is a state, a gradient or noise. The endpoint answers on this machine only, and everybody on it unless
there is a token: where a certificate stands, what the task measures on this member's own data goes to the file and not
to the endpoint.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeGuard

import numpy as np

from hocket.files import json_value
from hocket.links.text import is_list, is_table, json_line, shown
from hocket.machine import replace_text

if TYPE_CHECKING:
    from prometheus_client import Metric

OF_LINKS = ("time", "round", "lag", "bytes_sent", "bytes_received", "repeats")
"""What a line of measurements holds of rounds and links; the rest is of the state, and of the task."""
EVERY = 0.5
"""Seconds between two lines, at least: rounds may be much shorter."""
BURST = 20
"""Events of one kind that are logged as they come."""
PAUSE = 10.0
"""Seconds from one line to the next once there were more."""
MOST_BYTES = 5_000_000
"""Of a log, before it is put aside, in place of the one before; of measurements, before they are thinned."""
MOST_TEXT = 500
"""Characters of a text in a log."""


@dataclass
class Metrics:
    """The latest numbers, and the file to which some of them go."""

    path: Path
    latest: dict[str, Any] = field(default_factory=dict[str, Any])
    lags: dict[str, float] = field(default_factory=dict[str, float])
    """By neighbour, how long after our own word its word came."""
    at_home: frozenset[str] = frozenset()
    """Names of numbers that the endpoint does not serve."""
    _written: float = 0.0
    _file: TextIO | None = None

    @property
    def due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self._written >= EVERY

    def record(
        self, numbers: Mapping[str, Any], lags: Mapping[str, Any], at_home: Mapping[str, Any] | None = None
    ) -> None:
        """Take the latest numbers, of whatever library, and write them down; those `at_home` are not served."""
        if at_home:
            self.at_home |= at_home.keys()
            numbers = {**numbers, **at_home}
        numbers, lags = _plain(numbers), _plain(lags)
        self.latest = {**self.latest, **numbers}
        self.lags = lags
        self._written = time.monotonic()
        if self._file is None:
            self._file = self._opened()
        line = {
            "time": round(time.time(), 3),
            **numbers,
            "lag": {name: round(lag, 6) for name, lag in lags.items()},
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        if self._file.tell() >= MOST_BYTES:
            self.close()
            thin(self.path)

    def _opened(self) -> TextIO:
        """The file, at the beginning of a line: a crash may have cut the last one short."""
        file = self.path.open("a+", encoding="utf-8")
        if file.tell() and not self.path.read_bytes().endswith(b"\n"):
            file.write("\n")
        return file

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def exposition(self) -> str:
        """All numbers in the text format that Prometheus reads."""
        from prometheus_client import generate_latest

        return generate_latest(self).decode()

    def collect(self) -> Iterator[Metric]:
        """What is a number, as prometheus-client asks for it."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        for name, value in self.latest.items():
            if isinstance(value, int | float) and name not in self.at_home:
                yield GaugeMetricFamily(f"hocket_{name}", name, value)
        lag = GaugeMetricFamily("hocket_lag_seconds", "after our own word", labels=["neighbour"])
        for name, seconds in self.lags.items():
            lag.add_metric([name], seconds)
        if lag.samples:
            yield lag


def measurements(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """The lines of a file of measurements, or `most` of them, evenly, the first and the last included.

    What a crash cut short is left out.
    """
    if not path.is_file():
        return []
    lines = [line for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if line]
    if most is not None and len(lines) > most:
        lines = [lines[round(place * (len(lines) - 1) / (most - 1))] for place in range(most)]
    return [found for line in lines if (found := _read(line)) is not None]


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a line of a file holds a number there."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def latest(path: Path, *, within: int = 64 * 1024) -> list[dict[str, Any]]:
    """The last lines of a file of measurements, or of a log, as many as so many bytes hold."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - within))
            lines = file.read(within).decode(errors="replace").split("\n")
    except FileNotFoundError:
        return []
    whole = lines if size <= within else lines[1:]
    return [found for line in whole if (found := _read(line)) is not None]


def _read(line: str) -> dict[str, Any] | None:
    try:
        found = json_value(line)
    except (ValueError, RecursionError):
        return None
    return found if is_table(found) else None


def thin(path: Path) -> None:
    """Keep every second line, so that a run of months has a file of bounded size, coarser the longer ago."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    replace_text(path, "".join(lines[::2]))


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Python's own numbers: JSON knows no other, and tasks compute with NumPy, JAX or torch."""
    return {name: np.asarray(value).tolist() for name, value in numbers.items()}


@dataclass
class Flow:
    """How much of one kind of event is written down: a burst, and then a line now and again."""

    room: float = BURST
    """Lines that may be written at once."""
    since: float = 0.0
    left_out: int = 0

    def admits(self, now: float) -> bool:
        """Whether an event may be written down now; one that may not is counted."""
        self.room = min(BURST, self.room + (now - self.since) / PAUSE)
        self.since = now
        if self.room < 1:
            self.left_out += 1
            return False
        self.room -= 1
        return True


@dataclass
class Log:
    """What happened, a line of JSON each: events and names, never what was computed.

    Neighbours cause most events, and may cause them on purpose: nobody can fill the disk through it.
    """

    path: Path
    clock: Callable[[], float] = time.monotonic
    _flows: dict[str, Flow] = field(default_factory=dict[str, Flow])

    def say(self, event: str, **about: Any) -> None:
        """Add a line, unless there were too many of the kind; the next one says how many were left out."""
        now = self.clock()
        flow = self._flows.setdefault(event, Flow(since=now))
        if not flow.admits(now):
            return
        line = {"time": round(time.time(), 3), "event": event, **_cut(about)}
        if flow.left_out:
            line, flow.left_out = line | {"left_out": flow.left_out}, 0
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json_line(line) + "\n")
            full = file.tell() >= MOST_BYTES
        if full:
            os.replace(self.path, self.path.with_name(f"{self.path.stem}.1{self.path.suffix}"))


def _cut(value: Any) -> Any:
    """The same with all texts in it fit to be shown."""
    if isinstance(value, str):
        return shown(value, MOST_TEXT)
    if is_table(value):
        return {key: _cut(one) for key, one in value.items()}
    return [_cut(one) for one in value] if is_list(value) else value
