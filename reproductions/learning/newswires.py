"""Reuters: 11,228 newswires on 46 topics, in the file that Keras publishes, as bags of words."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from hocket.errors import BadProblem
from hocket.learning.data.dataset import Dataset, Split
from hocket.learning.data.files import PublishedFile, read
from reproductions.learning.number_lists import NumberLists, read_lists

HASH = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
FILE = PublishedFile(
    "reuters",
    "reuters.npz",
    HASH,
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/reuters.npz",
    HASH,
)
TOPICS = 46
KERAS_SEED = 113
HELD_OUT = 0.2


def counted(texts: NumberLists, words: int) -> Int[np.ndarray, "texts words"]:
    """How often each of the most frequent words occurs; words are known by rank, 1 for the most frequent.

    >>> counted(NumberLists(np.array([1, 3, 1, 2]), np.array([0, 3, 4])), 2).tolist()
    [[2, 0], [0, 1]]
    """
    text = np.repeat(np.arange(texts.count), np.diff(texts.bounds))
    known = (texts.numbers >= 1) & (texts.numbers <= words)
    counts = np.zeros((texts.count, words), np.int32)
    np.add.at(counts, (text[known], texts.numbers[known] - 1), 1)
    return counts


def binary(counts: Int[np.ndarray, "texts words"]) -> Bool[np.ndarray, "texts words"]:
    """Whether each word occurs.

    The choice where agents must not agree on anything beforehand: it needs no statistics of the texts.
    """
    return counts > 0


def rarity(counts: Int[np.ndarray, "texts words"]) -> Float[np.ndarray, " words"]:
    """The weight of each word: 1 + log((1 + texts) / (1 + texts that have it)).

    A statistic of all the texts it is taken from. Agents that share it have told each other how common words are.
    """
    having = (counts > 0).sum(axis=0)
    return 1 + np.log((1 + len(counts)) / (1 + having))


def tf_idf(
    counts: Int[np.ndarray, "texts words"], weight: Float[np.ndarray, " words"]
) -> Float[np.ndarray, "texts words"]:
    """Counts times the words' rarity, every text scaled to length 1.

    The choice where texts differ much in length.
    """
    weighed = counts * weight
    length = np.linalg.norm(weighed, axis=1, keepdims=True)
    return (weighed / np.where(length > 0, length, 1)).astype(np.float32)


Rows = Int[np.ndarray, " rows"]


def reuters(
    data: str | Path | None = None,
    *,
    split: Literal["keras", "cleaned"] = "keras",
    weights: Literal["binary", "tf-idf"] = "binary",
    words: int = 2000,
    download: bool = False,
) -> Split:
    """Newswires as bags of their most frequent words, divided as Keras does it, or cleaned.

    The choice for the paper's second figure. Keras's division has copies of a text on both sides, and texts that carry
    several labels. Cleaned, every distinct text occurs once, texts with conflicting labels are gone, and a text that
    was on both sides stays in the training set alone.
    """
    if split not in ("keras", "cleaned"):
        raise BadProblem(f"split = {split!r} of Reuters; choose 'keras' or 'cleaned'")
    if weights not in ("binary", "tf-idf"):
        raise BadProblem(f"weights = {weights!r} of Reuters; choose 'binary' or 'tf-idf'")
    if words < 1:
        raise BadProblem(f"words = {words} of Reuters; a bag needs at least one word")
    texts, labels = _contents(read(FILE, data, fetch=download))
    train, test = keras_split(texts.count)
    remark = "Reuters as Keras divides it"
    if split == "cleaned":
        before = len(train), len(test)
        train, test = cleaned(texts, labels, train, test)
        remark = (
            f"Reuters cleaned: {before[0] - len(train)} of {before[0]} training texts and {before[1] - len(test)} of "
            f"{before[1]} test texts were copies or carried conflicting labels"
        )
    counts = counted(texts, words)
    bags = binary(counts) if weights == "binary" else tf_idf(counts, rarity(counts[train]))
    whole = Dataset("Reuters", bags, labels, TOPICS)
    return Split(whole.take(train, "Reuters's training set"), whole.take(test, "Reuters's test set"), remark)


def keras_split(count: int) -> tuple[Rows, Rows]:
    """Keras's order of the texts, cut where Keras cuts it."""
    order = np.arange(count)
    np.random.RandomState(KERAS_SEED).shuffle(order)
    cut = int(count * (1 - HELD_OUT))
    return order[:cut], order[cut:]


def cleaned(texts: NumberLists, labels: np.ndarray, train: Rows, test: Rows) -> tuple[Rows, Rows]:
    """Each distinct text once, none with conflicting labels, none on both sides."""
    labels_of: dict[bytes, set[int]] = {}
    content = [texts.of(i).tobytes() for i in range(texts.count)]
    for text, label in zip(content, labels.tolist(), strict=True):
        labels_of.setdefault(text, set()).add(label)
    seen: set[bytes] = set()

    def kept(rows: Rows) -> Rows:
        chosen = []
        for row in rows.tolist():
            if content[row] not in seen and len(labels_of[content[row]]) == 1:
                seen.add(content[row])
                chosen.append(row)
        return np.array(chosen, dtype=np.int64)

    return kept(train), kept(test)


def _contents(content: bytes) -> tuple[NumberLists, Int[np.ndarray, " texts"]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = read_lists(archive.read("x.npy"), "x.npy of reuters.npz")
        labels = np.load(io.BytesIO(archive.read("y.npy")), allow_pickle=False)
    return texts, labels.astype(np.int32)
