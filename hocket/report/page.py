"""One page that holds a whole report: a single HTML file that needs nothing else, on screen and in print."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from hocket import __version__
from hocket.report.figures import Drawing
from hocket.report.tables import Table

PAGES = "hocket.report.pages"


def render(name: str, package: str = PAGES, **values: Any) -> str:
    """A template, filled; one of another package may build upon those of this one."""
    return _environment(package).get_template(name).render(version=__version__, **values)


def document(name: str, package: str = PAGES, *, style: str = "", script: str = "", **values: Any) -> str:
    """A whole page, in the look of all pages, with the `style` and the `script` that it brings."""
    style = together("style.css") + style
    hashes = {"style_hash": digest(style), "script_hash": digest(script)}
    return render(name, package, style=style, script=script, **hashes, **values)


@cache
def _environment(package: str) -> Any:
    """Where templates are found; it keeps those that it has compiled."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, "") for one in dict.fromkeys((package, PAGES))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["whole"] = whole_numbers
    return environment


def whole_numbers(text: str) -> str:
    """Prose in which no line ends within a number, or between it and its sign.

    >>> whole_numbers("a gap of 4.7e-8") == "a gap of 4.7e\N{NON-BREAKING HYPHEN}8"
    True
    >>> whole_numbers("known to 11 %") == "known to 11\N{NO-BREAK SPACE}%"
    True
    """
    text = re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text)
    return re.sub(r"(?<=\de)-(?=\d)", "\N{NON-BREAKING HYPHEN}", text)


def together(*names: str, package: str = PAGES) -> str:
    """Style sheets or scripts of a package, one after the other, as they are."""
    return "\n".join(files(package).joinpath(name).read_text(encoding="utf-8") for name in names)


def digest(text: str) -> str:
    """Named in a page's policy, so that nothing but our own style and script is obeyed, whatever a label says."""
    return b64encode(sha256(text.encode()).digest()).decode()


Tone = Literal["holds", "open", "exposed"]
"""Good news, no answer, bad news."""


@dataclass(frozen=True)
class AnswerCard:
    """A question that every reader has, answered in a few words, and why."""

    question: str
    verdict: str
    tone: Tone
    reasons: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A drawing as it stands on a page."""

    svg: str
    alt: str
    caption: str

    @staticmethod
    def of(drawing: Drawing, caption: str) -> Figure:
        """A drawing in the page's own colours."""
        return Figure(drawing.inline, drawing.alt, caption)


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """A part of a page, under a heading."""

    title: str
    words: Sequence[str] = ()
    graph: Figure | None = None
    """Stands beside the words."""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    """How to read the tables."""
    details: Sequence[Table] = ()
    """Tables that few will open."""
    figures: Sequence[Figure] = ()
    statement: Sequence[str] = ()
    """What an audit covers and what it does not."""
    glossary: bool = False
    """Whether the words of audits are explained."""
    command: str = ""
    """What to type for the audit page of the same network."""

    @property
    def id(self) -> str:
        """What links on the page call it."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What a page tells first, before its own subject: complete in itself."""

    title: str
    facts: Sequence[str] = ()
    summary: Sequence[str] = ()
    """Paragraphs in plain words; the first is the answer."""
    cards: Sequence[AnswerCard] = ()
    sections: Sequence[PageSection] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a report says, from the most important on."""

    title: str
    summary: Sequence[str]
    """Paragraphs in plain words; the first is the answer."""
    commands: Sequence[str]
    """What to type to get the same again."""
    tables: Sequence[Table] = ()
    configuration: str = ""
    """TOML."""
    facts: Sequence[str] = ()
    """What was run, in a few words each."""
    cards: Sequence[AnswerCard] = ()
    figure: Drawing | None = None
    caption: str = ""
    """What the figure shows."""
    figures: Sequence[Figure] = ()
    """Further figures."""
    notes: Sequence[str] = ()
    """How to read the tables."""
    exposure: PageSection | None = None
    """Who could learn what."""
    details: Sequence[Table] = ()
    """Tables that few will open."""
    opening: Chapter | None = None
    """What is told first."""

    @property
    def sections(self) -> list[PageSection]:
        """Figures, results, and who could learn what."""
        first = [] if self.figure is None else [Figure.of(self.figure, self.caption)]
        pictures = [*first, *self.figures]
        results = PageSection(title="Results", tables=self.tables, notes=self.notes, details=self.details)
        return [
            *([PageSection(title="Figures", figures=pictures)] if pictures else []),
            results,
            *([self.exposure] if self.exposure is not None else []),
        ]

    def html(self) -> str:
        """The page as text."""
        return document("report.html", page=self, script=together("copy.js", "sort.js"))

    def save(self, path: Path) -> Path:
        """Write the page; returns where it lies."""
        path.write_text(self.html(), encoding="utf-8")
        return path
