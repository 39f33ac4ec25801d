"""Compressed words over links: as small as they are counted, and refused where they cannot be true."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Broadcast
from hocket.errors import LinkError
from hocket.federation.runtime.payload import decoded
from hocket.links.wire import HEADER, PART, SHAPE, Frame, Kind, Limits, pack, unpack

from .company import PLAN, Company
from .switchboard import Switchboard

RING = hk.Network.cycle(4)
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(4, 30, 20))
SQUARES = hk.least_squares(ROWS, RNG.normal(size=(4, 30)), feasible=hk.Box(-9.0, 9.0))


class Scales(Switchboard):
    """Weighs every message that is carried, once however often it is said again."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.words: dict[tuple, Frame] = {}

    def carry(self, sender: str, receiver: str, message: bytes) -> None:
        frame = unpack(message, Limits(1 << 20), plan=PLAN)
        if frame.kind is Kind.MESSAGE:
            self.words[sender, receiver, frame.round, frame.exchange] = frame
        super().carry(sender, receiver, message)

    @property
    def numbers(self) -> int:
        """Bytes of numbers alone."""
        return sum(part.nbytes for frame in self.words.values() for part in frame.parts)


@pytest.mark.parametrize(
    ("algorithm", "word", "most"),
    [
        (hk.Dgd(), 20 * 8, 1),
        (hk.Choco(hk.TopK(3)), 3 * (8 + 1), 0.2),
        (hk.Choco(hk.RandomK(0.1)), 2 * 8, 0.1),
        (hk.Choco(hk.Quantised(2)), 8 + 5, 0.1),
        (hk.Choco(hk.Quantised(4, block=8)), 3 * 8 + 10, 0.25),
        (hk.LocalTracking(2), 2 * 20 * 8, 2),
    ],
    ids=["dgd", "top-k", "random-k", "two bits", "four bits", "local tracking"],
)
def test_bytes_on_the_wire_are_those_that_the_simulator_counts(algorithm, word, most, tmp_path, monkeypatch):
    company, boards = Company(SQUARES, RING, algorithm, tmp_path, rounds=3), []
    monkeypatch.setattr(
        company, "board", lambda: boards.append(Scales(Company.board(company).pairs)) or boards[-1]
    )
    company.play()
    (scales,) = boards
    said = company.rounds + 1  # in every round, and once more for what may be published
    assert len(scales.words) == 2 * len(RING.links) * said
    assert scales.numbers == said * hk.bytes_per_round(algorithm, SQUARES, RING)
    assert scales.numbers == len(scales.words) * word
    assert word <= most * 20 * 8
    # A frame tells its parts apart, and no more: what is sent is never a dense vector in disguise.
    for frame in scales.words.values():
        parts = [PART.size + SHAPE.size * part.ndim + part.nbytes for part in frame.parts]
        assert len(pack(frame)) == HEADER.size + sum(parts)


def test_numbers_for_places_that_there_are_none_of_are_refused_by_name():
    largest = hk.TopK(2)
    said = Broadcast(largest.encoded(np.arange(5.0), 1), lambda word: largest.decoded(word, 1, 5))
    np.testing.assert_array_equal(decoded("b", said, said.message, 1), [0, 0, 0, 3, 4])
    with pytest.raises(
        LinkError, match="b said numbers for places in round 1 that no vector of the plan has"
    ):
        decoded("b", said, [np.ones(2), np.array([1, 200], np.uint8)], 1)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_whole_numbers_travel(kind):
    frame = Frame(Kind.MESSAGE, PLAN, 1, 0, [np.array([[0, 1], [2, np.iinfo(kind).max]], kind)])
    back = unpack(pack(frame), Limits(1 << 10)).parts[0]
    assert back.dtype == kind
    np.testing.assert_array_equal(back, frame.parts[0])
