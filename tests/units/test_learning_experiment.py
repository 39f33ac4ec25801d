"""The experiments on MNIST and Reuters, on data that come with scikit-learn."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hocket.cli import main
from hocket.errors import BadConfig, BadInput
from hocket.experiments import learning
from hocket.experiments.learning import MNIST, REUTERS, Case, Found, Outcome, Size, cases, play
from hocket.experiments.learning.cases import COMPLETE, EQUAL, RING, one
from hocket.experiments.learning.methods import CANCELLING, DGD, DP_SGD, INDEPENDENT, LB, METHODS, NB, SGD_C
from hocket.experiments.learning.runs import NETWORKS, Desk
from hocket.experiments.learning.showing import order_notes
from hocket.experiments.learning.tables import fall, noise_table

SMALL = Size(
    seeds=1,
    networks=(RING,),
    levels=(1.0, 10.0),
    sweep=(1.0, 3.0),
    local_steps=(20, 40),
    skewed=(),
    epsilons=(8.0,),
    epochs=0.3,
    samples=400,
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No data anywhere: the digits stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOCKET_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def desk() -> Desk:
    subject, splits = replace(REUTERS, read=_nothing).load(None, download=False)
    return Desk(subject, splits, SMALL)


def _nothing(*args, **options):
    from hocket.errors import NoData

    raise NoData("there is nothing")


@pytest.mark.parametrize("network", [RING, COMPLETE])
@pytest.mark.parametrize("method", [*CANCELLING, INDEPENDENT])
def test_a_level_is_the_noise_that_is_really_there(desk, method, network):
    outcome = desk.run(one(method, 2.0, split="digits", network=network, seed=0))
    assert outcome.noise / outcome.gradient == pytest.approx(2, rel=0.05)  # 650 coordinates of five agents
    assert NETWORKS[network].degrees.max() == NETWORKS[network].degrees.min()  # the closed forms need that


def test_the_step_is_a_function_of_the_epoch_alone():
    often, rarely = MNIST.step(0.01), MNIST.step(0.64)
    assert often(1) == pytest.approx(MNIST.first_step)
    assert rarely(11) == pytest.approx(often(641))  # after 6.4 epochs
    assert often(1 + round(MNIST.halving / 0.01)) == pytest.approx(MNIST.first_step / 2**MNIST.decay)


def test_every_case_is_run_once_and_the_most_telling_first():
    everything = cases(["a", "b"], learning.FULL)
    assert len(set(everything)) == len(everything) == len({case.slug for case in everything})
    assert everything[: len(cases(["a", "b"], learning.FULL, ["curves"]))] == cases(
        ["a", "b"], learning.FULL, ["curves"]
    )
    assert {case.network for case in everything if case.method == SGD_C} == {""}
    assert {case.local_steps for case in everything if case.method == NB} == {1, 10, 40, 160}
    assert {case.seed for case in everything} == {0, 1, 2}
    assert all(case.level >= 1 / 3 for case in everything if METHODS[case.method].level == "noise")
    with pytest.raises(BadInput, match="no part called 'curve'; its parts are curves, price"):
        cases(["a"], learning.FULL, ["curve"])


def test_a_run_is_never_made_twice(monkeypatch):
    size = replace(SMALL, levels=(1.0, 1.0), epochs=0.1)
    heard: list[str] = []
    found, folder = play(REUTERS, size, out=Path("here"), only=["curves"], say=heard.append)
    assert "digits stand in for Reuters" in heard[0]
    runs = sorted((folder / "runs").iterdir())
    assert len(runs) == len(found.outcomes) == 5
    runs[0].unlink()
    (folder / "runs" / "half.part").write_text("{")  # killed while writing
    made: list[Case] = []
    run = Desk.run
    monkeypatch.setattr(Desk, "run", lambda desk, case: made.append(case) or run(desk, case))
    again, _ = play(REUTERS, size, out=Path("here"), only=["curves"], say=heard.append)
    assert [f"{case.slug}.json" for case in made] == [runs[0].name]
    assert "4 of 5 runs are in here already" in heard
    for case, outcome in found.outcomes.items():
        assert again.outcomes[case].accuracy == outcome.accuracy
    with pytest.raises(BadConfig, match=r"here holds runs with epochs = 4.0, and now it is 12.0; name a new"):
        play(REUTERS, SMALL, out=Path("here"), only=["curves"])


def test_the_command(capsys, monkeypatch):
    monkeypatch.setattr(learning, "QUICK", SMALL)
    assert main(["reproduce", "mnist", "--quick", "--json", "--out", "here"]) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["stands_in"] is True
    assert answer["conclusion"].startswith("On stand-in digits: ")
    assert "digits stand in for MNIST" in shown.err
    reached = {(entry["method"], entry["level"], entry["local_steps"]): entry for entry in answer["results"]}
    assert set(METHODS) == {entry["method"] for entry in answer["results"]}
    assert reached[NB, 3.0, 40]["noise_over_gradient"] == pytest.approx(3, rel=0.01)
    assert {path.name for path in Path("here").iterdir()} == {
        "mnist.svg",
        "mnist.png",
        "mnist.csv",
        "results.json",
        "report.html",
        "setting.json",
        "runs",
    }
    page = Path("here/report.html").read_text(encoding="utf-8")
    for words in ("The price of each kind of privacy", "ε = 8", "Exchanging every H steps", "No theorem"):
        assert words in page
    with open("here/mnist.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(METHODS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "curve"], "its parts are"),
        (["--out", "full"], "full is not empty"),
        (["--data", "nowhere"], "nowhere, which is no folder"),
    ],
    ids=str,
)
def test_bad_input_is_said_before_anything_runs(words, message, capsys):
    Path("full").mkdir()
    Path("full/file").write_text("")
    assert main(["reproduce", "reuters", *words]) == 1
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


def invented(method: str, level: float, accuracy: float, seed: int) -> Outcome:
    case = one(method, level, split="s", seed=seed)
    return Outcome(
        case, [0, 1], [[0.1] * 5, [accuracy] * 5], [0.1, accuracy], 0.0, level, 1.0, 9, 10, "", [], 1.0, "cpu"
    )


def test_where_accuracy_falls_and_which_order_holds():
    reached = {(DGD, 0.0): 0.98, (NB, 1.0): 0.979, (NB, 3.0): 0.97, (NB, 10.0): 0.9, (LB, 1.0): 0.9795}
    outcomes = [
        invented(method, level, accuracy + seed / 1e4, seed)
        for (method, level), accuracy in reached.items()
        for seed in (0, 1)
    ]
    size = Size(seeds=2, networks=(RING,), levels=(1.0, 10.0), sweep=(1.0, 3.0))
    found = Found(MNIST, size, ["s"], [], {outcome.case: outcome for outcome in outcomes}, 1.0)
    assert fall(found, NB) == 3.0
    assert fall(found, LB) is None
    assert found.behind(NB, 10.0) == pytest.approx(8)
    assert noise_table(found).rows[-1] == ("falls by 0.5", "at 3", "—", "—", "—")
    assert order_notes(found) == [
        "The order DGD, RSS-NB, RSS-LB on the cycle, s, noise 1: does not hold (98.00 ± 0.01; 97.90 ± 0.01; "
        "97.95 ± 0.01)."
    ]
    assert found.of(DP_SGD, 1.0) is None
    assert np.isclose(found.of(NB, 1.0).spread, 0.01 / np.sqrt(2), atol=1e-6)
    assert found.levels(NB) == [1.0, 3.0, 10.0]
    assert found.of(NB, 1.0, shards=EQUAL) == found.of(NB, 1.0)
