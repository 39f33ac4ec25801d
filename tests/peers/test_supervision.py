"""A member computes in one thread of its own, and what goes on beside its rounds fails with them, never silently."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from hocket.errors import UnsafeRemainder
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.supervision import Stopped, beside, one_worker

from .federation_case import Federation


async def failing(error: Exception) -> None:
    await asyncio.sleep(0)
    raise error


async def for_ever() -> None:
    await asyncio.Event().wait()


def test_a_task_that_fails_ends_what_is_done_beside_it():
    async def scene() -> None:
        async with beside(for_ever(), failing(UnsafeRemainder("not safe", round=3))):
            await for_ever()

    with pytest.raises(UnsafeRemainder, match="not safe"):
        asyncio.run(scene())


def test_a_stop_ends_it_as_a_signal_does():
    async def scene() -> None:
        async with beside(failing(Stopped())):
            await for_ever()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(scene())


def test_what_is_done_ends_the_tasks_beside_it_and_an_error_stays_what_it_is():
    async def scene(error: Exception | None) -> int:
        async with beside(for_ever()):
            if error is not None:
                raise error
            return 7

    assert asyncio.run(scene(None)) == 7
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(scene(KeyError("mine")))


def test_a_clean_stop_waits_for_what_is_being_computed():
    begun, ended = threading.Event(), list[str]()

    def long() -> None:
        begun.set()
        threading.Event().wait(0.3)
        ended.append("computed")

    async def scene() -> None:
        async with one_worker() as compute:
            working = asyncio.ensure_future(compute(long))
            await asyncio.to_thread(begun.wait)
            working.cancel()

    asyncio.run(scene())
    assert ended == ["computed"]


def test_gradients_and_what_is_measured_are_computed_in_one_thread_and_links_are_served_meanwhile(tmp_path):
    """A gradient of some seconds kept a member from answering its neighbours."""
    federation = Federation(tmp_path, rounds=3)
    threads, beats = set[str](), list[int]()

    class Task:
        dimension, objectives = federation.plan.task.dimension, "any"

        def start(self, seed: int) -> Any:
            return np.zeros(self.dimension)

        def gradient(self, x: Any, k: int, h: int, rng: Any) -> Any:
            threads.add(threading.current_thread().name)
            before = len(beats)
            threading.Event().wait(0.05)
            assert len(beats) > before  # the event loop went on
            return x

        def measure(self, x: Any) -> dict[str, float]:
            threads.add(threading.current_thread().name)
            return {"loss": float(x @ x)}

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0.005)

    async def scene() -> None:
        async with beside(beat()):
            members = [federation.member(name, task=Task()) for name in federation.names]
            # What is asked before anything is said may be asked anywhere.
            await asyncio.gather(*map(take_part, members))

    asyncio.run(scene())
    assert threads == {"hocket_0"}
