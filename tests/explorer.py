"""An explorer that answers while a test looks at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hocket.explore.app import Served, take_port
from hocket.networks.network import Network


@contextmanager
def serving(network: Network) -> Iterator[Served]:
    """Serve in a thread, as `hocket explore` does in a process of its own."""
    served = take_port(network)
    server = served.server()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [served.listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield served
    finally:
        server.should_exit = True
        thread.join(30)
        served.listening.close()
