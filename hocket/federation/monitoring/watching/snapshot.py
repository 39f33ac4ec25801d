"""What one member knows of a run at one moment, from its folder alone: for a screen, a page or a program."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hocket.federation.monitoring.at_home import LEFT_OUT, OF_DATA, of_task, stays_at_home
from hocket.federation.monitoring.convergence import ConvergenceDiagnosis, diagnosis_of
from hocket.federation.monitoring.metrics import is_number, latest, measurements
from hocket.federation.monitoring.watching.cautions import expiry_warnings, said_nothing, troubles
from hocket.federation.monitoring.watching.wording import (
    duration,
    event_in_words,
    lag_in_words,
    size_in_words,
)
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.run_folder import RunFolder, Status
from hocket.links.text import is_table

COUNTED = ("round", "bytes_sent", "bytes_received")
POINTS = 120
"""Of a measurement's course, as it is drawn."""
RECENT, FEWEST = 60.0, 5
"""Seconds, and lines, over which speed is measured at least."""
EVENTS = 8
LONGEST = 3650 * 86_400.0
"""Seconds: a run that seems to take longer than this has no estimate worth the name."""
State = Literal["not begun", "running", "stopped", "finished"]


@dataclass(frozen=True)
class NeighbourLink:
    """Somebody this member talks to."""

    name: str
    link: str
    lag: float | None
    """Seconds after this member's message that its word came, last time; zero if it was there first."""


@dataclass(frozen=True)
class MeasuredCourse:
    """A number that is measured as rounds go by."""

    name: str
    value: float | None
    course: tuple[tuple[float, float], ...]
    """Rounds and values from the beginning on, as far as they are finite."""
    at_home: bool = False
    """Whether it must not be passed on: it is of this member's own data, and no ε covers it."""


@dataclass(frozen=True)
class Speed:
    """What goes on in a second."""

    rounds: float
    said: float
    """Bytes, to all neighbours."""
    received: float


@dataclass(frozen=True)
class Event:
    """A line of the log."""

    time: float
    words: str
    at_home: bool = False
    """Whether it must not be passed on: it depends on this member's own data."""


@dataclass(frozen=True)
class Snapshot:
    """How a run stands."""

    member: str
    task: str
    state: State
    done: int
    of: int | None
    """How many there are; None where that is found on the way, as in a study."""
    unit: str
    standing: ConvergenceDiagnosis
    waiting_for: Mapping[str, str]
    waiting_seconds: float
    neighbours: tuple[NeighbourLink, ...]
    speed: Speed | None
    seconds_left: float | None
    measured: tuple[MeasuredCourse, ...]
    warnings: tuple[str, ...]
    events: tuple[Event, ...]
    at: float
    note: str = ""
    """That something was left out, and why."""

    def to_pass_on(self) -> Snapshot:
        """The same without what stays at home: for a page, which others may be given."""
        measured = tuple(one for one in self.measured if not one.at_home)
        events = tuple(one for one in self.events if not one.at_home)
        note = LEFT_OUT if (len(measured), len(events)) != (len(self.measured), len(self.events)) else ""
        return dataclasses.replace(self, measured=measured, events=events, note=note)

    @property
    def progress(self) -> str:
        """How far it is, and how long that may still take."""
        if self.of is None:
            return f"{self.done:,} {self.unit}{'' if self.state == 'finished' else ' so far'}"
        left = "" if self.seconds_left is None else f", about {duration(self.seconds_left)} left"
        return f"{self.done:,} of {self.of:,} {self.unit}{left}"

    @property
    def share(self) -> float | None:
        """How much of it is done; None where nobody knows how much there is."""
        return None if self.of is None else self.done / self.of

    @property
    def waits(self) -> list[str]:
        """For whom this member waits and why; or whose word came last, which is whom it would wait for."""
        if self.waiting_for:
            since = duration(self.waiting_seconds)
            return [
                f"{self.member} waits for {name} for {since}: {why}" for name, why in self.waiting_for.items()
            ]
        lags = {one.name: one.lag for one in self.neighbours if one.lag is not None}
        if self.state != "running" or not lags:
            return []
        slowest = max(lags, key=lambda name: lags[name])
        if lags[slowest] <= 0:
            return [f"Nobody is waited for: all others wait for {self.member}"]
        return [f"Nobody is waited for; the last message came from {slowest}, {lag_in_words(lags[slowest])}"]

    @property
    def pace(self) -> str:
        """What goes on in a second, in words; empty where nothing does."""
        if self.speed is None:
            return ""
        rounds, rate = self.speed.rounds, f"{self.speed.rounds:.3g} {self.unit} a second"
        if 0 < rounds < 0.5:
            rate = f"{duration(1 / rounds)} for one of its {self.unit}"
        return (
            f"{rate}, {size_in_words(self.speed.said)}/s said, {size_in_words(self.speed.received)}/s heard"
        )

    def to_json(self) -> dict[str, Any]:
        """The same as plain values; what is not finite is null."""
        data = dataclasses.asdict(self)
        data["measured"] = {one.name: one.value for one in self.measured}
        data["at_home"] = [one.name for one in self.measured if one.at_home]
        data["waiting_for"] = dict(self.waiting_for)
        return data


def look(plan: FederationPlan, folder: RunFolder, name: str, *, now: float | None = None) -> Snapshot:
    """How this member's run of a plan stands now."""
    now = time.time() if now is None else now
    begun, running = folder.begun, folder.running
    found = folder.status() if begun else Status.not_begun(name, plan.run.rounds)
    state: State = (
        "finished" if found["finished"] else "running" if running else "stopped" if begun else "not begun"
    )
    lines = latest(folder.metrics)
    last = lines[-1] if lines else {}
    standing = diagnosis_of(plan, found | {"measured": found["measured"] or last})
    speed = _speed(lines, now) if state == "running" else None
    of = plan.run.rounds if plan.kind.counted_ahead else None
    done = played(plan, found)
    left = _seconds_left(done, of, speed)
    quiet = max(0.0, now - folder.said_at) if begun and running else 0.0
    return Snapshot(
        member=found["member"],
        task=plan.task.name,
        state=state,
        done=done,
        of=of,
        unit=plan.kind.unit,
        standing=standing,
        waiting_for=found["waiting_for"] if state == "running" else {},
        waiting_seconds=found["waiting_seconds"] if state == "running" else 0.0,
        neighbours=tuple(_neighbours(plan, found, last, running=running)),
        speed=speed,
        seconds_left=left,
        measured=tuple(_measured(folder.metrics, plan)),
        warnings=(
            *said_nothing(found["member"], quiet),
            *troubles(found),
            *expiry_warnings(plan, found, seconds_left=left, now=now),
        ),
        events=tuple(_events(folder.log)),
        at=now,
    )


def played(plan: FederationPlan, status: Mapping[str, Any]) -> int:
    """How many rounds, or sums of a study, are over: a status names the one that is being played."""
    over = plan.kind.counted_ahead and (
        status["finished"] or status["measured"].get("round") == plan.run.rounds
    )
    return plan.run.rounds if over else max(0, status["round"] - 1)


def _neighbours(
    plan: FederationPlan, status: Mapping[str, Any], last: Mapping[str, Any], *, running: bool
) -> Iterator[NeighbourLink]:
    lags = last.get("lag")
    known: Mapping[str, Any] = lags if is_table(lags) else {}
    for name in plan.neighbours(status["member"]):
        if name in status["dropped"]:
            link = "dropped"
        elif not running:
            link = "not open"
        elif name in status["waiting_for"]:
            link = str(status["waiting_for"][name])
        else:
            link = "connected" if name in status.get("connected", ()) else "not connected"
        lag = known.get(name)
        yield NeighbourLink(name, link, float(lag) if running and is_number(lag) else None)


def _speed(lines: Sequence[Mapping[str, Any]], now: float) -> Speed | None:
    """Over the last minute, or a few lines if that is longer; a restart begins anew."""
    lines = [line for line in lines if all(is_number(line.get(key)) for key in ("time", *COUNTED))]
    if not lines:
        return None
    last, stretch = lines[-1], [lines[-1]]
    for line in reversed(lines[:-1]):
        restarted = line["bytes_sent"] > stretch[-1]["bytes_sent"] or line["round"] > stretch[-1]["round"]
        if restarted or (last["time"] - line["time"] > RECENT and len(stretch) >= FEWEST):
            break
        stretch.append(line)
    first = stretch[-1]
    seconds = max(now, last["time"]) - first["time"]
    if len(stretch) < 2 or seconds <= 0:
        return None
    return Speed(*((last[key] - first[key]) / seconds for key in COUNTED))


def _seconds_left(done: int, of: int | None, speed: Speed | None) -> float | None:
    if of is None or speed is None or speed.rounds <= 0:
        return None
    left = max(0, of - done) / speed.rounds
    return left if left <= LONGEST else None


def _measured(path: Path, plan: FederationPlan) -> Iterator[MeasuredCourse]:
    """What the task measures, what the state does, and how far neighbours are."""
    lines = measurements(path, POINTS)
    if not lines:
        return
    last = lines[-1]
    for name in (*filter(of_task, last), "disagreement", "movement"):
        if name not in last or not is_number(last[name]):
            continue
        course = tuple(
            (float(line["round"]), float(line[name]))
            for line in lines
            if is_number(line.get("round")) and is_number(line.get(name)) and math.isfinite(line[name])
        )
        value = float(last[name])
        shown = value if math.isfinite(value) else None
        yield MeasuredCourse(name, shown, course, stays_at_home(plan, name))


def _events(path: Path) -> Iterator[Event]:
    for line in latest(path)[-EVENTS:]:
        at = line.get("time")
        kept = line.get("event") in OF_DATA
        yield Event(float(at) if is_number(at) else 0.0, event_in_words(line), kept)
