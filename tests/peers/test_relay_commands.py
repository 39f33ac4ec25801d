"""Relays on cards and in plans, and the commands that show them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.errors import BadConfig, BadPlan
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.plan_file import parse_plan, plan_text
from hocket.links.keys.identity import Identity, name_in_clear
from hocket.links.relay.forwarder import Orders
from hocket.machine import UNIX

from .federation_case import Federation
from .relay_case import ROOT, names, start_relay, through

ASH = Identity.create("ash")


def answer(capsys, *words: object) -> dict:
    code = main([*map(str, words), "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)


def test_init_puts_relays_on_the_card(tmp_path, capsys):
    card = tmp_path / "ash.toml"
    relays = ["--relay", "relay.example:443", "--relay", "other.example:7443"]
    found = answer(
        capsys, "peer", "init", "--name", "ash", *relays, "--card", card, "--home", tmp_path / "home"
    )
    assert found["relays"] == ["relay.example:443", "other.example:7443"]
    read = read_card(card)
    assert read.relays == ("relay.example:443", "other.example:7443")
    assert read.address is None
    assert read.found_at == "through relay.example:443 or other.example:7443"
    assert name_in_clear(read.certificate_pem) == "member.invalid"
    renewed = tmp_path / "new.toml"
    answer(
        capsys,
        "peer",
        "renew",
        "--relay",
        "relay.example:443",
        "--card",
        renewed,
        "--home",
        tmp_path / "home",
    )
    assert read_card(renewed).relays == ("relay.example:443",)


def test_a_card_without_relays_is_what_it_was():
    assert set(Card.of(ASH, "ash.example:7000").table()) == {"name", "address", "certificate"}


@pytest.mark.parametrize(
    ("relays", "said"),
    [(["nowhere"], "is no relay"), (["a:1", "a:1"], "names a relay twice")],
)
def test_cards_with_wrong_relays_are_refused(relays, said):
    with pytest.raises(BadPlan, match=said):
        Card.of(ASH, None, relays=relays)


def test_a_card_names_no_more_than_a_few_relays(tmp_path):
    path = tmp_path / "card.toml"
    path.write_text(Card.of(ASH, None, relays=[f"relay{number}:443" for number in range(9)]).text())
    with pytest.raises(BadConfig, match="relays"):
        read_card(path)


def test_relays_are_part_of_what_is_signed(tmp_path):
    federation = Federation(tmp_path)
    before, run = federation.plan.hash, federation.plan.run_hash
    through(federation, "relay.example:443")
    plan = federation.plan
    assert plan.hash != before
    assert plan.run_hash == run  # it is the same run, found in another way
    assert parse_plan(plan_text(plan)).hash == plan.hash
    assert plan.relays("ash", "birch") == plan.relays("birch", "ash") == ("relay.example:443",)


def test_two_members_without_address_or_relay_cannot_be_linked(tmp_path):
    federation = Federation(tmp_path, members=2, topology="path")
    nowhere = [Card.of(one, None) for one in federation.identities.values()]
    with pytest.raises(BadPlan, match="or a relay"):
        federation.drawn(nowhere)
    with pytest.raises(BadPlan, match="no address and no relay"):
        federation.plan.with_renewed(nowhere)
    one = [nowhere[0], Card.of(federation.identities["birch"], None, relays=["relay.example:443"])]
    assert federation.drawn(one).dials("ash") == ("birch",)
    other = [Card.of(federation.identities["ash"], None, relays=["relay.example:443"]), nowhere[1]]
    assert federation.drawn(other).dials("birch") == ("ash",)


def test_the_command_says_what_it_is_and_stops_cleanly(tmp_path, capsys):
    federation = Federation(tmp_path, members=2, topology="path")
    [name] = names("ws")
    through(federation, name)
    place = name.removeprefix("ws://")

    def end_it() -> None:
        """Once it listens, and so knows what to do with a signal."""
        host, _, port = place.rpartition(":")
        while True:
            try:
                socket.create_connection((host, int(port))).close()
                break
            except OSError:
                time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_it, daemon=True).start()
    other = "ws://127.0.0.1:9"
    named = ("--name", name, "--name", other)
    assert main(["relay", "--listen", place, "--admit", str(federation.plan_file), *named, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert f"No card that is admitted names this relay {other}: who comes by that name is refused" in said.err
    assert f"names this relay {name}" not in said.err
    assert found["names"] == sorted([name, other])
    assert found["members"] == ["ash", "birch"]
    assert found["admitted"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "nowhere"], "is no place to listen at"),
        (["--cert", "cert.pem"], "belong together"),
        (["--cert", "cert.pem", "--key", "key.pem"], "--cert cert.pem: there is no such file"),
        (["--cert", __file__, "--key", "key.pem"], "--key key.pem: there is no such file"),
        (["--cert", __file__, "--key", __file__], "cannot be used"),
        (["--bandwidth", "0"], "above zero"),
        (["--name", "nowhere"], "is no relay"),
        (["--name", "relay.example:443"], "come with TLS, and it has no certificate; give --cert and --key"),
    ],
)
def test_what_the_command_refuses(tmp_path, capsys, words, said):
    federation = Federation(tmp_path, members=2, topology="path")
    through(federation, "ws://127.0.0.1:1")
    assert main(["relay", "--admit", str(federation.plan_file), *words]) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_without_the_library_the_cure_is_named(tmp_path, monkeypatch):
    federation = Federation(tmp_path, members=2, topology="path")
    through(federation, "relay.example:443")
    monkeypatch.setitem(sys.modules, "websockets", None)
    ash = federation.member("ash")
    with pytest.raises(BadConfig, match=r"pip install 'hocket\[relay\]'"):
        asyncio.run(ash.open_channels())


@pytest.mark.slow
def test_check_and_status_say_that_a_relay_is_used(tmp_path, capsys):
    federation = Federation(tmp_path, members=2, topology="path", rounds=4000)
    [name] = names("ws")
    through(federation, name)
    relay = start_relay(federation, name=name)
    running: list[subprocess.Popen[bytes]] = []
    try:
        running = [federation.start(one, pause=0.02) for one in federation.names]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.5)
            folder = federation.member("ash").folder
            if folder.begun and folder.status()["round"] > 3:
                break
        words = ["peer", "status", str(federation.plan_file), "--home", str(federation.home("ash").folder)]
        assert main(words) == 0
        assert f"birch is connected through the relay {name}." in " ".join(capsys.readouterr().out.split())
        relay.terminate()
        relay.communicate()
        while time.monotonic() < deadline:
            time.sleep(0.5)
            if federation.member("ash").folder.status()["waiting_for"]:
                break
        assert main(words) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"the relay {name} cannot be reached: nobody listens there" in said, said
    finally:
        relay.kill()
        relay.communicate()
        for process in running:
            process.kill()
            process.wait()


def test_a_forwarder_ends_with_its_member():
    """Also with one that was killed: its standard input ends then."""
    folder = tempfile.mkdtemp(prefix="hocket-")
    relays = ("ws://127.0.0.1:1",)
    orders = Orders(ASH, "0" * 64, relays, ("birch",), {"cedar": relays}, folder)
    forwarder = subprocess.Popen(
        [sys.executable, "-m", "hocket.links.relay.forwarder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert forwarder.stdin is not None
    assert forwarder.stdout is not None
    forwarder.stdin.write(orders.line() + "\n" + json.dumps({"listen": orders.listening_at}) + "\n")
    forwarder.stdin.flush()
    assert json.loads(forwarder.stdout.readline()) == {}
    assert Path(orders.dialled_at("cedar").removeprefix(UNIX)).is_socket()
    assert "cannot be reached" in json.loads(forwarder.stdout.readline())["trouble"]
    forwarder.stdin.close()
    assert forwarder.wait(timeout=20) == 0
    assert not Path(folder).exists()
    forwarder.stdout.close()
    assert "PRIVATE" not in repr(orders)
