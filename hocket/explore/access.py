"""Who may come in: whoever has the token, by the address it was given for, and from this page alone."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

GUARDED = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",  # the address holds the token
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",
}
LONGEST = 64 * 1024
"""Bytes of a question."""


@dataclass
class Access:
    """Refuses strangers before anything else sees the request."""

    app: ASGIApp
    token: str
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        answer: Any = self.app if refusal is None else PlainTextResponse(refusal[1] + "\n", refusal[0])

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(GUARDED)
            await send(message)

        await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        # Another site may point its own name at this machine, so that a browser takes us for it.
        if headers.get("host") not in hosts:
            return (
                421,
                f"this explorer answers to 127.0.0.1:{self.port} only; open the address that it printed",
            )
        if headers.get("origin") not in {None, *(f"http://{host}" for host in hosts)}:
            return 403, "another page may not ask the explorer anything"
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return (
                403,
                "the token is missing or wrong; open the address that hocket explore printed, as a whole",
            )
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LONGEST:
            return 413, f"a question has at most {LONGEST:,} bytes, and says how many; draw a smaller network"
        return None
