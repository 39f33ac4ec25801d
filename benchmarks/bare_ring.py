"""A ring of processes over gRPC with mutual TLS that does nothing but what any such ring must.

Each round every process writes its state durably to SQLite, sends it to both neighbours, averages what it receives and
takes a step. No plan, no noise, no checks, no way back after a crash: the floor that benchmarks/peers.py compares with.
Without a step all states would be the same after some dozens of rounds, and SQLite writes no page that has not changed.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from hocket.links.keys.identity import Identity
from hocket.links.tls import grpc

METHOD = "/bare.Ring/Talk"
WRITING = {
    "bare": "INSERT OR REPLACE INTO state VALUES (0, ?, ?)",
    "bare in place": "INSERT INTO state VALUES (0, ?, ?) ON CONFLICT (only) DO UPDATE SET round = excluded.round, "
    "x = excluded.x",
}
"""How a state is written: as most would write it, which deletes the old one first, and over the old one's pages."""


class Pace(NamedTuple):
    """What a round takes."""

    seconds: float
    processor: float
    """Seconds of processor time, over all threads of one process."""

    @classmethod
    def now(cls) -> Self:
        return cls(time.perf_counter(), time.process_time())

    def since(self, begin: Pace, *, rounds: int) -> Pace:
        return Pace((self.seconds - begin.seconds) / rounds, (self.processor - begin.processor) / rounds)


def warm_up(rounds: int) -> int:
    """The first rounds, in which files grow and caches fill, are not measured."""
    return rounds // 4


class Stream:
    """Both directions of one link."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self.write: Any = None
        self.open = asyncio.Event()
        self.end: Any = None
        """Only of one that was dialled, like the next."""
        self.reading: Any = None


async def run_bare(
    me: int,
    names: list[str],
    identities: dict[str, Identity],
    ports: list[int],
    folder: Path,
    state: np.ndarray,
    pull: np.ndarray,
    rounds: int,
    *,
    write: str,
) -> Pace:
    """The pace of process `me` after the first rounds; `pull` is its step, `write` is one of WRITING."""
    n, identity = len(names), identities[names[me]]
    left, right = (me - 1) % n, (me + 1) % n
    streams = {left: Stream(), right: Stream()}
    server = await _listen(identity, identities[names[left]], ports[me], streams[left])
    channel = await _dial(identity, identities[names[right]], ports[right], streams[right])
    for stream in streams.values():
        await stream.open.wait()
    database = sqlite3.connect(folder / "state.db", isolation_level=None)
    for setting in ("page_size = 16384", "journal_mode = WAL", "synchronous = FULL"):
        database.execute(f"PRAGMA {setting}").fetchall()
    database.execute("CREATE TABLE state (only INTEGER PRIMARY KEY, round INTEGER, x BLOB)")
    began = Pace.now()
    for k in range(rounds):
        if k == warm_up(rounds):
            began = Pace.now()
        word = state.tobytes()
        database.execute(write, (k, word))
        for stream in streams.values():
            await stream.write(word)
        received = [np.frombuffer(await stream.incoming.get(), state.dtype) for stream in streams.values()]
        state = state * np.asarray(0.5, state.dtype) + sum(received) * np.asarray(0.25, state.dtype)
        state -= pull
    pace = Pace.now().since(began, rounds=rounds - warm_up(rounds))
    # Who dialled says that it is done, and waits until the other end has received it.
    await streams[right].end()
    await streams[right].reading
    await server.stop(grace=5)
    await channel.close()
    return pace


async def _listen(me: Identity, other: Identity, port: int, stream: Stream) -> Any:
    async def talk(requests: AsyncIterator[bytes], context: Any) -> None:
        stream.write = context.write
        stream.open.set()
        async for message in requests:
            stream.incoming.put_nowait(message)

    class Door(grpc.GenericRpcHandler):
        def service(self, handler_call_details: Any) -> Any:
            return grpc.stream_stream_rpc_method_handler(talk)

    server = grpc.aio.server(handlers=[Door()])
    credentials = grpc.ssl_server_credentials(
        [(me.private_key_pem, me.certificate_pem)], other.certificate_pem, require_client_auth=True
    )
    server.add_secure_port(f"127.0.0.1:{port}", credentials)
    await server.start()
    return server


async def _dial(me: Identity, other: Identity, port: int, stream: Stream) -> Any:
    credentials = grpc.ssl_channel_credentials(other.certificate_pem, me.private_key_pem, me.certificate_pem)
    options = [("grpc.ssl_target_name_override", other.name)]
    channel = grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials, options=options)
    call = channel.stream_stream(METHOD)(wait_for_ready=True)

    async def read() -> None:
        while isinstance(message := await call.read(), bytes):
            stream.incoming.put_nowait(message)

    stream.reading = asyncio.create_task(read())
    stream.write, stream.end = call.write, call.done_writing
    stream.open.set()
    return channel
