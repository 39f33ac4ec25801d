"""MB in a second over one link: direct, through a relay by plain TCP, and by WebSocket over TLS.

    python benchmarks/relay.py

Two members in processes of their own, gRPC over mutual TLS between them, words of 4 MB one way on loopback. Through a
relay there are three more processes: the relay, and a forwarder beside each member; all of them share this machine's
cores, which members on machines of their own do not. Kinds take turns in the same run, so that a busy machine is busy
for all; reported are the median over turns, the best, and the share of direct links.
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
from pathlib import Path
from typing import Any

WORD, COUNT, TURNS = 4 << 20, 100, 1
KINDS = {"direct": "", "plain TCP relay": "tcp", "WebSocket relay": "ws", "WebSocket over TLS": "wss"}


def main() -> None:
    """Print one table."""
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for _ in range(TURNS):
            for kind, scheme in KINDS.items():
                rates[kind].append(play(Path(folder), scheme))
    print(f"One link, {COUNT} words of {WORD >> 20} MB one way, {os.cpu_count()} cores")
    print(f"  {'':20}{'median':>12}{'best':>12}{'of direct':>12}")
    direct = statistics.median(rates["direct"])
    for kind, found in rates.items():
        middle = statistics.median(found)
        print(f"  {kind:20}{middle:7.0f} MB/s{max(found):7.0f} MB/s{middle / direct:11.0%}")


def prepare(folder: Path) -> None:
    """Two identities, and a certificate for the relay."""
    import trustme

    from hocket.links.identity import Identity

    for name in ("ash", "birch"):
        Identity.create(name).save(folder / name)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "relay.pem"))


def play(folder: Path, scheme: str) -> float:
    """One turn: MB in a second."""
    from hocket.machine import held_ports

    environment = os.environ | {"SSL_CERT_FILE": str(folder / "authority.pem")}
    with held_ports(1) as [port]:
        name = f"{scheme}://127.0.0.1:{port}" if scheme else f"127.0.0.1:{port}"
        roles = (["relay"] if scheme else []) + ["ash", "birch"]
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, role, str(folder), name], stdout=subprocess.PIPE, env=environment
            )
            for role in roles
        ]
        heard = json.loads(processes[roles.index("ash")].communicate()[0])
        processes[-1].wait()
        if scheme:
            processes[0].terminate()
            processes[0].wait()
    return COUNT * WORD / heard / 1e6


async def listen(folder: Path, name: str) -> float:
    """Ash: hears all words, and says how long that took."""
    from hocket.links.events import Heard

    channels = await opened(folder, "ash", name)
    began, words = 0.0, 0
    while words < COUNT:
        if isinstance(event := await channels.receive(), Heard):
            if event.message == b"now":
                began = time.perf_counter()
            else:
                words += 1
    took = time.perf_counter() - began
    await channels.send("birch", b"thank you")
    await channels.close()
    return took


async def dial(folder: Path, name: str) -> None:
    """Birch: says all words, once it is joined."""
    from hocket.links.events import Heard, Joined

    channels = await opened(folder, "birch", name)
    while not isinstance(await channels.receive(), Joined):
        pass
    await asyncio.sleep(0.5)
    word = os.urandom(WORD)
    await channels.send("ash", b"now")
    for _ in range(COUNT):
        await channels.send("ash", word)
    while not isinstance(await channels.receive(), Heard):
        pass
    await channels.close()


async def opened(folder: Path, me: str, name: str) -> Any:
    """A link to the other one."""
    from hocket.federation.relays import through_relays
    from hocket.links.channel import Neighbour, open_channels
    from hocket.links.identity import Identity, name_in_clear
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
    dialled = {"ash": (name,)} if me == "birch" else {}
    orders = Orders(identity, "0" * 64, (name,), () if dialled else ("birch",), dialled)
    return await through_relays(orders, None, opening)


async def relay(folder: Path, name: str) -> None:
    """The relay, for these two."""
    from hocket.links.relay.server import Guest, Relay

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "relay.pem")
    certificates = {one: (folder / one / "certificate.pem").read_bytes() for one in ("ash", "birch")}
    port = int(name.rpartition(":")[2])
    async with Relay(
        frozenset([name]),
        lambda call: Guest(certificates[call.speaker], 1),
        listen=("127.0.0.1", port),
        tls=tls,
    ):
        await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        role, place, called = sys.argv[1:]
        if role == "ash":
            print(json.dumps(asyncio.run(listen(Path(place), called))))
        else:
            asyncio.run({"birch": dial, "relay": relay}[role](Path(place), called))
