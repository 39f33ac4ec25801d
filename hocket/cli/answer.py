"""What a command answers: one JSON object for programs, words and tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from hocket.report.tables import Table


@dataclass(frozen=True)
class Answer:
    """A command's result in both forms."""

    data: dict[str, Any]
    """What `--json` prints; only what JSON can hold."""
    words: Sequence[str | Table]
    """What people read, from top to bottom."""
    after: Callable[[], None] | None = None
    """What goes on once the answer is printed: for a command that serves until it is stopped."""


def give(answer: Answer, *, as_json: bool) -> None:
    """Print the answer on standard output, where nothing else is ever printed."""
    if as_json:
        _write_json(answer.data)
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for part in answer.words:
        if isinstance(part, str):
            console.print(part, soft_wrap=True)  # a path must stay in one piece
        else:
            console.print(_drawn(part))


def complain(kind: str, message: str, *, as_json: bool) -> None:
    """Say on standard error what went wrong; with JSON also on standard output."""
    if as_json:
        _write_json({"error": {"kind": kind, "message": message}})
    sys.stderr.write(f"hocket: {message}\n")


def aside() -> Console:
    """Where everything that is not the answer goes: progress and notes, on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def _write_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()  # a program may wait for it while the command goes on


def _drawn(table: Table) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid

    grid = Grid(box=SIMPLE_HEAD, show_header=any(table.head), pad_edge=False)
    for place, title in enumerate(table.head):
        grid.add_column(title, justify="right" if place in table.numeric else "left", no_wrap=place == 0)
    for row in table.rows:
        grid.add_row(*row)
    return grid
