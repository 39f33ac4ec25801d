"""The web application: one page, three questions, and a run to watch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hocket.errors import BadInput, HocketError
from hocket.explore.access import Access
from hocket.explore.answers import about_network, explorer_page, foretold
from hocket.explore.live_runs import Runs
from hocket.explore.questions import Question, asked, asked_network
from hocket.links.text import is_table
from hocket.networks.network import Network


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


def explorer_app(explorer: Explorer, *, token: str, port: int) -> Starlette:
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
        middleware=[Middleware(Access, token=token, port=port)],
        exception_handlers={HocketError: _complain},  # type: ignore[dict-item]
        lifespan=explorer.living,
    )


async def _table(request: Request) -> dict[str, Any]:
    try:
        table = json.loads(await request.body())
    except ValueError:
        table = None
    if not is_table(table):
        raise BadInput("the question is no JSON object; reload the page")
    return table


async def _complain(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)
