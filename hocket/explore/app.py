"""The web application: one page, three questions, and a run to watch; served on this machine alone.

Whoever was given its address may come in: with the token in it, by the name it was given for, and from this page alone.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server

from hocket.errors import BadInput, HocketError
from hocket.explore.live_runs import Runs
from hocket.explore.questions import Question, about_network, asked, asked_network, explorer_page, foretold
from hocket.federation.watching.server import GUARDED, port_named
from hocket.files import json_value
from hocket.links.text import is_table
from hocket.machine import LOOPBACK
from hocket.networks.network import Network

LONGEST = 64 * 1024
"""Bytes of a question."""


@dataclass
class Access:
    """Refuses strangers before anything else sees the request."""

    app: ASGIApp
    token: str
    port: int
    tickets: set[str]
    """Each leads to the page once: for a browser's command line, which everybody on this machine can read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        answer: Any = self.app if refusal is None else PlainTextResponse(refusal[1] + "\n", refusal[0])
        if refusal is None and self._has_ticket(scope):
            answer = RedirectResponse(f"/?token={self.token}", 303)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(GUARDED)
            await send(message)

        await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        # Another site may point its own name at this machine, so that a browser takes us for it.
        if headers.get("host") not in hosts:
            return (
                421,
                f"this explorer answers to 127.0.0.1:{self.port} only; open the address that it printed",
            )
        if headers.get("origin") not in {None, *(f"http://{host}" for host in hosts)}:
            return 403, "another page may not ask the explorer anything"
        given = _asked(scope, "token")
        if scope["path"] == "/" and _asked(scope, "ticket") in self.tickets:
            return None
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return (
                403,
                "the token is missing or wrong; open the address that hocket explore printed, as a whole",
            )
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LONGEST:
            return 413, f"a question has at most {LONGEST:,} bytes, and says how many; draw a smaller network"
        return None

    def _has_ticket(self, scope: Scope) -> bool:
        ticket = _asked(scope, "ticket")
        if scope["path"] != "/" or ticket not in self.tickets:
            return False
        self.tickets.discard(ticket)
        return True


def _asked(scope: Scope, key: str) -> str:
    return parse_qs(scope["query_string"].decode("latin-1")).get(key, [""])[0]


class Superseded(Exception):
    """A newer question came before this one's turn."""


class Explorer:
    """What the requests share: one desk for estimates, one for runs."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.runs = Runs()
        self.desk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="estimates")
        self.latest = 0

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return HTMLResponse(explorer_page(self.network))

    async def draw(self, request: Request) -> Response:
        """A network by name or by its links: its picture and its guarantees."""
        table = await _table(request)
        return JSONResponse(await asyncio.to_thread(lambda: about_network(asked_network(table))))

    async def estimate(self, request: Request) -> Response:
        """What a listener could learn; of questions that wait, only the newest is worked on."""
        question = asked(await _table(request))
        self.latest += 1
        number = self.latest
        loop = asyncio.get_running_loop()
        try:
            return JSONResponse(await loop.run_in_executor(self.desk, self._foretold, question, number))
        except Superseded:
            return JSONResponse({"error": "a newer question took its place"}, 409)

    def _foretold(self, question: Question, number: int) -> dict[str, Any]:
        if number != self.latest:
            raise Superseded
        return foretold(question)

    async def start(self, request: Request) -> Response:
        """Begin a run; what it says is told by its events."""
        question = asked(await _table(request))
        await asyncio.to_thread(lambda: question.network)  # refused here rather than in the thread of runs
        return JSONResponse({"run": self.runs.start(question).name}, 201)

    async def events(self, request: Request) -> Response:
        """Everything a run says, as server-sent events; a reader that was cut off goes on where it was."""
        run = self.runs.named(request.path_params["run"])
        heard = request.headers.get("last-event-id", "0")
        stream = run.stream(int(heard) if heard.isdecimal() else 0)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def call_off(self, request: Request) -> Response:
        """Cancel a run."""
        self.runs.named(request.path_params["run"]).call_off()
        return JSONResponse({"cancelled": True})

    @asynccontextmanager
    async def living(self, app: Starlette) -> AsyncGenerator[None]:
        """As long as the server lives."""
        yield
        self.runs.close()
        self.desk.shutdown(wait=False, cancel_futures=True)


def explorer_app(explorer: Explorer, *, token: str, tickets: set[str], port: int) -> Starlette:
    """The application, for those who have access."""
    return Starlette(
        routes=[
            Route("/", explorer.page),
            Route("/network", explorer.draw, methods=["POST"]),
            Route("/estimate", explorer.estimate, methods=["POST"]),
            Route("/runs", explorer.start, methods=["POST"]),
            Route("/runs/{run}/events", explorer.events),
            Route("/runs/{run}", explorer.call_off, methods=["DELETE"]),
        ],
        middleware=[Middleware(Access, token=token, port=port, tickets=tickets)],
        exception_handlers={HocketError: _complain},  # type: ignore[dict-item]
        lifespan=explorer.living,
    )


async def _table(request: Request) -> dict[str, Any]:
    try:
        table = json_value(await request.body())
    except ValueError:
        table = None
    if not is_table(table):
        raise BadInput("the question is no JSON object; reload the page")
    return table


async def _complain(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


@dataclass(frozen=True)
class Served:
    """An explorer that is about to answer: its port is taken, its token drawn."""

    network: Network
    listening: socket.socket
    token: str
    ticket: str
    """Leads to the page once: see `Access`."""

    @property
    def port(self) -> int:
        return self.listening.getsockname()[1]

    @property
    def url(self) -> str:
        """The address to open; who has it may use the explorer."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def once(self) -> str:
        """The same for a browser's command line."""
        return f"http://{LOOPBACK}:{self.port}/?ticket={self.ticket}"

    def run(self) -> None:
        """Answer until Ctrl-C."""
        self.server().run(sockets=[self.listening])

    def server(self) -> Server:
        """A server that can also be told to stop."""
        explorer = Explorer(self.network)
        app = explorer_app(explorer, token=self.token, tickets={self.ticket}, port=self.port)
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
    with port_named(port):
        listening = socket.create_server((LOOPBACK, port))
    return Served(network, listening, secrets.token_urlsafe(24), secrets.token_urlsafe(24))
