"""The watch page on loopback: anybody who was given its address may look, and nobody can change anything."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hocket.errors import BadConfig, HocketError
from hocket.federation.monitoring.watching.page import title_of, watch_now, watch_page
from hocket.federation.monitoring.watching.snapshot import Snapshot
from hocket.machine import LOOPBACK

GUARDED = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
LAST_PORT = 65535
PATIENCE = 10.0
"""Seconds within which a request must have come."""


@dataclass(frozen=True)
class ServedPage:
    """A page that is about to be served: its port is taken, its token drawn."""

    server: ThreadingHTTPServer
    token: str
    ticket: str
    """Leads to the page once: for a browser's command line, which everybody on this machine can read."""

    @property
    def port(self) -> int:
        return self.server.server_address[1]

    @property
    def url(self) -> str:
        """The address to open; who has it may look."""
        return self.at(self.token)

    def at(self, word: str) -> str:
        return f"http://{LOOPBACK}:{self.port}/{word}/"

    def run(self) -> None:
        """Answer until Ctrl-C, or until it is told to stop."""
        with self.server:
            self.server.serve_forever()

    def stop(self) -> None:
        """Stop answering; from another thread than the one that answers."""
        self.server.shutdown()


@contextmanager
def port_named(port: int) -> Generator[None]:
    """While it is bound: a port that does not exist or cannot be had is refused."""
    if not 0 <= port <= LAST_PORT:
        raise BadConfig(
            f"port {port} does not exist; name another with --port, up to {LAST_PORT}, or 0 for any"
        )
    try:
        yield
    except OSError as error:
        raise BadConfig(
            f"port {port} on this machine cannot be had ({error}); name another with --port, or 0 for any that is free"
        ) from error


def take_port(now: Callable[[], Snapshot], port: int = 0) -> ServedPage:
    """Bind to loopback, and nothing else; port 0 takes any that is free."""
    token, ticket = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    with port_named(port):
        server = ThreadingHTTPServer((LOOPBACK, port), partial(_Answer, now, token, {ticket}))
    server.daemon_threads = True
    return ServedPage(server, token, ticket)


class LoopbackHandler(BaseHTTPRequestHandler):
    """One request to a page that this machine alone may open: other names and other pages are refused."""

    timeout = PATIENCE
    server_version, sys_version = "hocket", ""

    def refusal(self) -> tuple[int, str] | None:
        """Why a request is refused; None where its host and its origin are this page's own."""
        port = self.connection.getsockname()[1]
        hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        # Another site may point its own name at this machine, so that a browser takes us for it.
        if self.headers.get("Host") not in hosts:
            return 421, f"this page is at 127.0.0.1:{port} only; open the address that was printed\n"
        if self.headers.get("Origin") not in {None, *(f"http://{host}" for host in hosts)}:
            return 403, "another page may not ask this one anything\n"
        return None

    def begin(self, status: int, kind: str, **headers: str) -> None:
        """Everything before the body."""
        self.send_response(status)
        for name, value in (GUARDED | headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()

    def reply(self, status: int, text: str, kind: str = "text/plain", **headers: str) -> None:
        """Answer with a text."""
        body = text.encode()
        self.begin(status, kind, **{"Content-Length": str(len(body))}, **headers)
        self.wfile.write(body)

    def handle(self) -> None:
        """Answer, unless the one who asked has gone."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses hold the token."""


class _Answer(LoopbackHandler):
    """One request of somebody who watches a run."""

    def __init__(self, now: Callable[[], Snapshot], token: str, tickets: set[str], *where: Any) -> None:
        self.now, self.token, self.tickets = now, token, tickets
        super().__init__(*where)

    def do_GET(self) -> None:
        status, text, title = self._answered()
        named = {"Location" if status == 303 else "X-Title": title} if title else {}
        self.reply(status, text, "text/html" if status == 200 else "text/plain", **named)

    def _answered(self) -> tuple[int, str, str]:
        """The status, the text, and what a tab is to be called, or where it is to go."""
        if (refusal := self.refusal()) is not None:
            return *refusal, ""
        _, _, rest = self.path.partition("/")
        token, _, what = rest.partition("/")
        if token in self.tickets:
            self.tickets.clear()
            return 303, "", f"/{self.token}/"
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return 403, "the token is missing or wrong; open the address that hocket peer watch printed\n", ""
        if what not in ("", "now"):
            return 404, "there is one page here, and nothing else\n", ""
        try:
            seen = self.now()
        except HocketError as error:
            return 503, f"{error}\n", ""
        # Names and words go into a header: letters of one byte alone, and none that end a line.
        title = title_of(seen).encode("ascii", "replace").decode()
        return 200, watch_page(seen) if what == "" else watch_now(seen), title if title.isprintable() else ""
