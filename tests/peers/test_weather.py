"""Slow lines and a partition that heals: the result is the same as in calm, and memory stays flat."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Mapping

import pytest

from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished

from .federation_case import Federation, free_ports
from .relay import Relay, watching

IN_FLIGHT = 2
"""Rounds for which words may have arrived, or be on their way behind the weather, when a storm begins."""


async def storm_over(channel: Relay, seconds: float, reached: Mapping[str, int], rounds: int) -> None:
    """Nothing passes for a while once everybody plays; then all stand still, and nobody is done."""
    while min(reached.values()) < rounds // 4:
        await asyncio.sleep(channel.delay / 4)
    before = dict(reached)
    await channel.storm(seconds)
    assert channel.held_back, "the storm met no link"
    assert max(reached.values()) < rounds, "the storm came when somebody was done"
    ahead = max(reached[name] - before[name] for name in reached)
    assert ahead <= IN_FLIGHT, f"somebody played {ahead} rounds through the storm"


def play(federation: Federation, *, delay: float, storm: float) -> list[Finished]:
    """All members in this process, every link through the weather."""
    reached = dict.fromkeys(federation.names, 0)

    async def part(name: str, port: int) -> Finished:
        member = federation.member(name, listen=f"127.0.0.1:{port}", linger=120.0)
        return await take_part(member, watch=lambda played, _: reached.update({name: played.k}))

    async def scene() -> list[Finished]:
        behind = dict(zip(federation.names, free_ports(federation.members), strict=True))
        async with watching(delay=delay) as channel:
            for name, port in behind.items():
                address = federation.plan.card(name).address
                assert address is not None
                await channel.before(int(address.rpartition(":")[2]), port)
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(part(name, port)) for name, port in behind.items()]
                if storm:
                    await storm_over(channel, storm, reached, federation.rounds)
            return [task.result() for task in running]

    return asyncio.run(scene())


def calm_and_stormy(federation: Federation, *, delay: float, storm: float) -> None:
    stormy = [end.x.tobytes() for end in play(federation, delay=delay, storm=storm)]
    for name in federation.names:
        federation.wipe(name)
    assert stormy == [end.x.tobytes() for end in play(federation, delay=0.0, storm=0.0)]


def test_a_partition_heals(tmp_path):
    calm_and_stormy(Federation(tmp_path, members=3, rounds=60), delay=0.01, storm=3.0)


@pytest.mark.endurance
def test_ten_members_a_thousand_rounds_and_half_a_minute_of_storm(tmp_path):
    federation = Federation(tmp_path, members=10, rounds=1000)
    play(Federation(tmp_path / "warm-up", members=10, rounds=50), delay=0.0, storm=0.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    play(federation, delay=0.02, storm=30.0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 50, f"ten members grew by {grown:.0f} MB in a thousand rounds"
