"""A member whose disk is put back to how it was some rounds ago, beside a neighbour who makes use of that.

The neighbour lets nobody but the victim get on, so that all others still have the words of the round that the victim
repeats, and says another message than before in that round. A victim that went on from there would come to another
state, and would say another message under noise that it has used already."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from hocket.federation.runtime.secure_sum import BEGINNING
from hocket.links.events import Event, Joined, Received
from hocket.links.journals import records
from hocket.links.wire import Frame, Kind, pack

from .hostile import Deviation, Hand, Honest, Script
from .hostile_control import FAMILIAR
from .hostile_scripts import opened
from .hostile_stage import Stage

VICTIM, RESTARTED = "ash", "birch"
POINT = len(BEGINNING)


@contextlib.contextmanager
def whole_disk() -> Iterator[None]:
    """What a machine's disk going back looks like: files have the inodes and times that they had, so nothing on the
    disk tells. Copies of files are then taken for the files themselves."""
    with mock.patch.object(records._Slots, "stat", (0, 0)):
        yield


class Killed(Exception):
    """What ends a member in the middle of a run, here."""


class Restored(NamedTuple):
    """What is put back of the victim's home, given how it was when it was killed and how it was before."""

    name: str
    restore: Callable[[Path, Path], None]
    """(home as it was when it was killed, home as it was before): changes the first."""
    loses: bool = True
    """Whether the run's own memory is among what is lost."""


class Exploits(Script):
    """Holds the others back in the victim's last round; when the victim is back, says other words than before."""

    def __init__(self, last: int, *, hides: bool, together: bool = False):
        self.last, self.hides, self.again = last, hides, False
        self.held_back = last + together  # nobody ends a round of sums before all do
        self.lets_go = False
        self.held: list[tuple[str, bytes]] = []

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is Kind.MESSAGE and to == VICTIM:
            moment = VICTIM, frame.round, frame.exchange
            is_new = moment not in hand.memory
            hand.memory[moment] = frame
            return [message] if is_new else []  # what is said again is said otherwise, when the victim asks
        if frame.kind is Kind.MESSAGE and frame.round >= self.held_back and not self.lets_go:
            self.held.append((to, message))
            return []
        if self.hides and self.again and frame.kind not in FAMILIAR:
            return []
        return [message]

    async def hears(self, hand: Hand, event: Event) -> Event | None:
        if isinstance(event, Joined) and event.neighbour == VICTIM and (VICTIM, self.last, 0) in hand.memory:
            self.again = True
        if self.again and isinstance(event, Received) and event.neighbour == VICTIM:
            await self._answer(hand, opened(event.message))
        return event

    async def _answer(self, hand: Hand, received: Frame) -> None:
        """The word of a round that the victim repeats, changed; when it is where it was, the others may go on."""
        mine = hand.memory.get((VICTIM, received.round, received.exchange))
        if received.kind is Kind.MESSAGE and mine is not None:
            await hand.channels.send(VICTIM, pack(mine._replace(parts=[*_otherwise(mine.parts)])))
        if received.kind is Kind.MESSAGE and received.round >= self.last:
            self.lets_go = True
            for to, message in self.held:
                await hand.channels.send(to, message)
            self.held.clear()


def _otherwise(parts: Sequence[Any]) -> Iterator[Any]:
    """A word with other numbers; of a sum the point stays, and its masked numbers change."""
    for part in parts:
        if not isinstance(part, bytes):
            yield np.array(part) + 0.25
        else:
            yield part if len(part) == POINT else bytes([part[0] ^ 1]) + part[1:]


@dataclass
class RolledBack(Stage):
    """A scene in which the victim is killed after a round, and comes back with some of its files of earlier on."""

    restored: Restored | None = None
    last: int = 8
    """The round after which it is killed."""
    depth: int = 1
    """How many rounds old the copy is."""
    neighbour_too: bool = False
    """Whether an honest neighbour is killed as well; it comes back with all it had."""
    disk: bool = True
    """Whether the disk went back as a whole, which no file tells."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    back: asyncio.Event = field(default_factory=asyncio.Event)

    def round_over(self, one: Honest, k: int) -> None:
        if one.member.name != VICTIM or one.restarts:
            return
        if k in (self.last, self._copied):  # a home has a megabyte, and there are hundreds of scenes
            _copy(one.member.home.folder, self.folder / "copies" / str(k))
        if k == self.last:
            raise Killed

    @property
    def _copied(self) -> int:
        """The round from which the copy is that is put back."""
        return max(1, self.last - self.depth)

    async def _part(self, one: Honest) -> None:
        if one.member.name == VICTIM:
            await self._killed_and_restored(one)
        elif one.member.name == RESTARTED and self.neighbour_too:
            await self._killed(one)
        else:
            one.finished = await self._run(one)

    async def _killed_and_restored(self, one: Honest) -> None:
        assert self.restored is not None
        try:
            one.finished = await self._run(one)
            return
        except Killed:
            one.restarts += 1
        self.killed.set()
        if self.neighbour_too:
            await self.back.wait()
        copies, home = self.folder / "copies", one.member.home.folder
        _replace(home, copies / str(self.last))
        self.restored.restore(home, copies / str(self._copied))
        one.finished = await self._run(one)

    async def _killed(self, one: Honest) -> None:
        """As with SIGKILL: what is on the disk in the middle of the run is what it comes back with."""
        before = asyncio.create_task(self._run(one))
        await self.killed.wait()
        copy = self.folder / "neighbour"
        _copy(one.member.home.folder, copy)
        before.cancel()
        await asyncio.gather(before, return_exceptions=True)
        _replace(one.member.home.folder, copy)
        one.restarts += 1
        self.back.set()
        one.finished = await self._run(one)


def scene(last: int, *, hides: bool = False, together: bool = False) -> Deviation:
    """What the hostile neighbour does in all of these."""
    what = "another message for a round that a victim repeats"
    return Deviation("rollback", what, lambda: Exploits(last, hides=hides, together=together))


def _copy(home: Path, copy: Path) -> None:
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("*.lock"), dirs_exist_ok=True)


def _replace(home: Path, copy: Path) -> None:
    shutil.rmtree(home)
    _copy(copy, home)


def _put_back(pattern: str) -> Callable[[Path, Path], None]:
    """Some files as they were before; those that were not there before are gone."""

    def restore(home: Path, before: Path) -> None:
        for path in [path for path in home.glob(pattern) if path.is_file()]:
            path.unlink()
        for path in [path for path in before.glob(pattern) if path.is_file()]:
            (home / path.relative_to(before)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, home / path.relative_to(before))

    return restore


def _lose(*patterns: str) -> Callable[[Path, Path], None]:
    def restore(home: Path, before: Path) -> None:
        for path in [path for pattern in patterns for path in home.glob(pattern) if path.is_file()]:
            path.unlink()

    return restore


OLDER = (
    Restored("whole home", _put_back("**/*")),
    Restored("run folder", _put_back("runs/*/*")),
    Restored("journal and log", _put_back("runs/*/journal.db*")),
    Restored("journal alone", _put_back("runs/*/journal.db")),
    Restored("log alone", _put_back("runs/*/journal.db-wal")),
    Restored("database", _put_back("runs/*/journal.db[-a-z]*")),
)
"""Put back to how they were some rounds ago."""
LOST = (
    Restored("nothing", lambda home, before: None, loses=False),
    Restored("log lost", _lose("runs/*/journal.db-wal")),
    Restored("journal lost", _lose("runs/*/journal.db*")),
    Restored("run folder lost", _lose("runs/*/*")),
    Restored("datasets lost", _lose("datasets/*"), loses=False),
    Restored("accounts lost", _lose("accounts.db*"), loses=False),
    Restored("all lost", _lose("[dr]*/**/*", "accounts.db*")),
    Restored("status lost", _lose("runs/*/status.json"), loses=False),
    Restored("about lost", _lose("runs/*/about.json"), loses=False),
    Restored("plan lost", _lose("runs/*/plan.toml"), loses=False),
)
"""Gone altogether, however old a copy would have been."""
