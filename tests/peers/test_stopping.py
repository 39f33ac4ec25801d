"""`hocket peer stop` and `status` go by the journal's lock, never by a process number."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.peer import peer
from hocket.errors import BadConfig
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.run_folder import Consent, RunFolder, words_in, write_json
from hocket.links.journals.database import Lock, held

from .federation_case import Federation

STATUS: dict[str, Any] = {
    "member": "ash",
    "round": 3,
    "rounds": 20,
    "finished": False,
    "waiting_for": {},
    "waiting_seconds": 0.0,
    "dropped": [],
    "verdict": [],
    "measured": {},
}


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path, members=2, topology="path", rounds=400)


@pytest.fixture
def folder(federation: Federation) -> RunFolder:
    made = federation.member("ash").folder
    made.make()
    return made


def ask(federation: Federation, command: str, *words: str) -> Any:
    home = str(federation.home("ash").folder)
    return peer(
        [command, str(federation.plan_file), *words, "--home", home],
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    ).data


def test_an_innocent_process_that_got_the_number_lives_on(federation: Federation, folder: RunFolder) -> None:
    """Process numbers come round again: the one in status.json may by now be anybody's."""
    innocent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        folder.write_status(STATUS | {"pid": innocent.pid})
        assert not ask(federation, "status")["running"]
        with pytest.raises(BadConfig, match="ash is not running; there is nothing to stop"):
            ask(federation, "stop")
        assert innocent.poll() is None
        assert not folder.stop_asked
    finally:
        innocent.kill()
        innocent.wait()


def test_running_is_who_holds_the_journal(federation: Federation, folder: RunFolder) -> None:
    folder.write_status(STATUS | {"pid": None})
    lock = Lock(folder.path / "journal.db.lock")
    assert ask(federation, "status")["running"]
    lock.release()
    assert not ask(federation, "status")["running"]


def test_looking_at_a_lock_does_not_keep_others_from_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not held(path)
    assert not path.exists()
    Lock(path).release()
    assert not held(path)
    Lock(path).release()


def test_the_process_takes_the_request_up_and_forgets_an_old_one(
    federation: Federation, folder: RunFolder
) -> None:
    """ash waits for birch, who never comes; the first request is one that an earlier process left."""
    folder.ask_to_stop()

    async def stopped() -> None:
        running = asyncio.create_task(take_part(federation.member("ash")))
        async with asyncio.timeout(30):
            while not folder.begun:
                await asyncio.sleep(0.05)
            assert not folder.stop_asked
            assert folder.running
            folder.ask_to_stop()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(stopped())
    assert not folder.stop_asked
    assert not folder.running
    assert folder.status()["pid"] is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "{}",
        "\xff",
        "[" * 100_000,
        json.dumps(STATUS | {"round": "three"}),
        json.dumps(STATUS | {"dropped": None}),
        json.dumps(STATUS | {"measured": {"loss": "low"}}),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("command", ["status", "stop", "drop"])
def test_a_damaged_status_is_named(
    federation: Federation, folder: RunFolder, text: str, command: str
) -> None:
    (folder.path / "status.json").write_text(text, encoding="latin-1")
    with pytest.raises(BadConfig, match=r"status\.json is damaged: .*; move it away"):
        ask(federation, command, *(["birch"] if command == "drop" else []))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"words": "none"}', '{"words": [1]}'])
def test_a_damaged_verdict_is_named(folder: RunFolder, text: str) -> None:
    assert words_in(folder.survivors) == []
    folder.survivors.write_text(text)
    with pytest.raises(BadConfig, match=r"survivors\.json is damaged: .*; move it away"):
        words_in(folder.survivors)


def test_what_is_not_finite_is_told_to_programs_too(federation: Federation, folder: RunFolder) -> None:
    folder.write_status(STATUS | {"measured": {"loss": float("nan")}})
    assert json.dumps(ask(federation, "status"), allow_nan=False)


def test_consent_is_read_back_or_missing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.consent is None
    whole = {"hash": "ab", "runs": 2, "earlier": ["cd"], "least": 0.5}
    wrong = [
        {**whole, "hash": 1},
        {**whole, "runs": True},
        {**whole, "earlier": "cd"},
        {**whole, "least": "0.5"},
    ]
    for found in ({"runs": 2}, {"hash": "ab"}, *wrong):
        write_json(folder.audit, found)
        assert folder.consent is None
    write_json(folder.audit, {**whole, "safe": True})
    assert folder.consent == Consent(**whole)
    folder.audit.write_text("{")
    assert folder.consent is None
    os.remove(folder.audit)
    assert folder.consent is None


def test_the_status_costs_no_wait_for_the_disk(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written every second, beside the rounds, and nothing rests on it."""
    monkeypatch.setattr(os, "fsync", pytest.fail)
    folder.write_status(STATUS)
    assert folder.status()["round"] == STATUS["round"]
