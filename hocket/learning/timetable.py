"""How long a training is, in exchanges, local steps and epochs, and how large its steps are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Int

from hocket.errors import BadInput
from hocket.rationals import is_number
from hocket.steps import Conditions, Step

COUNTERS = 1 << 32
LOCAL_STEPS, BATCH = 40, 32
"""Local steps between two exchanges, and samples in a batch, unless a caller says otherwise: the paper's."""


@dataclass(frozen=True)
class PerExchange(Step):
    """H times the step of one local step: how far one exchange's gradients carry together."""

    local: Step
    local_steps: int

    def _values(self, rounds: np.ndarray) -> np.ndarray:
        return self.local_steps * self.local._values(rounds)

    def exact(self, k: int) -> Fraction:
        return self.local_steps * self.local.exact(k)

    def conditions(self) -> Conditions:
        return self.local.conditions()


@dataclass(frozen=True)
class Timetable:
    """How long a training is, in every unit."""

    samples: int
    """Of all agents together."""
    agents: int
    batch: int | None
    """None where every step takes all samples of an agent."""
    local_steps: int
    epochs: float

    def __post_init__(self) -> None:
        for name in ("batch", "local_steps"):
            value = getattr(self, name)
            if name == "batch" and value is None:
                continue
            if not isinstance(value, int | np.integer) or value < 1:
                raise BadInput(f"{name} = {value}; it must be a whole number of at least 1")
        if not is_number(self.epochs) or not self.epochs > 0 or not np.isfinite(self.epochs):
            raise BadInput(f"epochs = {self.epochs!r}; train for more than none, and for finitely many")
        if self.rounds * self.local_steps * (self.batch or 1) >= COUNTERS:
            raise BadInput(
                f"epochs = {self.epochs}; each agent can draw at most 2^32 samples: train for fewer"
            )

    @property
    def passes(self) -> float:
        """Epochs in one exchange; an epoch is as many draws of all agents together as there are samples."""
        if self.batch is None:
            return float(self.local_steps)
        return self.agents * self.batch * self.local_steps / self.samples

    @property
    def rounds(self) -> int:
        """Exchanges in all epochs."""
        return self._exchanges(self.epochs)

    def marks(self, every: Any) -> Int[np.ndarray, " marks"]:
        """Exchanges after which every so many epochs are over: the first, the last and those in between."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise BadInput(f"every = {every}; models are judged every 1, 2, … epochs")
        ends = [self._exchanges(epoch) for epoch in range(every, int(np.ceil(self.epochs)), every)]
        return np.unique([0, *ends, self.rounds])

    def epoch_of(self, k: int) -> int:
        """The epoch in which exchange k begins, counted from 1."""
        return int((k - 1) * self.passes) + 1

    def sampled(self, least: int) -> dict[str, int]:
        """What an account of sampling needs to know of the agent who samples most, the one with the `least` samples."""
        assert self.batch is not None
        return {"samples": least, "batch": self.batch, "steps": self.rounds * self.local_steps}

    def _exchanges(self, epochs: float) -> int:
        return max(1, int(np.ceil(epochs / self.passes - 1e-9)))  # rounding must not add an exchange
