"""Figures, tables and the page: right on awkward numbers, self-contained, and the same bytes every time."""

from __future__ import annotations

import csv
import dataclasses
import re
from html.parser import HTMLParser
from io import BytesIO, StringIO
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

import hocket as hk
from hocket.engines.solver import solve
from hocket.report.convergence import convergence
from hocket.report.figures import LOOK, STYLES, drawn
from hocket.report.folder import in_words, write_report
from hocket.report.page import Page
from hocket.report.tables import Table, assumption_table, label_of, result_table
from hocket.runs.run import Ending, Outcome

ROUNDS = np.array([0, 1, 2, 4, 8])


@pytest.fixture(scope="module")
def run():
    return solve(hk.paper_polynomials(), hk.Network.cycle(5), hk.RssNb(1.0), rounds=30, start=0.5)


def history(gap):
    gap = np.asarray(gap, dtype=float)
    return {"round": ROUNDS, "gap": gap, "disagreement": gap}


def words_in(drawing):
    """Texts of an SVG: letters are outlines, but matplotlib keeps each text beside them as a comment."""
    return re.findall(r"<!-- (.*?) -->", drawing.svg)


def test_a_figure_is_labelled_with_units_and_described():
    drawing = convergence({"one": history([8, 4, 2, 1, 0.5]), "two": history([8, 2, 1, 0.5, 0.25])})
    texts = " ".join(words_in(drawing))
    for word in ("Gap to the optimum", "units of the objective", "units of x", "Disagreement", "one", "two"):
        assert word in texts
    assert "one from 8 to 0.5; for two from 8 to 0.25" in drawing.alt
    assert "png" not in vars(drawing)  # drawn when it is asked for: a page has no use for it
    assert drawing.png.startswith(b"\x89PNG")
    assert drawing.png is drawing.png
    ElementTree.fromstring(drawing.svg)


def test_curves_differ_without_colour():
    assert len({line for _, line, _ in STYLES}) == len({marker for _, _, marker in STYLES}) == len(STYLES)


@pytest.mark.parametrize("nested", [False, True])
def test_a_figure_is_drawn_once_to_the_bytes_of_savefig(nested, monkeypatch):
    """`savefig` draws everything twice where places are to be found first."""

    def lay_out(figure):
        for part in figure.subfigures(2, 1) if nested else [figure]:
            left, right = part.subplots(1, 2)
            left.loglog([1, 10, 100], [1, 0.1, 0.01], label="a line")
            left.set_ylabel(r"$\max_j\ f(x_j)$")
            right.bar([1, 2], [3, 4])
            part.legend(loc="outside lower center")

    drawings, draw = [], Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda *args: (drawings.append(1), draw(*args)))
    drawing = drawn(lay_out, size=(6, 4), alt="a figure")
    assert len(drawings) == 1
    svg, png = StringIO(), BytesIO()
    with rc_context({**LOOK, "svg.hashsalt": "a figure"}):
        lay_out(figure := Figure(figsize=(6, 4), layout="constrained"))
        figure.savefig(svg, format="svg", metadata={"Date": None}, transparent=True)
        figure.savefig(png, format="png", dpi=160, facecolor="white")
    assert drawing.svg == svg.getvalue()
    assert drawing.png == png.getvalue()


def test_bands_are_drawn_over_many_runs():
    drawing = convergence({name: history(np.ones((20, 5))) for name in "ab"})
    assert any("band of 20 runs" in text for text in words_in(drawing))


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        ([8, 4, 2, 1, 0], "zero not drawn"),
        ([8, 4, 2, 1, -1e-17], "zero not drawn"),
        ([8, 4, 1e-5, 1e-20, 0], "below 1e-12 not drawn"),
        ([0, 0, 0, 0, 0], "zero throughout"),
        ([np.nan] * 5, "not known"),
        ([8, 4, np.inf, np.nan, np.nan], None),
        ([5, 5, 5, 5, 5], None),
        ([1e300, 1e308, 1e308, 1e308, 1e308], None),
    ],
    ids=str,
)
def test_awkward_numbers_are_drawn_and_noted(gap, words):
    texts = words_in(convergence({"a": history(gap)}))
    notes = [text for text in texts if "drawn" in text or text in ("zero throughout", "not known")]
    assert set(notes) == ({words} if words else set())


def test_the_same_numbers_give_the_same_bytes():
    first, second = (convergence({"a": history([8, 4, 2, 1, 0.5])}) for _ in range(2))
    assert first == second


def test_metrics_keep_every_digit(run, tmp_path):
    write_report(run, tmp_path, configuration="", commands=["hocket solve here"])
    with open(tmp_path / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, column in run.history.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], column)


def test_tables_say_what_was_reached_and_why(run):
    rows = dict(result_table(run).rows)
    assert rows["outcome"] == "out of rounds after 30"
    assert rows["theorem"] == run.claim.statement
    assert "rms per coordinate" in rows["realised noise"]
    verdicts = {row[1] for row in assumption_table(run.claim).rows}
    assert verdicts <= {"holds", "does not hold", "not known"}
    remarked = dataclasses.replace(run, remarks=("mind the gap",), infeasibility=0.5)
    assert {("remark", "mind the gap"), ("outside X by", "0.5")} <= set(result_table(remarked).rows)


def test_summaries_are_in_words(run):
    assert "5 agents on cycle:5, after 30 rounds: the gap to the optimum is" in in_words(run)[0]
    unknown = dataclasses.replace(run, gap=float("nan"))
    assert "the optimum is not known" in in_words(unknown)[0]
    met = dataclasses.replace(run, outcome=Outcome(Ending.CONVERGED, 30))
    assert "where the tolerance was met" in in_words(met)[0]
    broken = dataclasses.replace(run, outcome=Outcome(Ending.DIVERGED, 7, "agent 2"))
    assert "diverged at round 7: agent 2" in in_words(broken)[0]


def test_every_algorithm_has_a_spoken_name():
    from hocket.config.sections import ALGORITHMS

    assert all(label_of(algorithm.__name__) == algorithm.title for algorithm in ALGORITHMS.values())
    assert label_of("Mine") == "Mine"


class Reader(HTMLParser):
    """Notes tags, what they refer to, and whether every element is closed."""

    VOID = ("meta", "br", "img", "link", "hr", "path", "use", "image")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def page(**changes):
    parts = {
        "title": "A title",
        "summary": ["First words.", "More."],
        "tables": [Table(("name", "gap"), (("DGD", "0.5"),), "Results", numeric=frozenset({1}))],
        "figure": convergence({"a": history([8, 4, 2, 1, 0.5])}),
        "caption": "What is seen.",
        "configuration": "[run]\nrounds = 10\n",
        "commands": ["hocket demo"],
    }
    return Page(**(parts | changes)).html()


def test_the_page_needs_nothing_else():
    text = page()
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    for tag, attributes in reader.seen:
        assert tag not in ("link", "img", "iframe", "image")
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"url\((?!#)|@import", text)


def test_the_page_puts_words_first_and_describes_its_figure():
    text = page()
    places = [text.index(part) for part in ("First words.", "<svg", "<table", "rounds = 10", "hocket demo")]
    assert places == sorted(places)
    assert 'role="img" aria-label="Two plots against rounds' in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_figure_takes_the_colours_of_the_page():
    inline = convergence({name: history([8, 4, 2, 1, 0.5]) for name in "ab"}).inline
    assert "currentColor" in inline
    assert "var(--curve-1, #0072b2)" in inline
    assert STYLES[0][0] not in inline


def test_the_page_escapes_what_it_is_told():
    evil = "<script>alert(1)</script>"
    text = page(title=evil, summary=[evil], configuration=evil, notes=[evil])
    assert text.count("<script") == 1  # our own
    assert text.count("&lt;script&gt;") == 5  # the title is said twice
