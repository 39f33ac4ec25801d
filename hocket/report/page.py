"""One page that holds a whole report: a single HTML file that needs nothing else, on screen and in print.

Beside it lies what it says, as JSON, from which `hocket report` writes the page anew.
"""

from __future__ import annotations

import dataclasses
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
from hocket.errors import BadInput
from hocket.files import read_bytes
from hocket.report.figures import Drawing
from hocket.report.legend import Term
from hocket.report.tables import Table

HERE = "hocket.report"
MOST_JSON = 100_000_000
"""Bytes of what a page says, its figures among it."""


def render(name: str, package: str = HERE, **values: Any) -> str:
    """A template, filled; one of another package may build upon those of this one."""
    return _environment(package).get_template(name).render(version=__version__, **values)


@cache
def _environment(package: str) -> Any:
    """Where templates are found; it keeps those that it has compiled."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, "") for one in dict.fromkeys((package, HERE))]),
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


def together(*names: str, package: str = HERE) -> str:
    """Style sheets or scripts of a package, one after the other, as they are."""
    return "\n".join(files(package).joinpath(name).read_text(encoding="utf-8") for name in names)


def digest(text: str) -> str:
    """Named in a page's policy, so that nothing but our own style and script is obeyed, whatever a label says."""
    return b64encode(sha256(text.encode()).digest()).decode()


Tone = Literal["holds", "open", "exposed"]
"""Good news, no answer, bad news."""


@dataclass(frozen=True)
class Card:
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
class Exposure:
    """Who could learn what, as an audit found it."""

    words: Sequence[str]
    graph: Figure | None = None
    figure: Figure | None = None
    tables: Sequence[Table] = ()
    statement: Sequence[str] = ()
    """What the audit covers and what it does not."""
    legend: Sequence[Term] = ()
    """What its words mean."""
    command: str = ""
    """What to type for the audit page of the same network."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a chapter, under a heading."""

    title: str
    words: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    """How to read the tables."""
    details: Sequence[Table] = ()
    """Tables that few will open."""

    @property
    def anchor(self) -> str:
        """What links on the page call it."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What a page tells first, before its own subject: complete in itself."""

    title: str
    facts: Sequence[str] = ()
    summary: Sequence[str] = ()
    """Paragraphs in plain words; the first is the answer."""
    cards: Sequence[Card] = ()
    sections: Sequence[Section] = ()


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
    cards: Sequence[Card] = ()
    figure: Drawing | None = None
    caption: str = ""
    """What the figure shows."""
    figures: Sequence[Figure] = ()
    """Further figures."""
    notes: Sequence[str] = ()
    """How to read the tables."""
    exposure: Exposure | None = None
    details: Sequence[Table] = ()
    """Tables that few will open."""
    opening: Chapter | None = None
    """What is told first."""

    @property
    def pictures(self) -> list[Figure]:
        """All figures, the most important first."""
        first = [] if self.figure is None else [Figure.of(self.figure, self.caption)]
        return [*first, *self.figures]

    def html(self) -> str:
        """The page as text."""
        script = together("copy.js", "sort.js")
        style = together("base.css", "graph.css", "page.css")
        return render("page.html", page=self, style=style, script=script, script_hash=digest(script))

    def save(self, path: Path) -> Path:
        """Write the page, and what it says beside it."""
        # Its first figure as it stands on the page.
        plain = dataclasses.replace(self, figure=None, caption="", figures=self.pictures)
        path.with_suffix(".json").write_bytes(_adapter().dump_json(plain, indent=1))
        path.write_text(self.html(), encoding="utf-8")
        return path

    @staticmethod
    def load(path: Path) -> Page:
        """What a page says, from the JSON beside it."""
        try:
            return _adapter().validate_json(read_bytes(path.with_suffix(".json"), MOST_JSON))
        except ValueError as error:
            raise BadInput(
                f"{path.with_suffix('.json')} cannot be read: {str(error).splitlines()[0]}; run it again"
            ) from error


def _adapter():
    from pydantic import TypeAdapter

    return TypeAdapter(Page)
