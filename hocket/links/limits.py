"""How much a neighbour may send, and how long a silent one is believed in."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

FIRST_PAUSE = 0.05
"""Seconds before the second attempt to connect; each pause is twice the one before."""


@dataclass(frozen=True)
class LinkLimits:
    """Bounds on what one link may cost. The defaults suit models of any size that fit the largest message."""

    message: int = 64 << 20
    """Bytes in one message."""
    rate: float = 2000.0
    """Messages in a second, on average; who says more is read more slowly."""
    burst: int = 200
    """Messages that may come at once."""
    silence: float = 20.0
    """Seconds without any sign of life after which a connection counts as lost."""
    longest_pause: float = 5.0
    """Seconds between two attempts to connect, at most."""


class Allowance:
    """A bucket of tokens: one a message, refilled at the rate, never more than the burst."""

    def __init__(self, limits: LinkLimits):
        self.limits = limits
        self.tokens = float(limits.burst)
        self.filled = time.monotonic()

    async def take(self) -> None:
        """Wait until one more message is within the rate."""
        now = time.monotonic()
        self.tokens = min(self.limits.burst, self.tokens + (now - self.filled) * self.limits.rate) - 1
        self.filled = now
        if self.tokens < 0:
            await asyncio.sleep(-self.tokens / self.limits.rate)
