"""The experiments on MNIST and Reuters, on data that come with scikit-learn."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from hocket import __version__
from hocket.cli import main
from hocket.cli.answer import Answer
from hocket.errors import BadInput
from reproductions.experiment import write
from reproductions.learning import report
from reproductions.learning.cases import (
    ALONE,
    COMPLETE,
    DGD,
    DP_SGD,
    EQUAL,
    FS,
    FULL,
    INDEPENDENT,
    JOINT,
    LB,
    METHODS,
    NB,
    PARTS,
    QUICK,
    RING,
    SGD_C,
    Case,
    Size,
    cases,
    one,
)
from reproductions.learning.outcomes import Found, Outcome
from reproductions.learning.runs import NETWORKS, Desk
from reproductions.learning.subjects import MNIST, REUTERS
from reproductions.learning.tables import fall, noise_table, order_notes

TINY = Size(
    seeds=1,
    networks=(RING,),
    levels=(1.0, 10.0),
    sweep=(1.0, 3.0),
    local_steps=(20, 40),
    skewed=(),
    epsilons=(8.0,),
    epochs=0.05,
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
    return Desk(subject, splits, TINY)


def _nothing(*args, **options):
    from hocket.errors import NoData

    raise NoData("there is nothing")


def also_slowly(*chosen: tuple[str, str]) -> list:
    """Every method on both networks, of which only those chosen are quick enough for every day."""
    pairs = [(method, network) for method in (NB, LB, FS, INDEPENDENT) for network in (RING, COMPLETE)]
    return [pytest.param(*pair, marks=[] if pair in chosen else pytest.mark.slow) for pair in pairs]


@pytest.mark.parametrize(("method", "network"), also_slowly((NB, RING), (LB, COMPLETE)))
def test_a_level_is_the_noise_that_is_really_there(desk, method, network):
    outcome = desk.run(one(method, 2.0, split="digits", network=network, seed=0))
    assert outcome.noise / outcome.gradient == pytest.approx(2, rel=0.05)  # 650 coordinates of five agents
    assert NETWORKS[network].degrees.max() == NETWORKS[network].degrees.min()  # the closed forms need that


@pytest.mark.slow
@pytest.mark.parametrize("method", [SGD_C, JOINT, ALONE, DP_SGD])
def test_methods_without_words_or_with_epsilon_run_too(desk, method):
    outcome = desk.run(one(method, 8.0, split="digits", seed=0))
    assert outcome.ending == ""
    assert (outcome.exchanges > 0) == METHODS[method].communicates
    if method == JOINT:
        assert outcome.disagreement < 1e-5  # float32; all have the same model


def test_the_step_is_a_function_of_the_epoch_alone():
    often, rarely = MNIST.step(0.01), MNIST.step(0.64)
    assert often(1) == pytest.approx(MNIST.first_step)
    assert rarely(11) == pytest.approx(often(641))  # after 6.4 epochs
    assert often(1 + round(MNIST.halving / 0.01)) == pytest.approx(MNIST.first_step / 2**MNIST.decay)


def test_every_case_is_run_once_and_the_most_telling_first():
    everything = cases(["a", "b"], FULL)
    curves = cases(["a", "b"], FULL, ["curves"])
    assert len(set(everything)) == len(everything) == len({case.slug for case in everything})
    assert everything[: len(curves)] == curves
    assert {case.network for case in everything if case.method in (SGD_C, JOINT)} == {""}
    assert {case.local_steps for case in everything if case.method == NB} == {1, 10, 40, 160}
    assert {case.seed for case in everything} == {0, 1, 2}
    assert all(case.level >= 1 / 3 for case in everything if METHODS[case.method].level == "noise")
    with pytest.raises(BadInput, match="no part called 'curve'; its parts are curves, price"):
        cases(["a"], FULL, ["curve"])


def test_quick_leaves_out_what_takes_long():
    quick = cases(["a"], QUICK)
    assert {case.local_steps for case in quick} == {40}
    assert DP_SGD not in {case.method for case in quick}
    assert {SGD_C, DGD, JOINT, NB, LB, FS, ALONE, INDEPENDENT} == {case.method for case in quick}


@pytest.mark.slow
def test_a_command_that_is_given_again_goes_on(capsys, monkeypatch):
    reuters = report.LEARNING["reuters"]
    monkeypatch.setitem(report.LEARNING, "reuters", replace(reuters, quick=TINY))
    making = import_module("reproductions.learning.cases")
    monkeypatch.setattr(making, "CANCELLING", (NB,))  # fewer programs to compile
    asked = ["reproduce", "reuters", "--quick", "--json", "--only", "curves", "--out", "here"]
    assert main(asked) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert "digits stand in for Reuters" in shown.err
    assert answer["stands_in"] is True
    assert answer["report"] == "here/report.html"
    assert {(row["method"], row["level"]) for row in answer["results"]} == {
        (SGD_C, 0),
        (DGD, 0),
        (JOINT, 0),
        (NB, 1),
        (NB, 10),
    }
    runs = sorted(Path("here/runs").iterdir())
    assert len(runs) == answer["runs"] == 5
    dgd = next(path for path in runs if DGD in path.name)
    dgd.unlink()
    (dgd.parent / "half.part").write_text("{")  # killed while writing
    made: list[Case] = []
    run = Desk.run
    monkeypatch.setattr(Desk, "run", lambda desk, case: made.append(case) or run(desk, case))
    assert main(asked) == 0
    again = capsys.readouterr()
    assert [f"{case.slug}.json" for case in made] == [dgd.name]
    assert "4 of 5 runs are in here already" in again.err
    assert json.loads(again.out)["results"] == answer["results"]

    monkeypatch.setitem(report.LEARNING, "reuters", replace(reuters, quick=replace(TINY, epochs=0.1)))
    assert main(asked) == 1
    assert "here holds runs with epochs = 2.0, and now it is 4.0; name a new" in capsys.readouterr().err


@pytest.mark.slow
def test_all_runs_every_part_into_its_own_folder(capsys, monkeypatch):
    commands = import_module("reproductions.commands")
    asked: dict[str, dict] = {}
    for name in ("polynomials", "tradeoff", "privacy", "claims", "mnist", "reuters"):

        def part(name: str = name, **options) -> Answer:
            asked[name] = options
            return Answer({"report": f"{options['out']}/report.html", "conclusion": f"{name} is done."}, [])

        monkeypatch.setattr(commands, name, part)
    assert main(["reproduce", "all", "--quick", "--out", "here"]) == 0
    shown = capsys.readouterr().out
    for name, options in asked.items():
        assert options["out"] == Path("here") / name
        assert options.get("quick", True)
        assert f"{name}: here/{name}/report.html" in shown
        assert f"{name} is done." in shown
    assert {"polynomials", "tradeoff", "claims", "mnist", "reuters"} <= set(asked)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "curve"], "its parts are"),
        (["--quick", "--only", "shards"], "has no runs of shards; leave --quick out"),
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


def invented(case: Case, accuracy: float, *, ending: str = "") -> Outcome:
    """A run that nobody made: from a tenth to `accuracy`, or over at once."""
    curve = [0.1] if ending else [0.1, (0.1 + accuracy) / 2, accuracy]
    return Outcome(
        case=case,
        epochs=list(range(len(curve))),
        accuracy=[[value] * 5 for value in curve],
        mean_accuracy=curve,
        disagreement=0.0,
        noise=case.level,
        gradient=1.0,
        exchanges=9,
        parameters=10,
        ending=ending,
        remarks=[],
        seconds=1.0,
        device="cpu",
    )


def test_what_is_written(tmp_path):
    size = replace(TINY, seeds=2)
    outcomes = [
        invented(case, 0.9 - case.level / 100, ending="diverged" if case == fails else "")
        for case in cases(["s"], size)
        for fails in [one(FS, 10.0, split="s", seed=1)]
    ]
    found = Found(
        MNIST, size, ["s"], ["about the data"], {outcome.case: outcome for outcome in outcomes}, 1.0
    )
    page = write(report.LEARNING["mnist"], found, tmp_path).read_text(encoding="utf-8")
    names = ("mnist.svg", "mnist.png", "mnist.csv", "results.json", "report.html")
    assert {path.name for path in tmp_path.iterdir()} >= set(names)
    for words in ("The price of each kind of privacy", "ε = 8", "Exchanging every H steps", "No theorem"):
        assert words in page
    assert "About the data." in page
    assert "45.00, diverged" in page  # FS at noise 10: the mean of 80 % and of a run that never left 10 %
    with open(tmp_path / "mnist.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(METHODS)
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert kept.pop("hocket") == __version__
    assert kept == json.loads(json.dumps(report.LEARNING["mnist"].answer(found)))
    assert kept["conclusion"].startswith(
        "SGD-C reaches 90.00 %, DGD 90.00 %, the joint average 90.00 %; with noise of 1 times a gradient"
    )


@pytest.mark.parametrize("part", ["noise", "steps", "shards"])
def test_a_part_without_runs_is_refused(part):
    with pytest.raises(BadInput, match=f"has no runs of {part}; leave --quick out"):
        cases(["s"], QUICK, [part])


@pytest.mark.parametrize(
    ("part", "size"),
    [
        *((part, FULL) for part in PARTS),
        *((part, QUICK) for part in ("curves", "price")),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.seeds} seeds",
)
def test_every_part_is_shown_alone(tmp_path, part, size):
    """Not every part has something to draw: prices and shards are tables."""
    alone = cases(["s"], size, [part])
    found = Found(MNIST, size, ["s"], [], {case: invented(case, 0.9) for case in alone}, 1.0)
    page = write(report.LEARNING["mnist"], found, tmp_path).read_text(encoding="utf-8")
    assert f"{len(alone)} runs" in page or "SGD-C reaches" in page
    assert (tmp_path / "mnist.svg").exists() == ("<figure" in page) == (part in ("curves", "noise", "steps"))


def test_where_accuracy_falls_and_which_order_holds():
    reached = {(DGD, 0.0): 0.98, (NB, 1.0): 0.979, (NB, 3.0): 0.97, (NB, 10.0): 0.9, (LB, 1.0): 0.9795}
    outcomes = [
        invented(one(method, level, split="s", seed=seed), accuracy + seed / 1e3)
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
        "The order DGD, RSS-NB, RSS-LB on the cycle, s, noise 1: does not hold (98.05 ± 0.07; 97.95 ± 0.07; "
        "98.00 ± 0.07)."
    ]
    assert found.of(DP_SGD, 1.0) is None
    assert np.isclose(found.of(NB, 1.0).spread, 0.1 / np.sqrt(2))
    assert found.levels(NB) == [1.0, 3.0, 10.0]
    assert found.of(NB, 1.0, shards=EQUAL) == found.of(NB, 1.0)
