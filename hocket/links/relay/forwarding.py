"""How a member starts its forwarder, keeps it alive, and hears from it what relays say."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, Protocol

from hocket.errors import LinkError
from hocket.files import json_value
from hocket.links.channel import GrpcChannels
from hocket.links.events import Event, Joined, Lost
from hocket.links.relay.carrying import Pauses
from hocket.links.relay.forwarder import FAREWELL, LONGEST_PATH, Orders
from hocket.links.text import shown
from hocket.machine import running

STARTING = 60.0
"""Seconds for a new process to say where it listens; a machine may be busy."""
LONGEST_LINE = 1 << 16
LAST_WORDS = 400
"""Characters of what the process wrote as it failed that are shown."""


class Say(Protocol):
    """Puts an event down, as the log of a run does."""

    def __call__(self, event: str, **about: Any) -> None: ...


def no_log(event: str, **about: Any) -> None:
    """Where there is no log."""


class Forwarding:
    """A forwarder's process, as its member sees it. Make one with `start`."""

    def __init__(self, orders: Orders, say: Say = no_log):
        self.orders = dataclasses.replace(orders, folder=tempfile.mkdtemp(prefix="hocket-"))
        self.say = say
        self.channels: GrpcChannels | None = None
        """The links that lead through it, once they are open."""
        self._standing: dict[str, dict[str, str | None]] = {}
        """By neighbour and relay: what is wrong there, None if nothing."""
        self._process: asyncio.subprocess.Process | None = None
        self._listening: str | None = None
        self._minding: asyncio.Task[None] | None = None
        self._complaining: asyncio.Task[str] | None = None
        self._closing = False

    @classmethod
    async def start(cls, orders: Orders, say: Say = no_log) -> Forwarding:
        """A running forwarder; who listens tells it so with `listens_at`. What it complains of goes to `say`."""
        made = cls(orders, say)
        try:
            await made._begin()
        except BaseException:
            await made.close()
            raise
        made._minding = asyncio.create_task(made._mind())
        return made

    def listens_at(self, address: str) -> None:
        """The member listens here now: those who dial it may be let through."""
        self._listening = address
        self._tell({"listen": address})

    @property
    def neighbours(self) -> frozenset[str]:
        """Those who are reached through a relay."""
        return frozenset((*self.orders.diallers, *self.orders.dialled))

    @property
    def used(self) -> Mapping[str, str]:
        """By neighbour, the relays at which nothing is wrong."""
        return {
            name: ", ".join(relay for relay, trouble in at.items() if trouble is None)
            for name, at in self._standing.items()
            if None in at.values()
        }

    def trouble(self, neighbour: str) -> str | None:
        """Why there is no way to a neighbour, in the relays' words; None if there is, or nothing is known."""
        at = self._standing.get(neighbour, {})
        return None if not at or None in at.values() else "; ".join(filter(None, at.values()))

    async def close(self) -> None:
        """End the process, once what it was given is delivered."""
        self._closing = True
        if self._minding is not None:
            self._minding.cancel()
            await asyncio.gather(self._minding, return_exceptions=True)
        process = self._process
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), FAREWELL + 2)
            except TimeoutError:
                process.kill()
                await process.wait()
            await self._last_words()
        shutil.rmtree(self.orders.folder, ignore_errors=True)

    async def _begin(self) -> None:
        if len(os.fsencode(self.orders.listening_at)) > LONGEST_PATH:
            raise LinkError(
                f"the folder for temporary files, {tempfile.gettempdir()}, has too long a name for sockets to lie in "
                "it; set TMPDIR to a folder with a shorter name"
            )
        command = running("hocket.links.relay.forwarder", isolated=True)
        self._process = process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the member, which ends this process last
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._complaining = asyncio.create_task(self._complaints(process.stderr))
        process.stdin.write(self.orders.line().encode() + b"\n")
        try:
            line = await asyncio.wait_for(process.stdout.readline(), STARTING)
            json_value(line)  # nothing but that it has begun
        except (TimeoutError, ValueError):
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            words = await self._last_words()
            raise LinkError(
                f"the process that leads links through a relay did not start: {words or 'it said nothing'}; try it "
                f"with: {' '.join(command)} < /dev/null"
            ) from None
        if self._listening is not None:
            self._tell({"listen": self._listening})

    async def _mind(self) -> None:
        """Read what the process reports, and start it again if it dies."""
        pauses = Pauses()
        while True:
            assert self._process is not None
            assert self._process.stdout is not None
            while line := await self._process.stdout.readline():
                self._take_in(json_value(line))
            code, words = await self._process.wait(), await self._last_words()
            self.say("forwarder ended", code=code, words=words)
            for name in self.neighbours:
                self._note(
                    name, "", "the process that leads this link through a relay ended; it is started again"
                )
            with contextlib.suppress(LinkError):
                await pauses.next()
                await self._begin()
                for at in self._standing.values():
                    at.pop("", None)

    async def _complaints(self, errors: asyncio.StreamReader) -> str:
        """Log what the process writes to its standard error, until it ends; returns the end of that."""
        last = ""
        while piece := await errors.read(LONGEST_LINE):
            said = piece.decode(errors="replace").strip()
            last = f"{last}\n{said}"[-LAST_WORDS:]
            self.say("forwarder", words=said[-LAST_WORDS:])
        return shown(last.strip(), LAST_WORDS)

    async def _last_words(self) -> str:
        """What the process wrote last to its standard error, once it has ended."""
        return "" if self._complaining is None else await self._complaining

    def _take_in(self, news: dict[str, Any]) -> None:
        trouble = news["trouble"]
        self._note(news["about"], news["relay"], None if trouble is None else shown(trouble, 400))

    def _note(self, name: str, relay: str, trouble: str | None) -> None:
        if not relay:
            self._standing[name] = {}
        self._standing.setdefault(name, {})[relay] = trouble
        words, channels = self.trouble(name), self.channels
        if words is not None and channels is not None and channels.lines[name].stream is None:
            with contextlib.suppress(
                asyncio.QueueFull
            ):  # then there is enough to hear; it will be asked again
                channels.events.put_nowait(Lost(name, words))

    def _tell(self, order: dict[str, Any]) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(order).encode() + b"\n")


class RelayedChannels:
    """Links of which some lead through relays: the same events, and reasons that name the relay."""

    def __init__(self, channels: GrpcChannels, forwarding: Forwarding):
        self.channels = channels
        self.forwarding = forwarding
        self.through: dict[str, str] = {}
        """By neighbour that is connected now, the relay that leads to it."""
        forwarding.channels = channels

    async def send(self, neighbour: str, message: bytes) -> None:
        await self.channels.send(neighbour, message)

    async def receive(self) -> Event:
        event = await self.channels.receive()
        if isinstance(event, Joined) and event.neighbour in self.forwarding.neighbours:
            self.through[event.neighbour] = self.forwarding.used.get(event.neighbour, "a relay")
        elif isinstance(event, Lost):
            self.through.pop(event.neighbour, None)
            words = self.forwarding.trouble(event.neighbour)
            return event if words is None else Lost(event.neighbour, words)
        return event

    def nudge(self) -> None:
        self.channels.nudge()

    async def close(self) -> None:
        self.forwarding.channels = None
        await self.channels.close()
        await self.forwarding.close()
