"""Opening a member's port: to its neighbours, in TLS 1.3, within limits."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hocket.errors import LinkError
from hocket.links.descriptors import least_connections, most_connections
from hocket.links.tls import answers, grpc

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


HANDSHAKE_SECONDS = 5
"""For a TLS handshake, from the moment a connection is accepted: two round trips. On a line where each takes one second
there is time for a packet to be lost twice (it is sent again after one second, and after two more). Who needs longer
tries again; who never means to finish holds a connection no longer than this."""

PROBED = (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
TRIES = 12
"""To find out which TLS is answered: over half a minute, in which a crowd's connections come and go."""


async def start_listening(
    answer: Callable[..., Any],
    method: str,
    address: str,
    credentials: Any,
    *,
    limits: LinkLimits,
    dialers: int,
) -> Any:
    """A running server that answers this one method, if it can be had here without TLS 1.2; for so many neighbours."""
    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(answer)

    class Door(grpc.GenericRpcHandler):
        def service(self, handler_call_details: Any) -> Any:
            return handler if handler_call_details.method == method else None

    server = grpc.aio.server(
        handlers=[Door()],
        options=[
            *limits_in_grpc(limits),
            ("grpc.so_reuseport", 0),
            # Who has the right certificate and opens no stream holds a connection no longer than a stranger may.
            ("grpc.max_connection_idle_ms", 1000 * HANDSHAKE_SECONDS),
            # Those that still shake hands count.
            ("grpc.max_allowed_incoming_connections", most_connections(dialers)),
        ],
        maximum_concurrent_rpcs=least_connections(dialers),
    )
    try:
        server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise LinkError(
            f"this member cannot listen at {address}: it is no address of this machine, or another process is there, "
            "such as this member's own run, which hocket peer stop ends"
        ) from error
    try:
        await server.start()
        await _refuse_older_tls(address)
    except BaseException:  # cancelled as well: a server that nobody stops keeps its process from ending
        await server.stop(None)
        raise
    return server


async def _refuse_older_tls(address: str) -> None:
    """Go on only if TLS 1.2 was tried and refused: a connection that a crowd at the door cut off looks the same, so
    TLS 1.3 must be answered just before and just after."""
    for _ in range(TRIES):
        newer, older, still = [
            await asyncio.to_thread(answers, _reachable(address), version) for version in PROBED
        ]
        if older:
            raise LinkError(
                "gRPC here accepts TLS 1.2: it was imported in this process before hocket could forbid that; import "
                "hocket.links.tls first, or run `hocket peer run` in a process of its own"
            )
        if newer and still:
            return
        await asyncio.sleep(HANDSHAKE_SECONDS / 2)
    raise LinkError(
        f"whether TLS 1.2 is refused at {address} could not be tried: connections were cut off {TRIES} times; is there "
        "a crowd at the door? Keep it out, and start again"
    )


def limits_in_grpc(limits: LinkLimits) -> list[tuple[str, int]]:
    """The limits of a link as gRPC's options, for either end."""
    silence = int(1000 * limits.silence)
    return [
        ("grpc.max_receive_message_length", limits.message),
        ("grpc.max_send_message_length", limits.message),
        # Members pack nothing: what comes packed is not unpacked, and refused as any other message without a form.
        ("grpc.per_message_decompression", 0),
        ("grpc.keepalive_time_ms", silence // 2),
        ("grpc.keepalive_timeout_ms", silence // 2),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", silence // 4),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", silence // 4),
        ("grpc.server_handshake_timeout_ms", 1000 * HANDSHAKE_SECONDS),
        ("grpc.initial_reconnect_backoff_ms", int(1000 * FIRST_PAUSE)),
        ("grpc.min_reconnect_backoff_ms", 1000),
        ("grpc.max_reconnect_backoff_ms", int(1000 * limits.longest_pause)),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),  # a proxy is for the web; members know each other's addresses
        ("grpc.max_concurrent_streams", 4),
    ]


def _reachable(address: str) -> str:
    """Where a listener on all interfaces can be reached from its own machine."""
    host, _, port = address.rpartition(":")
    return f"{({'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}).get(host, host)}:{port}"
