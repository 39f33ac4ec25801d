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
NOT_STARTED = "the process that leads links through a relay did not start"


class LogEvent(Protocol):
    """Puts an event down, as the log of a run does."""

    def __call__(self, event: str, **about: Any) -> None: ...


def no_log(event: str, **about: Any) -> None:
    """Where there is no log."""


class Forwarding:
    """A forwarder's process, as its member sees it. Make one with `start`."""

    def __init__(self, orders: Orders, log: LogEvent = no_log):
        self.orders = dataclasses.replace(orders, folder=tempfile.mkdtemp(prefix="hocket-"))
        self.log = log
        self.channels: GrpcChannels | None = None
        """The links that lead through it, once they are open."""
        self._troubles: dict[str, dict[str, str | None]] = {}
        """By neighbour and relay: what is wrong there, None if nothing. An empty relay is the process itself."""
        self._process: asyncio.subprocess.Process | None = None
        self._listening: str | None = None
        self._supervising: asyncio.Task[None] | None = None
        self._complaining: asyncio.Task[str] | None = None

    @classmethod
    async def start(cls, orders: Orders, log: LogEvent = no_log) -> Forwarding:
        """A running forwarder; the member tells it by `listens_at` where it listens. Its complaints go to the log."""
        made = cls(orders, log)
        try:
            process = await made._begin()
        except BaseException:
            await made.close()
            raise
        made._supervising = asyncio.create_task(made._supervise(process))
        made._supervising.add_done_callback(made._observe)
        return made

    def listens_at(self, address: str) -> None:
        """The member listens here now: those who dial it may be let through."""
        self._listening = address
        self._tell_address()

    @property
    def neighbours(self) -> frozenset[str]:
        """Those who are reached through a relay."""
        return frozenset((*self.orders.diallers, *self.orders.dialled))

    @property
    def used(self) -> Mapping[str, str]:
        """By neighbour, the relays at which nothing is wrong."""
        return {
            name: ", ".join(relay for relay, trouble in at.items() if trouble is None)
            for name, at in self._troubles.items()
            if None in at.values()
        }

    def trouble(self, neighbour: str) -> str | None:
        """Why there is no way to a neighbour, in the relays' words; None if there is, or nothing is known."""
        at = self._troubles.get(neighbour, {})
        return None if not at or None in at.values() else "; ".join(filter(None, at.values()))

    async def close(self) -> None:
        """End the process, once what it was given is delivered."""
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.wait([self._supervising])
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), FAREWELL + 2)
            except TimeoutError:
                self._process.kill()
            await self._last_words(self._process)
        shutil.rmtree(self.orders.folder, ignore_errors=True)

    async def _begin(self) -> asyncio.subprocess.Process:
        """Start the process, and wait until it takes connections."""
        if len(os.fsencode(self.orders.listening_at)) > LONGEST_PATH:
            raise LinkError(
                f"the folder for temporary files, {tempfile.gettempdir()}, has too long a name for sockets to lie in "
                "it; set TMPDIR to a folder with a shorter name"
            )
        command = running("hocket.links.relay.forwarder", isolated=True)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the member, which ends this process last
            )
        except OSError as error:
            raise LinkError(f"{NOT_STARTED}: {error.strerror}; make room for one more process") from None
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._complaining = asyncio.create_task(self._complaints(process.stderr))
        process.stdin.write(self.orders.line().encode() + b"\n")
        try:
            json_value(await asyncio.wait_for(process.stdout.readline(), STARTING))
        except (TimeoutError, ValueError):
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            words = await self._last_words(process)
            raise LinkError(
                f"{NOT_STARTED}: {words or 'it said nothing'}; try it with: {' '.join(command)} < /dev/null"
            ) from None
        self._tell_address()
        return process

    async def _supervise(self, process: asyncio.subprocess.Process) -> None:
        """Read what the process reports, and start it again whenever it ends, until it starts."""
        pauses = Pauses()
        while True:
            await self._follow(process)
            code, words = await process.wait(), await self._last_words(process)
            self.log("forwarder ended", code=code, words=words)
            self._note_everywhere(
                "the process that leads this link through a relay ended; it is started again"
            )
            while process.returncode is not None:
                await pauses.next()
                try:
                    process = await self._begin()
                except LinkError as error:
                    self.log("forwarder", words=str(error))
                    self._note_everywhere(str(error))
            for at in self._troubles.values():
                at.pop("", None)

    def _observe(self, task: asyncio.Task[None]) -> None:
        """No error of ours goes unsaid: the links are lost with the supervisor."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log("forwarder", words=repr(error))
            self._note_everywhere(
                f"the process that leads this link through a relay is looked after no more: {error!r}"
            )

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        """Take in its reports until it ends; a line that is none, late or torn, is left out."""
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
                if not line:
                    return
                news = json_value(line)
                about, relay, trouble = (news[key] for key in ("about", "relay", "trouble"))
            except (ValueError, KeyError, TypeError):
                continue
            if about in self.neighbours:
                self._note(about, relay, None if trouble is None else shown(trouble, 400))

    async def _complaints(self, errors: asyncio.StreamReader) -> str:
        """Log what the process writes to its standard error, until it ends; returns the end of that."""
        last = ""
        while piece := await errors.read(LONGEST_LINE):
            said = piece.decode(errors="replace").strip()
            last = f"{last}\n{said}"[-LAST_WORDS:]
            self.log("forwarder", words=said[-LAST_WORDS:])
        return shown(last.strip(), LAST_WORDS)

    async def _last_words(self, process: asyncio.subprocess.Process) -> str:
        """What the process wrote last to its standard error, once it has ended."""
        await process.wait()
        return "" if self._complaining is None else await self._complaining

    def _note_everywhere(self, trouble: str) -> None:
        for name in self.neighbours:
            self._troubles[name] = {}
            self._note(name, "", trouble)

    def _note(self, name: str, relay: str, trouble: str | None) -> None:
        self._troubles.setdefault(name, {})[relay] = trouble
        words, channels = self.trouble(name), self.channels
        if words is not None and channels is not None and channels.lines[name].stream is None:
            with contextlib.suppress(asyncio.QueueFull):  # then there is enough to receive; it is asked again
                channels.events.put_nowait(Lost(name, words))

    def _tell_address(self) -> None:
        if self._listening is not None and self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps({"listen": self._listening}).encode() + b"\n")


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
