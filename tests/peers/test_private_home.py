"""A member's home is for its owner alone, and nobody else on the machine makes a member wait for ever."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.cli.peer import peer
from hocket.errors import BadConfig, BadIdentity, JournalError
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.links.journals import database
from hocket.links.journals.database import Database, in_thread, locked
from hocket.machine import private_file, private_folder
from hocket.studies.disclosure.releases import Releases
from tests.peers.plans import IDENTITIES

ROOT = Path(__file__).parents[2]
SERVED = RecordedRun("r", "p", "dgd")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> dict[str, str]:
    return {
        str(path): oct(mode(path))
        for path in (folder, *folder.rglob("*"))
        if path.is_dir() and mode(path) & 0o077
    }


@contextmanager
def taken(path: Path) -> Iterator[None]:
    """Another process's lock: one of this process, by another descriptor, is as good."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_new_home_is_closed_from_its_beginning(tmp_path, monkeypatch):
    monkeypatch.delenv("HOCKET_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "ash"))
    (tmp_path / "ash").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["peer", "init", "--name", "ash", "--address", "127.0.0.1:1"]) == 0
    home = Home.at()
    assert home.folder == tmp_path / "ash" / ".hocket"
    home.accounts.begin("trial", SERVED)
    Releases(home.accounts).forget("x")
    assert len(home.accounts.secret) == 32
    RunFolder(home.run(bytes(32))).make()
    assert open_to_others(home.folder) == {}
    locks = [*home.folder.rglob("*.lock")]
    assert {path.name for path in locks} == {"accounts.db.lock"}
    assert mode(home.accounts.path) == 0o600
    assert {mode(path) for path in locks} == {0o600}


def test_what_was_open_is_closed_by_the_first_command(tmp_path, capsys):
    home = Home(tmp_path / "home")
    IDENTITIES[0].save(home.identity)
    home.folder.chmod(0o777)
    files = [home.accounts.path, home.folder / "accounts.db.lock"]
    for path in files:
        path.touch()
        path.chmod(0o666)
    assert main(["peer", "status", str(tmp_path / "none.toml"), "--home", str(home.folder)]) == 1
    assert mode(home.folder) == 0o700
    home.accounts.begin("trial", SERVED)
    Releases(home.accounts).forget("x")
    assert [mode(path) for path in files] == [0o600, 0o600]


def test_a_database_and_its_lock_are_closed_too(tmp_path):
    for name in ("journal.db", "journal.db.lock"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o666)
    Database(tmp_path / "journal.db", "CREATE TABLE IF NOT EXISTS a (b)", create=True).close()
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}


def test_a_folder_that_is_no_members_stays_as_it_is(tmp_path):
    tmp_path.chmod(0o755)
    Home.at(tmp_path)
    assert mode(tmp_path) == 0o755


def test_what_belongs_to_another_user_is_refused(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    IDENTITIES[0].save(home.identity)
    (home.folder / "lock").touch()
    (home.folder / "link").symlink_to(home.folder / "lock")
    monkeypatch.setattr("hocket.machine.os.geteuid", lambda: os.getuid() + 4242)
    for refused in (lambda: private_file(home.folder / "lock"), lambda: private_folder(home.folder)):
        with pytest.raises(PermissionError, match="belongs to another user"):
            refused()
    with pytest.raises(
        BadIdentity, match="holds an identity, and it belongs to another user of this machine"
    ):
        Home.at(home.folder)
    with pytest.raises(JournalError, match=r"accounts\.db cannot be written: it belongs to another user"):
        Releases(home.accounts).forget("x")
    monkeypatch.undo()
    with pytest.raises(OSError, match="link"):  # to a file of the member's own that it would open
        private_file(home.folder / "link")


def begin_a_run(home: Home) -> None:
    home.accounts.begin("trial", SERVED)


def forget_a_release(home: Home) -> None:
    Releases(home.accounts).forget("x")


@pytest.mark.parametrize("act", [begin_a_run, forget_a_release])
def test_a_lock_that_others_hold_is_waited_for_and_given_up_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Home], None]
) -> None:
    home = Home(tmp_path / "home")
    monkeypatch.setattr(database, "PATIENCE", 0.2)
    lock = home.folder / "accounts.db.lock"
    with taken(lock), pytest.raises(JournalError) as caught:
        act(home)
    assert f"another process has held {lock} for" in str(caught.value)
    assert f"fuser -v {lock}" in str(caught.value)
    act(home)  # and it is free again


def test_a_member_that_is_called_off_waits_for_no_lock(tmp_path):
    """Else it would wait on in its thread, and the process with it, until the lock is free or patience is over."""
    said: list[str] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            with locked(tmp_path / "lock"):
                said.append("taken")
        except JournalError as error:
            said.append(str(error))

    async def scene() -> None:
        waiting = asyncio.create_task(in_thread(wait))
        await asyncio.to_thread(begun.wait)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()

    with taken(tmp_path / "lock"):
        asyncio.run(scene())
    assert said == [f"stopped while another process held {tmp_path / 'lock'}; nothing was begun"]


WAITING = """
import asyncio, signal, sys
from pathlib import Path
from hocket.links.journals import database

database.PATIENCE = 10_000.0

def wait():
    print("waits", flush=True)
    with database.locked(Path(sys.argv[1])):
        print("taken", flush=True)

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    await database.in_thread(wait)

try:
    asyncio.run(main())
except asyncio.CancelledError:
    sys.exit(130)
"""


def test_sigterm_ends_a_process_that_waits_for_a_lock(tmp_path):
    """As `hocket peer run` waits: in a thread, with SIGTERM for its event loop."""
    with taken(tmp_path / "lock"):
        command = [sys.executable, "-c", WAITING, str(tmp_path / "lock")]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "waits\n"
            process.send_signal(signal.SIGTERM)
            try:
                assert process.wait(60) == 130
            finally:
                process.kill()


@pytest.mark.parametrize("command", ["init", "invite"])
def test_a_link_to_nothing_yet_leads_no_file_elsewhere(tmp_path, monkeypatch, command):
    """In a folder that others write to they could have this user make any file of its own."""
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "autostart"
    link = tmp_path / "link.toml"
    link.symlink_to(elsewhere)

    def ask(*words: str) -> None:
        peer([*words, "--home", "home"], exit_on_error=False, print_error=False, result_action="return_value")

    if command == "invite":
        ask("init", "--name", "ash")
    words = ["init", "--name", "ash", "--card"] if command == "init" else ["invite", "--out"]
    with pytest.raises(BadConfig, match=r"link\.toml exists; name another file"):
        ask(*words, "link.toml")
    assert not elsewhere.exists()
