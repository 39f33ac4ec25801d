"""A stranger who opens connections and says nothing: python -m tests.peers.flood_process COUNT AT_ONCE PORT..."""

from __future__ import annotations

import collections
import resource
import socket
import sys
import time

PAUSE = 0.0005


def flood(count: int, at_once: int, ports: list[int]) -> None:
    """So many connections one after the other, of which so many are held at a time."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held: collections.deque[socket.socket] = collections.deque()
    for number in range(count):
        try:
            held.append(socket.create_connection(("127.0.0.1", ports[number % len(ports)]), timeout=5))
        except OSError:  # refused or reset: the next one may get in
            time.sleep(PAUSE)
        if len(held) > at_once:
            held.popleft().close()
        time.sleep(PAUSE)
    for connection in held:
        connection.close()


if __name__ == "__main__":
    count, at_once, *ports = map(int, sys.argv[1:])
    flood(count, at_once, ports)
