"""What a coalition sees of a sum: other numbers with the same sum over each honest part, and the very same words.

A witness in exact arithmetic: for any other numbers of honest members that sum to the same over each part that hangs
together without the coalition, there are masks of their links under which every message of the run is the same, bit for
bit. Masks are uniform, so either is as likely: the view tells these sums and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hocket as hk
from hocket.algorithm import SecureSum
from hocket.federation.runtime.secure_sum import BEGINNING, MaskedSum, tree_of
from hocket.secagg.group import FixedPoint, Words, add, negate

from .test_totals import carried, graphs, roles

NUMBERS = 2
Masks = dict[tuple[int, int], Words]
"""By link, lower-numbered end first: what that end adds and the other takes off."""


@dataclass
class Given:
    """Masks that are given, in place of keys."""

    masks: Masks
    me: int

    def mask(self, neighbour: int, k: int, exchange: int, point: bytes, count: int) -> Words:
        return self.masks[min(self.me, neighbour), max(self.me, neighbour)]


def uniform(rng: np.random.Generator) -> Words:
    return rng.integers(0, 2**64, size=(2, NUMBERS), dtype=np.uint64)


def masks_of(network: hk.Network, rng: np.random.Generator) -> Masks:
    return {(int(i), int(j)): uniform(rng) for i, j in network.links}


def begun(network: hk.Network, values: list[np.ndarray], masks: Masks) -> list[MaskedSum]:
    tree, names = tree_of(network), [f"member {j}" for j in range(network.n)]
    return [
        MaskedSum.of(role, tree, _streams(masks, role.index), SecureSum(own), 1, 0, BEGINNING, names)
        for role, own in zip(roles(network), values, strict=True)
    ]


def _streams(masks: Masks, me: int) -> Any:
    return Given(masks, me)


def words(members: list[MaskedSum]) -> list[Any]:
    """All that goes over any link."""
    found = []
    for step in range(members[0].exchanges):
        said = [one.said(step) for one in members]
        found.append(said)
        for one in members:
            one.received(step, {other: said[other][one.role.index] for other in one.due(step)})
    return found


def moved(masks: Masks, tree: nx.Graph, shift: dict[int, Words]) -> Masks:
    """Masks under which members' numbers may be so much larger: passed on from leaf to leaf of a tree."""
    masks, shift, tree = dict(masks), dict(shift), nx.Graph(tree)
    while len(tree) > 1:
        leaf = next(one for one in tree if tree.degree[one] == 1)
        [other] = tree[leaf]
        link = min(leaf, other), max(leaf, other)
        # The lower end adds the mask: it adds less of it the more it has of its own.
        change = negate(shift[leaf]) if leaf < other else shift[leaf]
        masks[link] = add(masks[link], change)
        shift[other] = add(shift[other], shift[leaf])
        tree.remove_node(leaf)
    [last] = tree
    assert not shift[last].any()  # the sum is what it was
    return masks


@given(graphs(), st.data())
def test_other_numbers_with_the_same_sums_say_the_same_words(network, data):
    n = network.n
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    coalition = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    # Multiples of 2^-10: their differences are exact, in floats as on the grid.
    values = list(np.round(rng.normal(size=(n, NUMBERS)) * 2**10) / 2**10)
    masks = masks_of(network, rng)
    others, shift = [*values], {}
    honest = network.graph.subgraph(set(range(n)) - coalition)
    for part in nx.connected_components(honest):
        first, *rest = sorted(part)
        for j in rest:
            change = np.round(rng.normal(size=NUMBERS) * 2**12) / 2**10
            others[j], others[first] = others[j] + change, others[first] - change
    for j in range(n):
        encode = FixedPoint().encode
        shift[j] = add(encode(others[j], members=n), negate(encode(values[j], members=n)))
    changed = masks
    for part in nx.connected_components(honest):
        changed = moved(changed, nx.minimum_spanning_tree(honest.subgraph(part)), shift)
    known = {link for link in masks if coalition & set(link)}
    assert all(np.array_equal(changed[link], masks[link]) for link in known)
    assert words(begun(network, values, masks)) == words(begun(network, others, changed))


@given(graphs(), st.integers(0, 99))
def test_the_sum_over_each_honest_part_is_all_there_is_and_can_be_worked_out(network, seed):
    rng = np.random.default_rng(seed)
    coalition = {0}
    values, masks = list(rng.normal(size=(network.n, NUMBERS))), masks_of(network, rng)
    members = begun(network, values, masks)
    own = [one.partial for one in members]
    for part in nx.connected_components(network.graph.subgraph(set(range(network.n)) - coalition)):
        total = np.zeros((2, NUMBERS), np.uint64)
        for j in part:
            total = add(total, own[j])
            for other in coalition & {*network.neighbours(j)}:  # whose masks the coalition knows
                mask = masks[min(j, other), max(j, other)]
                total = add(total, negate(mask) if j < other else mask)
        expected = np.sum([values[j] for j in part], axis=0)
        np.testing.assert_allclose(FixedPoint().decode(total), expected, atol=1e-15 * network.n)


@pytest.mark.parametrize("values", [0.0, 1e-3, -1e9])
def test_words_of_honest_members_are_uniform_but_for_their_sum(values):
    """Bytes of two words of three, jointly: the third follows from the sum."""
    network = hk.Network.complete(4)
    rng, seen = np.random.default_rng(1), []
    for _ in range(400):
        members = begun(network, [np.full(NUMBERS, values)] * 4, masks_of(network, rng))
        seen.append(np.stack([members[1].partial, members[2].partial]))
    counts = np.bincount(np.stack(seen).view(np.uint8).ravel(), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4  # 25,600 bytes
    first, second = (np.stack(seen)[:, j].view(np.uint8).ravel() >> 4 for j in (0, 1))
    table = np.histogram2d(first, second, bins=16)[0]
    assert stats.chisquare(table.ravel()).pvalue > 1e-4  # nor do they tell of each other


def test_sums_come_out_under_given_masks():
    network = hk.Network.path(4)
    members = begun(network, [np.ones(NUMBERS)] * 4, masks_of(network, np.random.default_rng(0)))
    carried(members)
    np.testing.assert_array_equal(members[0].result, 4.0)
