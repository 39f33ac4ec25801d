"""Whether a member's state still moves when its rounds are over: all that it can see of convergence by itself.

That all rounds were played says nothing of the optimum. A member knows its own states; it judges by how far the last
tenth of the rounds carried it, and by how far as many rounds again would, with steps as the plan has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.steps import Step

MEASURED = ("movement", "movement_rounds", "movement_ahead")
"""The state's movement relative to its size, over how many rounds, and over as many rounds again as were played."""
TENTH = 10
SETTLED = 0.01
"""Of its size: a state that as many rounds again would carry less far is called settled."""


@dataclass
class Movement:
    """Looks at a member's states as rounds go by; what it remembers is one state, and it gives out numbers alone."""

    rounds: int
    step: Step
    since: int | None = None
    """The round from which on it is measured: later than a tenth before the end where a crash came between."""
    _from: Float[np.ndarray, " dim"] | None = None

    def look(self, k: int, x: Float[np.ndarray, " dim"]) -> dict[str, float]:
        """What is known in round k, of which x is the next state; nothing before the last round."""
        if self._from is None and k >= self.rounds - max(1, self.rounds // TENTH):
            self.since, self._from = k, np.array(x)
        if k < self.rounds or self._from is None or self.since is None or self.since == k:
            return {}
        size = max(float(np.linalg.norm(x)), float(np.linalg.norm(self._from)))
        moved = float(np.linalg.norm(x - self._from)) / size if size else 0.0
        numbers = moved, k - self.since, moved * self._steps_ahead(k, self.since)
        return dict(zip(MEASURED, numbers, strict=True))

    def _steps_ahead(self, k: int, since: int) -> float:
        """How much longer the steps of as many rounds again are together than those that were measured."""
        ahead, measured = self.step.table(k + 1, 2 * k), self.step.table(since + 1, k)
        return float(ahead.sum() / measured.sum())


def is_settled(measured: Mapping[str, float]) -> bool | None:
    """Whether a member's state came to rest; None where nothing was measured of it."""
    ahead = measured.get("movement_ahead")
    return None if ahead is None else ahead <= SETTLED


def movement_in_words(measured: Mapping[str, float]) -> str:
    """The movement in words, to go on a sentence about the member's state."""
    settled = is_settled(measured)
    if settled is None:
        return "not known: its movement was not measured"
    moved, rounds = _percent(measured["movement"]), int(measured["movement_rounds"])
    if settled:
        return f"settled to {moved} in the last {rounds:,} rounds"
    return f"still moving, by {moved} in the last {rounds:,} rounds"


def outlook(measured: Mapping[str, float]) -> list[str]:
    """What the movement foretells, and what it does not say; nothing where nothing was measured."""
    if is_settled(measured) is None:
        return []
    return [
        f"With the plan's steps as many rounds again would move it by about {_percent(measured['movement_ahead'])} of "
        f"its size; {_percent(SETTLED)} is the most for a state to be called settled.",
        "That a state rests is no proof that it is an optimum: only all members together could say so.",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
