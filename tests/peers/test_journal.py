"""Journals: on the disk before anybody hears, the same words after any crash, and no keys of the past."""

from __future__ import annotations

import os
import signal
import stat

import pytest

from hocket.errors import JournalError
from hocket.links.handshake import SeedEscrow
from hocket.links.journals.database import FORGET, PAGE
from hocket.links.journals.journal import EVERYBODY, KEPT_ROUNDS, Journal
from hocket.links.keys.lasting_noise import LastingKey, LastingNoise

from .journal_case import OPEN, OTHER_PLAN, PLAN, begin, chains, in_another_process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


def test_a_round_is_found_again(path):
    with Journal.open(path, PLAN) as journal:
        assert journal.position is None
        assert journal.round == 0
        begin(journal, 1)
        begin(journal, 2)
        run = journal.run
    with Journal.open(path, PLAN) as journal:
        assert journal.run == run
        assert journal.position[:3] == (2, b"state 2", chains(2))
        assert journal.previous[:3] == (1, b"state 1", chains(1))


def test_two_rounds_are_kept(path):
    with Journal.open(path, PLAN) as journal:
        for k in (1, 2, 3):
            begin(journal, k)
        assert journal.previous[:3] == (2, b"state 2", chains(2))
        for k in (2, 3):
            journal.check_sent(k, {EVERYBODY: b"word %d" % k})
        with pytest.raises(JournalError, match="another message for exchange 0 of round 2"):
            journal.check_sent(2, {EVERYBODY: b"word 3"})
        with pytest.raises(JournalError, match="another message for exchange 0 of round 1"):
            journal.check_sent(1, {EVERYBODY: b"word 1"})
        journal.forget_previous()
        assert journal.previous is None
        assert journal.position[:3] == (3, b"state 3", chains(3))


def test_words_for_one_neighbour_and_later_exchanges(path):
    with Journal.open(path, PLAN) as journal:
        journal.commit_round(1, b"", chains={}, messages={"anna": b"to anna", "ben": b"to ben"})
        journal.commit_messages(1, 1, {EVERYBODY: b"second"}, {"b": b"heard"})
        journal.commit_messages(1, 1, {EVERYBODY: b"second"}, {"b": b"heard"})
        assert journal.sent(1, 0, "ben") is None  # made again from the state, not kept
        assert journal.sent(1, 1, "ben") == b"second"
        with pytest.raises(JournalError, match="another message for exchange 1 of round 1"):
            journal.commit_messages(1, 1, {EVERYBODY: b"other"}, {})
        with pytest.raises(
            JournalError, match="exchange 1 of round 2 cannot be sent: the journal stands at round 1"
        ):
            journal.commit_messages(2, 1, {EVERYBODY: b"second"}, {"b": b"heard"})


def test_the_same_round_again_is_harmless_and_another_word_is_refused(path):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        begin(journal, 1)
        with pytest.raises(
            JournalError, match="another message for exchange 0 of round 1, which may already have been"
        ):
            journal.commit_round(1, b"state 1", chains=chains(1), messages={EVERYBODY: b"other"})
        journal.check_sent(1, {EVERYBODY: b"word 1"})


@pytest.mark.parametrize("k", [1, 2, 5])
def test_rounds_come_in_order(path, k):
    with Journal.open(path, PLAN) as journal:
        for before in (1, 2, 3):
            begin(journal, before)
        with pytest.raises(JournalError, match=f"round {k} cannot be begun: .* stands at round 3"):
            begin(journal, k)


def test_another_plan_is_refused_by_name(path):
    Journal.open(path, PLAN).close()
    with pytest.raises(
        JournalError, match=r"belongs to another plan: babad-.* and not .*name another folder"
    ):
        Journal.open(path, OTHER_PLAN)
    Journal.open(path, PLAN).close()


def test_a_journal_that_must_exist(path):
    with pytest.raises(JournalError, match="there is no journal"):
        Journal.open(path, PLAN, create=False)
    assert not path.exists()


def test_only_its_owner_can_read_it(path):
    with Journal.open(path, PLAN) as journal:
        begin(journal, 1)
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_process_is_refused_by_name(path):
    with Journal.open(path, PLAN) as journal:
        with pytest.raises(JournalError, match=f"in use by process {os.getpid()}"):
            Journal.open(path, PLAN)
        path.read_bytes()  # copying the file must not let go of it
        other = in_another_process(OPEN.format(str(path)))
        assert f"in use by process {os.getpid()}; stop that first" in other.communicate(timeout=60)[1]
        assert other.returncode
        begin(journal, 1)
    Journal.open(path, PLAN).close()


def test_a_killed_process_leaves_every_committed_round_and_no_lock(path):
    say = (
        "\nfor k in range(1, 10**6):"
        "\n    j.commit_round(k, b's' * 9000, chains={'a': bytes(32)}, messages={'': b'%d' % k})"
        "\n    print(k, flush=True)"
    )
    process = in_another_process(OPEN.format(str(path)) + say)
    received = [int(process.stdout.readline()) for _ in range(40)]
    process.send_signal(signal.SIGKILL)
    # With what was read ahead, which communicate() would lose.
    received += map(int, process.stdout.read().split())
    process.communicate(timeout=60)
    with Journal.open(path, PLAN) as journal:
        assert journal.round in (received[-1], received[-1] + 1)
        journal.check_sent(received[-1], {"": b"%d" % received[-1]})


def on_disk(path, secret):
    return any(secret in file.read_bytes() for file in path.parent.iterdir())


def test_keys_of_the_past_are_gone(path):
    """After 2 FORGET more rounds no file of the folder holds an old key; at the end only the current ones are there."""
    with Journal.open(path, PLAN) as journal:
        offer = SeedEscrow(1).offer(0, 1)
        journal.agreements.offer("anna", offer)
        journal.agreements.keep("anna", bytes(32), chain=b"c" * 32, once=b"o" * 32, ready=b"r" * 32)
        journal.agreements.confirm("anna")
        for k in range(1, 5 * FORGET):
            begin(journal, k)
        for k in range(1, 3 * FORGET):
            assert not any(on_disk(path, key) for key in chains(k).values()), k
        assert not on_disk(path, offer.private)
        assert not on_disk(path, b"c" * 32)
        assert not on_disk(path, b"word %d" % FORGET)
    last = 5 * FORGET - 1
    assert all(on_disk(path, key) for key in chains(last).values())
    assert not any(
        on_disk(path, key) for key in chains(last - 2).values()
    )  # the previous round is still needed


@pytest.mark.parametrize("size", [8, 100_000])
def test_the_log_keeps_its_length_and_nothing_beyond_what_it_overwrites(path, size):
    """A busy spell makes the log longer; the keys in that end are not overwritten later, and must go all the same."""
    log = path.with_name(path.name + "-wal")
    lengths = []
    with Journal.open(path, PLAN) as journal:
        for k in range(1, 8 * FORGET + 1):
            begin(journal, k, os.urandom(size))
            if FORGET < k < 2 * FORGET:
                journal.commit_messages(k, 1, {EVERYBODY: os.urandom(4 * PAGE + 2 * size)}, {})
            if k % FORGET == 0:
                lengths.append(log.stat().st_size)
        assert lengths[-1] == lengths[-2]
        assert 0 < lengths[-1] < max(lengths)
        for k in range(1, 6 * FORGET):
            assert not any(on_disk(path, key) for key in chains(k).values()), k


def test_a_round_is_overwritten_where_it_lies(path):
    """A state that is deleted and put back would be written twice."""
    with Journal.open(path, PLAN) as journal:
        for k in range(1, 2 * FORGET + 1):
            begin(journal, k, os.urandom(500_000))
        assert path.with_name(path.name + "-wal").stat().st_size < 1.1 * FORGET * 500_000
        # One state's pages are spare: round 1 takes a byte less than the others, so it is the one that is not in place.
        assert path.stat().st_size < 1.2 * (KEPT_ROUNDS + 1) * 500_000


def test_an_agreement_is_made_once_and_its_secret_erased(path):
    offer = SeedEscrow(1).offer(0, 1)
    with Journal.open(path, PLAN) as journal:
        assert journal.agreements.of("anna") is None
        journal.agreements.offer("anna", offer)
        with pytest.raises(JournalError, match="an offer to anna was already made"):
            journal.agreements.offer("anna", offer)
        keys = {"chain": b"c" * 32, "once": b"o" * 32, "ready": b"r" * 32}
        journal.agreements.keep("anna", b"1" * 32, **keys)
        journal.agreements.keep(
            "anna", b"2" * 32, **keys
        )  # Anna crashed before she had the keys, and offers afresh
        reached = journal.agreements.of("anna")
        assert reached.offer == offer
        assert not reached.confirmed
        journal.agreements.confirm("anna")
        reached = journal.agreements.of("anna")
        assert reached.confirmed
        assert (reached.nonce, reached.their_nonce, reached.once) == (offer.nonce, b"2" * 32, b"o" * 32)
        with pytest.raises(JournalError, match="anna offers new noise keys in the middle of a run"):
            journal.agreements.keep("anna", b"3" * 32, **keys)


def test_votes(path):
    with Journal.open(path, PLAN) as journal:
        journal.ballots.add("anna", "carl", b"yes")
        journal.ballots.add("ben", "carl", b"yes too")
        journal.ballots.add("ben", "carl", b"signed anew")
        assert journal.ballots.votes("carl") == {"anna": b"yes", "ben": b"signed anew"}
        assert journal.ballots.votes("dora") == {}


def test_keepsakes_outlive_runs_and_never_change(tmp_path):
    path = tmp_path / "data.sqlite"
    kept, mine = LastingNoise.open(path, "trial"), {"anna": LastingKey(b"k" * 32, "persistent noise of 1")}
    assert kept.kept("anna") is None
    kept.check_links({"anna", "ben"})
    kept.keep(mine)
    kept.keep(mine)
    kept.close()

    kept = LastingNoise.open(path, "trial")
    assert kept.kept("anna") == (b"k" * 32, "persistent noise of 1")
    with pytest.raises(
        JournalError,
        match="as persistent noise of 1, and this plan would deal it as persistent noise of 2: together",
    ):
        kept.keep({"anna": LastingKey(b"k" * 32, "persistent noise of 2")})
    with pytest.raises(JournalError, match="other noise than before would be dealt with anna"):
        kept.keep({"anna": LastingKey(b"x" * 32, "persistent noise of 1")})
    kept.close()
    with pytest.raises(JournalError, match="keeps noise for the dataset 'trial', not 'other'"):
        LastingNoise.open(path, "other")


@pytest.mark.parametrize("neighbours", [{"anna"}, {"anna", "ben", "carl"}, {"anna", "carl"}], ids=sorted)
def test_kept_noise_belongs_to_its_links(tmp_path, neighbours):
    """On another link it would be drawn afresh, for the same data."""
    kept = LastingNoise.open(tmp_path / "data.sqlite", "trial")
    kept.keep({name: LastingKey(b"k" * 32, "persistent noise of 1") for name in ("anna", "ben")})
    kept.check_links({"ben", "anna"})
    with pytest.raises(JournalError, match="kept on the links with anna, ben, and this plan links with anna"):
        kept.check_links(neighbours)
    kept.close()
