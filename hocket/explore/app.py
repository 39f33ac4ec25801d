"""The server behind the page: one page, three questions, and a run to watch; on this machine alone.

Anybody who was given its address may come in: with the token in it, by the name it was given for, and from this page
alone."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hocket.errors import BadInput, HocketError
from hocket.explore.live_runs import Runs
from hocket.explore.questions import Question, about_network, asked, asked_network, explorer_page, forecast
from hocket.federation.monitoring.watching.server import LoopbackHandler, port_named
from hocket.files import json_value
from hocket.links.text import is_table
from hocket.machine import LOOPBACK
from hocket.networks.network import Network

LONGEST = 64 * 1024
"""Bytes of a question."""
PATIENCE = 1.0
"""Seconds that the last event of a run has to reach those who watch it."""


class Superseded(BadInput):
    """A newer question came before this one's turn."""


class Explorer:
    """What the requests share: one desk for estimates, one for runs."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.runs = Runs()
        self.desk = threading.Lock()
        self.latest = 0
        self.streams: set[threading.Thread] = set()

    def estimate(self, question: Question) -> dict[str, Any]:
        """What a listener could learn; of questions that wait, only the newest is worked on."""
        self.latest = number = self.latest + 1
        with self.desk:
            if number != self.latest:
                raise Superseded("a newer question took its place")
            return forecast(question)

    def close(self) -> None:
        """Call off what is running, and let those who watch it know."""
        self.runs.close()
        for stream in [*self.streams]:
            stream.join(PATIENCE)


class ExplorerHandler(LoopbackHandler):
    """One request."""

    def __init__(self, explorer: Explorer, token: str, tickets: set[str], *where: Any) -> None:
        self.explorer, self.token, self.tickets = explorer, token, tickets
        super().__init__(*where)

    def do_GET(self) -> None:
        self.answer({"": self.page, "runs": self.events})

    def do_POST(self) -> None:
        self.answer({"network": self.draw, "estimate": self.estimate, "runs": self.start})

    def do_DELETE(self) -> None:
        self.answer({"runs": self.call_off})

    def answer(self, doors: Mapping[str, Callable[..., None]]) -> None:
        """Refuse strangers before anything else sees the request."""
        place = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(place.query).items()}
        length = self.headers.get("Content-Length", "0")
        counted = "Transfer-Encoding" not in self.headers and length.isdecimal()
        self.body = self.rfile.read(min(int(length), 16 * LONGEST)) if counted else b""
        if (refusal := self.refusal()) is not None:
            return self.reply(*refusal)
        if place.path == "/" and (ticket := given.get("ticket")) in self.tickets:
            self.tickets.discard(ticket)
            return self.reply(303, "", Location=f"/?token={self.token}")
        if not hmac.compare_digest(given.get("token", "").encode(), self.token.encode()):
            words = (
                "the token is missing or wrong; open the address that hocket explore printed, as a whole\n"
            )
            return self.reply(403, words)
        if not counted or int(length) > LONGEST:
            words = f"a question has at most {LONGEST:,} bytes, and says how many; draw a smaller network\n"
            return self.reply(413, words)
        door, *rest = place.path.removeprefix("/").split("/")
        if door not in doors:
            return self.reply(404, "there is nothing here\n")
        try:
            return doors[door](*rest[:1])
        except HocketError as error:
            return self.reply_json({"error": str(error)}, 409 if isinstance(error, Superseded) else 400)

    def reply_json(self, answer: Mapping[str, Any], status: int = 200) -> None:
        """Answer with one JSON object."""
        self.reply(status, json.dumps(answer), kind="application/json")

    def page(self) -> None:
        """The page itself."""
        self.reply(200, explorer_page(self.explorer.network), kind="text/html")

    def draw(self) -> None:
        """A network by name or by its links: its picture and its guarantees."""
        self.reply_json(about_network(asked_network(self.table())))

    def estimate(self) -> None:
        """What a listener could learn."""
        self.reply_json(self.explorer.estimate(asked(self.table())))

    def start(self) -> None:
        """Begin a run; its events tell how it goes."""
        question = asked(self.table())
        question.network  # noqa: B018 - refused here rather than in the thread of runs
        self.reply_json({"run": self.explorer.runs.start(question).name}, 201)

    def events(self, run: str = "", *_: str) -> None:
        """All events of a run, as server-sent events; a reader that was cut off goes on where it was."""
        received = self.headers.get("Last-Event-ID", "0")
        stream = self.explorer.runs.named(run).stream(int(received) if received.isdecimal() else 0)
        self.begin(200, "text/event-stream")
        self.explorer.streams.add(threading.current_thread())
        try:
            for event in stream:
                self.wfile.write(event.encode())
        finally:
            self.explorer.streams.discard(threading.current_thread())

    def call_off(self, run: str = "") -> None:
        """Cancel a run."""
        self.explorer.runs.named(run).call_off()
        self.reply_json({"cancelled": True})

    def table(self) -> dict[str, Any]:
        """The question, as it was sent."""
        try:
            table = json_value(self.body)
        except ValueError:
            table = None
        if not is_table(table):
            raise BadInput("the question is no JSON object; reload the page")
        return table


@dataclass(frozen=True)
class ServedExplorer:
    """An explorer that is about to answer: its port is taken, its token drawn."""

    server: ThreadingHTTPServer
    explorer: Explorer
    token: str
    ticket: str
    """Leads to the page once: for a browser's command line, which everybody on this machine can read."""

    @property
    def port(self) -> int:
        return self.server.server_address[1]

    @property
    def url(self) -> str:
        """The address to open; who has it may use the explorer."""
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def once(self) -> str:
        """The same for a browser's command line."""
        return f"http://{LOOPBACK}:{self.port}/?ticket={self.ticket}"

    def run(self) -> None:
        """Answer until Ctrl-C, or until it is told to stop."""
        try:
            self.server.serve_forever()
        finally:
            self.explorer.close()
            self.server.server_close()


def take_port(network: Network, port: int = 0) -> ServedExplorer:
    """Bind to loopback, and nothing else; port 0 takes any that is free."""
    explorer, token, ticket = Explorer(network), secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    with port_named(port):
        server = ThreadingHTTPServer((LOOPBACK, port), partial(ExplorerHandler, explorer, token, {ticket}))
    server.daemon_threads = True
    return ServedExplorer(server, explorer, token, ticket)
