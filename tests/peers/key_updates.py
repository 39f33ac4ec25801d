"""A stranger who says nothing by TLS 1.3 but that its keys change: Python's ssl cannot, OpenSSL beneath it can."""

from __future__ import annotations

import _ssl
import ctypes
import socket
from typing import Any

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_int
FUNCTIONS = {
    "TLS_client_method": (POINTER, []),
    "SSL_CTX_new": (POINTER, [POINTER]),
    "SSL_new": (POINTER, [POINTER]),
    "SSL_set_fd": (NUMBER, [POINTER, NUMBER]),
    "SSL_connect": (NUMBER, [POINTER]),
    "SSL_key_update": (NUMBER, [POINTER, NUMBER]),
    "SSL_do_handshake": (NUMBER, [POINTER]),
    "SSL_free": (None, [POINTER]),
    "SSL_CTX_free": (None, [POINTER]),
}


def send_key_updates(connection: socket.socket, most: int) -> int:
    """Shake hands, then send so many updates one after the other, or fewer where the other end hangs up."""
    library: Any = ctypes.CDLL(_ssl.__file__)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    connection.setblocking(True)
    context = library.SSL_CTX_new(library.TLS_client_method())
    tls = library.SSL_new(context)
    try:
        library.SSL_set_fd(tls, connection.fileno())
        assert library.SSL_connect(tls) == 1
        for sent in range(most):
            if library.SSL_key_update(tls, 0) != 1 or library.SSL_do_handshake(tls) != 1:
                return sent
        return most
    finally:
        library.SSL_free(tls)
        library.SSL_CTX_free(context)
