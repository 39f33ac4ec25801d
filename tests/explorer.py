"""An explorer that answers while a test looks at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hocket.explore.app import ServedExplorer, take_port
from hocket.networks.network import Network


@contextmanager
def serving(network: Network) -> Iterator[ServedExplorer]:
    """Serve in a thread, as `hocket explore` does in a process of its own."""
    served = take_port(network)
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        thread.join(30)
