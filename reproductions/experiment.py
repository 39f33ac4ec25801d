"""The protocol that every experiment follows, and the writer of what it leaves in its folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from hocket import __version__
from hocket.config import Config, parse_config
from hocket.report.figures import Drawing
from hocket.report.page import Page
from hocket.report.tables import Table
from hocket.runs.tidy import write_rows
from hocket.steps import Power

Size = TypeVar("Size")
Found = TypeVar("Found")
Piece = TypeVar("Piece")
Result = TypeVar("Result")
Row = dict[str, Any]

RESULTS = "results.json"
PAGE = "report.html"
AT_ONCE = 2
"""XLA keeps one core busy with problems this small, and compiles on one: a second piece takes the other core."""


class Watch(Protocol):
    """Wraps a loop, to show how far it is."""

    def __call__(self, sequence: Iterable[Any], /, *, total: int) -> Iterable[Any]: ...


def unwatched(sequence: Iterable[Any], /, *, total: int) -> Iterable[Any]:
    """Show nothing."""
    return sequence


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[Size, Found]):
    """What is run, how much of it, and what is shown of what was found.

    A new experiment is one value of this class; `write` and the command line do the rest.
    """

    name: str
    """How the command line calls it; its folder and its figure are called the same."""
    doing: str
    """What is said while it runs."""
    full: Size
    quick: Size
    play: Callable[..., Found]
    """Makes all runs, given a size and a watch; options of its own have to be named."""
    tables: Callable[[Found], Sequence[Table]]
    notes: Callable[[Found], Sequence[str]]
    """How to read the tables."""
    conclusion: Callable[[Found], str]
    """What was seen, in one plain sentence."""
    data: Callable[[Found], Row]
    """The results for JSON, but for the conclusion."""
    series: Callable[[Found], Mapping[str, Sequence[Row]]] = lambda found: {}
    """The data behind the figure, a row per point, for each CSV file."""
    figure: Callable[[Found], Drawing | None]
    page: Callable[[Found], Page]
    """The page, but for its conclusion, tables, notes and figure."""

    def size(self, quick: bool) -> Size:
        """How much to run."""
        return self.quick if quick else self.full

    def answer(self, found: Found) -> Row:
        """The results as one JSON object."""
        return self.data(found) | {"conclusion": self.conclusion(found)}


def write(experiment: Experiment[Any, Found], found: Found, folder: Path) -> Path:
    """Figure, data, results and page; returns where the page lies."""
    drawing = experiment.figure(found)
    if drawing is not None:
        drawing.save(folder, experiment.name)
    for name, rows in experiment.series(found).items():
        write_rows(rows, folder / f"{name}.csv")
    write_json(folder / RESULTS, {"hocket": __version__, **experiment.answer(found)})
    page = experiment.page(found)
    whole = dataclasses.replace(
        page,
        summary=[experiment.conclusion(found), *page.summary],
        tables=experiment.tables(found),
        notes=[*experiment.notes(found), *page.notes],
        figure=drawing,
    )
    return whole.save(folder / PAGE)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """One JSON object, for people to read as well."""
    path.write_text(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2) + "\n", encoding="utf-8")


def quantiles(values: np.ndarray) -> dict[str, float]:
    """The median over runs, and where 80 % of them lie."""
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    return {"median": middle, "low": low, "high": high}


def on_ring(problem: Row, algorithm: Row, *, step: Power, **run: Any) -> Config:
    """The configuration of one run on five agents in a ring, for readers to start from."""
    sections = {
        "problem": problem,
        "network": {"topology": "cycle:5"},
        "algorithm": algorithm,
        "step": {"a": float(step.a), "b": float(step.b), "p": float(step.p)},
        "run": run,
    }
    return parse_config(sections, base=Path())


def side_by_side(do: Callable[[Piece], Result], pieces: Sequence[Piece], watch: Watch) -> list[Result]:
    """What `do` makes of every piece, in their order; put the longest pieces first."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(watch(pool.map(do, pieces), total=len(pieces)))


def all_kinds(pieces: Mapping[str, Sequence[Callable[[], Any]]], watch: Watch) -> dict[str, list[Any]]:
    """What all pieces come to, kind by kind; put the kind that takes longest first."""
    whole = [piece for kind in pieces.values() for piece in kind]
    done = iter(side_by_side(lambda piece: piece(), whole, watch))
    return {kind: [next(done) for _ in parts] for kind, parts in pieces.items()}
