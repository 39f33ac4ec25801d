"""The demonstration's four clinics: the pooled fit by secure sums, and of the others only what a theorem allows."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

from hocket.demo.clinics import Clinics, chapter, clinics
from hocket.demo.clinics.chapter import SHOWN, coalitions, one_number, uniformity
from hocket.demo.clinics.figure import bits_of
from hocket.demo.clinics.overheard import MaskedRoom
from hocket.federation.runtime.secure_sum import BEGINNING
from hocket.report.page import Page
from hocket.secagg.group import FixedPoint, add, negate

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def found() -> Clinics:
    one = clinics()
    assert one is not None
    return one


def test_secure_sums_give_the_pooled_fit(found):
    assert found.farthest < 1e-10
    assert found.results.data["rows"] == 569
    assert found.room.totals == found.results.totals


def test_a_clinic_receives_messages_of_which_only_the_sum_is_left(found):
    for number in range(1, found.room.totals + 1):
        parts = [part for part in found.room.contributions if part.total == number]
        own, sent = (reduce(add, [getattr(part, kind) for part in parts]) for kind in ("own", "sent"))
        np.testing.assert_array_equal(own, sent)
        assert all((part.own != part.sent).any(axis=0).all() for part in parts)


def test_bytes_are_uniform_and_would_not_be_without_masks(found):
    received = found.room.received()
    assert {part.sender for part in received} == {"clinic-b", "clinic-c", "clinic-d"}
    assert uniformity(received) > 1e-3
    assert uniformity([replace(part, sent=part.own) for part in received]) < 1e-12


def test_other_numbers_fit_the_same_messages_under_other_masks(found):
    """Theorem T's witness: turn the honest clinics' numbers, move the masks between them along, and send the same."""
    room = found.room
    parts = [part for part in room.contributions if part.total == 1]
    b, c, d = (part.own for part in parts[1:])
    masks = {
        (j, other): streams.mask(other, 1, 0, BEGINNING, b.shape[1])
        for j, streams in enumerate(MaskedRoom(room.members).streams)
        for other in streams.chains
        if j < other
    }

    def messages(own):
        """What all send, by the definition."""
        sent = list(own)
        for (low, high), mask in masks.items():
            sent[low], sent[high] = add(sent[low], mask), add(sent[high], negate(mask))
        return sent

    np.testing.assert_array_equal(messages([part.own for part in parts]), [part.sent for part in parts])
    masks[1, 2] = add(masks[1, 2], add(b, negate(c)))  # clinic-b now holds what clinic-c held, and so on
    masks[2, 3] = add(masks[2, 3], add(b, negate(d)))
    np.testing.assert_array_equal(messages([parts[0].own, c, d, b]), [part.sent for part in parts])


def test_the_table_shows_the_messages_that_were_sent(found):
    rows = one_number(found.room, SHOWN).rows
    sent = [int(row[3].replace(" ", ""), 16) for row in rows]
    assert sum(sent[:-1]) % 2**128 == sent[-1]
    assert [int(row[1]) for row in rows] == [204, 175, 127, 63, 569]
    assert sum(int(row[2]) for row in rows[1:4]) == sum(int(row[1]) for row in rows[1:4])
    assert rows[-1][4] == "569"


def test_a_coalition_knows_sums_until_one_clinic_is_left(found):
    known = [row[1] for row in coalitions(found.room).rows]
    assert known[0] == "the sum over clinic-b, clinic-c and clinic-d, and nothing else of them"
    assert known[1] == "the sum over clinic-c and clinic-d, and nothing else of them"
    assert known[2] == "the numbers of clinic-d"


def test_bits_are_read_from_the_highest_on():
    (row,) = bits_of(FixedPoint(64).encode(np.array([2.0]), members=2))
    assert np.flatnonzero(row).tolist() == [62]  # 2 = 2^65 / 2^64, the 63rd of 128 bits


def test_the_clinics_come_first_on_a_page_and_its_own_subject_after_them(found):
    told = chapter(found)
    page = Page(
        title="Five agents",
        summary=["All four."],
        tables=(),
        configuration="",
        commands=["hocket demo"],
        opening=told,
    )
    text = page.html()
    parts = [
        "<h1>Four clinics",
        *(f'id="{one.id}"' for one in told.sections),
        'id="then"',
        "All four.",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.count("<h1>") == 1
