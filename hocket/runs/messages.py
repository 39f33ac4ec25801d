"""How many words went from agent to agent in a run, and what became of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hocket.networks.network import Network


class Messages(NamedTuple):
    """Words from one agent to one neighbour, by what became of them; of a sweep, an array of each.

    An agent that says the same to three neighbours sends three. Totals are not counted. What was still on its way at
    the end of a run was sent, and neither received nor lost; words that came to sleepers were lost.
    """

    sent: int
    received: int
    lost: int

    @classmethod
    def counted(cls, *numbers: Any) -> Messages:
        """From counts of one run or of many."""
        return cls(*(int(number) if np.ndim(number) == 0 else number for number in numbers))

    @classmethod
    def all_heard(cls, network: Network, rounds: int, exchanges: int) -> Messages:
        """Of rounds in which every word arrives, each with so many exchanges."""
        pairs = (network.weight > 0).sum(axis=(1, 2))
        turns = np.bincount(np.arange(rounds % network.period), minlength=network.period)
        sent = exchanges * int(pairs @ (rounds // network.period + turns))
        return cls(sent, sent, 0)
