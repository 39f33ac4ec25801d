"""Labelled samples, what is learnt from and what is held out; and scikit-learn's digits, which need no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped

from hocket.errors import BadInput, BadProblem
from hocket.machine import scikit_table
from hocket.rationals import check_dense_real

HELD_OUT = 360
"""One in five."""
SIDE = 8
BRIGHTEST = 16


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and labels, a row per sample.

    Inputs stay as small as they came, images as bytes and binary words as booleans; models turn them into numbers.
    """

    name: str
    inputs: Shaped[np.ndarray, "samples ..."]
    labels: Int[np.ndarray, " samples"]
    classes: int
    """Labels are 0 … classes − 1."""

    def __post_init__(self) -> None:
        parts: dict[str, Any] = {"inputs": self.inputs, "labels": self.labels}
        for part, given in parts.items():
            check_dense_real(given, f"the {part} of {self.name}")
            if not isinstance(given, np.ndarray):
                kind = type(given).__name__
                raise BadProblem(
                    f"the {part} of {self.name} are a {kind}; pass a NumPy array, np.array(…) of it"
                )
        if len(self.inputs) != len(self.labels):
            raise BadProblem(
                f"{self.name} has {len(self.inputs)} inputs and {len(self.labels)} labels; give one label each"
            )
        if np.ndim(self.labels) != 1 or not np.issubdtype(self.labels.dtype, np.integer):
            raise BadProblem(
                f"the labels of {self.name} are {self.labels.dtype} of shape {self.labels.shape}; "
                "give one whole number per sample"
            )
        for sample in np.flatnonzero((self.labels < 0) | (self.labels >= self.classes))[:1]:
            raise BadProblem(
                f"sample {sample} of {self.name} has label {self.labels[sample]}; labels must lie between 0 and "
                f"{self.classes - 1}: correct it, or state more classes"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Int[np.ndarray, " rows"], name: str | None = None) -> Dataset:
        """These samples only."""
        return Dataset(name or self.name, self.inputs[rows], self.labels[rows], self.classes)


class Split(NamedTuple):
    """What is learnt from, and what models are judged on."""

    train: Dataset
    test: Dataset
    remark: str = ""
    """What a reader should know about the data: where they come from, what was left out."""


def digits(*, seed: int = 0) -> Split:
    """Small digits, one in five of them held out by a public seed.

    The choice for tests, and where nothing may be downloaded: too few and too easy to conclude anything from.
    """
    try:
        table = scikit_table("digits", "digits.csv.gz")
    except ImportError as error:
        raise BadInput(
            "the digits come with scikit-learn, which is missing: pip install 'hocket[learning]'"
        ) from error
    labels = table[:, -1]
    images = np.round(table[:, :-1].reshape(-1, SIDE, SIDE) * (255 / BRIGHTEST)).astype(np.uint8)
    order = np.random.default_rng(seed).permutation(len(labels))
    everything = Dataset("scikit-learn's digits", images, labels.astype(np.int32), classes=10)
    return Split(
        everything.take(order[HELD_OUT:], "the digits to learn from"),
        everything.take(order[:HELD_OUT], "the held-out digits"),
    )
