"""What a command answers: one JSON object for programs, lines and tables for people."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hocket.links.text import json_line, shown

if TYPE_CHECKING:
    from rich.console import Console

    from hocket.report.tables import Table

LAYOUT = ("\n", "\t")
LONG_NAME = 40
"""Characters in the first column of a table that are kept on one line."""
LAYOUT_CUT = re.compile("([\n\t])")


@dataclass(frozen=True)
class Answer:
    """A command's result in both forms."""

    data: dict[str, Any]
    """What `--json` prints; only what JSON can hold."""
    words: Sequence[str | Table]
    """What people read, from top to bottom."""
    after: Callable[[], None] | None = None
    """What goes on once the answer is printed: for a command that serves until it is stopped."""
    code: int = 0
    """The exit code: not 0 where the answer is that something is not as it must be."""
    live: Callable[[Console], None] | None = None
    """What is shown in place of the words where somebody sits at a terminal, until they have seen enough."""


def give(answer: Answer, *, as_json: bool) -> None:
    """Print the answer on standard output, where nothing else is ever printed."""
    if as_json:
        _write_json(answer.data)
        return
    console = _console()
    if answer.live is not None and console.is_terminal:
        answer.live(console)
        return
    for part in answer.words:
        if isinstance(part, str):
            console.print(part, soft_wrap=True)  # a path must stay in one piece
        else:
            _print_whole(console, _drawn(part))


def complain(kind: str, message: str, *, as_json: bool) -> None:
    """Write on standard error what went wrong; with JSON also on standard output."""
    if as_json:
        _write_json({"error": {"kind": kind, "message": message}})
    sys.stderr.write(f"hocket: {escaped(message)}\n")


def aside() -> Console:
    """Where everything that is not the answer goes: progress and notes, on standard error."""
    return _console(stderr=True, soft_wrap=True)


def bar(what: str) -> Callable[..., Iterable[Any]]:
    """Goes through a sequence with a bar on standard error, where somebody is there to see it."""
    from rich.progress import track

    console = aside()
    return partial(track, description=what, console=console, transient=True, disable=not console.is_terminal)


def escaped(text: str) -> str:
    r"""Text as a terminal may have it, by anybody: it moves no cursor, clears no screen and turns no line round.

    >>> escaped("birch\x1b[2J\tsays\nso")
    'birch\\x1b[2J\tsays\nso'
    """
    # Room for every character to be written out: nothing is cut here.
    parts = (part if part in LAYOUT else shown(part, most=6 * len(part)) for part in LAYOUT_CUT.split(text))
    return "".join(parts)


def _console(**options: Any) -> Console:
    """A console on which text is text: whatever is printed, be it a cell or beside a bar, is escaped on its way."""
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    class Escaping(Console):
        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(escaped(text), **how)  # before it is laid out, so that columns fit

        def render(self, *what: Any, **how: Any) -> Iterable[Segment]:
            # Also what is no plain text when it comes, such as a progress bar.
            for one in super().render(*what, **how):
                yield one if one.control else Segment(escaped(one.text), one.style)

    return Escaping(highlight=False, markup=False, emoji=False, **options)


def _write_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json_line(data, allow_nan=False) + "\n")
    sys.stdout.flush()  # a program may wait for it while the command goes on


def _print_whole(console: Console, grid: Any) -> None:
    """Print a table, beyond the edge if need be: rather a line that runs over than a number without its end."""
    width, console.width = console.width, 10_000
    least = console.measure(grid).minimum
    console.width = max(width, least)
    console.print(grid, crop=False)
    console.width = width


def _drawn(table: Table) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid

    grid = Grid(box=SIMPLE_HEAD, show_header=any(table.head), pad_edge=False)
    for place, title in enumerate(table.head):
        numbers = place in table.numeric
        longest = max((len(row[place]) for row in table.rows), default=0)
        whole = numbers or (place == 0 and longest <= LONG_NAME)
        grid.add_column(
            title,
            justify="right" if numbers else "left",
            no_wrap=whole and len(title) <= longest,  # a long title wraps; cells have room by min_width
            min_width=longest if whole else None,
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*row)
    return grid
