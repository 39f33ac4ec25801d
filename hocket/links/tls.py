"""TLS 1.3 or nothing, between two members who know each other's certificate.

gRPC's Python interface cannot state a lowest TLS version, and accepts 1.2 by default. But the ciphers of TLS 1.2 can be
named while those of 1.3 are fixed: we name one for RSA keys, which no member has, so that a handshake in TLS 1.2 finds
no cipher and one in 1.3 is not affected. gRPC reads the name once, so this module is where it is imported first; where
another module was earlier, a stream over TLS 1.2 is refused all the same, see `GrpcChannels.answer`.
"""

from __future__ import annotations

import os

RSA_ONLY = "ECDHE-RSA-AES256-GCM-SHA384"
os.environ["GRPC_SSL_CIPHER_SUITES"] = RSA_ONLY
# Every stranger who knocks would leave lines on standard error; the log of the run says what matters.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402


def listening_credentials(key: bytes, certificate: bytes, dialers: list[bytes]) -> grpc.ServerCredentials:
    """Who I am, and whose certificates may open a connection to me: exactly those."""
    return grpc.ssl_server_credentials(
        [(key, certificate)], root_certificates=b"".join(dialers), require_client_auth=True
    )


def dialling_credentials(key: bytes, certificate: bytes, listener: bytes) -> grpc.ChannelCredentials:
    """Who I am, and the one certificate that may answer."""
    return grpc.ssl_channel_credentials(listener, key, certificate)
