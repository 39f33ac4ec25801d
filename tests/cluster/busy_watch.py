"""A process whose watch never pauses, so that it is in the middle of a call when the process ends."""

from __future__ import annotations

import time

from hocket.engines.cluster import liveness

if __name__ == "__main__":
    rest, liveness.BEAT = liveness.BEAT, 0.0
    time.sleep(1.5 * rest)
