"""`hocket peer watch`: how a run stands, live, in the terminal or on a page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.explore import serve
from hocket.cli.peer.common import HomeOption, folder_of
from hocket.cli.peer.status import PlanFile
from hocket.federation.home import Home
from hocket.links.text import quoted

if TYPE_CHECKING:
    from rich.console import Console

    from hocket.federation.watching.snapshot import Snapshot

EVERY = 1.0
"""Seconds between two looks."""


def watch(
    plan: PlanFile,
    /,
    *,
    web: Annotated[
        bool, Parameter(negative=(), help="Serve it as a page, on this machine alone, until Ctrl-C.")
    ] = False,
    port: Annotated[int, Parameter(help="With --web: port on this machine; 0 for any that is free.")] = 0,
    browser: Annotated[bool, Parameter(help="With --web: open the page in a browser.")] = True,
    home: HomeOption = None,
) -> Answer:
    """Watch this member's run: how far it is, who waits for whom, what is measured, and whether it converges.

    All of it is read from this member's own folder, before, while and after it runs; nobody is asked anything. Ctrl-C
    ends the watching, not the run. With --json one snapshot is printed.
    """
    from hocket.federation.watching.snapshot import look

    agreed, folder = folder_of(plan, home)
    name = Home.at(home).owner if not folder.begun else folder.status()["member"]
    agreed.agent(name)  # refused here, if this member is none of the plan's

    def now() -> Snapshot:
        return look(agreed, folder, name)

    if web:
        from hocket.federation.watching.server import take_port

        served = take_port(lambda: now().to_pass_on(), port)
        words = [f"Watch at {served.url}", "Ctrl-C ends the watching, not the run."]
        opened = served.at(served.ticket) if browser else None
        return Answer({"url": served.url, "member": name}, words, after=lambda: serve(served, at=opened))
    seen = now()
    return Answer(seen.to_json(), _in_words(seen), live=lambda console: _show(console, now))


def _in_words(seen: Snapshot) -> list[str]:
    """The same for whom there is no screen to draw on."""
    from hocket.federation.at_home import MARK

    return [
        f"{seen.member} in {quoted(seen.task)}: {seen.state}, {seen.progress}.",
        f"How it stands: {seen.standing.words}.",
        *seen.standing.why,
        *seen.waits,
        *([seen.pace] if seen.pace else []),
        *(
            f"{one.name}: {'not finite' if one.value is None else f'{one.value:.6g}'}{f' ({MARK})' * one.at_home}"
            for one in seen.measured
        ),
        *seen.warnings,
    ]


def _show(console: Console, now: Callable[[], Snapshot]) -> None:
    from rich.live import Live

    from hocket.cli.peer.watch_screen import drawn

    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(drawn(now(), console), refresh=True)
                time.sleep(EVERY)
    except KeyboardInterrupt:
        pass  # as it was told
    for line in _in_words(now()):
        console.print(line, soft_wrap=True)
