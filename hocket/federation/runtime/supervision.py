"""What runs beside a member's rounds: one thread in which it computes, and tasks that end the run when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Stopped(Exception):
    """The operator has asked this process to stop."""


class Compute(Protocol):
    """Where a member computes."""

    async def __call__(self, function: Callable[..., Result], /, *given: Any) -> Result:
        """What the function returns."""
        ...


async def at_once(function: Callable[..., Result], /, *given: Any) -> Result:
    """Compute here and now: for tests, where nothing else is to be attended to."""
    return function(*given)


@asynccontextmanager
async def one_worker() -> AsyncGenerator[Compute]:
    """A thread for gradients and statistics, so that links are attended to meanwhile; one thing after the other.

    While it computes nobody is dropped: what a round begins with must not change before it is on the disk. A clean stop
    waits for what is being computed.
    """
    pool = ThreadPoolExecutor(1, "hocket")
    loop = asyncio.get_running_loop()

    async def compute(function: Callable[..., Result], /, *given: Any) -> Result:
        return await loop.run_in_executor(pool, partial(copy_context().run, function, *given))

    try:
        yield compute
    finally:
        await asyncio.to_thread(pool.shutdown)


@asynccontextmanager
async def beside(*jobs: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """While these go on; if one of them fails, what is done meanwhile is cancelled, and ends with its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
            yield
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as several:
        first = several.exceptions[0]
        if isinstance(first, Stopped):  # as a signal ends it
            raise asyncio.CancelledError from None
        raise first from first.__cause__
