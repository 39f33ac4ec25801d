"""Few files, and many who want one: what is kept for connections, and what is kept from them."""

from __future__ import annotations

import contextlib
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.links.descriptors import (
    KEPT_BACK,
    MOST_CONNECTIONS,
    least_connections,
    most_connections,
    raise_soft_limit,
)


@contextlib.contextmanager
def soft_limit(files: int) -> Iterator[None]:
    """So many files for a while, and as many as before again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("files", "diallers", "connections"),
    [
        (1 << 14, 2, MOST_CONNECTIONS),
        (1024, 2, MOST_CONNECTIONS),
        (256, 2, 256 - KEPT_BACK),
        (KEPT_BACK, 10, least_connections(10)),
        (256, 50, least_connections(50)),
    ],
)
def test_connections_are_what_the_files_leave_and_the_neighbours_need(files, diallers, connections):
    with soft_limit(files):
        assert most_connections(diallers) == connections


def test_the_soft_limit_is_raised_to_the_hard_one_and_no_further_than_asked():
    with soft_limit(200):
        assert raise_soft_limit(most=300) == 300
        assert raise_soft_limit(most=250) == 300  # never lowered
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == 300
        assert hard != 300


MEMBER = """
import asyncio, contextlib, resource, sqlite3, sys
from pathlib import Path

resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

from hocket.links.events import Joined, Received
from tests.peers.ends import BIRCH, end, first_of, listener, to_ash
from tests.peers.federation_case import free_ports

async def scene():
    [port] = free_ports(1)
    ash = await listener(f"127.0.0.1:{port}")
    birch = await end(BIRCH, to_ash(f"127.0.0.1:{port}"))
    await first_of(birch, Joined)
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await birch.send("ash", b"still here")
    assert (await first_of(ash, Received)).message == b"still here"
    print("heard")
    folder = Path(sys.argv[1])
    with contextlib.closing(sqlite3.connect(folder / "journal")) as journal, journal:
        journal.execute("PRAGMA journal_mode=WAL")
        journal.execute("CREATE TABLE rounds (k)")
        (folder / "status.json").write_text("{}")
    print("written")
    await birch.close()
    await ash.close()

asyncio.run(scene())
"""
"""Two ends of a link in a process with few files, where a journal is opened when the crowd has come."""


@pytest.mark.slow
def test_twelve_hundred_strangers_leave_files_for_the_journal(tmp_path):
    """A member at the usual limit of 1,024 files; the strangers are in a process that may open more."""
    raise_soft_limit()
    member = subprocess.Popen(
        [sys.executable, "-c", MEMBER, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert member.stdin is not None
    assert member.stdout is not None
    try:
        port = int(member.stdout.readline())
        with contextlib.ExitStack() as crowd:
            for _ in range(1200):
                crowd.enter_context(socket.create_connection(("127.0.0.1", port)))
            said, _ = member.communicate("they are here\n", timeout=60)
        assert said.split() == ["heard", "written"]
    finally:
        member.kill()
        member.wait()
