"""A snapshot of a run, drawn for a terminal: what matters most on top, and no more than it has room for."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hocket.federation.at_home import MARK
from hocket.federation.standing import Kind
from hocket.federation.watching.snapshot import Snapshot
from hocket.federation.watching.wording import lag_in_words
from hocket.links.text import quoted

STYLE: dict[Kind, str] = {
    "converged": "bold green",
    "settled": "bold cyan",
    "moving": "bold yellow",
    "diverging": "bold red",
    "unknown": "bold",
}
"""Green is for what everybody's numbers say, never for rounds that were played."""
BARS = "▁▂▃▄▅▆▇█"
WIDE = 30
"""Bars of a course."""
MOST_NEIGHBOURS, MOST_MEASURES = 8, 6
"""Rows of a table; the rest is counted."""


def drawn(seen: Snapshot, console: Console) -> RenderableType:
    """The screen: of what may be left out, as much as there is room for."""
    for events, why in ((len(seen.events), True), (0, True), (0, False)):
        screen = _composed(seen, events, why=why)
        lines = len(console.render_lines(screen, pad=False))
        if lines <= console.height:
            return screen
        if lines - events + 2 <= console.height:  # events are the first to go, the oldest first
            return _composed(seen, console.height - (lines - events), why=why)
    return _composed(seen, 0, why=False)


def _composed(seen: Snapshot, events: int, *, why: bool) -> Group:
    parts: list[RenderableType] = [
        _head(seen),
        _bar(seen),
        Text(),
        _answers(seen, why=why),
        Text(),
        _links(seen),
    ]
    if seen.measured:
        parts += [Text(), _measures(seen)]
    if events > 0:
        shown = seen.events[-events:]
        lines = (f"{time.strftime('%H:%M:%S', time.localtime(one.time))}  {one.words}" for one in shown)
        parts += [Text(), Text("Lately", style="dim")]
        parts += [Text(line, no_wrap=True, overflow="ellipsis") for line in lines]
    parts += [Text(), Text("Ctrl-C ends the watching, not the run.", style="dim")]
    return Group(*parts)


def _head(seen: Snapshot) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    clock = time.strftime("%H:%M:%S", time.localtime(seen.at))
    line.add_row(Text(f"{seen.member} in {quoted(seen.task)}", style="bold"), Text(f"{seen.state} · {clock}"))
    return line


def _bar(seen: Snapshot) -> RenderableType:
    if seen.of is None:
        return Text(seen.progress)
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1)
    line.add_column(no_wrap=True)
    # No other colour at its end: that all rounds were played says nothing.
    bar = ProgressBar(total=seen.of, completed=seen.done, finished_style="bar.complete")
    line.add_row(bar, Text(seen.progress))
    return line


def _answers(seen: Snapshot, *, why: bool) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column()
    grid.add_row("How it stands", Text(seen.standing.words, style=STYLE[seen.standing.kind]))
    for line in seen.standing.why if why else ():
        grid.add_row("", line)
    if seen.waits:
        style = "bold yellow" if seen.waiting_for else ""
        for place, line in enumerate(seen.waits):
            grid.add_row("" if place else "Who waits", Text(line, style=style))
    if seen.pace:
        grid.add_row("Pace", seen.pace)
    for place, line in enumerate(seen.warnings):
        grid.add_row("" if place else "Beware", Text(line, style="yellow"))
    return grid


def _table(head: Sequence[str], wide: int) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, title in enumerate(head):
        grid.add_column(title, no_wrap=place != wide, overflow="fold")
    return grid


def _links(seen: Snapshot) -> RenderableType:
    grid = _table(("neighbour", "its last word", "link"), wide=2)
    # Whom it waits for and who lags stand first: there may not be room for all.
    first = sorted(seen.neighbours, key=lambda one: (one.name not in seen.waiting_for, -(one.lag or 0.0)))
    for one in first[:MOST_NEIGHBOURS]:
        grid.add_row(one.name, lag_in_words(one.lag), one.link)
    if len(first) > MOST_NEIGHBOURS:
        grid.add_row(f"and {len(first) - MOST_NEIGHBOURS} more", "", "")
    return grid


def _measures(seen: Snapshot) -> RenderableType:
    grid = _table(("measured", "now", "so far"), wide=9)
    for one in seen.measured[:MOST_MEASURES]:
        value = "not finite" if one.value is None else f"{one.value:.6g}"
        name = one.name.replace("_", " ") + f" ({MARK})" * one.at_home
        grid.add_row(name, value, bars([value for _, value in one.course]))
    return grid


def bars(values: Sequence[float], wide: int = WIDE) -> str:
    """A course as a row of bars from its least to its largest value.

    >>> bars([0.0, 1.0, 2.0, 7.0])
    '▁▂▃█'
    """
    if len(values) < 2:
        return ""
    few = len(values) <= wide
    picked = values if few else [values[round(i * (len(values) - 1) / (wide - 1))] for i in range(wide)]
    low, high = min(picked), max(picked)
    if high == low:
        return BARS[0] * len(picked)
    return "".join(BARS[round((value - low) / (high - low) * (len(BARS) - 1))] for value in picked)
