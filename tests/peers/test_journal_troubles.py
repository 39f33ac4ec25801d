"""Journals on a disk that is full, not ours to write, damaged or from another time: said, and nothing lost."""

from __future__ import annotations

import resource

import pytest

from hocket.errors import JournalError
from hocket.links.journals.journal import Journal

from .journal_case import OPEN, PLAN, begin, in_another_process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


def test_a_full_disk_stops_the_round_and_loses_nothing(path):
    """A limit on file sizes is as good as a full disk, and needs no disk of its own."""
    limit = OPEN.format(str(path)) + (
        "\nimport resource, signal"
        "\nj.commit_round(1, b'state', chains={}, messages={'': b'word'})"
        "\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
        "\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
        "\nj.commit_round(2, bytes(1 << 21), chains={}, messages={'': b'word 2'})"
    )
    _, complaint = in_another_process(limit).communicate(timeout=60)
    assert "is the disk full? Nothing was lost; make room and start again" in complaint
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    with Journal.open(path, PLAN) as journal:
        assert journal.position.round == 1
        begin(journal, 2)


def test_a_read_only_journal(path):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        journal._database._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(JournalError, match="read-only; change that and start again"):
            begin(journal, 2)
        journal._database._connection.execute("PRAGMA query_only = OFF")
        begin(journal, 2)


def test_a_folder_without_permission(folder_of_nobody):
    path = folder_of_nobody / "run" / "journal.sqlite"
    Journal.open(path, PLAN).close()
    path.chmod(0o400)
    with pytest.raises(
        JournalError, match="cannot be opened: Permission denied; change that and start again"
    ):
        Journal.open(path, PLAN)


def test_a_damaged_journal(path):
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(JournalError, match="is damaged"):
        Journal.open(path, PLAN)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"cannot be opened: (File exists|Not a directory)"):
        Journal.open(tmp_path / "file" / "journal.sqlite", PLAN)


def test_a_journal_of_a_later_format(path):
    with Journal.open(path, PLAN) as journal, journal._database.writing() as write:
        write.execute("UPDATE about SET format = 99")
    with pytest.raises(JournalError, match="has format 99, this version of hocket writes 5"):
        Journal.open(path, PLAN)
