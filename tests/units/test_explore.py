"""The explorer behind its page: what may be asked, who may come in, and runs that are watched and called off."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hocket as hk
from hocket.cli import main
from hocket.errors import BadConfig, BadInput
from hocket.explore.app import Explorer, ServedExplorer, Superseded, take_port
from hocket.explore.live_runs import CalledOff, LiveRun, Runs, play, shared_problem
from hocket.explore.questions import MOST_AGENTS, about_network, asked, asked_network, explorer_page, forecast
from hocket.report.page import together
from tests.explorer import serving

RING = {"n": 5, "links": [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]], "algorithm": "rss-nb"}


def question(**changes):
    return asked(RING | changes)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"topology": "cycle:41"}, "up to 40 agents; audit larger networks with hocket audit"),
        ({"topology": "hypercube:40"}, "up to 40 agents"),
        ({"topology": "grid:39x39"}, "has 1521 agents and 2964 links; the explorer takes up to 40"),
        ({"topology": "complete:40"}, "780 links; the explorer takes up to 40 and 400"),
        ({"topology": "ring:5"}, "unknown topology 'ring'"),
        ({"n": 41, "links": []}, r"n = 41 \(a whole number\); expected 2 to 40 agents"),
        ({"n": 3, "links": [[0, 1]]}, "not connected.*add links between them"),
        ({"n": 3, "links": [[0, 1, 2]]}, "links must be pairs"),
        ({"n": 3}, "lacks the key 'links'"),
    ],
    ids=str,
)
def test_networks_out_of_bounds_are_refused_with_the_limit(table, words):
    with pytest.raises(BadInput, match=words):
        asked_network(table)


def test_a_seed_is_no_size():
    assert asked_network({"topology": "random-regular:d=3,n=10,seed=99"}).n == 10
    assert asked_network({"topology": "random-regular:3,10,99"}).n == 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": 10**9}, "1 to 200,000 rounds"),
        ({"rounds": 0}, "1 to 200,000 rounds"),
        ({"delta": -1}, "Δ from 0 to 1000"),
        ({"delta": float("nan")}, "Δ from 0 to 1000"),
        ({"persistent": 2}, "from 0 to 1"),
        ({"algorithm": "private-dgd"}, "'function-sharing', 'rss-nb', 'rss-lb' or 'dgd'"),
        ({"threat": "all"}, "'coalition', 'states' or 'states\\+noise'"),
        ({"evil": 1}, "has no key 'evil'"),
    ],
    ids=str,
)
def test_plans_out_of_bounds_are_refused_with_the_limit(change, words):
    with pytest.raises(BadConfig, match=words):
        question(**change)


def test_a_network_is_answered_with_its_picture_and_guarantees():
    found = about_network(hk.Network.cycle(5))
    assert found["facts"] == "cycle:5 · 5 agents · 5 links"
    assert found["graph"].count("data-agent=") == 5
    assert found["guarantees"].count("✓ holds") == 2  # P1 and P2 against one colluder
    assert found["data"]["links"] == RING["links"]


def test_leakage_is_what_the_library_foretells():
    found = forecast(question(coalition=[1, 4], rounds=50, delta=2))
    right = hk.leakage(
        hk.Network.cycle(5), hk.RssNb(2.0), rounds=50, coalition={1, 4}, step=hk.Power(1.0, 20, 0.75)
    )
    assert found["lines"] == str(right).splitlines()
    assert found["exact"] == [0]
    assert found["sd"]["2"][-1] == right.sd[2]
    with pytest.raises(BadInput):
        forecast(question(coalition=[]))


@pytest.mark.parametrize("algorithm", ["function-sharing", "rss-nb", "rss-lb", "dgd"])
def test_a_run_is_told_as_it_plays_beside_dgd(algorithm):
    told: list[dict] = []
    play(question(algorithm=algorithm, rounds=40), told.append, threading.Event())
    names = {"function-sharing": "FS", "rss-nb": "RSS-NB", "rss-lb": "RSS-LB", "dgd": "DGD"}
    expected = ["DGD"] if algorithm == "dgd" else ["DGD", names[algorithm]]
    assert [result["name"] for result in told[-1]["results"]] == expected
    for name in expected:
        received = [event for event in told[:-1] if event["name"] == name]
        assert (received[0]["done"], received[-1]["done"]) == (0, 40)
        rounds = [k for event in received for k, _ in event["points"]]
        assert (rounds[0], rounds[-1]) == (1, 41)
        assert rounds == sorted(rounds)
    right = hk.solve(
        shared_problem(5, "shared"),
        hk.Network.cycle(5),
        question(algorithm=algorithm).planned,
        rounds=40,
        start=[1.0, -0.5, 0.25, -0.75, 0.5],
    )
    assert told[-1]["results"][-1]["gap"] == right.gap


def test_minima_may_lie_apart():
    assert shared_problem(7, "shared").n == 7
    assert shared_problem(7, "apart").best.value > shared_problem(7, "shared").best.value


def test_a_run_that_is_called_off_stops_at_its_next_look():
    stop, told = threading.Event(), []

    def tell(event):
        told.append(event)
        if event["points"]:
            stop.set()

    with pytest.raises(CalledOff):
        play(question(rounds=200_000), tell, stop)
    assert told[-1]["done"] < 200_000


def test_listeners_hear_all_from_where_they_were_and_nothing_after_the_end():
    run = LiveRun()
    run.tell({"kind": "progress", "done": 1})
    run.tell({"kind": "progress", "done": 2})
    run.call_off()
    run.tell({"kind": "done"})  # the thread had not noticed yet
    received = [json.loads(text.split("data: ")[1]) for text in run.stream(1)]
    assert received == [{"kind": "progress", "done": 2}, {"kind": "cancelled"}]


def test_a_new_run_calls_the_old_one_off_and_failures_are_told():
    runs = Runs()
    first = runs.start(question(rounds=200_000, n=2, links=[[0, 1]]))
    second = runs.start(question(n=4, links=[[0, 1]]))  # falls apart: the thread finds out
    last = [json.loads(text.split("data: ")[1]) for text in second.stream()][-1]
    with pytest.raises(BadInput, match="over and forgotten; start a new one"):
        runs.named(first.name)
    runs.close()
    runs.pool.shutdown()
    ended = first.events[-1]["kind"]
    assert ended == "cancelled"
    assert last["kind"] == "failed"
    assert "not connected" in last["message"]


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExplorer]:
    with serving(hk.Network.cycle(5)) as one:
        yield one


def send(served, path="/", *, token=None, method="GET", body=None, **headers):
    """A request as anybody may send it; returns status, text and headers."""
    token = served.token if token is None else token
    url = f"http://127.0.0.1:{served.port}{path}" + (f"?token={token}" if token else "")
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def test_the_page_comes_with_the_token_and_is_kept_to_itself(served):
    status, text, headers = send(served)
    assert status == 200
    assert "Explore a topology" in text
    assert served.token not in text
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["content-security-policy"] == "frame-ancestors 'none'"


def test_a_ticket_leads_to_the_page_once(served):
    ticket, to = served.once.partition("?ticket=")[2], http.client.HTTPConnection("127.0.0.1", served.port)
    for path in (f"/network?ticket={ticket}", f"/?ticket={ticket[:-1]}", "/?ticket=", "/"):
        to.request("GET", path)
        assert to.getresponse().read().startswith(b"the token is missing")
    answers = []
    for _ in range(2):
        to.request("GET", f"/?ticket={ticket}")
        answer = to.getresponse()
        answer.read()
        answers.append((answer.status, answer.headers["Location"], answer.headers["Referrer-Policy"]))
    assert answers == [(303, f"/?token={served.token}", "no-referrer"), (403, None, "no-referrer")]
    to.close()


@pytest.mark.parametrize("token", ["", "wrong", "x" * 32])
@pytest.mark.parametrize("path", ["/", "/network", "/runs", "/nowhere"])
def test_without_the_right_token_nobody_comes_in(served, token, path):
    status, text, _ = send(served, path, token=token)
    assert status == 403
    assert "the token is missing or wrong; open the address that hocket explore printed" in text


def test_other_names_and_other_pages_are_refused(served):
    status, text, _ = send(served, Host=f"evil.example:{served.port}")
    assert status == 421
    assert f"this page is at 127.0.0.1:{served.port} only" in text
    assert send(served, Host=f"localhost:{served.port}")[0] == 200
    status, text, _ = send(served, "/network", method="POST", body=b"{}", Origin="http://evil.example")
    assert (status, text) == (403, "another page may not ask this one anything\n")


def test_questions_that_are_none_are_refused_in_words(served):
    for body in (b"", b"[]", b"{", b"\xff"):
        status, text, _ = send(served, "/estimate", method="POST", body=body)
        assert (status, json.loads(text)["error"]) == (400, "the question is no JSON object; reload the page")
    status, text, _ = send(served, "/network", method="POST", body=b" " * 70_000)
    assert (status, "at most 65,536 bytes" in text) == (413, True)
    status, text, _ = send(served, "/runs/none/events")
    assert "start a new one" in json.loads(text)["error"]
    status, text, _ = send(served, "/runs", method="POST", body=json.dumps(RING | {"links": []}).encode())
    assert (status, "not connected" in text) == (400, True)


def test_of_questions_that_wait_only_the_newest_is_worked_on():
    explorer = Explorer(hk.Network.cycle(5))
    answers: dict[int, Any] = {}

    def ask(agent: int) -> None:
        try:
            answers[agent] = explorer.estimate(question(coalition=[agent], rounds=5))["coalition"]
        except Superseded:
            answers[agent] = None

    with explorer.desk:  # both wait
        asking = [threading.Thread(target=ask, args=(agent,)) for agent in (1, 2)]
        for number, one in enumerate(asking, start=1):
            one.start()
            while explorer.latest < number:
                time.sleep(0.01)
    for one in asking:
        one.join()
    assert answers == {1: None, 2: [2]}


def test_the_page_is_the_audit_page_with_the_same_script():
    text = explorer_page(hk.Network.cycle(5))
    for shared in ("sets.js", "words.js", "audit.js", "style.css"):
        assert together(shared) in text


@pytest.mark.slow
def test_an_interrupted_server_ends_its_run_and_its_streams_at_once():
    environment = os.environ | {"PYTHONPATH": str(Path(hk.__file__).parents[1])}
    heed = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell has its background jobs ignore it
    program = f"import signal; {heed}; import hocket.cli; raise SystemExit(hocket.cli.main())"
    command = [sys.executable, "-c", program, "explore", "--no-browser", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        page, _, token = json.loads(process.stdout.readline())["url"].partition("?")
        body = json.dumps(RING | {"rounds": 200_000}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{page}runs?{token}", body)) as answer:
            run = json.load(answer)["run"]
        with urllib.request.urlopen(f"{page}runs/{run}/events?{token}") as stream:
            stream.readline()
            process.send_signal(signal.SIGINT)
            assert b'"cancelled"' in stream.read()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_it_listens_on_loopback_alone(served):
    assert served.server.server_address[0] == "127.0.0.1"
    with pytest.raises(BadConfig, match=f"port {served.port} on this machine cannot be had.*--port"):
        take_port(hk.Network.cycle(5), served.port)


def test_the_command_prints_the_address_and_then_serves(monkeypatch, capsys):
    opened, ran = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(
        ServedExplorer, "run", lambda self: ran.append(capsys.readouterr().out) or self.server.server_close()
    )
    assert main(["explore", "--topology", "path:4", "--json"]) == 0
    answer = json.loads(ran[0])  # it was printed before anything was served
    assert answer["topology"] == "path:4"
    assert answer["url"].startswith("http://127.0.0.1:")
    assert len(answer["url"].split("?token=")[1]) >= 32
    token = answer["url"].split("?token=")[1]
    assert len(opened) == 1
    assert token not in opened[0]  # a browser's command line is read by everybody on this machine
    assert main(["explore", "--no-browser"]) == 0
    assert len(opened) == 1


def test_the_command_refuses_what_it_cannot_do(capsys):
    assert main(["explore", "--topology", f"cycle:{MOST_AGENTS + 1}"]) == 1
    assert "up to 40 agents" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["explore", "--port", str(taken.getsockname()[1])]) == 1
    assert "name another with --port" in capsys.readouterr().err
