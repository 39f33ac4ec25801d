"""Ports of this machine, for processes that have yet to start."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

LOOPBACK = "127.0.0.1"


@contextmanager
def held_ports(count: int) -> Iterator[list[int]]:
    """Free ports that the system gives to nobody else meanwhile; whoever is told of one can listen on it.

    A socket that is bound and never listens keeps a port from being given away. Servers that reuse addresses, as
    those of gRPC and asyncio do, may take it all the same, and only one of them.
    """
    with ExitStack() as holding:
        held = [holding.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((LOOPBACK, 0))
        yield [one.getsockname()[1] for one in held]
