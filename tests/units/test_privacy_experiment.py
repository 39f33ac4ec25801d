"""`hocket reproduce privacy`: its parts on small cases, and what it leaves in a folder."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
from hocket.cli import main
from hocket.errors import BadInput
from hocket.privacy.attacks import averaging_attack
from reproductions.claims.ledger import Group, judge
from reproductions.claims.privacy import PRIVACY as CLAIMS
from reproductions.privacy import anchors, report, theorem2
from reproductions.privacy.reconstruction import (
    Forecast,
    Reconstruction,
    Shape,
    foretold,
    played,
    reconstructed,
    shapes,
)
from reproductions.privacy.runs import QUICK, Privacy, play
from reproductions.privacy.setting import DIM, NETWORKS, SIGHTS, algorithm, regressions
from tests.units.attack_cases import play_on_ring, run_of

DOCS = Path(__file__).parents[2] / "docs"
RING_SIGHTS = [sight for sight in SIGHTS if sight.network == "C5"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name", ["anchored", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rss-lb", "fs"))]
)
def test_first_rounds_are_what_a_shorter_run_would_have_shown(name):
    run = run_of(name)
    short = play_on_ring(run.algorithm, run.problem, rounds=7).view({1, 4})
    cut = run.view({1, 4}).first_rounds(7)
    assert cut.rounds == short.rounds == 7
    for ours, theirs in zip(cut.words, short.words, strict=True):
        for link, words in ours.items():
            np.testing.assert_allclose(words, theirs[link], rtol=0, atol=1e-14)
    for kind, draws in cut.noise.items():
        for link, drawn in draws.items():
            np.testing.assert_array_equal(drawn, short.noise[kind][link])
    assert {member: len(path) for member, path in cut.states.items()} == {1: 8, 4: 8}
    found, right = (averaging_attack(view, 0, start=0.5) for view in (cut, short))
    np.testing.assert_allclose(found.estimate, right.estimate, rtol=1e-6)


@pytest.mark.parametrize("rounds", [0, 41])
def test_rounds_that_were_not_seen_are_refused(rounds):
    with pytest.raises(BadInput, match=f"rounds = {rounds}; 40 were seen: choose 1 to 40"):
        run_of("dgd").view({1}).first_rounds(rounds)


def test_problems_side_by_side_have_nothing_to_do_with_each_other():
    problems = regressions(3)
    np.testing.assert_allclose(problems.gradients.sum(axis=0), 0, atol=1e-7)  # the solver's tolerance
    x = np.random.default_rng(0).normal(size=3 * DIM)
    moved = x.copy()
    moved[DIM:] += 1.0
    np.testing.assert_allclose(
        problems.problem.gradient(0, x)[:DIM], problems.problem.gradient(0, moved)[:DIM], rtol=0, atol=1e-15
    )
    truth = problems.gradients[0]
    assert problems.error(truth.ravel(), truth) == pytest.approx([0, 0, 0])
    assert problems.error(np.zeros((1, 3 * DIM)), truth).mean() == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("name", ["RSS-NB", "RSS-LB", "FS", "independent noise", "RSS-NB, persistent"])
def test_levels_do_not_depend_on_how_many_problems_run_side_by_side(name):
    plan = {"rounds": 5, "threat": "states", "step": 0.1}
    one = hk.leakage(NETWORKS["C5"], algorithm(name, "C5", 2.0), dim=DIM, **plan)
    many = hk.leakage(NETWORKS["C5"], algorithm(name, "C5", 2.0, times=4), dim=4 * DIM, **plan)
    np.testing.assert_allclose(one.sd, many.sd, rtol=1e-12)


def nowhere_below(measured: np.ndarray, foretold: np.ndarray) -> None:
    """What no estimator gets below, as bounded noise has it: a linear one is up to twice as far off."""
    ratio = np.asarray(measured) / np.asarray(foretold)
    assert ((ratio > 0.9) & (ratio < 2)).all(), ratio


@pytest.mark.slow
def test_attacks_on_a_real_run_end_where_foretold():
    run, size = played("RSS-NB", "C5", 1.0, rounds=100, times=20), {"rounds": (10, 100), "times": 20}
    found = {sight.title: reconstructed(run, "RSS-NB", 1.0, sight, **size) for sight in RING_SIGHTS}
    tapped, around = found["C5: an eavesdropper on all links"], found["C5: both neighbours"]
    assert around.exact
    assert around.error.max() < 1e-10
    assert (
        (tapped.agreement() > 0.9) & (tapped.agreement() < 2)
    ).all()  # of bounded noise a lower bound is foretold
    assert tapped.medians[0] / tapped.medians[1] == pytest.approx(10**0.5, rel=0.25)
    neighbour = found["C5: one neighbour"].agreement()
    assert ((neighbour > 0.9) & (neighbour < 2)).all()
    mean, pitman = shapes(run, rounds=(100,), times=20)
    for shape in (mean, pitman):
        np.testing.assert_allclose(shape.measured, shape.foretold, rtol=0.2)
    assert pitman.foretold[0] < 0.9 * mean.foretold[0]


def test_noise_drawn_once_stays():
    for name in ("FS", "RSS-NB, persistent"):
        told = foretold(name, 1.0, RING_SIGHTS[1], rounds=300, prior=0.1)
        assert not told.identifiable
        assert told.at(300) == pytest.approx(told.at(10), rel=0.01)
    dgd = foretold("DGD", 1.0, RING_SIGHTS[0], rounds=30, prior=0.1)
    assert dgd.identifiable
    assert np.isnan(dgd.error[-1])


@pytest.mark.slow
def test_a_wrongly_scaled_anchor_gives_itself_away():
    decaying = "α_k ∝ 1/k"
    right, wrong = (
        anchors.over_rounds(decaying, 0.9, scaling, rounds=(10, 100)) for scaling in anchors.SCALINGS
    )
    for told in (right, wrong):
        nowhere_below(told.measured, told.foretold)  # 1,000 numbers
    assert wrong.measured[-1] < right.measured[-1] / 4


@pytest.mark.slow
def test_anchors_are_averaged_over_runs_unless_they_are_kept():
    kept, renewed = anchors.over_runs("α constant", "α_{k−1}", rounds=20, runs=(1, 4))
    for told in (kept, renewed):
        nowhere_below(told.measured, told.foretold)
    assert kept.measured[1] == pytest.approx(kept.measured[0], rel=0.05)
    assert renewed.measured[1] == pytest.approx(renewed.measured[0] / 2, rel=0.1)


@pytest.mark.slow
def test_an_anchor_does_not_hide_how_gradients_change():
    found = anchors.change(rounds=100, times=5)
    assert np.median(found.error) == pytest.approx(found.foretold, rel=0.35)
    assert 5 * np.median(found.error) < np.median(found.size)
    assert np.median(found.offset_error) > 10 * np.median(found.error)


def test_the_seven_agents_are_the_paper_s():
    _, network = theorem2.seven_agents()
    assert network.n == 7
    assert hk.privacy.guarantees(network, colluders=2).p2
    tree = {(0, j) for j in range(1, 5)}
    assert tree <= {tuple(link) for link in network.links.tolist()}


def test_promises_by_topology():
    found = {one.topology: one for one in theorem2.promises()}
    verdicts = {name: [(held.p1, held.p2) for held in one.found] for name, one in found.items()}
    both, alone, none = (True, True), (True, False), (False, False)
    assert verdicts["path:8"] == [none] * 3
    assert verdicts["two cliques and a link"] == [alone, alone, none]
    assert verdicts["complete:8"] == [both] * 3
    for f, links in theorem2.fewest_links().items():
        cheapest = found[f"harary:k={f + 1},n=8"]
        assert cheapest.links == links
        assert verdicts[cheapest.topology][f - 1] == both
        assert all(one.links >= links for name, one in found.items() if verdicts[name][f - 1] == both)


def made_up() -> Privacy:
    """A result in which every number is known, so that showing it needs no run."""
    size = QUICK
    rounds, points = size.rounds, np.array([1, 10, 100])
    curves = []
    for sight in RING_SIGHTS:
        for name in size.algorithms:
            exact = name == "DGD"
            error = np.full(3, np.nan) if exact else 0.5 / np.sqrt(points)
            measured = (
                np.full((5, len(rounds)), 1e-13) if exact else np.outer([0.8, 0.9, 1, 1.1, 1.2], error[1:])
            )
            curves.append(
                Reconstruction(
                    sight, 1.0, name, "averaging", exact, rounds, measured, Forecast(points, error, True)
                )
            )
    told = [
        anchors.Told(
            step, 0.9 if scaling else 0.0, scaling, True, size.anchor_rounds, (1, 1), np.ones(2), np.ones(2)
        )
        for step in anchors.STEPS
        for scaling in ("", *anchors.SCALINGS)
    ]
    over_runs = [
        anchors.Told(step, 0.9, scaling, kept, (30, 30), size.runs, np.ones(2), np.ones(2))
        for step in anchors.STEPS
        for scaling in size.scalings
        for kept in (True, False)
    ]
    gaps = {"DGD": 0.1, "RSS-NB": 0.1, "RSS-NB, persistent": 0.2}
    biases = [anchors.Bias(1.0, f"α = {alpha:g}", 300, gaps, gaps) for alpha in size.alphas]
    biases.append(anchors.Bias(1.0, "α decaying", 300, gaps, None))
    problem, network = theorem2.seven_agents()
    exact = hk.solve(problem, network, theorem2.NOISE, step=theorem2.STEP, rounds=2, start=0, engine="exact")
    shown = hk.privacy.witness(exact, theorem2.SEVEN_COLLUDERS, theorem2.FALSE_OBJECTIVES, fill="least")
    return Privacy(
        size=size,
        reconstructions=curves,
        shapes=[Shape(name, (100,), np.ones(1), np.ones(1)) for name in ("mean", "Pitman")],
        over_rounds=told,
        over_runs=over_runs,
        biases=biases,
        change=anchors.Change(200, np.ones(5), np.ones(5) / 10, 0.1, np.ones(5)),
        witnesses=theorem2.Witnesses(shown, shown),
        promises=theorem2.promises(),
        seconds=1.0,
    )


def test_the_command_leaves_everything_in_a_folder(capsys, monkeypatch):
    monkeypatch.setattr(report, "PRIVACY", replace(report.PRIVACY, play=lambda size, watch: made_up()))
    assert main(["reproduce", "privacy", "--quick", "--json", "--out", "here"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["report"] == "here/report.html"
    assert {path.name for path in Path("here").iterdir()} == {
        "privacy.svg",
        "privacy.png",
        "reconstruction.csv",
        "foretold.csv",
        "anchors.csv",
        "bias.csv",
        "results.json",
        "report.html",
    }
    assert "agree with what was predicted within 1.00×" in answer["conclusion"]
    assert "differ by nothing in exact arithmetic" in answer["conclusion"]
    point = answer["reconstruction"][1]["points"][-1]
    assert point == pytest.approx({"K": 100, "foretold": 0.05, "median": 0.05, "low": 0.042, "high": 0.058})
    assert answer["witness"]["exact"]["equal"]
    with open("here/reconstruction.csv", newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert list(first)[:5] == ["seen_by", "delta", "algorithm", "attack", "K"]
    page = Path("here/report.html").read_text(encoding="utf-8")
    for words in (
        "Persistent noise hides a constant offset",
        "No theorem covers RSS",
        "reconstructed",
        "fewest links",
    ):
        assert words in page


def test_people_read_tables(capsys, monkeypatch):
    undrawn = {"play": lambda size, watch: made_up(), "figure": lambda found: None}
    monkeypatch.setattr(report, "PRIVACY", replace(report.PRIVACY, **undrawn))
    assert main(["reproduce", "privacy", "--quick"]) == 0
    shown = capsys.readouterr().out
    for words in ("RSS-NB, persistent", "0.16/0.16", "exact", "Pitman", "harary:k=3,n=8"):
        assert words in shown


@pytest.mark.slow
def test_a_small_run_from_end_to_end(monkeypatch):
    found = play(QUICK)
    assert {one.sight for one in found.reconstructions} == set(RING_SIGHTS)
    assert found.witnesses.exact.equal
    assert found.witnesses.floating.difference < 1e-12
    bias = {one.step: one for one in found.biases}["α = 0.3"]
    assert bias.average is not None
    assert bias.average["RSS-NB"] == pytest.approx(bias.average["DGD"], rel=0.1)
    assert bias.average["RSS-NB, persistent"] > bias.average["DGD"]


@pytest.mark.endurance
@pytest.mark.parametrize("claim", CLAIMS.claims, ids=lambda claim: claim.name)
def test_every_claim_about_privacy_is_judged_as_the_page_says(claim):
    (entry,) = judge([Group("one", [claim])]).entries
    page = (DOCS / "claims.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in page if line.endswith(f"| `{claim.name}` |")]
    assert f"**{entry.verdict.value}**" in line
