"""A member looks after its forwarder whatever that process, or the system, does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hocket.links.relay import carrying, forwarding
from hocket.links.relay.forwarder import Forwarder, Orders
from hocket.links.relay.forwarding import Forwarding

from .ends import ASH, play

RELAY = "ws://127.0.0.1:1"
TROUBLE = json.dumps({"about": "birch", "relay": RELAY, "trouble": "it is asleep"})


def orders() -> Orders:
    return Orders(ASH, "ab" * 32, (RELAY,), ("birch",), {})


def saying(*lines: str, then: str = "sys.stdin.read()") -> list[str]:
    """A forwarder that says these lines, whatever it is told."""
    return [sys.executable, "-c", f"import sys; [print(line, flush=True) for line in {[*lines]!r}]; {then}"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


def with_forwarder(
    monkeypatch: pytest.MonkeyPatch, command: list[str], scene: Callable[[Forwarding], Awaitable[None]]
) -> list[dict[str, Any]]:
    """What was logged while a member had this forwarder."""
    logged: list[dict[str, Any]] = []
    monkeypatch.setattr(forwarding, "running", lambda *words, **more: command)
    monkeypatch.setattr(carrying, "LONGEST_PAUSE", 0.05)

    async def played() -> None:
        made = await Forwarding.start(
            orders(), lambda event, **about: logged.append({"event": event, **about})
        )
        try:
            await scene(made)
        finally:
            await made.close()

    play(played)
    return logged


@pytest.mark.parametrize(
    "line",
    ["{}", "no JSON", "[1]", '{"about": "birch"}', '{"about": 1, "relay": 2, "trouble": 3}', "x" * 100_000],
)
def test_a_line_that_is_late_or_none_ends_nothing(monkeypatch, line):
    async def scene(made: Forwarding) -> None:
        await until(lambda: made.trouble("birch") == "it is asleep")

    with_forwarder(monkeypatch, saying("{}", line, TROUBLE), scene)


def test_a_system_that_has_no_room_for_a_process_is_asked_again(monkeypatch):
    start, refused = asyncio.create_subprocess_exec, 0

    async def scene(made: Forwarding) -> None:
        async def full(*given: Any, **named: Any) -> Any:
            nonlocal refused
            refused += 1
            if refused > 2:
                return await start(*given, **named)
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(asyncio, "create_subprocess_exec", full)
        assert made._process is not None
        made._process.kill()
        await until(lambda: "Resource temporarily unavailable" in (made.trouble("birch") or ""))
        await until(lambda: made.trouble("birch") == "it is asleep")
        assert refused == 3

    logged = with_forwarder(monkeypatch, saying("{}", TROUBLE), scene)
    assert [one["event"] for one in logged].count("forwarder ended") == 1


def test_what_ends_the_supervisor_is_said(monkeypatch):
    async def scene(made: Forwarding) -> None:
        def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError("not foreseen")

        monkeypatch.setattr(made, "_follow", broken)
        assert made._process is not None
        made._process.kill()
        await until(lambda: "not foreseen" in (made.trouble("birch") or ""))

    with_forwarder(monkeypatch, saying("{}", TROUBLE, TROUBLE, then="import time; time.sleep(600)"), scene)


def test_an_error_in_what_keeps_ways_open_ends_the_forwarder(monkeypatch):
    """Its member sees that, and starts another; otherwise nothing would wait at that relay any more."""

    async def scene() -> None:
        forwarder = Forwarder(orders(), lambda news: True)

        async def broken(*_: object) -> None:
            raise ZeroDivisionError("not foreseen")

        monkeypatch.setattr(forwarder, "join", broken)
        lines = asyncio.StreamReader()
        forwarder.park("127.0.0.1:1")
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(forwarder.follow(lines), 30)
        await forwarder.close()

    asyncio.run(scene())


def test_an_error_of_ours_on_one_connection_is_logged_and_a_broken_one_is_not():
    async def scene() -> None:
        seen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: seen.append(about))

        async def fail(error: Exception) -> None:
            raise error

        forwarder = Forwarder(orders(), lambda news: True)
        for error in (
            ConnectionResetError("gone"),
            asyncio.IncompleteReadError(b"", 1),
            ZeroDivisionError("ours"),
        ):
            await asyncio.wait([forwarder.carry(fail(error))])
        await forwarder.close()
        assert [str(one["exception"]) for one in seen] == ["ours"]

    asyncio.run(scene())
