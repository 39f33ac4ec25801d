"""A comparison is many single runs: same numbers, few programs, counted costs, honest ranks."""

from __future__ import annotations

import csv
import dataclasses
import json
import sys

import numpy as np
import pytest

import hocket as hk
from hocket.bench.comparison import Cell, Comparison
from hocket.bench.cost import RoundCost
from hocket.errors import BadAlgorithm, BadInput
from tests.laws.table import quadratics

PROBLEM = quadratics(6, 2, 1)
NETWORKS = {"ring": hk.Network.cycle(6), "star": hk.Network.star(6)}
ALGORITHMS = {
    "dgd": hk.Dgd(),
    "nids": hk.Nids(),
    "fs 1": hk.FunctionSharing(1, sd=1.0, family="linear", inner=hk.Nids()),
    "fs 10": hk.FunctionSharing(1, sd=10.0, family="linear", inner=hk.Nids()),
    "lb": hk.RssLb(1.0),
}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return hk.compare({"squares": PROBLEM}, NETWORKS, ALGORITHMS, seeds=[3, 8], rounds=40)


def test_algorithms_that_differ_in_numbers_and_networks_of_one_size_share_programs(found):
    assert found.programs == 4
    assert found.runs == 18
    assert "18 runs in 4 programs" in repr(found)
    assert found.algorithms == tuple(ALGORITHMS)
    assert found.places == (("squares", "ring"), ("squares", "star"))


def test_what_refuses_a_network_is_told_and_the_others_go_on(found):
    assert list(found.refused) == [("squares", "star", "lb")]
    assert "cannot hide agent 1" in found.refused["squares", "star", "lb"]
    assert found.cell("squares", "star", "lb") is None


@pytest.mark.parametrize("name", ["dgd", "fs 10"])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_run_is_the_single_run(found, name, network):
    run = hk.solve(PROBLEM, NETWORKS[network], ALGORITHMS[name], rounds=40, seed=8)
    cell = found.cell("squares", network, name)
    np.testing.assert_array_equal(cell.rounds, run.history["round"])
    for mine, theirs in (("gap", "gap"), ("regret", "mean_gap"), ("disagreement", "disagreement")):
        # 40 rounds, three orders of sums: the star's slots, a common matrix, lanes
        np.testing.assert_allclose(cell.measured[mine][1], run.history[theirs], rtol=1e-9, atol=1e-11)
    best = PROBLEM.best.x
    assert cell.measured["x_error"][1, -1] == pytest.approx(
        np.linalg.norm(run.x - best, axis=1).max(), rel=1e-6, abs=1e-9
    )
    slope = np.mean([PROBLEM.gradient(j, run.mean) for j in range(6)], axis=0)
    assert cell.measured["gradient_norm"][1, -1] == pytest.approx(np.linalg.norm(slope), rel=1e-6, abs=1e-9)
    apart = np.sqrt(np.mean(np.linalg.norm(run.x - run.mean, axis=1) ** 2))
    assert cell.measured["consensus_error"][1, -1] == pytest.approx(apart, rel=1e-6, abs=1e-12)


def test_what_agents_spend_is_read_off_their_generators(found):
    ring = {name: found.cell("squares", "ring", name).cost for name in ALGORITHMS}
    assert ring["dgd"] == RoundCost(gradients=1, proxes=1, messages=2, bytes=2 * 2 * 8, first_gradients=0)
    assert found.cell("squares", "star", "dgd").cost.messages == pytest.approx(10 / 6)
    assert ring["fs 1"] == ring["nids"]
    for name, cost in ring.items():
        told = hk.bytes_per_round(ALGORITHMS[name], PROBLEM, NETWORKS["ring"])
        assert 6 * cost.bytes == pytest.approx(told)


def test_rows_are_tidy_and_go_into_files(found, tmp_path):
    rows = found.rows()
    points = {cell.algorithm: len(cell.rounds) for cell in found.cells}
    assert len(rows) == sum(points[cell.algorithm] for cell in found.cells) * 2
    first = rows[0]
    assert (first["problem"], first["network"]) == ("squares", "ring")
    assert (first["round"], first["bytes"], first["messages_lost"], first["diverged"]) == (0, 0.0, 0.0, False)
    assert np.isnan(first["accuracy"])
    with open(found.save(tmp_path / "results.csv"), encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(rows)
    assert float(read[-1]["gap"]) == rows[-1]["gap"]
    stored = json.loads(found.save(tmp_path / "last.json", last=True).read_text())
    assert len(stored) == found.runs
    assert stored[0]["accuracy"] is None
    assert list(found.frame(last=True)["algorithm"].unique()) == list(ALGORITHMS)
    with pytest.raises(BadInput, match=r"neither \.csv nor \.json"):
        found.save(tmp_path / "results.txt")


def test_a_frame_without_pandas_says_what_to_do(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadInput, match=r"install it with: pip install pandas, or take \.rows"):
        found.frame()


def test_a_part_can_be_looked_at(found):
    part = found.only(networks="ring", algorithms=["dgd", "nids"])
    assert (part.networks, part.algorithms) == (("ring",), ("dgd", "nids"))
    with pytest.raises(BadInput, match="there is no network 'ladder' in this comparison; it has ring, star"):
        found.only(networks="ladder")


def made_up(gaps: dict[str, list[list[float]]]) -> Comparison:
    """One problem and network, gaps by algorithm and seed after 0, 10, 20, … rounds."""
    cells = []
    for name, rows in gaps.items():
        gap = np.array(rows)
        finite = np.isfinite(gap).all(axis=1)
        cost = RoundCost(1.0, 1.0, 2.0, 16.0, 0.0)
        cells.append(Cell("p", "n", name, "1", 10 * np.arange(gap.shape[1]), {"gap": gap}, finite, cost, 0.5))
    return Comparison(tuple(cells), tuple(range(len(rows))), 1, 1.0, 0.5)


def test_goals_are_crossed_between_measurements_in_whole_rounds():
    (cell,) = made_up({"a": [[1.0, 1e-2, 1e-4], [1.0, 1e-1, 1e-2], [1e-9, 1.0, 1.0]]}).cells
    assert cell.reached(1e-3, relative=False).tolist() == [15.0, np.inf, 0.0]
    assert cell.reached(1e-3, "bytes", relative=False).tolist() == [240.0, np.inf, 0.0]
    assert cell.reached(1e-3, "seconds", relative=False)[0] == 7.5


def test_ranks_with_intervals_and_losers_last():
    found = made_up(
        {
            "slow": [[1.0, 0.5, 0.1]] * 20,
            "fast": [[1.0, 1e-3, 1e-8]] * 20,
            "broken": [[1.0, 5.0, np.nan]] * 20,
            "mixed": [[1.0, 1e-3, 1e-8]] * 10 + [[1.0, 0.5, 0.2]] * 10,
        }
    )
    ranking = found.ranking()
    assert ranking.algorithms == ("fast", "mixed", "slow", "broken")
    first, second, *_, last = ranking.places
    assert (first.rank, last.rank, last.low, last.high) == (1.25, 4.0, 4.0, 4.0)
    assert second.low < second.rank < second.high
    assert first.best == 1.0
    assert last.arrived == 0.0
    by_rounds = found.ranking("rounds", goal=1e-6)
    assert by_rounds.algorithms[:2] == ("fast", "mixed")
    assert by_rounds.places[1].arrived == 0.5
    assert "With one pair, nothing is said of other problems" in by_rounds.method
    assert "[4.00, 4.00]" in str(ranking)
    assert {row[0]: row[-1] for row in found.table().rows} == {
        "fast": "none",
        "mixed": "none",
        "slow": "none",
        "broken": "20 of 20",
    }


@pytest.mark.slow
def test_figure_and_page(found, tmp_path):
    drawing = found.figure(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
    assert "performance profiles" in drawing.alt
    page = found.page(tmp_path / "page.html", title="Three ways <home>").read_text()
    assert "Three ways &lt;home&gt;" in page
    assert "What was not run" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    with pytest.raises(BadInput, match=r"neither \.svg nor \.png"):
        found.figure(tmp_path / "figure.pdf")
    with pytest.raises(BadInput, match=r"ends in \.html"):
        found.page(tmp_path / "page.txt")


def test_budgets_are_turned_into_rounds():
    found = hk.compare(
        PROBLEM,
        NETWORKS["ring"],
        [hk.Nids(), hk.FunctionSharing(1, sd=1.0, family="linear", inner=hk.Nids())],
        seeds=1,
        budget={"bytes": 640, "gradients": 15},
    )
    assert {int(cell.rounds[-1]) for cell in found.cells} == {15}  # 20 rounds by bytes, 15 by gradients
    with pytest.raises(BadAlgorithm, match="a budget of 3 bytes is less than NIDS needs for one round"):
        hk.compare(PROBLEM, NETWORKS["ring"], hk.Nids(), seeds=1, budget={"bytes": 3})


def test_diverging_runs_are_marked_and_classes_are_judged():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 20, 2))
    labels = (features[..., 0] + 0.1 * rng.normal(size=(6, 20)) > 0) * 1.0
    problem = hk.logistic(features, labels, feasible=hk.Everywhere(), l2=0.01)
    found = hk.compare(
        {"classes": problem},
        NETWORKS["ring"],
        {"good": hk.Extra(), "wild": hk.Extra()},
        seeds=1,
        rounds=300,
        step={"wild": 1e6},
    )
    good, wild = found.cells
    assert found.programs == 1
    assert good.finite.all()
    assert not wild.finite.any()
    assert [row["diverged"] for row in found.rows(last=True)] == [False, True]
    assert "1 diverged" in repr(found)
    x = hk.solve(problem, NETWORKS["ring"], hk.Extra(), rounds=300).mean
    guess, truth = features @ x > 0, labels > 0
    last = found.rows(last=True)[0]
    assert last["accuracy"] == pytest.approx((guess == truth).mean())
    assert last["precision"] == pytest.approx(truth[guess].mean())
    assert last["recall"] == pytest.approx(guess[truth].mean())


REFUSED = {
    "nothing to spend": (lambda: hk.compare(PROBLEM, NETWORKS, ALGORITHMS), "give rounds=1000, or a budget"),
    "two limits": (
        lambda: hk.compare(PROBLEM, NETWORKS, ALGORITHMS, rounds=3, budget={"bytes": 5}),
        "one of the two",
    ),
    "an unknown limit": (
        lambda: hk.compare(PROBLEM, NETWORKS, ALGORITHMS, budget={"joules": 5}),
        "no budget of joules; name rounds, gradients, messages, bytes",
    ),
    "no algorithm": (lambda: hk.compare(PROBLEM, NETWORKS, [], rounds=3), "there are no algorithms"),
    "a class": (lambda: hk.compare(PROBLEM, NETWORKS, {"dgd": hk.Dgd}, rounds=3), r"write Dgd\(\)"),
    "a network of another size": (
        lambda: hk.compare(PROBLEM, {"five": hk.Network.cycle(5), **NETWORKS}, ALGORITHMS, rounds=3),
        "the network 'five' has 5 agents, and no problem has as many",
    ),
    "a step for nobody": (
        lambda: hk.compare(PROBLEM, NETWORKS, ALGORITHMS, rounds=3, step={"adam": 0.1}),
        "step= is given for 'adam'; the algorithms are dgd, nids",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_what_is_wrong(case):
    ask, words = REFUSED[case]
    with pytest.raises(BadInput, match=words):
        ask()


def test_an_unknown_optimum_cannot_be_ranked_by(found):
    cell = found.cells[0]
    unknown = dataclasses.replace(
        cell, measured=cell.measured | {"gap": np.full_like(cell.measured["gap"], np.nan)}
    )
    with pytest.raises(BadInput, match="the optimum of 'squares' is not known"):
        dataclasses.replace(found, cells=(unknown,)).ranking()


def test_weather_is_counted_by_seed():
    problem = hk.polynomials([[0, -2 * c, 1] for c in (1.0, 2.0, 3.0, 4.0, 10.0)], box=(-20, 20))
    stormy = hk.compare(
        problem, hk.Network.cycle(5), hk.PushDiging(), seeds=2, rounds=20, channel=hk.Channel(loss=0.3)
    )
    last = stormy.rows(last=True)
    assert len({row["messages_lost"] for row in last}) == 2
    for row in last:
        assert row["messages_lost"] > 0
        assert row["messages_sent"] == pytest.approx(row["messages_received"] + row["messages_lost"])
        assert row["messages_sent"] == 40  # two neighbours, twenty rounds, one word


def test_over_how_many_agents_a_gap_is_stands_beside_it(tmp_path):
    """Where measuring all would dominate it is over a few, and was written down as if it were over all."""
    rng, n = np.random.default_rng(0), 50
    features, labels = rng.normal(size=(n, 40, 10)), np.sign(rng.normal(size=(n, 40)))
    problem = hk.logistic(features, labels, l2=0.1, reduction="mean", feasible=hk.Ball(10.0))
    ring, plan = hk.Network.cycle(n), {"seeds": 1, "rounds": 100, "step": 0.1}
    some, every = (hk.compare(problem, ring, hk.Dgd(), measure=how, **plan) for how in ("sample", "exact"))
    for row in some.rows():
        assert 1 <= row["looked_at"] < row["agents"] == n
    assert all(row["looked_at"] == row["agents"] == n for row in every.rows())
    assert some.rows(last=True)[0]["gap"] <= every.rows(last=True)[0]["gap"] + 1e-9
    with open(some.save(tmp_path / "results.csv"), newline="") as file:
        names = next(csv.reader(file))
    assert names[names.index("gap") :][:3] == ["gap", "looked_at", "agents"]
    assert f"{some.cells[0].looked_at} of 50 agents" in some.table().caption
    assert 'measure="exact"' in some.partly
    assert not every.partly
    assert "of 50 agents" in some.page(tmp_path / "some.html").read_text(encoding="utf-8")
