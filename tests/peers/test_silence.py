"""`hocket peer run` says for whom it waits, and why: soon, and again, whatever standard output is."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from hocket.cli.peer.common import EVERY, WaitingNotes
from hocket.federation.monitoring.reachability import PATIENCE
from hocket.links.channel import _in_words
from hocket.links.line import Neighbour

from .federation_case import Federation
from .test_member_commands import ROOT, start


class Waiting:
    """What is known of the others, and a clock, both set by hand."""

    def __init__(self) -> None:
        self.now, self.why = 0.0, dict[str, str]()
        self.said = list[tuple[float, str]]()
        self.complaints = WaitingNotes(
            lambda line: self.said.append((self.now, line)), clock=lambda: self.now
        )

    def pass_by(self, seconds: int, tick: float = 1.0) -> None:
        for _ in range(seconds):
            session: Any = SimpleNamespace(waiting_for=lambda: self.why, waiting_seconds=self.now)
            self.complaints.look(session)
            self.now += tick


def test_it_is_said_at_once_and_every_fifteen_seconds():
    waiting = Waiting()
    waiting.pass_by(3)
    assert waiting.said == []
    waiting.why = {"birch": "no answer yet", "cedar": "connected, but silent"}
    waiting.pass_by(33)
    assert [when for when, _ in waiting.said] == [3, 3, 18, 18, 33, 33]
    assert waiting.said[0][1] == "Waiting for birch for 3 s: no answer yet"
    assert waiting.said[-1][1] == "Waiting for cedar for 33 s: connected, but silent"
    waiting.why = {}
    waiting.pass_by(60)
    assert len(waiting.said) == 6


def test_a_machine_that_looks_late_does_not_fall_behind():
    waiting = Waiting()
    waiting.why = {"birch": "no answer yet"}
    waiting.pass_by(100, tick=1.125)
    assert len(waiting.said) == 8  # in 112.5 s, at 0, 15, … 105
    assert all(0 <= when - 15 * place < 1.125 for place, (when, _) in enumerate(waiting.said))


def test_rounds_that_take_their_time_are_not_said_every_second():
    waiting = Waiting()
    for _ in range(10):
        waiting.why = {"birch": "connected, but silent"}
        waiting.pass_by(1)
        waiting.why = {}
        waiting.pass_by(1)
    assert [when for when, _ in waiting.said] == [0, 16]


def test_the_first_words_come_within_five_seconds():
    assert PATIENCE + 1 < 5  # looked for once a second
    assert EVERY == 15


def _stderr_until(process: subprocess.Popen[str], part: str) -> str:
    """The first line that holds a part; a process that ends, or is ended, without it fails the test."""
    assert process.stderr is not None
    seen = list[str]()
    for line in process.stderr:
        seen.append(line)
        if part in line:
            return line
    raise AssertionError(f"never said {part!r}, but: {''.join(seen)}")


@contextmanager
def running(federation: Federation, name: str, *how: str) -> Iterator[subprocess.Popen[str]]:
    """A member's command, without a terminal; ended after a minute whatever it says."""
    process = start(federation, name, *how)
    late = threading.Timer(60, process.kill)
    late.start()
    try:
        yield process
    finally:
        late.cancel()
        process.kill()
        process.communicate()


def test_a_check_says_so_while_it_waits(tmp_path):
    federation = Federation(tmp_path, members=3, topology="path")
    with running(federation, "birch", "check") as birch:
        lines = [_stderr_until(birch, f"Waiting for {name} for") for name in ("ash", "cedar")]
        assert birch.poll() is None
    assert "has not dialled this member yet" in lines[0]
    assert str(federation.plan.card("birch").address) in lines[0]
    assert f"nobody listens at {federation.plan.card('cedar').address} (connection refused)" in lines[1]


@pytest.mark.parametrize("command", ["run", "check"])
def test_something_is_said_before_libraries_are_loaded(tmp_path, command):
    """They may take longer than five seconds on a busy machine; here they cannot be loaded at all."""
    words = ["peer", command, "plan.toml"]
    code = f"import sys; sys.modules['numpy'] = None; from hocket.cli import main; main({words})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("Reading plan.toml\n")


def test_a_run_says_who_is_not_there_and_where_something_else_is(tmp_path):
    federation = Federation(tmp_path, members=3, topology="complete")
    host, _, port = str(federation.plan.card("cedar").address).rpartition(":")
    with socket.create_server((host, int(port)), reuse_port=True) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1024)
                    connection.sendall(b"HTTP/1.0 400 Bad request\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        with running(federation, "ash") as ash:
            lines = [_stderr_until(ash, f"Waiting for {name} for") for name in ("birch", "cedar")]
        server.shutdown(socket.SHUT_RDWR)
    assert f"nobody listens at {federation.plan.card('birch').address} (connection refused)" in lines[0]
    assert "does not speak TLS: another program listens there" in lines[1]


@pytest.mark.parametrize(
    ("details", "words"),
    [
        (
            "errors resolving x: [DNS resolution failed for x:1: C-ares status is not ARES_SUCCESS]",
            "your DNS",
        ),
        (
            "Ssl handshake failed: SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED",
            "another certificate than the plan names for birch: it is somebody else, or birch changed its key and one "
            "of you still runs the plan with the old one",
        ),
        (
            "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:7000: Socket closed",
            "birch.example:7000 hung up while TLS began: it does not accept this member's key",
        ),
        ("birch has hocket 9.0, and ash has 0.1.0; install the same version on both", "birch has hocket 9.0"),
    ],
)
def test_what_grpc_says_is_put_in_words(details, words):
    assert words in _in_words(details, Neighbour("birch", b"", "birch", "birch.example:7000"))
