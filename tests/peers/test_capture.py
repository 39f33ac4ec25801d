"""What somebody on the wire sees of a run: nothing of what is said."""

from __future__ import annotations

import asyncio

import numpy as np

from hocket.federation.running import take_part
from hocket.federation.task import GradientTask

from .federation_case import Federation, free_ports
from .quadratic import DIMENSION

MARKER = np.frombuffer(b"hocketmk", dtype="<f8")[0]
"""A number whose bytes are easily found; as a state it stays what it is, since every gradient is zero."""


async def tap(port: int, behind: int, captured: bytearray) -> asyncio.Server:
    """Pass everything on between two ports, and keep a copy."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", behind)
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            captured.extend(data)
            writer.write(data)
        writer.close()

    return await asyncio.start_server(connect, "127.0.0.1", port)


def test_a_capture_of_the_traffic_holds_no_word(tmp_path):
    federation = Federation(
        tmp_path,
        members=2,
        topology="path",
        rounds=10,
        algorithm={"name": "dgd"},
        feasible={"kind": "everywhere"},
    )
    behind, captured = free_ports(1)[0], bytearray()
    [listener] = [name for name in federation.names if federation.plan.awaits(name)]
    address = federation.plan.card(listener).address
    assert address is not None
    task = GradientTask(
        DIMENSION, lambda x, k, h, rng: np.zeros(DIMENSION), lambda seed: np.full(DIMENSION, MARKER)
    )

    async def scene() -> list[np.ndarray]:
        server = await tap(int(address.rpartition(":")[2]), behind, captured)
        members = [
            federation.member(name, task=task, listen=f"127.0.0.1:{behind}" if name == listener else None)
            for name in federation.names
        ]
        ends = await asyncio.gather(*(take_part(member) for member in members))
        server.close()
        return [end.published for end in ends]

    ends = asyncio.run(asyncio.wait_for(scene(), 60))
    assert all((end == MARKER).all() for end in ends)  # so it was said, in every round
    assert len(captured) > 10 * 2 * 8 * DIMENSION
    assert b"hocketmk" not in captured
