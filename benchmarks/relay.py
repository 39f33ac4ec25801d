"""MB in a second over one link: direct, and through a relay by WebSocket, with and without TLS.

    python benchmarks/relay.py

Two members in processes of their own, gRPC over mutual TLS between them, messages of 4 MB one way: on loopback, and
with a line of 100 Mbit/s and 20 ms (there and back) between each member and the world, which a process of ours plays.
Through a relay there are three more processes, the relay and a forwarder beside each member; all of them share this
machine's cores, which members on machines of their own do not. Kinds take turns in the same run, so that a busy
machine is busy for all; reported are the median over turns, the best, and the share of direct links.

Last, what a busy machine does not change: MB that pass a forwarder, a relay and another forwarder for each second of
processor time, all of them in one process, with the one that sends and the one that receives.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORD, COUNT, TURNS = 4 << 20, 100, 5
LINE_COUNT, LINE_TURNS = 12, 3
RATE, DELAY = 12.5e6, 0.01
"""Of a line: bytes in a second, and seconds each way."""
HELLO = b"\x16"
ALONE = 300 << 20
"""Bytes that pass two forwarders and a relay alone."""
KINDS = {"direct": "", "WebSocket relay": "ws", "WebSocket over TLS": "wss"}


def main() -> None:
    """Print three tables."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        table(
            f"loopback, {COUNT} messages of 4 MB, {os.cpu_count()} cores",
            Path(folder),
            TURNS,
            COUNT,
            lines=False,
        )
        table(
            f"lines of 100 Mbit/s and 20 ms, {LINE_COUNT} messages of 4 MB",
            Path(folder),
            LINE_TURNS,
            LINE_COUNT,
            lines=True,
        )
        print("Two forwarders and a relay alone, MB for a second of processor time")
        for kind, scheme in KINDS.items():
            if scheme:
                print(f"  {kind:20}{alone(Path(folder), scheme):7.0f} MB", flush=True)


def table(title: str, folder: Path, turns: int, count: int, *, lines: bool) -> None:
    """All kinds in turn."""
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(turns):
        for kind, scheme in KINDS.items():
            rates[kind].append(play(folder, scheme, count, lines=lines))
    print(f"One link over {title}\n  {'':20}{'median':>12}{'best':>12}{'of direct':>12}")
    direct = statistics.median(rates["direct"])
    for kind, found in rates.items():
        middle = statistics.median(found)
        print(f"  {kind:20}{middle:7.1f} MB/s{max(found):7.1f} MB/s{middle / direct:11.0%}", flush=True)


def prepare(folder: Path) -> None:
    """Two identities, and a certificate for the relay."""
    import trustme

    from hocket.links.keys.identity import Identity

    for name in ("ash", "birch"):
        Identity.create(name).save(folder / name)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "relay.pem"))


def play(folder: Path, scheme: str, count: int, *, lines: bool) -> float:
    """One turn: MB in a second."""
    from hocket.machine import held_ports

    with held_ports(3) as [behind, *before]:
        doors = before if lines else [behind, behind]
        names = [f"{scheme}://127.0.0.1:{port}" if scheme else f"127.0.0.1:{port}" for port in doors]
        others = [start(folder, "line", port, behind) for port in before] if lines else []
        if scheme:
            others.append(start(folder, "relay", behind, *names))
        # Who listens directly is behind the line that the other dials.
        ash = start(folder, "ash", names[0] if scheme else f"127.0.0.1:{behind}", count)
        birch = start(folder, "birch", names[1], count)
        took = json.loads(ash.communicate()[0])
        birch.wait()
        for process in others:
            process.terminate()
            process.wait()
    return count * WORD / took / 1e6


def start(folder: Path, role: str, *words: object) -> subprocess.Popen[bytes]:
    environment = os.environ | {"SSL_CERT_FILE": str(folder / "authority.pem")}
    command = [sys.executable, __file__, role, str(folder), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def alone(folder: Path, scheme: str) -> float:
    """MB for a second of processor time, in a process of its own."""
    return json.loads(start(folder, "alone", scheme).communicate()[0])


async def line(folder: Path, door: str, behind: str) -> None:
    """A line: what comes in at one end leaves the other late, and at its rate."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)

        async def leave() -> None:
            free = 0.0
            while True:
                due, data = await late.get()
                free = max(free, due) + len(data) / RATE
                await asyncio.sleep(max(0.0, free - time.monotonic()))
                writer.write(data)
                await writer.drain()

        leaving = asyncio.create_task(leave())
        while data := await reader.read(1 << 14):
            await late.put((time.monotonic() + DELAY, data))
        await asyncio.sleep(0.5)
        leaving.cancel()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, there = await asyncio.open_connection("127.0.0.1", int(behind))
        except OSError:  # nobody listens there yet
            writer.close()
            return
        await asyncio.gather(carry(reader, there), carry(back, writer), return_exceptions=True)

    async with await asyncio.start_server(connect, "127.0.0.1", int(door)) as server:
        await server.serve_forever()


async def listen(folder: Path, name: str, count: str) -> None:
    """Ash: receives all messages, and reports how long that took."""
    from hocket.links.events import Received

    channels = await opened(folder, "ash", name)
    began, words = 0.0, 0
    while words < int(count):
        if isinstance(event := await channels.receive(), Received):
            if event.message == b"now":
                began = time.perf_counter()
            else:
                words += 1
    took = time.perf_counter() - began
    await channels.send("birch", b"thank you")
    await channels.close()
    print(json.dumps(took))


async def dial(folder: Path, name: str, count: str) -> None:
    """Birch: sends all messages, once it is joined."""
    from hocket.links.events import Joined, Received

    channels = await opened(folder, "birch", name)
    while not isinstance(await channels.receive(), Joined):
        pass
    await asyncio.sleep(0.5)
    word = os.urandom(WORD)
    await channels.send("ash", b"now")
    for _ in range(int(count)):
        await channels.send("ash", word)
    while not isinstance(await channels.receive(), Received):
        pass
    await channels.close()


async def opened(folder: Path, me: str, name: str) -> Any:
    """A link to the other one."""
    from hocket.federation.plan.relays import through_relays
    from hocket.links.channel import Neighbour, open_channels
    from hocket.links.keys.identity import Identity, name_in_clear
    from hocket.links.relay.forwarder import Orders
    from hocket.links.server import LinkLimits

    other = "birch" if me == "ash" else "ash"
    identity, certificate = Identity.load(folder / me), (folder / other / "certificate.pem").read_bytes()

    async def opening(listening: str | None, elsewhere: Any) -> Any:
        neighbour = Neighbour(other, certificate, name_in_clear(certificate), elsewhere.get(other))
        return await open_channels(
            me,
            key=identity.private_key_pem,
            certificate=identity.certificate_pem,
            neighbours=[neighbour],
            plan="0" * 64,
            listen=listening,
            limits=LinkLimits(message=8 << 20),
        )

    if "://" not in name:
        return await opening(*((name, {}) if me == "ash" else (None, {"ash": name})))
    relays = (on_card(name),)
    dialled = {"ash": relays} if me == "birch" else {}
    orders = Orders(identity, "0" * 64, relays, () if dialled else ("birch",), dialled)
    return await through_relays(orders, None, opening, lambda *_, **__: None)


def on_card(name: str) -> str:
    """A relay as cards name it: with TLS unless they say otherwise."""
    return name.removeprefix("wss://")


async def relay(folder: Path, port: str, *names: str) -> None:
    """The relay, for these two."""
    from hocket.links.relay.connection import keep_memory

    keep_memory()
    async with made(folder, int(port), names):
        await asyncio.Event().wait()


def made(folder: Path, port: int, names: Sequence[str]) -> Any:
    """A relay that admits both."""
    from hocket.links.relay.server import Guest, Relay

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "relay.pem")
    certificates = {one: (folder / one / "certificate.pem").read_bytes() for one in ("ash", "birch")}
    return Relay(
        frozenset(map(on_card, names)),
        lambda call: Guest(certificates[call.sender], 1),
        listen=("127.0.0.1", port),
        tls=tls,
    )


async def by_itself(folder: Path, scheme: str) -> None:
    """Bytes through two forwarders and a relay, all in this loop."""
    from hocket.links.keys.identity import Identity
    from hocket.links.relay.connection import keep_memory
    from hocket.links.relay.forwarder import Forwarder, Orders
    from hocket.machine import UNIX, held_ports

    keep_memory()
    received, all_of_it = 0, asyncio.Event()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        while data := await reader.read(1 << 18):
            received += len(data)
            if received == len(data):
                writer.write(HELLO)  # as TLS answers
            if received >= ALONE:
                all_of_it.set()
        writer.close()

    with held_ports(2) as [port, sink]:
        name = on_card(f"{scheme}://127.0.0.1:{port}")
        async with (
            await asyncio.start_server(hear, "127.0.0.1", sink, limit=1 << 18),
            made(folder, port, [name]),
        ):
            ash, birch = (Identity.load(folder / one) for one in ("ash", "birch"))
            listening = Forwarder(Orders(ash, "0" * 64, (name,), ("birch",), {}), lambda news: True)
            orders = Orders(birch, "0" * 64, (), (), {"ash": (name,)}, str(folder))
            dialling = Forwarder(orders, lambda news: True)
            await listening.open()
            listening.park(f"127.0.0.1:{sink}")
            await dialling.open()
            reader, writer = await asyncio.open_unix_connection(orders.dialled_at("ash").removeprefix(UNIX))
            writer.write(HELLO)
            await reader.readexactly(len(HELLO))
            piece, began = os.urandom(1 << 18), time.process_time()
            for _ in range(ALONE >> 18):
                writer.write(piece)
                await writer.drain()
            await all_of_it.wait()
            print(json.dumps(ALONE / (time.process_time() - began) / 1e6))
            writer.close()
            await dialling.close()
            await listening.close()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        role, place, *words = sys.argv[1:]
        roles = {"ash": listen, "birch": dial, "relay": relay, "line": line, "alone": by_itself}
        asyncio.run(roles[role](Path(place), *words))
