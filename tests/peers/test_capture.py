"""What somebody on the wire sees of a run: nothing of what is said."""

from __future__ import annotations

import asyncio

import numpy as np

from hocket.federation.runtime.participation import take_part
from hocket.federation.workloads.task import GradientTask

from .federation_case import Federation, free_ports
from .quadratic import DIMENSION
from .relay import watching

MARKER = np.frombuffer(b"hocketM@", dtype="<f8")[0]
"""A number whose bytes are easily found; as a state it stays what it is, since every gradient is zero."""


def test_a_capture_of_the_traffic_holds_no_word(tmp_path):
    federation = Federation(
        tmp_path,
        members=2,
        topology="path",
        rounds=10,
        algorithm={"name": "dgd"},
        feasible={"kind": "everywhere"},
    )
    [behind] = free_ports(1)
    [listener] = [name for name in federation.names if federation.plan.awaits(name)]
    address = federation.plan.card(listener).address
    assert address is not None
    task = GradientTask(
        DIMENSION, lambda x, k, h, rng: np.zeros(DIMENSION), lambda seed: np.full(DIMENSION, MARKER)
    )

    async def scene() -> tuple[list[np.ndarray], bytes]:
        async with watching(keep=True) as relay:
            await relay.before(int(address.rpartition(":")[2]), behind)
            members = [
                federation.member(name, task=task, listen=f"127.0.0.1:{behind}" if name == listener else None)
                for name in federation.names
            ]
            ends = await asyncio.gather(*(take_part(member) for member in members))
            return [end.published for end in ends], bytes(relay.captured)

    ends, captured = asyncio.run(asyncio.wait_for(scene(), 60))
    assert all((end == MARKER).all() for end in ends)  # so it was said, in every round
    assert len(captured) > 10 * 2 * 8 * DIMENSION
    assert b"hocketM@" not in captured
