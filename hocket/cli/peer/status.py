"""`hocket peer status`, `watch` and `stop`: looking after a member that runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.explore import Browser, Port, serve
from hocket.cli.options import HomeFolder
from hocket.cli.peer.common import folder_of
from hocket.errors import BadConfig, LinkError
from hocket.federation.state.home import Home
from hocket.links.text import quoted

if TYPE_CHECKING:
    from rich.console import Console

    from hocket.federation.monitoring.watching.snapshot import Snapshot

RunPlan = Annotated[Path, Parameter(help="The plan that is run.")]
PATIENCE = 30.0
EVERY = 1.0
"""Seconds between two looks."""


def status(plan: RunPlan, /, *, home: HomeFolder = None) -> Answer:
    """Show how this member's run stands: its round, for whom it waits, convergence, and what it measured last."""
    from hocket.federation.monitoring.at_home import kept_at_home
    from hocket.federation.monitoring.watching.snapshot import look

    agreed, folder = folder_of(plan, home)
    found = folder.status()
    found["running"] = folder.running
    seen = look(agreed, folder, found["member"])
    # JSON has no word for what is not finite.
    measured = {name: value if math.isfinite(value) else None for name, value in found["measured"].items()}
    shown = {
        "measured": measured,
        "at_home": kept_at_home(agreed, found["measured"]),
        "standing": {"kind": seen.standing.kind, "words": seen.standing.words},
        "warnings": list(seen.warnings),
    }
    relays = found.get("relays", {}).items()
    lines = [f"{name} is connected through the relay {relay}." for name, relay in relays]
    return Answer(found | shown, [*_lines(seen), *lines])


def watch(
    plan: RunPlan,
    /,
    *,
    web: bool = False,
    port: Port = 0,
    browser: Browser = True,
    home: HomeFolder = None,
) -> Answer:
    """Watch this member's run live: what `status` shows, its links and what happened, on a terminal or a page.

    All of it is read from this member's own folder, before, while and after it runs; nobody is asked anything. Ctrl-C
    ends the watching, not the run. With --json one snapshot is printed.

    Args:
        web: Serve it as a page, on this machine alone, until Ctrl-C.
    """
    from hocket.federation.monitoring.watching.snapshot import look

    agreed, folder = folder_of(plan, home)
    name = Home.at(home).owner if not folder.begun else folder.status()["member"]
    agreed.agent(name)  # refused here, if this member is none of the plan's

    def now() -> Snapshot:
        return look(agreed, folder, name)

    if web:
        from hocket.federation.monitoring.watching.server import take_port

        served = take_port(lambda: now().to_pass_on(), port)
        lines = [f"Watch at {served.url}", "Ctrl-C ends the watching, not the run."]
        opened = served.at(served.ticket) if browser else None
        return Answer({"url": served.url, "member": name}, lines, after=lambda: serve(served, at=opened))
    seen = now()
    return Answer(seen.to_json(), _lines(seen), live=lambda console: _show(console, now))


def _lines(seen: Snapshot) -> list[str]:
    """A snapshot, line by line."""
    from hocket.federation.monitoring.at_home import MARK

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


def screen(seen: Snapshot) -> list[str]:
    """What a terminal shows, the most important first: what does not fit below is cut off."""
    from hocket.federation.monitoring.watching.wording import lag_in_words

    # Neighbours that are waited for and that lag stand first.
    order = sorted(seen.neighbours, key=lambda one: (one.name not in seen.waiting_for, -(one.lag or 0.0)))
    return [
        *_lines(seen),
        "",
        "Ctrl-C ends the watching, not the run.",
        "",
        *(f"{one.name}: {one.link}{f', {lag_in_words(one.lag)}' * (one.lag is not None)}" for one in order),
        "",
        *(f"{time.strftime('%H:%M:%S', time.localtime(one.time))}  {one.words}" for one in seen.events),
    ]


def _show(console: Console, now: Callable[[], Snapshot]) -> None:
    from rich.live import Live
    from rich.text import Text

    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(Text("\n".join(screen(now()))), refresh=True)
                time.sleep(EVERY)
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the watching, as the screen says
    for line in _lines(now()):
        console.print(line, soft_wrap=True)


def stop(plan: RunPlan, /, *, home: HomeFolder = None) -> Answer:
    """Stop this member's process cleanly; `hocket peer run` goes on later where it was.

    The process finds the request in its folder: nothing is sent to a process whose number may be another's by now.
    """
    folder = folder_of(plan, home)[1]
    found = folder.status()
    if not folder.running:
        raise BadConfig(f"{found['member']} is not running; there is nothing to stop")
    folder.ask_to_stop()
    deadline = time.monotonic() + PATIENCE
    while folder.running:
        if time.monotonic() > deadline:
            raise LinkError(
                f"{found['member']} has not stopped within {PATIENCE:g} s; a long gradient may keep it, wait on: it "
                "stops as soon as it sees the request"
            )
        time.sleep(0.1)
    at = folder.status()["round"]
    return Answer({"member": found["member"], "round": at}, [f"{found['member']} stopped in round {at:,}."])
