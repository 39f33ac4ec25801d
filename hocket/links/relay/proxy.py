"""A company's proxy: asked by HTTP CONNECT to pass bytes on, with credentials if it wants them.

They come from the environment or from the member's home, and are never shown: what errors name is the proxy's address.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from hocket.errors import BadConfig, LinkError
from hocket.links.relay.connection import Connection
from hocket.links.text import shown

LONGEST_ANSWER = 8192
USUAL_PORT = 3128
STATUS = re.compile("[0-9]{3}")
REFUSED = {
    407: "wants other credentials: set https_proxy, or the file proxy in this member's home, to http://USER:PASSWORD@…",
    403: "forbids it; ask those who run the proxy to let this address through",
}


@dataclass(frozen=True)
class Proxy:
    """Where a proxy is, and how to be let in."""

    host: str
    port: int
    credentials: str | None = field(default=None, repr=False)
    """user:password"""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, address: str, *, source: str) -> Proxy:
        """A proxy from http://user:password@host:port; errors do not repeat it."""
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            host, port = parts.hostname, parts.port or USUAL_PORT
        except ValueError:
            host, port, parts = None, 0, urlsplit("")
        if parts.scheme != "http" or not host:
            raise BadConfig(
                f"{source} names no proxy that can be used; write http://host:port, or http://user:password@host:port"
            )
        secret = (
            None if parts.username is None else f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        )
        return cls(host, port, secret)

    async def pass_through(self, connection: Connection, target: str) -> None:
        """Have everything after this passed on to that host:port."""
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials is not None:
            secret = base64.b64encode(self.credentials.encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {secret}")
        connection.write_now("\r\n".join([*lines, "", ""]).encode())
        try:
            answer = await connection.read_until(b"\r\n\r\n", LONGEST_ANSWER)
        except (OSError, asyncio.IncompleteReadError):  # it hung up, or never comes to an end
            answer = b""
        status = answer.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        code = int(status[1]) if len(status) > 1 and STATUS.fullmatch(status[1]) else 0
        if not 200 <= code < 300:
            said = shown(" ".join(status[1:]), 80) if code else "no HTTP"
            raise LinkError(f"the proxy {self} {REFUSED.get(code, f'does not connect to {target}: {said}')}")


def proxy_for(host: str, kept: Path | None = None) -> Proxy | None:
    """The proxy to a host: of the member's home if it keeps one, else of the environment; None for the direct way."""
    if kept is not None and kept.exists():
        return _kept(kept)
    named = getproxies_environment()
    address = named.get("https") or named.get("all")
    return None if not address or proxy_bypass(host) else Proxy.parse(address, source="https_proxy")


def _kept(path: Path) -> Proxy:
    try:
        text = path.read_text(encoding="utf-8").strip()
        open_to = stat.S_IMODE(path.stat().st_mode) & 0o077
    except (OSError, ValueError):
        raise BadConfig(f"{path} cannot be read; write one line, such as http://host:port") from None
    proxy = Proxy.parse(text, source=str(path))
    if open_to and proxy.credentials is not None and os.name == "posix":
        raise BadConfig(
            f"{path} holds a password and can be opened by other users of this machine; run: chmod 600 {path}"
        )
    return proxy
