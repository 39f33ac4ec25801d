"""For whom a member waits, and why, said while it waits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hocket.cli.peer.common import waiting_in_words

if TYPE_CHECKING:
    from hocket.federation.presence import Presence
    from hocket.federation.reachability import Reaching

EVERY = 15.0
"""Seconds after which it is said again for whom this member waits."""


@dataclass
class Complaints:
    """Says for whom a member waits, and why: soon, and then from time to time, whoever reads it."""

    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _next: float = -math.inf

    def look(self, presence: Presence | Reaching) -> None:
        """Say it if it is time."""
        why, now = presence.waiting_for(), self.clock()
        if why and now >= self._next:
            # From when it was due, not from when somebody looked: else it would come ever later.
            self._next = EVERY + (self._next if now < self._next + EVERY else now)
            for line in waiting_in_words(why, presence.waiting_seconds):
                self.say(line)
