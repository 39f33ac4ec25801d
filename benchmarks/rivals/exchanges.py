"""What an exchange is to its contestants: from all agents' states to the mixed ones, through bytes that could be sent.

A way to exchange is private if nobody can read an agent's state off what it is told. Each plays all agents, one after
the other, in one thread; what a server would do is played too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float


class Exchange(ABC):
    """One way to exchange."""

    traffic: int = 0
    """Bytes that an agent sent and received in the last exchange, on average."""

    @abstractmethod
    def __call__(self, states: Float[np.ndarray, "agents dim"], k: int) -> Float[np.ndarray, "agents dim"]:
        """Mixed states after exchange k."""


class Plain(Exchange):
    """Everybody tells both neighbours on the ring, and hides nothing: DGD."""

    def __call__(self, states: Float[np.ndarray, "agents dim"], k: int) -> Float[np.ndarray, "agents dim"]:
        words = [state.tobytes() for state in states]
        self.traffic = 2 * 2 * len(words[0])
        return mixed_on_ring([np.frombuffer(word, states.dtype) for word in words])


def mixed_on_ring(words: list[np.ndarray]) -> np.ndarray:
    """Every agent's mean of its own word and both neighbours'."""
    third = words[0].dtype.type(1 / 3)
    count = len(words)
    return np.stack([(words[j - 1] + words[j] + words[(j + 1) % count]) * third for j in range(count)])
