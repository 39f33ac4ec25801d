"""What is learnt: the paper's two tasks, and small digits that stand in where their data are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hocket.errors import NoData
from hocket.learning import Dataset, Model, Split, digits, logistic_regression, mlp, mnist
from hocket.steps import Power
from reproductions.learning.newswires import reuters


@dataclass(frozen=True)
class Subject:
    """Data, a model, and how it is trained."""

    name: str
    title: str
    read: Callable[..., Split]
    splits: Mapping[str, Mapping[str, Any]]
    """How the data may be divided and prepared, with the options of `read`; the first is the one for everything."""
    build: Callable[[Dataset, int], Model]
    """A model for these data, its start drawn from a public seed."""
    first_step: float
    """The size of a local step at the start."""
    halving: float
    """The step goes as 1/(1 + epoch/halving)^decay: after so many epochs it has fallen by 2^decay."""
    epochs: float
    batch: int = 32
    decay: float = 0.75
    remark: str = field(default="", compare=False)
    """What a reader should know about the data."""

    @property
    def stands_in(self) -> bool:
        """Whether the data are not those that the name promises."""
        return self.read is digits

    def step(self, passes: float) -> Power:
        """The step by exchange, where an exchange takes so many epochs: a function of the epoch alone."""
        exchanges = self.halving / passes
        return Power(self.first_step * exchanges**self.decay, exchanges - 1, self.decay)

    def load(self, data: Path | None, *, download: bool) -> tuple[Subject, dict[str, Split]]:
        """The data in every division; where there are none, the digits and how to train on those."""
        try:
            splits = {
                name: self.read(data, download=download, **options) for name, options in self.splits.items()
            }
        except NoData as missing:
            why = (
                f"scikit-learn's digits stand in for {self.title}, so that the numbers say little: {missing}"
            )
            return replace(self, **STAND_IN, remark=why), {DIGITS: digits()}
        return self, splits


def _texts(data: Dataset, seed: int) -> Model:
    return logistic_regression(int(np.prod(data.inputs.shape[1:])), data.classes, l2=1e-5)


DIGITS = "digits"
STAND_IN: dict[str, Any] = {
    "read": digits,
    "splits": {DIGITS: {}},
    "first_step": 0.1,
    "halving": 20.0,
    "epochs": 40,
    "batch": 8,
}
"""Fewer samples need smaller batches, or there would be hardly an exchange in an epoch."""

MNIST = Subject(
    name="mnist",
    title="MNIST",
    read=mnist,
    splits={"MNIST": {}},
    build=lambda data, seed: mlp(seed=seed),
    first_step=0.3,
    halving=4.0,
    epochs=20,
)
REUTERS = Subject(
    name="reuters",
    title="Reuters",
    read=reuters,
    splits={"Keras's split": {"split": "keras"}, "cleaned split": {"split": "cleaned"}},
    build=_texts,
    first_step=1.0,
    halving=3.0,
    decay=1.0,
    epochs=60,
)
SUBJECTS = {subject.name: subject for subject in (MNIST, REUTERS)}
