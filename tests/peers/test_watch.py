"""`hocket peer watch`: a snapshot from a folder, on a terminal of its own, and over loopback."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.cli.peer.status import screen
from hocket.errors import BadConfig
from hocket.federation.monitoring import metrics
from hocket.federation.monitoring.metrics import Metrics, latest, measurements
from hocket.federation.monitoring.watching.server import ServedPage, take_port
from hocket.federation.state.home import Home
from tests.peers.federation_case import Federation, play
from tests.peers.plans import IDENTITIES
from tests.peers.watched_case import ME, Watched

ROOT = Path(__file__).parents[2]
EVIL = "\x1b[2J<script>harm()</script>"


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched.of(tmp_path)


def test_a_run_that_goes_on(watched: Watched) -> None:
    watched.write()
    with watched.running():
        seen = watched.look()
    assert (seen.state, seen.done, seen.of) == ("running", 400, 1000)
    assert seen.standing.kind == "moving"
    assert seen.speed is not None
    assert seen.speed.rounds == pytest.approx(8, rel=0.1)  # two rounds in a quarter of a second
    assert seen.speed.received == pytest.approx(2 * seen.speed.said)
    assert seen.seconds_left == pytest.approx(600 / 8, rel=0.1)
    assert seen.waits == ["Nobody is waited for; the last message came from clinic-b, 12 ms later"]
    assert {one.name: one.link for one in seen.neighbours}["clinic-e"] == "connected"
    assert [one.name for one in seen.measured] == ["loss", "disagreement", "movement"]
    assert seen.events[-1].words == "lost clinic-e: the connection was reset"
    assert seen.warnings == ()
    json.dumps(seen.to_json(), allow_nan=False)


def test_who_is_waited_for_and_why(watched: Watched) -> None:
    watched.write(waiting_for={"clinic-e": "connected, but silent"}, waiting_seconds=75.0)
    with watched.running():
        seen = watched.look(now=time.time() + 40)
    assert seen.waits == ["clinic-c waits for clinic-e for 1 min 15 s: connected, but silent"]
    assert seen.warnings == ("clinic-c's process has said nothing for 40 s: a long gradient may keep it.",)
    # Nobody waits for anybody once the process is gone.
    seen = watched.look()
    assert (seen.state, seen.waits, seen.speed, seen.seconds_left) == ("stopped", [], None, None)
    assert {one.link for one in seen.neighbours} == {"not open"}


def test_a_restart_does_not_make_it_faster_than_it_is(watched: Watched) -> None:
    lines = watched.lines(restart=100)
    for line in lines[:100]:
        line["time"] -= 3600
    watched.write(lines)
    with watched.running():
        speed = watched.look().speed
    assert speed is not None
    assert speed.rounds == pytest.approx(8, rel=0.1)
    assert speed.said == pytest.approx(4000, rel=0.1)


def test_before_a_run_begins(watched: Watched, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peer", "watch", str(tmp_path / "plan.toml"), "--home", str(tmp_path)]) == 1
    assert "make an identity with hocket peer init" in capsys.readouterr().err
    IDENTITIES[2].save(Home(tmp_path).identity)
    assert main(["--json", "peer", "watch", str(tmp_path / "plan.toml"), "--home", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["done"], found["member"]) == ("not begun", 0, ME)
    assert found["standing"]["kind"] == "unknown"
    with watched.running():  # it has just been started, and has said nothing yet
        assert watched.look().state == "running"


def test_all_rounds_played_are_no_convergence(watched: Watched) -> None:
    watched.write(finished=True, round=1000)
    seen = watched.look()
    assert (seen.state, seen.share, seen.standing.kind) == ("finished", 1.0, "moving")
    assert any("still moving" in line for line in screen(seen))


def test_a_small_terminal_shows_what_matters_most(watched: Watched) -> None:
    watched.write()
    with watched.running():
        seen = watched.look()
    shown = screen(seen)
    assert len(shown) <= 30
    top = "\n".join(shown[:16])
    for important in ("still moving", "clinic-e", "loss", "Ctrl-C ends"):
        assert important in top
    assert any("lost clinic-e" in line for line in shown[8:])


def test_a_real_run_is_watched_from_its_folder(tmp_path: Path) -> None:
    federation = Federation(tmp_path, members=2, topology="path", rounds=30)
    play(federation.member(name) for name in federation.names)
    watched = Watched(tmp_path, federation.plan, federation.member("ash").folder)
    seen = watched.look()
    assert (seen.member, seen.state, seen.done, seen.of) == ("ash", "finished", 30, 30)
    assert {"loss", "disagreement", "movement"} <= {one.name for one in seen.measured}
    assert seen.standing.kind in ("moving", "settled")  # by its own state, and not by rounds played
    assert [one.words for one in seen.events][-1].startswith("finished")


def test_measurements_of_months_stay_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_BYTES", 10_000)
    kept = Metrics(tmp_path / "metrics.jsonl")
    for k in range(5_000):
        kept.record({"round": k, "loss": 1 / (k + 1)}, {"oak": 0.001})
    kept.close()
    assert kept.path.stat().st_size < 10_100
    rounds = [line["round"] for line in measurements(kept.path)]
    assert rounds[0] == 0
    assert rounds[-1] == 4_999
    assert rounds == sorted(rounds)
    assert [line["round"] for line in measurements(kept.path, 5)][::4] == [0, 4_999]
    assert latest(kept.path, within=300)[-1]["round"] == 4_999


def test_a_line_that_a_crash_cut_short_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"round": 1}\n{"round": 2, "lo')
    kept = Metrics(path)
    kept.record({"round": 3}, {})
    kept.close()
    assert [line["round"] for line in measurements(path)] == [1, 3]


def test_on_a_terminal(watched: Watched) -> None:
    """A screen of its own, which Ctrl-C leaves as it was; what is shown last stays."""
    watched.write(waiting_for={"clinic-e": EVIL}, waiting_seconds=9.0)
    # Anybody who starts tests in the background may have Ctrl-C ignored, which children inherit.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from hocket.cli import main; sys.exit(main())"
    )
    words = ["peer", "watch", str(watched.root / "plan.toml"), "--home", str(watched.root)]
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "LINES": "40",
    }
    with watched.running():
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        shown = _read(ours, until="Ctrl-C ends the watching")
        process.send_signal(signal.SIGINT)
        shown += _read(ours)
    assert process.wait(30) == 0
    os.close(ours)
    assert "\x1b[?1049h" in shown  # the other screen
    assert shown.count("\x1b[?1049l") == 1  # and back
    assert "\x1b[2J<script>" not in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    for words_shown in (
        "clinic-c in 'digits'",
        "400 of 1,000 rounds",
        "still moving, by 2 %",
        "waits for clinic-e",
    ):
        assert words_shown in plain
    after = plain.split("Ctrl-C ends the watching, not the run.")[-1]
    assert "clinic-c in 'digits': running, 400 of 1,000 rounds" in after


def _read(terminal: int, *, until: str = "", within: float = 60.0) -> str:
    """What a terminal is sent, up to some words or its end."""
    got, deadline = "", time.monotonic() + within
    while not until or until not in got:
        assert time.monotonic() < deadline, got
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            more = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return got
        if not more:
            return got
        got += more.decode(errors="replace")
    return got


@pytest.fixture
def served(watched: Watched) -> Iterator[ServedPage]:
    watched.write(waiting_for={"clinic-e": EVIL}, waiting_seconds=9.0)
    with watched.running():
        one = take_port(watched.look)
        thread = threading.Thread(target=one.run, daemon=True)
        thread.start()
        yield one
        one.stop()
        thread.join(10)


def ask(served: ServedPage, path: str, *, method: str = "GET", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status == 200:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    return answer.status, text


def test_the_page_is_for_whoever_has_its_address(served: ServedPage) -> None:
    assert served.server.server_address[0] == "127.0.0.1"
    status, page = ask(served, f"/{served.token}/")
    assert status == 200
    assert "<script>harm()" not in page
    assert "still moving" in page
    assert ask(served, f"/{served.token}/now")[0] == 200
    assert ask(served, "/")[0] == 403
    assert ask(served, f"/{served.token[:-1]}{'y' if served.token.endswith('x') else 'x'}/")[0] == 403
    assert ask(served, f"/{served.token}/etc/passwd")[0] == 404
    assert ask(served, f"/{served.token}/", Host="evil.example")[0] == 421
    assert ask(served, f"/{served.token}/", Origin="http://evil.example")[0] == 403
    assert ask(served, f"/{served.token}/", method="POST")[0] == 501
    # A browser's command line can be read by everybody on the machine: what stands there leads to the page once.
    assert served.token not in served.at(served.ticket)
    assert ask(served, f"/{served.ticket}/", Host="evil.example")[0] == 421
    assert [ask(served, f"/{served.ticket}/")[0] for _ in range(2)] == [303, 403]


def test_a_folder_that_cannot_be_read_is_said_on_the_page(served: ServedPage, watched: Watched) -> None:
    (watched.folder.path / "status.json").write_text("{}")
    status, words = ask(served, f"/{served.token}/now")
    assert status == 503
    assert "is damaged" in words


def test_a_port_that_cannot_be_had(watched: Watched, served: ServedPage) -> None:
    with pytest.raises(BadConfig, match="name another with --port"):
        take_port(watched.look, served.port)
    with pytest.raises(BadConfig, match="does not exist"):
        take_port(watched.look, 70_000)
