"""What a machine can do to a whole run: full and read-only disks, clocks that jump, files that were mixed up."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.errors import BadIdentity, JournalError
from hocket.federation.plan.cards import Card
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished, Played
from hocket.links.events import Event, Joined
from hocket.links.keys.identity import Identity

from .federation_case import Federation, play

needs_mounts = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None,
    reason="a disk that is small or read-only needs root and mount",
)


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "4m") -> Iterator[Path]:
    """A disk of its own for one member's home, with what lies there."""
    kept = folder.with_name(folder.name + ".kept")
    shutil.copytree(folder, kept)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "hocket", folder], check=True)
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte free."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
    return filler


async def until_it_stops(federation: Federation, name: str, **options: Any) -> BaseException:
    """One member's run, which must end by itself; the others wait for it until then."""
    others = [
        asyncio.create_task(take_part(federation.member(one))) for one in federation.names if one != name
    ]
    try:
        async with asyncio.timeout(60):
            [found] = await asyncio.gather(
                take_part(federation.member(name), **options), return_exceptions=True
            )
    finally:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    assert isinstance(found, BaseException), "it finished"
    return found


def undisturbed(federation: Federation) -> list[bytes]:
    for name in federation.names:
        federation.wipe(name)
    return _states(play(federation.member(name) for name in federation.names))


def _states(ends: list[Finished]) -> list[bytes]:
    return [end.x.tobytes() + end.published.tobytes() for end in ends]


@pytest.mark.slow
@needs_mounts
def test_a_disk_that_fills_up_in_the_middle_of_a_run(tmp_path):
    """Ash stops and says why; when there is room again, it goes on, and nobody can tell from the result."""
    federation = Federation(tmp_path, rounds=400)
    with small_disk(federation.home("ash").folder) as disk:

        def watch(played: Played, session: object) -> None:
            if played.k == 5:
                fill(disk)

        found = asyncio.run(until_it_stops(federation, "ash", watch=watch))
        assert isinstance(found, JournalError)
        assert "cannot be written" in str(found)
        assert "Nothing was lost" in str(found)
        (disk / "filler").unlink()
        ends = _states(play(federation.member(name) for name in federation.names))
    assert ends == undisturbed(federation)


@needs_mounts
def test_a_disk_that_is_full_from_the_start(tmp_path):
    federation = Federation(tmp_path)
    with small_disk(federation.home("ash").folder) as disk:
        fill(disk)
        found = asyncio.run(until_it_stops(federation, "ash"))
    assert isinstance(found, JournalError)
    assert "cannot be" in str(found)


@needs_mounts
def test_a_home_that_became_read_only(tmp_path):
    federation = Federation(tmp_path, rounds=30)

    async def stopped() -> None:
        def watch(played: Played, session: object) -> None:
            if played.k == 5:
                for task in running:
                    task.cancel()

        running = [
            asyncio.create_task(take_part(federation.member(name), watch=watch)) for name in federation.names
        ]
        await asyncio.gather(*running, return_exceptions=True)

    with small_disk(federation.home("ash").folder) as disk:
        asyncio.run(asyncio.wait_for(stopped(), 60))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        found = asyncio.run(until_it_stops(federation, "ash"))
        assert isinstance(found, JournalError)
        assert "cannot be" in str(found)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        ends = _states(play(federation.member(name) for name in federation.names))
    assert ends == undisturbed(federation)


def test_a_log_that_cannot_be_written_stops_the_run_by_name(tmp_path, monkeypatch):
    """The disk's errors are told from others without any disk: whichever file meets them first."""
    federation = Federation(tmp_path, members=2, topology="path")

    def full(self: object, event: str, **about: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "log.jsonl")

    monkeypatch.setattr("hocket.federation.monitoring.metrics.Log.say", full)
    with pytest.raises(JournalError, match=r"log\.jsonl cannot be written: No space left on device"):
        play(federation.member(name) for name in federation.names)


def test_a_journal_of_another_plan_in_the_folder(tmp_path):
    federation = Federation(tmp_path, rounds=5)
    play(federation.member(name) for name in federation.names)
    foreign = federation.member("ash").folder.journal
    cards = [federation.plan.card(name) for name in federation.names]
    federation.plan = federation.signed(federation.drawn(cards, rounds=6))
    folder = federation.member("ash").folder
    folder.make()
    shutil.copy(foreign, folder.journal)
    found = asyncio.run(until_it_stops(federation, "ash"))
    assert isinstance(found, JournalError)
    assert "belongs to another plan" in str(found)


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    """By years and back at every look. Waiting is measured by a clock that nobody can set."""
    federation = Federation(tmp_path, rounds=30)
    calm = undisturbed(federation)
    for name in federation.names:
        federation.wipe(name)
    jumps, clock = itertools.cycle([0.0, 1e9, -1e9, 3e8]), time.time
    monkeypatch.setattr(time, "time", lambda: clock() + next(jumps))
    ends = play(federation.member(name) for name in federation.names)
    assert _states(ends) == calm
    status = federation.member("ash").folder.status()
    assert status["finished"]
    assert 0 <= status["waiting_seconds"] < 60


@pytest.mark.parametrize(
    ("age", "said"), [(400, "expired"), (-30, "valid only from")], ids=["expired", "not yet"]
)
def test_a_clock_that_is_wrong_when_a_member_starts(tmp_path, age, said):
    """By the member's own clock a certificate is too old, or from the future: it says whose, and does not begin."""
    federation = Federation(tmp_path)
    old = Identity.create("birch", valid_days=365, now=datetime.now(UTC) - timedelta(days=age))
    federation.identities["birch"] = old
    federation.renew([Card.of(old, federation.plan.card("birch").address)])
    with pytest.raises(BadIdentity, match=f"birch.*{said}"):
        play([federation.member("ash")])
    assert not federation.member("ash").folder.journal.exists()


def test_another_version_of_the_library_is_a_warning(tmp_path):
    """Protocol and noise have versions of their own in the plan; a neighbour's library may be newer."""
    federation = Federation(tmp_path, members=2, topology="path", rounds=10)

    class Newer:
        """Channels on which every neighbour says that it runs a later version."""

        def __init__(self, channels: Any):
            self.channels = channels

        def __getattr__(self, name: str) -> Any:
            return getattr(self.channels, name)

        async def receive(self) -> Event:
            event = await self.channels.receive()
            return event._replace(version="99.0") if isinstance(event, Joined) else event

    async def scene() -> list[Finished]:
        ash = federation.member("ash")
        newer: Any = Newer(await ash.open_channels())
        return await asyncio.gather(take_part(ash, channels=newer), take_part(federation.member("birch")))

    ends = asyncio.run(asyncio.wait_for(scene(), 60))
    assert len(ends) == 2
    log = federation.member("ash").folder.log.read_text()
    assert '"event": "other version", "neighbour": "birch", "theirs": "99.0"' in log
    np.testing.assert_allclose(ends[0].published, ends[1].published, atol=1.0)
