"""Datasets: what is in them, how texts become bags, how they are divided among agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadInput, BadProblem
from hocket.learning import (
    Dataset,
    digits,
    dirichlet_shards,
    equal_shards,
    label_shards,
    mnist,
    own_shards,
)
from hocket.machine import scikit_table
from reproductions.learning.newswires import binary, cleaned, counted, keras_split, rarity, reuters, tf_idf
from reproductions.learning.number_lists import NumberLists

real_data = pytest.mark.skipif(not os.environ.get("HOCKET_DATA"), reason="HOCKET_DATA names no folder")


def lists(*texts: list[int]) -> NumberLists:
    numbers = np.array([number for text in texts for number in text], np.int32)
    return NumberLists(numbers, np.cumsum([0, *map(len, texts)]))


def test_labels_outside_their_range_are_named() -> None:
    with pytest.raises(BadProblem, match="sample 1 of mine has label 3; labels must lie between 0 and 2"):
        Dataset("mine", np.zeros((2, 1)), np.array([0, 3]), 3)
    with pytest.raises(BadProblem, match="2 inputs and 1 labels"):
        Dataset("mine", np.zeros((2, 1)), np.array([0]), 3)
    with pytest.raises(BadProblem, match="one whole number per sample"):
        Dataset("mine", np.zeros((2, 1)), np.array([0.0, 1.0]), 3)


def test_scikit_learns_tables_are_read_from_its_files_as_it_reads_them_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, file, head in (("digits", "digits.csv.gz", 0), ("breast_cancer", "breast_cancer.csv", 1)):
        read = scikit_table(name, file, head=head)
        with monkeypatch.context() as moved:  # a release that keeps its files elsewhere
            moved.setattr(Path, "is_file", lambda path: False)
            np.testing.assert_array_equal(read, scikit_table(name, file, head=head))
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(BadInput, match=r"scikit-learn, which is missing: pip install 'hocket\[learning\]'"):
        digits()


def test_digits_are_held_out_by_a_public_seed() -> None:
    first, again, other = digits(), digits(), digits(seed=1)
    assert (len(first.train), len(first.test)) == (1437, 360)
    np.testing.assert_array_equal(first.test.inputs, again.test.inputs)
    assert (first.test.inputs != other.test.inputs).any()
    assert first.train.inputs.max() == 255


def test_bags() -> None:
    counts = counted(lists([1, 2, 2, 9], [3], []), 3)
    assert counts.tolist() == [[1, 2, 0], [0, 0, 1], [0, 0, 0]]
    assert binary(counts).tolist() == [[True, True, False], [False, False, True], [False] * 3]
    weighed = tf_idf(counts, rarity(counts))
    weight = 1 + np.log(4 / 2)  # three texts, each word in one of them
    np.testing.assert_allclose(
        weighed[0], np.array([weight, 2 * weight, 0]) / (weight * np.sqrt(5)), rtol=1e-6
    )
    np.testing.assert_allclose(np.linalg.norm(weighed, axis=1), [1, 1, 0], rtol=1e-6)


def test_cleaning_leaves_each_text_once_on_one_side_with_one_label() -> None:
    texts = lists([1], [2], [1], [3], [3], [2], [4])
    labels = np.array([0, 1, 0, 1, 2, 1, 0])
    train, test = cleaned(texts, labels, np.array([0, 1, 2, 3]), np.array([4, 5, 6]))
    # [1] once, [3] has two labels, [2] is in train already.
    assert train.tolist() == [0, 1]
    assert test.tolist() == [6]


def test_the_split_is_keras_own() -> None:
    train, test = keras_split(11228)
    assert (len(train), len(test)) == (8982, 2246)
    assert sorted([*train, *test]) == list(range(11228))


def some(count: int, classes: int = 4) -> Dataset:
    return Dataset("some", np.arange(count)[:, None], np.arange(count) % classes, classes)


HOW = {
    "equal": lambda data, agents, seed: equal_shards(data, agents, seed=seed),
    "dirichlet": lambda data, agents, seed: dirichlet_shards(data, agents, concentration=5.0, seed=seed),
    "by label": lambda data, agents, seed: label_shards(data, agents, seed=seed),
}


@pytest.mark.parametrize("how", HOW)
@given(agents=st.integers(1, 9), seed=st.integers(0, 1000))
def test_every_sample_belongs_to_exactly_one_agent(how: str, agents: int, seed: int) -> None:
    data = some(400)
    shards, again = (HOW[how](data, agents, seed) for _ in range(2))
    held = np.concatenate([part.inputs[:, 0] for part in shards.parts])
    assert sorted(held) == list(range(400))
    assert sum(shards.counts) == 400
    assert shards.table.sum() == 400
    np.testing.assert_array_equal(held, np.concatenate([part.inputs[:, 0] for part in again.parts]))
    for part in shards.parts:
        np.testing.assert_array_equal(part.labels, part.inputs[:, 0] % 4)


def test_shards_are_as_even_or_as_uneven_as_asked() -> None:
    assert equal_shards(some(403), 5).counts == [81, 81, 81, 80, 80]
    one_each = label_shards(some(400), 4).table
    assert (one_each == 100 * np.eye(4)).all()
    assert (np.count_nonzero(label_shards(some(400), 8).table, axis=1) == 1).all()
    assert (np.count_nonzero(label_shards(some(400), 2).table, axis=1) == 2).all()
    even, uneven = (dirichlet_shards(some(4000), 4, concentration=c).table for c in (1000.0, 0.3))
    assert even.std() < 20 < uneven.std()


def test_an_empty_shard_is_refused_by_name() -> None:
    with pytest.raises(
        BadProblem, match=r"the shard of agent 3 is empty \(equal shards, seed 0\); use fewer agents"
    ):
        equal_shards(some(3), 5)
    with pytest.raises(BadProblem, match="a larger concentration"):
        dirichlet_shards(some(20), 15, concentration=0.01)
    with pytest.raises(BadProblem, match="concentration = 0"):
        dirichlet_shards(some(20), 2, concentration=0)
    with pytest.raises(BadProblem, match="agents = 0"):
        equal_shards(some(3), 0)
    with pytest.raises(BadProblem, match="make samples and classes alike"):
        own_shards([some(3), digits().test])


def test_bytes_beside_another_type_are_refused() -> None:
    """Stacked to floats, the bytes of one agent counted 255-fold: models no longer saw that they were bytes."""
    data = digits().train.take(np.arange(40))
    scaled = Dataset("scaled", (data.inputs / 255).astype(np.float32), data.labels, data.classes)
    for other in (scaled, Dataset("whole", data.inputs.astype(np.int64), data.labels, data.classes)):
        with pytest.raises(BadProblem, match=r"the inputs of agent 1 are bytes \(uint8\), .* 255-fold"):
            own_shards([other, data])
    assert len(own_shards([data, data])) == len(own_shards([scaled, scaled])) == 2


@real_data
def test_mnist_as_published() -> None:
    train, test, _ = mnist()
    assert train.inputs.shape == (60_000, 28, 28)
    assert test.inputs.shape == (10_000, 28, 28)
    assert np.bincount(train.labels).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert round(float(train.inputs.mean()) / 255, 4) == 0.1307


@real_data
def test_reuters_as_published_and_cleaned() -> None:
    as_keras, clean = reuters(), reuters(split="cleaned", weights="tf-idf")
    assert as_keras.train.inputs.shape == (8982, 2000)
    assert as_keras.test.inputs.shape == (2246, 2000)
    assert as_keras.train.inputs.dtype == bool
    assert clean.train.inputs.shape == (8071, 2000)
    assert clean.test.inputs.shape == (1971, 2000)
    np.testing.assert_allclose(np.linalg.norm(clean.train.inputs, axis=1).max(), 1, rtol=1e-5)
