"""Files that this process may have open: a crowd at the door must not use up those that the journal needs.

A connection takes a descriptor from the moment it is accepted, long before anybody has shown a certificate. So the
number of connections is limited to what is left beside all else; those beyond it are closed at once, and those that do
not get through their handshake in time are closed then.

This keeps a member running, not reachable. As long as strangers hold all connections, a neighbour that has to connect
again is turned away with them, and tries again until it finds a free one: it competes with the flood, at some hundreds
of places every few seconds. Links that stand are not disturbed. Only a firewall before the port keeps strangers out.
"""

from __future__ import annotations

import contextlib

try:
    import resource
except ImportError:  # where there is no such limit to ask for
    resource = None

MOST_FILES = 65_536
"""As many as are ever asked for: some programs that this process may start close every number up to the limit."""
MOST_CONNECTIONS = 512
"""Each costs memory too; no member has a hundred neighbours that dial it."""
KEPT_BACK = 128
"""Descriptors that are never for connections: what Python, gRPC and JAX hold (some twenty), the links that this member
dials, its journal, log, metrics and status, and what a task opens."""
UNKNOWN = 1024
"""The limit to reckon with where it cannot be asked for."""


def raise_soft_limit(most: int = MOST_FILES) -> int:
    """Let this process open as many files as it may, up to `most`; returns how many that are."""
    if resource is None:
        return UNKNOWN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # macOS has a lower limit of its own; we do with what we have.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return _soft_limit()


def most_connections(diallers: int) -> int:
    """How many connections may be open at a door that so many neighbours use.

    Never fewer than these need: each may have one that it has given up, one that it uses, and two on the way.
    """
    return max(least_connections(diallers), min(MOST_CONNECTIONS, _soft_limit() - KEPT_BACK))


def least_connections(diallers: int) -> int:
    """What the neighbours alone need, however few files there are."""
    return 4 * diallers + 4


def _soft_limit() -> int:
    if resource is None:
        return UNKNOWN
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft
