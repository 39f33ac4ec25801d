"""Opening a member's port: to its neighbours, in TLS 1.3, within limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hocket.errors import LinkError
from hocket.links.descriptors import least_connections, most_connections
from hocket.links.tls import grpc

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


HANDSHAKE_SECONDS = 5
"""For a TLS handshake, from the moment a connection is accepted: two round trips. On a line where each takes one second
there is time for a packet to be lost twice (it is sent again after one second, and after two more). Who needs longer
tries again; who never means to finish holds a connection no longer than this."""


async def start_listening(
    answer: Callable[..., Any],
    method: str,
    address: str,
    credentials: Any,
    *,
    limits: LinkLimits,
    dialers: int,
) -> Any:
    """A running server that answers this one method; for so many neighbours."""
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
    except BaseException:  # cancelled as well: a server that nobody stops keeps its process from ending
        await server.stop(None)
        raise
    return server


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
