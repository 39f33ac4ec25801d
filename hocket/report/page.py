"""One page that holds a whole report: a single HTML file that needs nothing else, on screen and in print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hocket.report.figures import Drawing
from hocket.report.tables import Table
from hocket.report.templates import render


@dataclass(frozen=True)
class Page:
    """What a report says, from the most important on."""

    title: str
    summary: Sequence[str]
    """Paragraphs in plain words."""
    tables: Sequence[Table]
    figure: Drawing
    caption: str
    """What the figure shows."""
    configuration: str
    """TOML."""
    commands: Sequence[str]
    """What to type to get the same again."""
    notes: Sequence[str] = field(default=())
    """How to read the tables."""
    details: Sequence[Table] = field(default=())
    """Tables that few will open."""

    def html(self) -> str:
        """The page as text."""
        return render("page.html", page=self)

    def save(self, path: Path) -> Path:
        """Write the page."""
        path.write_text(self.html(), encoding="utf-8")
        return path
