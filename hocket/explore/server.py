"""Serving the explorer on this machine, to whoever was given its address."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uvicorn import Config, Server

from hocket.errors import BadConfig
from hocket.explore.app import Explorer, explorer_app
from hocket.networks.network import Network

LOOPBACK = "127.0.0.1"
LAST_PORT = 65535


@dataclass(frozen=True)
class Served:
    """An explorer that is about to answer: its port is taken, its token drawn."""

    network: Network
    listening: socket.socket
    token: str

    @property
    def port(self) -> int:
        return self.listening.getsockname()[1]

    @property
    def url(self) -> str:
        """The address to open; who has it may use the explorer."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Answer until Ctrl-C."""
        self.server().run(sockets=[self.listening])

    def server(self) -> Server:
        """A server that can also be told to stop."""
        explorer = Explorer(self.network)
        app = explorer_app(explorer, token=self.token, port=self.port)
        # No log of requests: their addresses hold the token.
        config = Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
        return _Server(config, explorer.runs.stop)


class _Server(Server):
    """Calls a run off when it is told to stop: else whoever watches the run would keep the server waiting."""

    def __init__(self, config: Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._stop()
        super().handle_exit(sig, frame)


def take_port(network: Network, port: int = 0) -> Served:
    """Bind to loopback, and nothing else; port 0 takes any that is free."""
    if not 0 <= port <= LAST_PORT:
        raise BadConfig(
            f"port {port} does not exist; name another with --port, up to {LAST_PORT}, or 0 for any"
        )
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise BadConfig(
            f"port {port} on this machine cannot be had ({error}); name another with --port, or 0 for any that is free"
        ) from error
    return Served(network, listening, secrets.token_urlsafe(24))
