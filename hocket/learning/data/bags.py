"""Texts as bags of their most frequent words."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from hocket.learning.data.word_lists import WordLists


def counted(texts: WordLists, words: int) -> Int[np.ndarray, "texts words"]:
    """How often each of the most frequent words occurs; words are known by rank, 1 for the most frequent.

    >>> counted(WordLists(np.array([1, 3, 1, 2]), np.array([0, 3, 4])), 2).tolist()
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
