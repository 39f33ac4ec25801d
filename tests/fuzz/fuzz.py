"""Feed the doors with inputs made up from valid ones, and note answers that are no errors of hocket's own.

    python -m tests.fuzz.fuzz                    a million inputs, about ten minutes on one core
    python -m tests.fuzz.fuzz 10000 journal      so many, to the doors that are named

What is found is written to build/fuzz, to be mended and put into tests/fuzz/found, where every test run reads it. An
input may take five seconds of processor time and a quarter of a gigabyte of memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from rich.console import Console
from rich.progress import Progress

from hocket.errors import HocketError
from tests.fuzz.doors import Door, doors

ALL = 1_000_000
SECONDS = 5.0
"""Of processor time for one input: others may be busy too."""
MEMORY = 256 << 20
"""Bytes that one input may have this process hold beside what it held before."""
MAPPED = 1 << 30
"""Bytes that the process may map beyond what it has before the first input: the machine is others', too."""
BATCH = 200


class Hang(BaseException):
    """An input took too long; nothing that is read may catch it."""


@dataclass
class Tally:
    """What became of a door's inputs."""

    fed: int = 0
    taken: int = 0
    refused: int = 0
    slowest: float = 0.0
    most: int = 0
    """Bytes beside what was held before, of the input that took most."""
    found: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """The first input for each failure, by where it failed."""


def feed(door: Door, data: bytes, tally: Tally) -> None:
    """One input: taken, refused in words of hocket's own, or found."""
    _forget_peak()
    held, began = _held(), time.process_time()
    tally.fed += 1
    try:
        with _limited():
            door.read(data)
        tally.taken += 1
    except HocketError:
        tally.refused += 1
    except (Exception, Hang) as error:
        tally.found.setdefault(_where(error), data)
    tally.slowest = max(tally.slowest, time.process_time() - began)
    more = _peak() - held
    tally.most = max(tally.most, more)
    if more > MEMORY:
        tally.found.setdefault("too much memory", data)


def inputs(door: Door, name: str, start: int, count: int) -> Iterator[bytes]:
    """Inputs by number: the same for the same door and number, no matter who asks."""
    for number in range(start, start + count):
        yield door.input(Random(f"{name} {number}"))


@contextmanager
def _limited() -> Iterator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {SECONDS:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _where(error: BaseException) -> str:
    """What failed, and the last lines of hocket, or of the door, that it passed."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/hocket/" in one.filename]
    frames = frames or traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames[:-4:-1])
    return f"{type(error).__name__} in {places}"


def _mapped() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _held() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _forget_peak() -> None:
    """Have the most that this process held count from now on; where it cannot be forgotten, growth beyond it counts."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main(arguments: list[str]) -> int:
    """Feed all doors, or those that are named; 1 if anything was found."""
    count = int(arguments[0]) if arguments else ALL
    warnings.simplefilter("error")
    memory = Path("/dev/shm")  # not to wear a disk out
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        known = doors(Path(folder))
        chosen = {name: known[name] for name in arguments[1:] or known}
        resource.setrlimit(resource.RLIMIT_AS, (_mapped() + MAPPED, resource.RLIM_INFINITY))
        began = time.monotonic()
        tallies = _fed(chosen, count)
    _report(tallies, time.monotonic() - began)
    return 1 if any(one.found for one in tallies.values()) else 0


def _fed(chosen: dict[str, Door], count: int) -> dict[str, Tally]:
    shares = sum(door.share for door in chosen.values())
    wanted = {name: max(1, round(count * door.share / shares)) for name, door in chosen.items()}
    tallies = {name: Tally() for name in chosen}
    # In turns, so that what is found early is found at every door.
    with Progress(console=Console(stderr=True), transient=True) as progress:
        tasks = {name: progress.add_task(name, total=wanted[name]) for name in chosen}
        while open_doors := [name for name in chosen if tallies[name].fed < wanted[name]]:
            for name in open_doors:
                tally = tallies[name]
                before = set(tally.found)
                for data in inputs(chosen[name], name, tally.fed, min(BATCH, wanted[name] - tally.fed)):
                    feed(chosen[name], data, tally)
                for where in set(tally.found) - before:
                    progress.print(f"{name}: {where}, kept as {_kept(name, tally.found[where])}")
                progress.update(
                    tasks[name], completed=tally.fed, description=f"{name}: {len(tally.found)} found"
                )
    return tallies


def _kept(name: str, data: bytes) -> Path:
    """Where an input was put that found something."""
    path = Path("build/fuzz") / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _report(tallies: dict[str, Tally], seconds: float) -> None:
    print(f"{'door':16}{'inputs':>10}{'taken':>10}{'refused':>10}{'slowest':>10}{'memory':>10}{'found':>8}")
    for name, one in tallies.items():
        print(
            f"{name:16}{one.fed:10,}{one.taken:10,}{one.refused:10,}{one.slowest * 1000:8.0f}ms"
            f"{one.most / 1e6:8.0f}MB{len(one.found):8}"
        )
    fed, found = (
        sum(part) for part in zip(*((one.fed, len(one.found)) for one in tallies.values()), strict=True)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{fed:,} inputs in {seconds:,.0f} s, peak {peak:.2f} GB: {found} found")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
