"""Members that can open no port: bit for bit what direct links come to, through whatever happens to the relay."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trustme

from hocket.federation.audit.study_audit import study_of
from hocket.federation.monitoring.reachability import reach_neighbours
from hocket.federation.plan.admission import admitted
from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.workloads.study import StudyTask
from hocket.federation.workloads.task import GradientTask
from hocket.links.keys.identity import ANY_MEMBER, Identity
from hocket.links.relay.call import Call
from hocket.links.relay.forwarding import Forwarding
from hocket.links.relay.pipe import Pipe
from hocket.links.relay.server import Relay, RelayLimits
from hocket.machine import LOOPBACK

from .federation_case import Federation, free_ports, play, sign_as_any_run
from .quadratic import DIMENSION, task_of
from .relay_case import ROOT, names, proxy, relay_for, start_relay, through
from .study_case import NAMES as STUDY_NAMES
from .study_case import planned, tables

Bits = list[tuple[bytes, bytes]]


def pair(folder: Path, **changes: object) -> Federation:
    given = {"members": 2, "topology": "path", "rounds": 10} | changes
    return Federation(folder, **given)  # type: ignore[arg-type]


def directly(federation: Federation) -> Bits:
    """What the members come to over direct links; nothing of it is left."""
    ends = play(federation.member(name) for name in federation.names)
    for name in federation.names:
        federation.wipe(name)
    return [(end.x.tobytes(), end.published.tobytes()) for end in ends]


async def everybody(federation: Federation, within: float = 90, **changes: object) -> Bits:
    async with asyncio.timeout(within):
        members = [federation.member(name, **changes) for name in federation.names]
        ends = await asyncio.gather(*(take_part(member) for member in members))
    return [(end.x.tobytes(), end.published.tobytes()) for end in ends]


@pytest.fixture
def authority(tmp_path, monkeypatch) -> trustme.CA:
    """Whom this machine trusts about web servers."""
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


def server_tls(authority: trustme.CA):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(LOOPBACK).configure_cert(context)
    return context


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_run_through_a_relay_is_bit_for_bit_a_direct_one(tmp_path, authority, scheme):
    federation = Federation(tmp_path, rounds=15) if scheme == "ws" else pair(tmp_path)
    direct = directly(federation)
    [name] = names(scheme)
    through(federation, name)

    async def scene() -> Bits:
        called = federation.plan.cards[0].relays
        async with relay_for(federation, *called, tls=server_tls(authority)) as relay:
            found = await everybody(federation)
            assert relay.counts.joined >= len(federation.plan.links)
            return found

    assert asyncio.run(scene()) == direct


def test_who_can_be_dialled_is_dialled_and_the_relay_is_left_alone(tmp_path):
    """Ash has an address and a relay that is dead, birch has a relay alone: they talk directly."""
    federation = pair(tmp_path)
    [dead], [port] = names("ws"), free_ports(1)
    federation.renew(
        [
            Card.of(federation.identities["ash"], f"{LOOPBACK}:{port}", relays=[dead]),
            Card.of(federation.identities["birch"], None, relays=[dead]),
        ]
    )
    drawn = federation.signed(federation.drawn(list(federation.plan.cards)))
    assert drawn.dials("birch") == ("ash",)
    assert drawn.relays("birch", "ash") == drawn.relays("ash", "birch") == ()
    federation.plan = drawn
    assert len(asyncio.run(everybody(federation))) == 2


def slow_task(place: int):
    """A round takes a while, so that something can happen in the middle of a run."""

    def gradient(x, k, h, rng):
        time.sleep(0.02)
        return task_of(place).gradient(x, k, h, rng)

    return GradientTask(DIMENSION, gradient, task_of(place).start)


async def round_is(federation: Federation, k: int) -> None:
    folder = federation.member(federation.names[0]).folder
    async with asyncio.timeout(60):
        while not folder.begun or folder.status()["round"] < k:
            await asyncio.sleep(0.05)


def slowly(federation: Federation):
    return asyncio.gather(
        *(
            take_part(federation.member(name, task=slow_task(federation.plan.agent(name))))
            for name in federation.names
        )
    )


@pytest.mark.slow
def test_a_relay_and_forwarders_that_are_killed_lose_nothing(tmp_path, monkeypatch):
    federation = pair(tmp_path, rounds=90)
    direct = directly(federation)
    [name] = names("ws")
    through(federation, name)
    started: list[Forwarding] = []
    begin = Forwarding._begin

    async def noted(self: Forwarding) -> Any:
        started.append(self)
        return await begin(self)

    monkeypatch.setattr(Forwarding, "_begin", noted)

    async def scene() -> Bits:
        async with contextlib.AsyncExitStack() as over, asyncio.timeout(120):
            relay = await over.enter_async_context(relay_for(federation, name))
            running = slowly(federation)
            await round_is(federation, 10)
            await relay.__aexit__()  # nobody is told: all connections break
            assert not running.done()
            relay = await over.enter_async_context(relay_for(federation, name))
            await round_is(federation, 40)
            for one in [*started]:
                assert one._process is not None
                one._process.kill()
            ends = await running
            assert relay.counts.joined >= 2
            assert len(started) == 4
            return [(end.x.tobytes(), end.published.tobytes()) for end in ends]

    assert asyncio.run(scene()) == direct


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_command_is_ended_and_started_again(tmp_path, how):
    federation = Federation(tmp_path, rounds=150)
    direct = directly(federation)
    [name] = names("ws")
    through(federation, name)

    async def scene() -> Bits:
        relay = start_relay(federation, name=name)
        try:
            async with asyncio.timeout(200):
                running = slowly(federation)
                for k in (10, 40, 70):
                    await round_is(federation, k)
                    relay.send_signal(how)
                    said, _ = await asyncio.to_thread(relay.communicate)
                    assert relay.returncode == (0 if how is signal.SIGTERM else -how)
                    assert how is signal.SIGKILL or "Stopped" in said
                    relay = start_relay(federation, name=name)
                ends = await running
        finally:
            relay.kill()
            relay.communicate()
        return [(end.x.tobytes(), end.published.tobytes()) for end in ends]

    assert asyncio.run(scene()) == direct


def test_relays_are_tried_in_turn(tmp_path):
    federation = pair(tmp_path)
    dead, alive = names("ws", 2)
    through(federation, dead, alive)

    async def scene() -> None:
        async with relay_for(federation, alive):
            members = [federation.member(name) for name in federation.names]
            async with asyncio.timeout(60):
                found = await asyncio.gather(*(reach_neighbours(member, 30) for member in members))
        assert all(one.connected for each in found for one in each.values())
        assert {one.relay for each in found for one in each.values()} == {alive}

    asyncio.run(scene())


@pytest.mark.slow
def test_what_is_wrong_with_a_relay_is_said(tmp_path):
    federation = pair(tmp_path)
    [name] = names("ws")
    through(federation, name)

    async def reasons() -> list[str]:
        members = [federation.member(one) for one in federation.names]
        found = await asyncio.gather(*(reach_neighbours(member, 3) for member in members))
        assert not any(one.connected for each in found for one in each.values())
        return [one.reason for each in found for one in each.values()]

    async def nobody_admitted() -> list[str]:
        async with Relay(frozenset([name]), lambda call: None, listen=_at(name)):
            return await reasons()

    async def alone() -> str:
        async with relay_for(federation, name):
            found = await reach_neighbours(federation.member("ash"), 3)
            return found["birch"].reason

    down = asyncio.run(reasons())
    assert all(f"the relay {name} cannot be reached: nobody listens there" in why for why in down), down
    refused = asyncio.run(nobody_admitted())
    assert all("is not admitted" in why and "--admit" in why for why in refused), refused
    waiting = asyncio.run(alone())
    assert waiting == f"birch has not come to the relay {name} yet"


def _at(name: str) -> tuple[str, int]:
    return LOOPBACK, int(name.rpartition(":")[2])


PASSWORD = "ash:c0rrect/horse"


def test_through_a_companys_proxy_with_a_password(tmp_path, monkeypatch):
    federation = pair(tmp_path)
    direct = directly(federation)
    [name] = names("ws")
    through(federation, name)
    [port] = free_ports(1)
    monkeypatch.setenv("https_proxy", f"http://ash:c0rrect%2Fhorse@{LOOPBACK}:{port}")
    monkeypatch.delenv("no_proxy", raising=False)

    async def scene() -> tuple[Bits, list[str]]:
        async with relay_for(federation, name), proxy(port, PASSWORD, [_at(name)[1]]) as company:
            return await everybody(federation), company.asked

    found, asked = asyncio.run(scene())
    assert found == direct
    assert set(asked) == {f"CONNECT {LOOPBACK}:{_at(name)[1]}"}


@pytest.mark.parametrize(
    ("secret", "lets", "said"),
    [("ash:wr0ng", True, "wants other credentials"), (PASSWORD, False, "forbids it")],
    ids=["wrong password", "forbidden"],
)
def test_what_a_proxy_refuses_is_said_without_the_password(tmp_path, secret, lets, said):
    """The proxy is the one that the member's home names."""
    federation = pair(tmp_path)
    [name], [port] = names("ws"), free_ports(1)
    through(federation, name)
    home = federation.home("ash")
    home.proxy.write_text(f"http://{secret.replace('/', '%2F')}@{LOOPBACK}:{port}\n")
    home.proxy.chmod(0o600)

    async def scene() -> str:
        async with relay_for(federation, name), proxy(port, PASSWORD, [_at(name)[1]] if lets else []):
            return (await reach_neighbours(federation.member("ash"), 3))["birch"].reason

    why = asyncio.run(scene())
    assert f"the proxy {LOOPBACK}:{port} {said}" in why, why
    assert secret.partition(":")[2] not in why


class Copying(Relay):
    """Keeps a copy of all that it passes on."""

    copied = b""

    async def pass_on(self, call: Call, data: bytes, other: Pipe) -> None:
        self.copied += data
        await super().pass_on(call, data, other)


def test_a_copy_of_all_bytes_at_the_relay_holds_no_word_and_no_name(tmp_path):
    marker = np.frombuffer(b"hocketM@", dtype="<f8")[0]
    federation = pair(tmp_path, algorithm={"name": "dgd"}, feasible={"kind": "everywhere"})
    [name] = names("ws")
    through(federation, name)
    task = GradientTask(
        DIMENSION, lambda x, k, h, rng: np.zeros(DIMENSION), lambda seed: np.full(DIMENSION, marker)
    )

    async def scene() -> bytes:
        async with relay_for(federation, name, kind=Copying) as relay:
            members = [federation.member(one, task=task) for one in federation.names]
            ends = await asyncio.wait_for(asyncio.gather(*map(take_part, members)), 60)
            assert all((end.published == marker).all() for end in ends)  # so it was said
            assert isinstance(relay, Copying)
            return relay.copied

    copied = asyncio.run(scene())
    assert len(copied) > 10 * 2 * 8 * DIMENSION
    assert b"hocketM@" not in copied
    assert ANY_MEMBER.encode() in copied  # the name that says nothing
    [listener] = federation.plan.dials("ash")
    assert listener.encode() not in copied


def test_a_crowd_of_strangers_and_garbage_at_the_relay_disturb_nobody(tmp_path):
    federation = pair(tmp_path, rounds=40)
    direct = directly(federation)
    [name] = names("ws")
    through(federation, name)
    says = [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(100),
        b"\x16\x03\x01",
        b"\x00\xff" + bytes(100),
    ]

    async def scene() -> Bits:
        limits = RelayLimits(strangers=40, greeting=1.0)
        async with relay_for(federation, name, limits=limits) as relay:
            running = asyncio.create_task(everybody(federation))
            crowd = []
            for number in range(200):
                _, writer = await asyncio.open_connection(*_at(name))
                writer.write(says[number % len(says)])
                crowd.append(writer)
            assert len(relay._unknown) <= 41
            found = await running
            assert relay.counts.strangers + relay.counts.refused >= 80
            for writer in crowd:
                writer.close()
            return found

    assert asyncio.run(scene()) == direct


@pytest.mark.slow
def test_a_study_through_a_relay_finds_what_it_finds_directly(tmp_path):
    """Masked sums over four clinics that can open no port: the same coefficients, to the last bit."""

    async def found(relays: list[str]) -> list[bytes]:
        folder = tmp_path / ("through" if relays else "directly")
        identities = [Identity.create(name) for name in STUDY_NAMES]
        plan = planned(identities, free_ports(4))
        if relays:
            plan = plan.with_renewed(Card.of(one, None, relays=relays) for one in identities)
        for identity in identities:
            plan = plan.signed_by(identity)
        members = []
        for identity in identities:
            home = Home(folder / identity.name)
            sign_as_any_run(RunFolder(home.run(plan.run_hash)), plan, home)
            task = StudyTask(study_of(plan), tables()[identity.name], identity.name)
            members.append(Member(plan, identity, task, home, linger=20.0))
        if not relays:
            ends = await asyncio.gather(*map(take_part, members))
        else:
            write_plan(plan, tmp_path / "plan.toml")
            admission = admitted([tmp_path / "plan.toml"])[0]
            async with Relay(frozenset(relays), admission, listen=_at(relays[0])):
                ends = await asyncio.wait_for(asyncio.gather(*map(take_part, members)), 200)
        return [end.published.tobytes() for end in ends]

    direct, relayed = asyncio.run(found([])), asyncio.run(found(names("ws")))
    assert direct == relayed
    assert len({*direct}) == 1


class Door:
    """A run through a relay whose port a crowd besieges or leaves alone, as it is told."""

    def __init__(self, federation: Federation, name: str, strangers: int):
        self.folders = [federation.member(one).folder for one in federation.names]
        crowd = ["tests.peers.flood_process", str(10**9), str(strangers), name.rpartition(":")[2]]
        self.processes: list[subprocess.Popen[Any]] = [start_relay(federation, name=name)]
        self.crowd = subprocess.Popen([sys.executable, "-m", *crowd], cwd=ROOT)
        self.processes += [self.crowd, *(federation.start(one) for one in federation.names)]

    def rounds(self, seconds: float, *, crowd: bool) -> float:
        """Rounds in a second that all have played, with the crowd at work or asleep."""
        self.crowd.send_signal(signal.SIGCONT if crowd else signal.SIGSTOP)
        time.sleep(1.0)
        first, began = self._played(), time.monotonic()
        time.sleep(seconds)
        return (self._played() - first) / (time.monotonic() - began)

    def begin(self) -> None:
        """Until rounds are played: members call while the crowd is there."""
        deadline = time.monotonic() + 300
        while not all(one.begun for one in self.folders) or self._played() < 5:
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def _played(self) -> int:
        return sum(one.status()["round"] for one in self.folders) // len(self.folders)


@pytest.mark.endurance
@pytest.mark.timeout(1500)
def test_strangers_at_the_relay_do_not_slow_a_run_down(tmp_path):
    """With and without them in turn, so that a busy machine is busy for both; the process that plays them takes its
    part of this machine's cores, too."""
    strangers = 1000
    federation = Federation(tmp_path, members=8, rounds=10**6)
    [name] = names("ws")
    through(federation, name)
    door = Door(federation, name, strangers)
    try:
        door.begin()
        paces = [[door.rounds(8.0, crowd=crowd) for crowd in (False, True)] for _ in range(12)]
    finally:
        door.close()
    slower = statistics.median(calm / max(beside, 1e-9) for calm, beside in paces)
    calm, beside = (statistics.median(each) for each in zip(*paces, strict=True))
    print(f"{calm:.1f} rounds in a second, {beside:.1f} beside {strangers} strangers: {slower:.2f} times")  # noqa: T201
    assert slower < 1.5
