"""Runs beside the requests: one at a time, in a thread, with everything it says kept for whoever listens."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from hocket.errors import BadInput, HocketError
from hocket.explore.live_run import CalledOff, play
from hocket.explore.questions import Question

LAST = ("done", "failed", "cancelled")
"""What a run says last."""


@dataclass
class LiveRun:
    """One run and what it has said so far."""

    loop: asyncio.AbstractEventLoop
    name: str = field(default_factory=lambda: token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event)
    events: list[dict[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1]["kind"] in LAST

    def tell(self, event: dict[str, Any]) -> None:
        """Say something, from any thread."""
        self.loop.call_soon_threadsafe(self._add, event)

    def _add(self, event: dict[str, Any]) -> None:
        if self.ended:  # called off, and the thread has not noticed yet
            return
        self.events.append(event)
        self.news.set()
        self.news = asyncio.Event()

    def call_off(self) -> None:
        """End it: at once for those who listen, at its next look for the thread."""
        self.stop.set()
        self._add({"kind": "cancelled"})

    async def stream(self, heard: int = 0) -> AsyncIterator[str]:
        """Server-sent events from the one after the last that was heard."""
        while True:
            for number, event in enumerate(self.events[heard:], start=heard + 1):
                yield f"id: {number}\ndata: {json.dumps(event)}\n\n"
                heard = number
            if self.ended:
                return
            await self.news.wait()


class Runs:
    """The run of the moment; a new one calls the old one off."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live-run")
        self.current: LiveRun | None = None

    def start(self, question: Question) -> LiveRun:
        """Begin a run as soon as the last one has stopped."""
        if self.current is not None:
            self.current.call_off()
        self.current = LiveRun(asyncio.get_running_loop())
        self.pool.submit(_work, question, self.current)
        return self.current

    def named(self, name: str) -> LiveRun:
        """The run of that name."""
        if self.current is None or self.current.name != name:
            raise BadInput("that run is over and forgotten; start a new one")
        return self.current

    def stop(self) -> None:
        """Call off what is running, from any thread."""
        if self.current is not None:
            self.current.stop.set()
            self.current.tell({"kind": "cancelled"})

    def close(self) -> None:
        """Call off what is running, and begin nothing any more."""
        self.stop()
        self.pool.shutdown(wait=False, cancel_futures=True)


def _work(question: Question, run: LiveRun) -> None:
    try:
        if not run.stop.is_set():
            play(question, run.tell, run.stop)
    except CalledOff:
        run.tell({"kind": "cancelled"})
    except HocketError as error:
        run.tell({"kind": "failed", "message": str(error)})
    except Exception as error:
        # The thread has nobody to raise to: whoever waits for the run must hear of it.
        run.tell({"kind": "failed", "message": f"{type(error).__name__}: {error}"})
        raise
