"""Where members listen and how they dial: families, loopback, and no proxy between them."""

from __future__ import annotations

import socket

import pytest

from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import _bindable
from hocket.links.events import Joined, Received

from .ends import BIRCH, end, first_of, listener, play, to_ash
from .federation_case import Federation, free_ports
from .federation_case import play as play_all


@pytest.mark.parametrize(
    ("card", "listens"),
    [
        ("clinic.example:7000", "0.0.0.0:7000"),
        ("192.0.2.7:7000", "0.0.0.0:7000"),
        ("[2001:db8::7]:7000", "[::]:7000"),
        ("127.0.0.1:7000", "127.0.0.1:7000"),
        ("127.0.0.9:7000", "127.0.0.9:7000"),
        ("localhost:7000", "localhost:7000"),
        ("[::1]:7000", "[::1]:7000"),
    ],
)
def test_a_card_is_listened_for_in_its_own_family(card, listens):
    assert _bindable(card) == listens


def test_who_has_no_address_does_not_listen():
    assert _bindable(None) is None


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("listen", [None, "[::]"], ids=["loopback", "all interfaces"])
def test_a_run_over_ipv6(tmp_path, listen):
    federation = Federation(tmp_path, members=2, topology="path", rounds=5)
    ports = dict(zip(federation.names, free_ports(2), strict=True))
    cards = [Card.of(federation.identities[name], f"[::1]:{port}") for name, port in ports.items()]
    federation.plan = federation.signed(federation.drawn(cards))
    write_plan(federation.plan, federation.plan_file)
    ends = play_all(
        federation.member(name, listen=None if listen is None else f"{listen}:{port}")
        for name, port in ports.items()
    )
    assert len(ends) == 2


@pytest.mark.parametrize("variable", ["https_proxy", "http_proxy", "grpc_proxy"])
def test_members_dial_each_other_directly(monkeypatch, variable):
    """The proxy that the variable names is dead; anybody who asks it gets nowhere."""
    address, dead = (f"127.0.0.1:{port}" for port in free_ports(2))
    monkeypatch.setenv(variable, f"http://{dead}")
    monkeypatch.delenv("no_proxy", raising=False)

    async def scene() -> None:
        ash = await listener(address)
        birch = await end(BIRCH, to_ash(address))
        await first_of(birch, Joined)
        await birch.send("ash", b"directly")
        assert (await first_of(ash, Received)).message == b"directly"
        await birch.close()
        await ash.close()

    play(scene)
