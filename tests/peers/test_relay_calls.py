"""Who is let in at a relay, by what it says and signs, and what it may cost there."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from hocket.errors import BadConfig, BadPlan, HocketError, LinkError
from hocket.federation.plan.admission import Outline, admitted, outline
from hocket.links.allowance import Allowance
from hocket.links.keys.identity import Identity
from hocket.links.relay import pipe as pipes
from hocket.links.relay.call import AGAIN, JOINED, NO, WAIT, Call, Role, read_call, words_of
from hocket.links.relay.forwarder import Forwarder, Orders
from hocket.links.relay.outbound import RelayName, _reach, called, in_words, joined
from hocket.links.relay.pipe import LONGEST_MESSAGE
from hocket.links.relay.proxy import Proxy, proxy_for
from hocket.links.relay.server import Guest, Relay, RelayLimits
from hocket.links.relay.way import Way
from hocket.machine import LOOPBACK

from .ends import ASH, BIRCH, CEDAR
from .federation_case import Federation, free_ports
from .relay_case import names, relay_for, through

PLAN = "ab" * 32
EVERYBODY = {one.name: one for one in (ASH, BIRCH, CEDAR)}


def relay(*called_: str, limits: RelayLimits | None = None, kind: type[Relay] = Relay) -> Relay:
    """One that admits ash and birch alone."""
    port = int(called_[0].rpartition(":")[2])

    def admission(call: Call) -> Guest | None:
        known = {"ash", "birch"} >= {call.sender, call.other}
        return Guest(EVERYBODY[call.sender].certificate_pem, 1) if known else None

    return kind(frozenset(called_), admission, listen=(LOOPBACK, port), limits=limits)


def dials(name: str, **changes: Any) -> Call:
    return dataclasses.replace(Call(name, Role.DIALS, PLAN, "birch", "ash"), **changes)


def listens(name: str) -> Call:
    return Call(name, Role.LISTENS, PLAN, "ash", "birch")


async def answer_to(name: str, answer: Callable[[bytes], bytes]) -> bytes:
    """What a relay says to this answer to its challenge."""
    pipe = await _reach(RelayName(name), None)
    try:
        await pipe.send(answer(await pipe.receive_message()))
        return await asyncio.wait_for(pipe.receive_message(), 10)
    finally:
        pipe.close()


def at_a_relay(scene: Callable[..., Awaitable[None]], scheme: str = "ws", **changes: Any) -> None:
    async def played() -> None:
        [name] = names(scheme)
        async with relay(name, **changes) as made, asyncio.timeout(30):
            await scene(name, made)

    asyncio.run(played())


def test_two_ends_are_joined_and_hear_each_other():
    async def scene(name: str, made: Relay) -> None:
        ash, birch = await asyncio.gather(called(listens(name), ASH), called(dials(name), BIRCH))
        assert await asyncio.gather(joined(ash), joined(birch)) == [True, True]
        word = bytes(range(256)) * 5000
        sending = asyncio.create_task(birch.send(word))
        received = b""
        while len(received) < len(word) and (more := await ash.receive()):
            received += more
        await sending
        assert received == word
        ash.close()
        assert await birch.receive() == b""  # no half-close
        birch.close()
        assert made.counts.joined == 1

    at_a_relay(scene)


REFUSED = {
    "a stranger": (dials, lambda call: Identity.create("birch")),
    "a member's name and another member's key": (dials, lambda call: ASH),
    "somebody who is not in the plan": (lambda name: dials(name, sender="cedar"), lambda call: CEDAR),
    "a link to somebody who is not": (lambda name: dials(name, other="cedar"), lambda call: BIRCH),
}


@pytest.mark.parametrize("who", REFUSED)
def test_who_is_not_admitted(who):
    make, signer = REFUSED[who]

    async def scene(name: str, made: Relay) -> None:
        call = make(name)
        with pytest.raises(LinkError, match="is not admitted for the plan abab"):
            await called(call, signer(call))
        assert made.counts.admitted == 0

    at_a_relay(scene)


def test_an_answer_is_worth_nothing_a_second_time_or_at_another_relay():
    """Even where the other relay passes its own challenge on to have it signed."""

    async def played() -> None:
        one, other = names("ws", 2)
        async with relay(one), relay(other), asyncio.timeout(30):
            kept: list[bytes] = []

            def signed(challenge: bytes) -> bytes:
                kept.append(dials(one).signed_by(BIRCH, challenge))
                return kept[-1]

            assert await answer_to(one, signed) == WAIT
            again = await answer_to(one, lambda challenge: kept[0])
            assert b"not admitted" in again
            elsewhere = await answer_to(other, signed)  # signed for `one`, with the challenge of `other`
            assert words_of(elsewhere).startswith(f"this is not the relay {one}")

            def renamed(challenge: bytes) -> bytes:
                return dials(one).signed_by(BIRCH, challenge).replace(one.encode(), other.encode())

            assert b"not admitted" in await answer_to(other, renamed)

    asyncio.run(played())


@pytest.mark.parametrize("field", ["role", "plan", "sender", "other"])
def test_every_field_is_signed(field):
    async def scene(name: str, made: Relay) -> None:
        changed = {"role": Role.LISTENS, "plan": "cd" * 32, "sender": "ash", "other": "birch"}
        meant = dials(name, **{field: changed[field]})

        def forged(challenge: bytes) -> bytes:
            import json

            table = json.loads(dials(name).signed_by(BIRCH, challenge))
            key = {"sender": "from", "other": "to"}.get(field, field)
            return json.dumps(table | {key: str(getattr(meant, field))}).encode()

        assert (await answer_to(name, forged))[:1] == NO

    at_a_relay(scene)


@pytest.mark.parametrize(
    "message",
    [b"", b"[" * 4000, b"{}", b'{"relay": 1}', b"\xff\xfe", b"null", b'{"from": "../ash"}'],
    ids=["nothing", "deep", "empty", "number", "no text", "null", "name"],
)
def test_calls_of_another_form_are_refused(message):
    with pytest.raises(LinkError, match="no call of a member"):
        read_call(message)


def test_a_long_message_before_the_call_is_cut_off():
    async def scene(name: str, made: Relay) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # it hung up
            assert (await answer_to(name, lambda challenge: bytes(LONGEST_MESSAGE + 1)))[:1] == NO
        assert made.counts.admitted == 0

    at_a_relay(scene)


def test_whoever_says_nothing_is_shown_the_door():
    async def scene(name: str, made: Relay) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, made.port)
        assert await reader.read() == b""
        writer.close()
        pipe = await _reach(RelayName(name), None)
        assert len(await pipe.receive_message()) == 32
        assert await pipe.receive() == b""
        pipe.close()
        assert made.counts.strangers == 2

    at_a_relay(scene, limits=RelayLimits(greeting=0.3))


def test_of_too_many_strangers_the_oldest_leaves():
    async def scene(name: str, made: Relay) -> None:
        crowd = [await asyncio.open_connection(LOOPBACK, made.port) for _ in range(10)]
        for reader, _ in crowd[:6]:
            assert await reader.read() == b""
        assert len(made._unknown) == 4
        pipe = await called(dials(name), BIRCH)  # a member needs no luck
        pipe.close()
        for _, writer in crowd:
            writer.close()

    at_a_relay(scene, limits=RelayLimits(strangers=4))


def test_whoever_is_turned_away_unseen_is_hung_up_on():
    """Cancelled before it began, a task closes nothing by itself; a socket that nobody closes gives a warning."""

    async def scene(name: str, made: Relay) -> None:
        crowd = [await asyncio.open_connection(LOOPBACK, made.port) for _ in range(3)]
        for reader, writer in crowd:
            assert await reader.read() == b""
            writer.close()

    at_a_relay(scene, limits=RelayLimits(strangers=0, greeting=0.5))
    gc.collect()


def test_a_forwarder_that_ends_hangs_up_on_whom_it_has_not_seen():
    class Ending(Forwarder):
        def carry(self, work: Awaitable[None]) -> asyncio.Task[None]:
            task = super().carry(work)
            task.cancel()
            return task

    async def scene() -> None:
        way = Way(Ending(Orders(ASH, "", (), (), {}), lambda news: True), BIRCH.name, ())
        door = socket.create_server((LOOPBACK, 0))
        taking = asyncio.create_task(way.take_all(door))
        reader, writer = await asyncio.open_connection(*door.getsockname())
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        writer.close()
        taking.cancel()
        await asyncio.wait([taking])

    asyncio.run(scene())
    gc.collect()


def test_one_member_has_so_many_connections_and_no_more():
    async def scene(name: str, made: Relay) -> None:
        held = [await called(dials(name, plan=f"{number:064x}"), BIRCH) for number in range(2)]
        held += [await called(dials(name), BIRCH)]
        held += [
            await called(listens(name), ASH),
            await called(dials(name), BIRCH),
            await called(listens(name), ASH),
        ]
        held += [await called(dials(name), BIRCH)]
        with pytest.raises(LinkError, match="has 5 connections already"):
            held += [await called(dials(name), BIRCH)]
        for pipe in held:
            pipe.close()

    at_a_relay(scene, limits=RelayLimits(spare=1))


def test_the_later_of_two_that_wait_takes_the_place():
    async def scene(name: str, made: Relay) -> None:
        first = await called(listens(name), ASH)
        second = await called(listens(name), ASH)
        with pytest.raises(LinkError, match="hung up"):
            await joined(first)
        birch = await called(dials(name), BIRCH)
        assert await asyncio.gather(joined(second), joined(birch)) == [True, True]
        for pipe in (first, second, birch):
            pipe.close()

    at_a_relay(scene)


def test_who_waits_too_long_calls_again():
    async def scene(name: str, made: Relay) -> None:
        pipe = await called(listens(name), ASH)
        assert not await joined(pipe)
        pipe.close()

    at_a_relay(scene, limits=RelayLimits(wait=0.2))
    assert AGAIN != JOINED


def test_bytes_in_a_second_are_limited():
    async def scene() -> None:
        loop, allowance = asyncio.get_running_loop(), Allowance(1e6, burst=1e6)
        began = loop.time()
        for _ in range(6):
            await allowance.take(200_000)
        assert loop.time() - began > 0.15  # 1.2 MB, of which 1 MB may come at once

    asyncio.run(scene())


def test_one_that_waits_is_pinged_and_one_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(pipes, "PING", 0.2)

    async def scene(name: str, made: Relay) -> None:
        pipe = await called(listens(name), ASH)
        waiting = asyncio.create_task(joined(pipe))
        await asyncio.sleep(1.2)
        assert not waiting.done()  # pings are answered, so nobody is given up
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        pipe._pinging.cancel()  # nobody reads or speaks here any more, so no ping is answered
        await asyncio.sleep(1.2)
        assert not made._waiting
        pipe.close()

    at_a_relay(scene)


def test_a_relay_admits_members_of_plans_on_their_links_and_of_cards(tmp_path):
    federation = Federation(tmp_path, members=4)  # a ring: ash and cedar are not linked
    [name] = names("ws")
    through(federation, name)
    plan = federation.plan
    admission, _, _ = admitted([federation.plan_file])
    listener = plan.dials("ash")[0]

    def call(sender: str, other: str, hash_: bytes = plan.hash) -> Call:
        return Call(name, Role.DIALS, hash_.hex(), sender, other)

    guest = admission(call("ash", listener))
    assert guest is not None
    assert guest.certificate == federation.identities["ash"].certificate_pem
    assert admission(call(listener, "ash")) is None  # the other way round nobody dials
    assert admission(call("ash", "cedar")) is None
    assert admission(call("ash", listener, bytes(32))) is None
    assert admission(call("zoe", listener)) is None

    folder = tmp_path / "cards"
    folder.mkdir()
    for card in plan.cards[:2]:
        (folder / f"{card.name}.toml").write_text(card.text())
    admission, _, _ = admitted([folder])
    assert admission(call("ash", "birch", bytes(32))) is not None
    assert admission(call("ash", "cedar", bytes(32))) is None
    with pytest.raises(BadConfig, match="admits nobody"):
        admitted([])


def test_a_relay_reads_a_signed_plan_as_it_stands_and_any_other_as_members_do(tmp_path, monkeypatch):
    """The hash is the members' own either way: it is what their calls name."""
    from hocket.federation.plan import plan_file

    federation = Federation(tmp_path, members=4)
    through(federation, "ws://127.0.0.1:1")
    text, plan = federation.plan_file.read_text(), federation.plan
    read: list[Path] = []
    usual = plan_file.read_plan
    monkeypatch.setattr(plan_file, "read_plan", lambda path: read.append(path) or usual(path))

    def found(changed: str) -> Outline:
        federation.plan_file.write_text(changed)
        return outline(federation.plan_file)

    signed = found(text)
    assert not read
    assert (signed.hash, tuple(signed.cards.values())) == (plan.hash.hex(), plan.cards)
    names = plan.names
    assert signed.links == {(names[link.dialer], names[link.listener]) for link in plan.links}
    assert {name: signed.count(name) for name in names} == dict.fromkeys(names, 2)
    body, signatures = text.split("[signatures]")
    _, *rest = signatures.strip().splitlines()
    # Written otherwise, but read to the same values; without a signature; without any; changed after they signed.
    assert found(text.replace("delta = 1.0", "delta = 1")) == signed
    assert found("\n".join([body, "[signatures]", *rest])) == signed
    assert found(body) == signed
    assert len(read) == 3
    other = found(text.replace("delta = 1.0", "delta = 2.0"))
    assert other.hash != signed.hash
    assert other.hash == usual(federation.plan_file).hash.hex()
    with pytest.raises(BadPlan, match="lacks the key"):
        found(text.replace("delta = 1.0\n", "").replace('name = "rss-nb"\n', ""))


def test_a_relay_starts_without_what_members_compute_with(tmp_path):
    federation = Federation(tmp_path, members=3)
    through(federation, "relay.example:443")
    code = (
        "import sys; from pathlib import Path; from hocket.federation.plan.admission import admitted, relay_names;"
        "import hocket.links.relay.server, hocket.links.relay.forwarder, hocket.cli.relay;"
        "relay_names((), admitted([Path(sys.argv[1])])[1]); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(federation.plan_file)], capture_output=True, text=True, check=True
    )
    assert not {"jax", "numpy", "scipy", "grpc", "networkx"} & set(done.stdout.split())


def test_nobody_with_an_old_certificate_is_admitted(tmp_path, monkeypatch):
    import datetime

    from hocket.federation.plan import admission as admissions

    federation = Federation(tmp_path, members=2, topology="path")
    through(federation, "ws://127.0.0.1:1")
    admission, _, _ = admitted([federation.plan_file])
    [listener] = federation.plan.dials("ash")
    call = Call("x", Role.DIALS, federation.plan.hash.hex(), "ash", listener)
    assert admission(call) is not None

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.datetime.now(tz) + datetime.timedelta(days=400)

    monkeypatch.setattr(admissions, "datetime", Later)
    assert admission(call) is None


@pytest.mark.parametrize(
    "wrong",
    [
        "relay.example",
        "relay.example:0",
        "http://relay:1",
        "tcp://relay:1",
        "a b:443",
        "",
        "x:99999",
        "relay:４４３",
    ],
)
def test_what_is_no_relay(wrong):
    with pytest.raises(HocketError, match="is no relay"):
        RelayName(wrong)


@pytest.mark.parametrize("host", ["relay.example", "192.0.2.1", "[2001:db8::1]"])
def test_without_tls_a_relay_is_on_this_machine(host):
    with pytest.raises(BadPlan, match=r"ws:// is for this machine alone.*: write .*443"):
        RelayName(f"ws://{host}:443")


@pytest.mark.parametrize(
    ("text", "secure", "host", "place"),
    [
        ("relay.example:443", True, "relay.example", "relay.example:443"),
        ("[2001:db8::1]:7443", True, "2001:db8::1", "[2001:db8::1]:7443"),
        ("ws://127.0.0.1:80", False, "127.0.0.1", "127.0.0.1:80"),
    ],
)
def test_how_relays_are_named(text, secure, host, place):
    name = RelayName(text)
    assert (name.secure, name.host, name.place) == (secure, host, place)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        ("\xb2\xb3\xb9", "relay.example:1"),
        ("1" * 5_000, "relay.example:1"),
        ("", "relay.example:1"),
        ("200", ".example:443"),  # a name that TLS does not take
    ],
)
def test_no_answer_of_a_proxy_ends_more_than_the_attempt(status, name, tmp_path):
    """Any other error would end the task that keeps a way open, and nothing would try again."""
    kept = tmp_path / "proxy"

    async def scene() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 {status} OK\r\n\r\n".encode("latin-1"))
            await reader.read()
            writer.close()

        async with await asyncio.start_server(answer, LOOPBACK, 0) as server:
            kept.write_text(f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}")
            with pytest.raises(LinkError, match="the relay"):
                await called(dials(name), BIRCH, kept_proxy=kept)

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_proxies_come_from_the_environment_or_the_home_and_keep_their_password(tmp_path, monkeypatch):
    for variable in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    assert proxy_for("relay.example") is None
    monkeypatch.setenv("https_proxy", "http://anna:s3cret%40@proxy.example:8080")
    found = proxy_for("relay.example")
    assert found == Proxy("proxy.example", 8080, "anna:s3cret@")
    assert "s3cret" not in f"{found!r} {found}"
    monkeypatch.setenv("no_proxy", "relay.example")
    assert proxy_for("relay.example") is None
    kept = tmp_path / "proxy"
    kept.write_text("proxy.inside:3128")
    assert proxy_for("relay.example", kept) == Proxy("proxy.inside", 3128)
    kept.write_text("http://anna:s3cret@proxy.inside:3128")
    kept.chmod(0o644)
    with pytest.raises(BadConfig, match="chmod 600") as refused:
        proxy_for("relay.example", kept)
    assert "s3cret" not in str(refused.value)
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("https_proxy", "socks5://anna:s3cret@proxy.example:1080")
    with pytest.raises(BadConfig, match="names no proxy that can be used") as refused:
        proxy_for("relay.example")
    assert "s3cret" not in str(refused.value)


def test_a_web_server_that_is_no_relay_is_named():
    async def played() -> None:
        async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        [name] = names("ws")
        server = await asyncio.start_server(web, LOOPBACK, int(name.rpartition(":")[2]))
        with pytest.raises(LinkError, match=r"404.*no relay answers there"):
            await called(dials(name), BIRCH)
        server.close()
        await asyncio.sleep(0.05)

    asyncio.run(played())


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        ("", "ws://", "it speaks no TLS at this port; its operator gives it --cert and --key"),
        ("ws://", "", r"is not the relay ws://\S+ but \S+ \(host:port alone is with TLS\)"),
    ],
)
def test_who_comes_with_tls_where_there_is_none_or_without_is_told(asked, given, said):
    async def played() -> None:
        [port] = free_ports(1)
        async with relay(f"{given}{LOOPBACK}:{port}"), asyncio.timeout(30):
            for _ in range(20):
                with pytest.raises(LinkError, match=said):
                    await called(dials(f"{asked}{LOOPBACK}:{port}"), BIRCH)

    asyncio.run(played())


def test_who_comes_without_tls_to_somebody_who_speaks_nothing_else_is_told():
    async def played() -> None:
        async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"\x15\x03\x03\x00\x02\x02\x46")
            writer.close()
            await writer.wait_closed()
            over.set()

        over = asyncio.Event()
        async with await asyncio.start_server(alert, LOOPBACK, 0) as server, asyncio.timeout(30):
            name = f"ws://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
            with pytest.raises(LinkError, match=f"the relay {name}: it speaks TLS at this port"):
                await called(dials(name), BIRCH)
            await over.wait()

    asyncio.run(played())


def test_a_browser_gets_an_answer_and_nothing_else(tmp_path):
    async def scene(name: str, made: Relay) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, made.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: relay\r\n\r\n")
        assert b"426" in (await reader.read()).split(b"\r\n")[0]
        writer.close()

    at_a_relay(scene)


def test_a_relay_of_a_plan_is_called_what_its_cards_say(tmp_path):
    from hocket.federation.plan.admission import relay_names

    federation = Federation(tmp_path, members=2, topology="path")
    cards = federation.plan.cards
    with pytest.raises(BadConfig, match="no relay at all; say with --name"):
        relay_names((), cards)
    through(federation, "relay.example:443", "relay.example:7443")
    assert relay_names((), federation.plan.cards) == {"relay.example:443", "relay.example:7443"}
    through(federation, "relay.example:443", "other.example:443")
    with pytest.raises(BadConfig, match=r"other.example:443, relay.example:443; say"):
        relay_names((), federation.plan.cards)
    assert relay_names(("other.example:443",), federation.plan.cards) == {"other.example:443"}
    assert relay_for(federation, "ws://127.0.0.1:1").names == {"ws://127.0.0.1:1"}


def test_why_a_relay_is_not_reached_says_what_to_do(tmp_path, monkeypatch):
    error, authority = ssl.SSLCertVerificationError(), tmp_path / "authority.pem"
    error.verify_message = "self-signed certificate"
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert in_words(error).endswith("name its authority in SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert in_words(error).endswith(f"SSL_CERT_FILE names {authority}, and there is no such file")
    authority.touch()
    assert f"SSL_CERT_FILE names {authority}, where its authority is not" in in_words(error)


def test_a_relay_that_does_not_run_is_said_not_to_listen():
    name = f"ws://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(LinkError, match=r"cannot be reached: nobody listens there \(connection refused\)"):
        asyncio.run(called(dials(name), BIRCH))


@pytest.mark.parametrize("host", ["127.0.0.1", "a" * 70 + ".example"], ids=["not trusted", "no name"])
def test_a_relay_that_cannot_be_trusted_or_found_is_named_again_and_again(tmp_path, monkeypatch, host):
    """Each attempt leaves nothing behind that the next one would stumble over."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nobody.pem"))
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(LOOPBACK).configure_cert(context)

    async def played() -> None:
        [port] = free_ports(1)
        name = f"{host}:{port}"
        made = Relay(frozenset([name]), lambda call: None, listen=(LOOPBACK, port), tls=context)
        async with made, asyncio.timeout(30):
            for _ in range(20):
                with pytest.raises(LinkError, match=r"cannot be reached: (its certificate is not|Unicode)"):
                    await called(dials(name), BIRCH)

    asyncio.run(played())


def test_browsers_over_tls_leave_nothing_behind(tmp_path):
    authority = trustme.CA()
    context, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(LOOPBACK).configure_cert(context)
    authority.configure_trust(client)

    async def played() -> None:
        [port] = free_ports(1)
        name = f"ws://{LOOPBACK}:{port}"
        certificate = BIRCH.certificate_pem
        made = Relay(
            frozenset([name]), lambda call: Guest(certificate, 1), listen=(LOOPBACK, port), tls=context
        )
        async with made, asyncio.timeout(30):
            for _ in range(20):
                reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=client)
                writer.write(b"GET / HTTP/1.1\r\nHost: relay\r\n\r\n")
                assert b"426" in (await reader.read()).split(b"\r\n")[0]
                writer.close()
                pipe = await called(dials(name), BIRCH)
                pipe.close()
                await asyncio.sleep(0)

    asyncio.run(played())
