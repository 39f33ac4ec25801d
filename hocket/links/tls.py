"""TLS 1.3 or nothing, between two members who know each other's certificate.

gRPC's Python interface cannot state a lowest TLS version, and accepts 1.2 by default. But the ciphers of TLS 1.2 can be
named while those of 1.3 are fixed: we name one for RSA keys, which no member has, so that a handshake in TLS 1.2 finds
no cipher and one in 1.3 is not affected. gRPC reads the name once, so this module is where it is imported first.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl

RSA_ONLY = "ECDHE-RSA-AES256-GCM-SHA384"
os.environ["GRPC_SSL_CIPHER_SUITES"] = RSA_ONLY
# Every stranger who knocks would leave lines on standard error; the log of the run says what matters.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402

from hocket.machine import UNIX  # noqa: E402

HANDSHAKE = b"\x16"
"""The first byte of a record that goes on with a handshake; a refusal is an alert, or a closed connection."""
PROBE_SECONDS = 5.0


def listening_credentials(key: bytes, certificate: bytes, dialers: list[bytes]) -> grpc.ServerCredentials:
    """Who I am, and whose certificates may open a connection to me: exactly those."""
    return grpc.ssl_server_credentials(
        [(key, certificate)], root_certificates=b"".join(dialers), require_client_auth=True
    )


def dialling_credentials(key: bytes, certificate: bytes, listener: bytes) -> grpc.ChannelCredentials:
    """Who I am, and the one certificate that may answer."""
    return grpc.ssl_channel_credentials(listener, key, certificate)


def answers(address: str, version: ssl.TLSVersion) -> bool:
    """Whether a listener goes on with a handshake in this TLS version.

    Its first byte tells, before any certificate is asked for; so this needs none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is said over this connection
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = context.wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    with _connected(address) as connection:
        try:
            connection.sendall(outgoing.read())
            return connection.recv(1) == HANDSHAKE
        except OSError:  # closed, or not looked at in time, as may be when there is a crowd before the door
            return False


def _connected(address: str) -> socket.socket:
    """A connection to an address as gRPC names it: host:port, or unix: and a file."""
    if not address.startswith(UNIX):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout=PROBE_SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PROBE_SECONDS)
    try:
        connection.connect(address.removeprefix(UNIX))
    except BaseException:
        connection.close()
        raise
    return connection
