"""A journal that went back in time is found out by the marks beside it, and no crash is taken for that."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import JournalError, LinkError
from hocket.federation.runtime.rollback import Memories
from hocket.links.conversation import Moment
from hocket.links.journals.journal import Journal
from hocket.links.journals.records import Mark, Marks

from .journal_case import PLAN, begin

FILES = ("journal.db", "journal.db-wal", "journal.db.stamp", "journal.db.marks")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "journal.db"


def killed(path: Path, *rounds: int) -> None:
    """A process that began these rounds and was killed: its log is not emptied."""
    journal = Journal.open(path, PLAN)
    for k in rounds:
        begin(journal, k)
    kept = path.parent.with_name("kept")
    shutil.copytree(path.parent, kept)
    journal.close()
    for name in FILES:
        (path.parent / name).unlink(missing_ok=True)
    # Moved, not copied: a killed process leaves the very files.
    for file in kept.iterdir():
        file.rename(path.parent / file.name)
    kept.rmdir()
    found = Marks(path)
    found._count -= 1
    found.stamp(rounds[-1])  # as if this process had written them where they lie
    found.close()


def put_back(path: Path, copy: Path, *names: str) -> None:
    """Restore files in place, as `cp` does: the inode stays."""
    for name in names:
        if (copy / name).exists():
            (path.parent / name).write_bytes((copy / name).read_bytes())
        else:
            (path.parent / name).unlink(missing_ok=True)


def test_a_killed_process_goes_on(path):
    killed(path, 1, 2, 3)
    with Journal.open(path, PLAN) as journal:
        assert journal.round == 3
        begin(journal, 4)


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "new files"])
def test_a_copy_is_found_out_even_if_it_is_not_older(path, tmp_path, in_place):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
    copy = tmp_path / "copy"
    shutil.copytree(path.parent, copy)
    if not in_place:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
    put_back(path, copy, *FILES)
    with pytest.raises(
        JournalError, match=r"was copied or restored from a backup .* hocket peer run --vouch"
    ):
        Journal.open(path, PLAN)
    with Journal.open(path, PLAN, vouched=True) as journal:  # somebody vouches for it
        begin(journal, 2)
    Journal.open(path, PLAN).close()


def test_a_copy_that_was_only_read_stays_a_copy(path, tmp_path):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
    copy = tmp_path / "copy" / path.name
    shutil.copytree(path.parent, copy.parent)
    Journal.open(copy, PLAN, vouched=True).close()
    for _ in range(2):  # nor does a refusal make it whole
        with pytest.raises(JournalError, match="was copied or restored"):
            Journal.open(copy, PLAN)


def test_an_older_journal_beside_newer_marks_is_found_out(path, tmp_path):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
    shutil.copytree(path.parent, tmp_path / "copy")
    with Journal.open(path, PLAN) as journal:
        begin(journal, 2)
    put_back(path, tmp_path / "copy", "journal.db", "journal.db-wal")
    with pytest.raises(JournalError, match=r"stands at round 1, and this member has begun round 2.*-wal"):
        Journal.open(path, PLAN)


def test_a_log_that_was_deleted_is_found_out(path):
    killed(path, 1, 2, 3)
    path.with_name("journal.db-wal").unlink()
    with pytest.raises(
        JournalError, match=r"and this member has begun round 3: .*journal\.db-wal\) was deleted"
    ):
        Journal.open(path, PLAN)


def test_killed_before_the_marks_were_written(path):
    """Between a round and its stamp, or between the stamp and its seal, nothing was said: it goes on."""
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        journal.marks.stamp = lambda round: None  # type: ignore[method-assign]
        begin(journal, 2)
    with Journal.open(path, PLAN) as journal:
        assert journal.round == 2
        begin(journal, 2)  # the same words once more: now they are stamped
        assert journal.marks.round == 2
        journal.marks._marks.write = lambda slot, data: None  # type: ignore[method-assign]
        begin(journal, 3)
    with Journal.open(path, PLAN) as journal:
        assert journal.round == 3


def test_after_a_power_cut_the_operator_is_asked(path):
    """The stamp is older than its seal, as may be if only one had reached the disk: so may files that were restored."""
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        older = path.with_name("journal.db.stamp").read_bytes()
        for k in (2, 3, 4):
            begin(journal, k)
    path.with_name("journal.db.stamp").write_bytes(older)
    with pytest.raises(JournalError, match=r"or the machine lost power.* hocket peer run --vouch"):
        Journal.open(path, PLAN)
    with Journal.open(path, PLAN, vouched=True) as journal:
        begin(journal, 5)
    Journal.open(path, PLAN).close()


def test_nobody_can_vouch_for_a_journal_that_is_behind(path, tmp_path):
    """A copy without its log: with a word of its operator it would have said other words under used noise."""
    killed(path, 1, 2, 3)
    copy = tmp_path / "copy" / path.name
    shutil.copytree(path.parent, copy.parent)
    copy.with_name("journal.db-wal").unlink()
    with pytest.raises(JournalError, match="and this member has begun round 3"):
        Journal.open(copy, PLAN, vouched=True)


def test_a_torn_copy_is_no_crash(path, tmp_path):
    """Marks that were copied a round before the stamp look like a process that was killed between the two."""
    copy = tmp_path / "copy"
    copy.mkdir()
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        begin(journal, 2)
        shutil.copy(path.with_name("journal.db.marks"), copy)
        begin(journal, 3)
        for name in ("journal.db", "journal.db-wal", "journal.db.stamp"):
            shutil.copy(path.with_name(name), copy)
    with pytest.raises(JournalError, match="was copied or restored"):
        Journal.open(copy / path.name, PLAN)


@pytest.mark.parametrize("file", ["journal.db.stamp", "journal.db.marks"])
def test_damaged_marks_are_no_marks(path, file):
    """After a power cut they may hold anything; the journal is what counts then, and neighbours' records."""
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        journal.marks.hear(0, "anna", Mark(1, 0, bytes(32)), Mark())
    path.with_name(file).write_bytes(b"x" * 400)
    if file.endswith("stamp"):
        with pytest.raises(JournalError, match="was copied or restored"):
            Journal.open(path, PLAN)
    else:
        with Journal.open(path, PLAN) as journal:
            assert journal.marks.received(0, "anna") is None


def test_what_was_heard_outlives_the_process(path):
    with Journal.open(path, PLAN) as journal:
        journal.marks.hear(1, "ben", Mark(7, 1, bytes(range(32))), Mark(7, 0, bytes(32)))
    with Journal.open(path, PLAN) as journal:
        assert journal.marks.received(1, "ben") == (Mark(7, 1, bytes(range(32))), Mark(7, 0, bytes(32)))
        assert journal.marks.received(1, "carl") is None
        assert journal.marks.received(0, "ben") is None


@given(st.permutations([(3, 0), (4, 0)]), st.integers(0, 1), st.booleans())
def test_of_both_words_that_can_have_been_heard_none_can_be_changed(order, which, restarted):
    """In whichever order they came, and whether or not the hearer was started again since."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal.open(path, PLAN) as journal:
            memories = Memories(journal, ["anna"], 1)
            for moment in order:
                memories.note("anna", Moment(*moment), bytes([moment[0]]) * 32)
                memories.note("anna", Moment(*moment), bytes([moment[0]]) * 32)
            again = Memories(journal, ["anna"], 2) if restarted else memories
            with pytest.raises(LinkError, match=f"anna said two different things in round {order[which][0]}"):
                again.note("anna", Moment(*order[which]), b"x" * 32)
