"""Bytes that agents say, counted from the form of their words."""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk

RING, STAR = hk.Network.cycle(5), hk.Network.star(5)
SQUARES = hk.least_squares(np.ones((5, 4, 3)), np.ones((5, 4)), feasible=hk.Everywhere())


@pytest.mark.parametrize(
    ("algorithm", "numbers"),
    [
        (hk.Dgd(), 3),
        (hk.RssNb(1.0), 3),
        (hk.AugDgm(), 2 * 3),
        (hk.GradientTracking(), 2 * 3),
        (hk.Safeguard(hk.AugDgm()), 2 * (3 + 1)),
        (hk.FunctionSharing(1, 1.0, inner=hk.Extra()), 3),
        (hk.Centralised(), 0),
    ],
    ids=lambda one: getattr(one, "key", str(one)),
)
@pytest.mark.parametrize("network", [RING, STAR], ids=["ring", "star"])
def test_every_neighbour_is_sent_every_number(algorithm, numbers, network):
    links = len(network.links)
    assert hk.bytes_per_round(algorithm, SQUARES, network) == 2 * links * numbers * 8
    assert hk.bytes_per_round(algorithm, SQUARES, network, dtype=np.float32) == 2 * links * numbers * 4


def test_words_told_one_by_one_go_to_one_neighbour_each():
    assert hk.bytes_per_round(hk.RssLb(1.0), SQUARES, RING) == 2 * 5 * 3 * 8


def test_sums_go_up_and_down_a_tree():
    assert hk.bytes_per_round(hk.JointAverage(), SQUARES, RING) == 2 * 4 * 3 * 16


def test_links_that_take_turns_are_counted_when_they_speak():
    turns = hk.Network.varying([[(0, 1), (2, 3)], [(1, 2), (3, 4), (0, 4)]], n=5)
    assert hk.bytes_per_round(hk.Dgd(), SQUARES, turns) == 2 * 2.5 * 3 * 8
