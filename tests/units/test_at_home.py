"""Measurements that no certificate is about are marked wherever they are written or shown."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

import hocket as hk
from hocket.engines.progress import Bar
from hocket.report.folder import write_metrics, write_report

RING = hk.Network.cycle(5)
PROBLEM = hk.polynomials([[0.0, j - 2.0, 1.0] for j in range(5)], box=(-5, 5))
CERTIFIED = {
    "rss-nb": hk.CertifiedRssNb(sd=1.0, own=0.2),
    "joint average": hk.JointAverage(own=0.2),
    "function sharing": hk.FunctionSharing(2, sd=1.0, own=0.1),
    "private DGD": hk.PrivateDgd(1.0, clip=1.0, releases=10),
}
OPEN = {"dgd": hk.Dgd(), "rss-nb": hk.RssNb(1.0), "aug-dgm": hk.AugDgm()}


ALL = CERTIFIED | {f"open {name}": one for name, one in OPEN.items()}


@pytest.fixture(scope="module", params=ALL)
def run(request: pytest.FixtureRequest) -> hk.Run:
    return hk.solve(PROBLEM, RING, ALL[request.param], rounds=6, step=0.1)


def is_marked(run: hk.Run) -> bool:
    return run.algorithm in CERTIFIED.values()


def test_a_certified_run_says_that_its_measurements_stay_at_home(run: hk.Run, tmp_path: Path) -> None:
    said = [one for one in run.remarks if "stay at home" in one]
    assert bool(said) == is_marked(run)
    assert any("history are measured on members' own states and objectives" in one for one in said) == bool(
        said
    )
    run.save(tmp_path)
    kept = json.loads((tmp_path / "run.json").read_text())["settings"].get("stays_at_home", [])
    assert ({"x", "mean", "gap", "loss", "disagreement", "noise", "history"} <= set(kept)) == is_marked(run)
    write_metrics(run, tmp_path / "metrics.csv")
    with open(tmp_path / "metrics.csv", newline="") as file:
        marks = {row.get("stays_at_home") for row in csv.DictReader(file)}
    assert marks == ({"True"} if is_marked(run) else {None})


def test_what_is_printed_and_the_page_say_so_above_numbers(run: hk.Run, tmp_path: Path) -> None:
    """Before, the page began with the gap, and the remark stood in a table below its figure."""
    page = write_report(run, tmp_path, configuration="", commands=[], found="not audited")
    above = page.read_text(encoding="utf-8").split("<svg")[0]
    assert ("in a run on data it stays at home" in above) == is_marked(run)
    assert ("(stays at home)" in repr(run)) == is_marked(run)


def test_the_exact_engine_and_sweeps_say_so_too() -> None:
    exact = hk.solve(PROBLEM, RING, CERTIFIED["rss-nb"], rounds=2, step=Fraction(1, 2), engine="exact")
    assert any("they stay at home" in remark for remark in exact.remarks)
    swept = hk.sweep(PROBLEM, RING, CERTIFIED["rss-nb"], rounds=5, seeds=2)
    assert {row["stays_at_home"] for row in swept.rows()} == {True}
    plain = hk.sweep(PROBLEM, RING, hk.Dgd(), rounds=5, seeds=2)
    assert "stays_at_home" not in plain.rows()[0]
    assert [("(stays at home)" in repr(one)) for one in (swept, plain)] == [True, False]


def test_a_comparison_and_a_tuning_are_marked(tmp_path: Path) -> None:
    """Before, a sweep and the table of a comparison showed gaps of raw states and no more."""
    certified, plain = CERTIFIED["rss-nb"], hk.Dgd()
    found = hk.compare([PROBLEM], [RING], [plain, certified], rounds=5, seeds=2)
    marks = {(row["algorithm"], row["stays_at_home"]) for row in found.rows()}
    assert marks == {(plain.title, False), (certified.title, True)}
    page = found.page(tmp_path / "page.html").read_text()
    assert "In a run on data they stay at home" in page
    said = f"Of {certified.title}, whose noise is certified: gaps are measured on members' own states"
    assert said in (found.table().caption or "")
    assert said not in (found.only(algorithms=plain.title).table().caption or "")
    for algorithm in (plain, certified):
        tuned = hk.tune(PROBLEM, RING, algorithm, rounds=5, step=[0.1, 0.2], seeds=2)
        assert ("stays at home" in repr(tuned)) == (algorithm is certified)
        assert {row["stays_at_home"] for row in tuned.rows()} == {algorithm is certified}


def test_whoever_watches_is_told_before_anything_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Bar, "say", lambda bar, text: said.append(text))
    hk.solve(PROBLEM, RING, CERTIFIED["rss-nb"], rounds=5)
    assert any("stay at home" in text for text in said)
    said.clear()
    hk.solve(PROBLEM, RING, hk.Dgd(), rounds=5)
    assert said == []
