"""How much somebody may send: anybody who sends more is read more slowly."""

from __future__ import annotations

import asyncio
import time


class Allowance:
    """A bucket of tokens, refilled at a rate in a second, never more than the burst."""

    def __init__(self, rate: float, burst: float):
        self.rate = rate
        self.burst = burst
        self._tokens = burst
        self._filled = time.monotonic()

    async def take(self, count: float = 1.0) -> None:
        """Wait until so much more is within the rate."""
        now = time.monotonic()
        self._tokens = min(self.burst, self._tokens + (now - self._filled) * self.rate) - count
        self._filled = now
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self.rate)
