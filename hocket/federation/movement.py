"""How far a member's state still moves: all that it can see of convergence by itself.

That rounds were played says nothing of the optimum. A member knows its own states; it judges by how far about the last
tenth of its rounds carried it, and by how far as many rounds again would, with steps as the plan has them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hocket.steps import Step

MEASURED = ("movement", "movement_rounds", "movement_ahead", "movement_growth")
"""The state's movement relative to its size, over how many rounds, over as many rounds again as were played, and by
what factor the state grew in these rounds."""
TENTH = 10


class _Mark(NamedTuple):
    """A state that was passed by."""

    round: int
    x: Float[np.ndarray, " dim"]


@dataclass
class Movement:
    """Looks at a member's states as rounds go by; what it remembers is two states, and it gives out numbers alone."""

    rounds: int
    step: Step
    _marks: tuple[_Mark, ...] = field(default=())
    """The older first; after a crash they begin where the member went on."""

    def pass_by(self, k: int, x: Float[np.ndarray, " dim"]) -> None:
        """Remember the state after round k, if a tenth of all rounds has gone by since the last one."""
        last = self._marks[-1].round if self._marks else 0
        # So that in the last round it is just the last tenth that is looked back upon.
        end = self.rounds - _tenth(self.rounds)
        if not self._marks or k - last >= _tenth(k) or last < end <= k:
            self._marks = (*self._marks[-1:], _Mark(k, np.array(x)))

    def look(self, k: int, x: Float[np.ndarray, " dim"]) -> dict[str, float]:
        """What is known after round k, of which x is the next state; nothing before two rounds were passed by."""
        past = [mark for mark in self._marks if mark.round <= k - _tenth(k)] or list(self._marks[:1])
        if not past or past[-1].round == k:
            return {}
        since, before = past[-1]
        size, first = float(np.linalg.norm(x)), float(np.linalg.norm(before))
        largest = max(size, first)
        # The farthest two: a state that is shaken may be back by chance where it was.
        seen = [*(mark.x for mark in self._marks if since <= mark.round < k), x]
        farthest = max(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))
        moved = farthest / largest if largest else 0.0
        growth = size / first if first else 1.0
        # How much longer the steps of as many rounds again are together than those that were measured.
        longer = float(self.step.table(k + 1, 2 * k).sum() / self.step.table(since + 1, k).sum())
        return dict(zip(MEASURED, (moved, k - since, moved * longer, growth), strict=True))


def _tenth(rounds: int) -> int:
    return max(1, rounds // TENTH)
