"""Inputs that somebody made up: a short run over all doors, and everything that a long one has ever found."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hocket.errors import BadFrame, JournalError
from hocket.links.journals.journal import Journal
from hocket.links.wire import pack_named
from tests.fuzz.doors import Door, doors
from tests.fuzz.fuzz import Tally, feed, inputs
from tests.peers.journal_case import begin

FOUND = Path(__file__).parent / "found"
INPUTS = 1500


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    return doors(tmp_path_factory.mktemp("doors"))


def test_no_door_answers_with_anything_but_an_error_of_its_own(known: dict[str, Door]) -> None:
    taken = refused = 0
    never = []
    for name, door in known.items():
        tally = Tally()
        for data in inputs(door, name, 0, max(5, INPUTS * door.share // 1000)):
            feed(door, data, tally)
        assert tally.found == {}, name
        taken, refused = taken + tally.taken, refused + tally.refused
        never += [] if tally.taken else [name]
    assert never == ["certificate"]  # of which every bit is signed; what others begin with is valid
    assert min(taken, refused) > INPUTS / 5  # neither noise nor what is valid anyway


def test_what_was_once_found_is_mended(known: dict[str, Door]) -> None:
    """Files by door; `make fuzz` says where it puts new ones."""
    cases = sorted(FOUND.glob("*/*"))
    assert cases
    for case in cases:
        tally = Tally()
        feed(known[case.parent.name], case.read_bytes(), tally)
        assert tally.found == {}, case


def test_journals_with_damage_that_sqlite_cannot_put_into_words(tmp_path: Path) -> None:
    """Found as files, which would weigh a quarter of a megabyte each."""
    path = tmp_path / "journal.db"
    Journal.open(path, bytes(32)).close()
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE about SET plan = ?", (b"odd",))
    with pytest.raises(JournalError, match="belongs to another plan"):
        Journal.open(path, bytes(32))
    path.write_bytes(whole)
    with Journal.open(path, bytes(32)) as journal:
        begin(journal, 1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE positions SET records = ?", (pack_named({"anna": b"short"}),))
    with (
        Journal.open(path, bytes(32), vouched=True) as journal,
        pytest.raises(BadFrame, match="another length"),
    ):
        _ = journal.position
    path.write_bytes(whole.replace(b"CREATE TABLE about", b"CREATE T\xa5BLE about"))
    with pytest.raises(JournalError, match="is damaged"):
        Journal.open(path, bytes(32))


@pytest.mark.parametrize("wrong", [ValueError("by accident"), KeyError("x"), MemoryError()])
def test_another_error_is_found(wrong: Exception) -> None:
    def read(data: bytes) -> None:
        raise wrong

    tally = Tally()
    feed(Door(lambda draw: b"", read, 1), b"input", tally)
    assert list(tally.found.values()) == [b"input"]


def test_an_input_that_takes_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.fuzz.SECONDS", 0.05)

    def read(data: bytes) -> None:
        while True:
            pass

    tally = Tally()
    feed(Door(lambda draw: b"", read, 1), b"input", tally)
    assert [name.split()[0] for name in tally.found] == ["Hang"]


def test_an_input_that_takes_too_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.fuzz.MEMORY", 16 << 20)
    tally = Tally()
    feed(Door(lambda draw: b"", lambda data: b"x" * (400 << 20), 1), b"input", tally)
    assert tally.found == {"too much memory": b"input"}
    assert tally.most > 300 << 20
