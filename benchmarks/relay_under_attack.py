"""Rounds a second of three members behind one relay: calm, and while strangers without a key attack it.

    PYTHONPATH=. python benchmarks/relay_under_attack.py

Members, forwarders and the relay run on one core, the strangers on another, so that what is measured is what strangers
cost the relay, and not how many cores they take from it. Calm and attacked windows take turns in one run; reported are
the median of each and their ratio, and how long a new TLS handshake with the relay takes meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

WINDOW, TURNS, STRANGERS = 6.0, 4, 3
PINGS = b"\x89\x80\x00\x00\x00\x00" * 40_000
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def main() -> None:
    """Print a table: a row per attack."""
    import trustme

    from tests.peers.federation_case import Federation
    from tests.peers.relay_case import names, start_relay, through

    cores = sorted(os.sched_getaffinity(0))
    ours, theirs = ({cores[0]}, {cores[-1]})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        authority = trustme.CA()
        pem = folder / "relay.pem"
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
        os.environ["SSL_CERT_FILE"] = str(folder / "authority.pem")
        federation = Federation(folder, members=3, rounds=1_000_000)
        [name] = names("wss")
        through(federation, name)
        os.sched_setaffinity(0, ours)
        relay = start_relay(federation, "--cert", str(pem), "--key", str(pem), name=name)
        members = [federation.start(one) for one in federation.names]
        os.sched_setaffinity(0, theirs)
        first = federation.member(federation.names[0])

        def reached() -> int:
            return first.folder.status()["round"] if first.folder.begun else 0

        try:
            while reached() < 20:
                time.sleep(0.5)
            port = int(name.rpartition(":")[2])
            print(f"{'strangers':26}{'calm':>12}{'attacked':>12}{'ratio':>8}{'hello, at most':>16}")
            for what in ("key updates", "pings", "half-open hellos"):
                calm, attacked, hellos = [], [], []
                for _ in range(TURNS):
                    calm.append(rate(reached))
                    with strangers(what, port, theirs):
                        time.sleep(1.0)
                        attacked.append(rate(reached))
                        hellos.append(hello(port))
                    time.sleep(1.0)
                before, during = statistics.median(calm), statistics.median(attacked)
                print(
                    f"{STRANGERS} of {what:21}{before:8.1f} r/s{during:8.1f} r/s{during / before:8.0%}"
                    f"{max(hellos):14.2f} s",
                    flush=True,
                )
        finally:
            for process in (relay, *members):
                process.kill()
                process.wait()


def rate(reached) -> float:
    """Rounds a second over one window."""
    start, at = reached(), time.monotonic()
    time.sleep(WINDOW)
    return (reached() - start) / (time.monotonic() - at)


def hello(port: int) -> float:
    """Seconds that a TLS handshake with the relay takes."""
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    start = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1"),
    ):
        return time.monotonic() - start


@contextlib.contextmanager
def strangers(what: str, port: int, cores: set[int]) -> Iterator[None]:
    """Some processes that attack until the block ends."""
    some = [
        subprocess.Popen(
            [sys.executable, __file__, what, str(port)], preexec_fn=lambda: os.sched_setaffinity(0, cores)
        )
        for _ in range(STRANGERS)
    ]
    try:
        yield
    finally:
        for one in some:
            one.kill()
            one.wait()


def attack(what: str, port: int) -> None:
    """Connect, attack until hung up on, and connect again."""
    from tests.peers.key_updates import send_key_updates

    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    while True:
        with (
            contextlib.suppress(OSError, AssertionError),
            socket.create_connection(("127.0.0.1", port), 10) as plain,
        ):
            if what == "key updates":
                send_key_updates(plain, 10**6)
            elif what == "pings":
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                    tls.sendall(UPGRADE)
                    while True:
                        tls.sendall(PINGS)
            else:
                plain.sendall(b"\x16\x03\x01\x40\x00\x01\x00\xff\xff\x03\x03" + bytes(1_000))
                plain.settimeout(2)
                plain.recv(1)


if __name__ == "__main__":
    attack(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else main()
