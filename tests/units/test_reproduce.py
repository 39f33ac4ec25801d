"""`hocket reproduce`: small runs of the experiments, the files they leave, and the claims ledger."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
import reproductions.polynomials.runs as polynomials
import reproductions.tradeoff.report as tradeoff
import reproductions.tradeoff.runs as tradeoff_runs
from hocket.cli import main
from hocket.errors import BadConfig, BadInput
from hocket.report.panels import Guide, Note, Panel, PlotLine, sheet
from reproductions.claims import GROUPS
from reproductions.claims.ledger import Claim, Finding, Group, Verdict, conclusion, judge, markdown
from reproductions.experiment import side_by_side, unwatched
from reproductions.exponents import exponent

DOCS = Path(__file__).parents[2] / "docs"
SMALL = tradeoff_runs.Size(
    price_rounds=300,
    price_seeds=10,
    private_rounds=(10, 100),
    private_seeds=10,
    noise_rounds=(30, 100),
    noise_seeds=10,
    boundary_rounds=(30, 100),
    boundary_seeds=5,
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_polynomials(capsys, monkeypatch):
    # Half of the programs to compile.
    monkeypatch.delitem(polynomials.NETWORKS, "K5")
    monkeypatch.delitem(polynomials.REFERENCE, "RSS-LB")
    assert main(["reproduce", "polynomials", "--quick", "--json", "--out", "here"]) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["report"] == "here/report.html"
    assert {path.name for path in Path("here").iterdir()} == {
        "polynomials.svg",
        "polynomials.png",
        "polynomials.csv",
        "reference.csv",
        "results.json",
        "report.html",
    }
    assert [(entry["algorithm"], entry["k"]) for entry in answer["reference"]] == [
        ("RSS-NB", 100),
        ("RSS-NB", 1000),
    ]
    # The median of 40 runs scatters more than that of 400: by some 30 %.
    assert all(1 / 2.5 < entry["ratio"] < 2.5 for entry in answer["reference"])
    gaps = {(gap["problem"], gap["algorithm"], gap["level"]): gap["gap"]["median"] for gap in answer["gaps"]}
    for algorithm, little, much in (("RSS-NB", "Δ = 1", "Δ = 10"), ("RSS-LB", "Δ = 1", "Δ = 10")):
        low, high = (gaps["the paper's", algorithm, level] for level in (little, much))
        assert gaps["the paper's", "DGD", ""] < low
        assert high / low == pytest.approx(100, rel=0.1)  # the same seeds at both: the square of Δ
    page = Path("here/report.html").read_text(encoding="utf-8")
    assert "3.5 (x² + x⁴); the paper prints 2.5" in page
    first = rows("here/polynomials.csv")[0]
    assert list(first) == [
        "problem",
        "network",
        "algorithm",
        "level",
        "k",
        "gap_median",
        "gap_10%",
        "gap_90%",
    ]
    assert first["k"] == "1"
    assert json.loads(Path("here/results.json").read_text())["rounds"] == {"curves": 500, "reference": 1000}


@pytest.mark.slow
def test_tradeoff(capsys, monkeypatch):
    monkeypatch.setattr(tradeoff, "TRADEOFF", replace(tradeoff.TRADEOFF, quick=SMALL))
    monkeypatch.setattr(tradeoff_runs, "ALGORITHMS", (hk.RssNb(1.0),))  # half of the programs to compile
    assert main(["reproduce", "tradeoff", "--quick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    folder = Path(answer["folder"])
    assert folder == Path("runs/tradeoff-1")
    assert {path.name for path in folder.iterdir()} == {
        "tradeoff.svg",
        "tradeoff.png",
        "price.csv",
        "noise.csv",
        "boundary.csv",
        "results.json",
        "report.html",
    }
    price = {run["algorithm"]: run for run in answer["price"]}
    noisy = [run["noise_rms"] for name, run in price.items() if name != "DGD"]
    assert noisy == pytest.approx([0.3] * 3, rel=0.1)  # made equal by a pilot, then measured again
    slopes = {name: run["exponent_of_T"]["value"] for name, run in price.items()}
    assert slopes["RSS-NB"] < slopes["independent noise"] < 0
    floors = {run["epsilon"]: run for run in answer["floors"]}
    assert floors[100.0]["floor"] < floors[10.0]["floor"] <= floors[1.0]["floor"]
    assert floors[10.0]["floor"] > 100 * price["RSS-NB"]["gap"]["median"]
    assert floors[10.0]["sigma"]["100"] == pytest.approx(floors[10.0]["sigma"]["10"] * 10**0.5)
    for run in answer["noise"]:
        assert run["last_iterate_exponent"]["value"] == pytest.approx(2, abs=0.1)
    assert answer["bounds"]["literal"] < answer["bounds"]["corrected"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    for word in ("clipped to norm 1", "adjacent", "composed by zero-concentrated differential privacy"):
        assert word in page
    assert {row["algorithm"] for row in rows(str(folder / "price.csv"))} == {*price, "private DGD"}


QUICKLY = [
    "weights",
    "sum-of-steps",
    "lb-one-neighbour",
    "fs-convexity",
    "lemma-3",
    "past-steps",
    "polynomial-sum",
]


def test_claims_that_need_no_run(capsys):
    chosen = [word for name in QUICKLY for word in ("--only", name)]
    assert main(["reproduce", "claims", "--json", *chosen]) == 0
    answer = json.loads(capsys.readouterr().out)
    verdicts = {claim["name"]: claim["verdict"] for claim in answer["claims"]}
    assert set(verdicts) == set(QUICKLY)
    assert "fails" not in verdicts.values()
    assert answer["claims"][0]["command"] == "hocket reproduce claims --only weights"
    assert not Path("runs").exists()
    # The committed page says the same.
    page = (DOCS / "claims.md").read_text(encoding="utf-8").splitlines()
    for name, verdict in verdicts.items():
        (line,) = [line for line in page if line.endswith(f"| `{name}` |")]
        assert f"**{verdict}**" in line


def test_the_committed_ledger_is_complete():
    page = (DOCS / "claims.md").read_text(encoding="utf-8")
    names = [claim.name for group in GROUPS for claim in group.claims]
    assert len(set(names)) == len(names)
    for group in GROUPS:
        assert f"## {group.title}" in page
        for claim in group.claims:
            assert f"`{claim.name}`" in page
            assert (claim.check is None) == bool(claim.awaits), claim.name


def test_verdicts():
    def found(holds: bool) -> Finding:
        return Finding(holds, "as seen")

    group = Group(
        "Some",
        (
            Claim("a", "here", "A | B.", lambda: found(True)),
            Claim("b", "here", "B.", lambda: found(True), corrected="C."),
            Claim("c", "here", "C.", lambda: found(False), corrected="D."),
            Claim("d", "here", "D.", awaits="more"),
        ),
    )
    ledger = judge([group])
    assert [entry.verdict for entry in ledger.entries] == [
        Verdict.HOLDS,
        Verdict.CORRECTED,
        Verdict.FAILS,
        Verdict.OPEN,
    ]
    assert conclusion(ledger) == "4 claims. Holds: 1, holds as corrected: 1, fails: 1, not yet checked: 1."
    page = markdown(ledger)
    assert "| A \\| B. *here* | **holds** | as seen. | `a` |" in page
    assert "Corrected: C. Found: as seen." in page
    assert [entry.claim.name for entry in judge([group], ["d", "a"]).entries] == ["a", "d"]
    with pytest.raises(BadInput, match=r"no claim called 'e'"):
        judge([group], ["e"])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["reproduce", "polinomials"], 2, 'Did you mean "polynomials"?'),
        (["reproduce", "tradeoff", "--out", "full"], 1, "full is not empty"),
        (["reproduce", "polynomials", "--out", "full/file"], 1, "is a file; name a new folder"),
        (["reproduce", "claims", "--only", "lema-1"], 1, "did you mean 'lemma-1'?"),
        (["reproduce", "claims", "--only", "lemma-1", "--out", "x"], 1, "leave one of them away"),
        (["reproduce", "tradeoff", "--fast"], 2, "--fast"),
    ],
    ids=str,
)
def test_bad_input_is_said_before_anything_runs(words, code, message, capsys):
    Path("full").mkdir()
    Path("full/file").write_text("")
    assert main(words) == code
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", ["polynomials", "tradeoff", "privacy", "claims"])
def test_every_help_has_an_example(name, capsys):
    assert main(["reproduce", name, "--help"]) == 0
    assert f"Example: hocket reproduce {name}" in capsys.readouterr().out


def test_the_experiments_run_in_a_clone_and_elsewhere_it_says_so(monkeypatch, tmp_path):
    door = import_module("hocket.cli.reproduce")
    assert "polynomials" in [*door.reproduce()]
    monkeypatch.delitem(sys.modules, "reproductions")
    monkeypatch.setattr(hk, "__file__", str(tmp_path / "site-packages" / "hocket" / "__init__.py"))
    with pytest.raises(
        BadConfig, match="clone hocket's repository and run them there: python -m reproductions mnist"
    ):
        door.reproduce()(["mnist"], exit_on_error=False)


def test_python_runs_the_experiments_from_a_clone():
    command = [sys.executable, "-m", "reproductions", "polynomials", "--help"]
    shown = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=True).stdout
    assert "--quick" in shown


def test_an_exponent_and_how_sure_it_is():
    rng = np.random.default_rng(0)
    x = np.array([1.0, 10.0, 100.0])
    runs = x**-1.5 * rng.lognormal(sigma=1.0, size=(200, 3))
    found = exponent(x, runs)
    assert found.low < -1.5 < found.high
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.2
    assert exponent(x, runs) == found
    assert str(found).startswith("−1.")


def test_work_is_done_in_order_and_errors_come_through():
    assert side_by_side(lambda piece: piece**2, [3, 1, 2], unwatched) == [9, 1, 4]
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda piece: 1 / piece, [1, 0, 1], unwatched)


def test_a_sheet_of_panels():
    x = np.array([1.0, 10.0, 100.0])
    runs = np.outer([1.0, 2.0, 3.0], 1 / x)
    panel = Panel(
        title="one",
        across="rounds",
        up="gap",
        lines=[PlotLine.over_runs("a", x, runs), PlotLine("b", x, np.zeros(3), style=1, strong=False)],
        guides=[Guide(x, 1 / x, "slope")],
        notes=[Note("mind this", 0.5, 0.5)],
        lowest=1e-3,
    )
    drawing = sheet([[panel], [panel, panel]], size=(6, 6), alt="panels", title="all")
    for words in ("one", "rounds", "gap", "slope", "mind this", "all"):
        assert f"<!-- {words} -->" in drawing.svg
    assert drawing == sheet([[panel], [panel, panel]], size=(6, 6), alt="panels", title="all")
