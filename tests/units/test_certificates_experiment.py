"""`hocket reproduce certificates`, in small; and its prices by formula."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reproductions.certificates.report as report
from hocket.cli import main
from reproductions.certificates import by_link, decor, price
from reproductions.certificates.runs import QUICK


def test_five_ways_to_the_same_epsilon():
    """Noise on the sum is own noise times √5, at least √(5/4) of a server's against one insider, and √5 alone."""
    ways = {one.name: one for one in price.ways()}
    assert len({round(one.mu, 9) for one in ways.values()}) == 1
    # Curved noise costs rounds by what it bends, most where neighbours deal most.
    central, three, ten, alone, _ = (price.rounds(one) for one in ways.values())
    assert central < alone < three < ten
    over = {name: one.own * np.sqrt(5) / (ways["central"].own * np.sqrt(5)) for name, one in ways.items()}
    assert over["local"] == pytest.approx(np.sqrt(5))
    assert np.sqrt(5 / 4) < over["complete graph of 5, σ = 10τ"] < over["ring of 5, σ = 10τ"]
    assert (
        over["ring of 5, σ = 10τ"]
        < over["ring of 5, σ = 3τ"]
        == pytest.approx(np.sqrt(5 * 0.294898), rel=1e-5)
    )


def test_more_noise_between_neighbours_comes_down_to_the_limit():
    network, colluders = price.GRAPHS[0]
    found = price.over_central(network, colluders, (0.01, 1.0, 10.0, 1e4))
    assert (np.diff(found.over) < 0).all()
    assert found.over[0] == pytest.approx(np.sqrt(5), rel=1e-3)
    assert found.over[-1] == pytest.approx(found.limit, rel=1e-6)


def test_published_settings_against_insiders():
    ring = decor.insiders(decor.published()[0])
    assert ring.as_converted == pytest.approx((10.46, 14.38, 37.99), abs=0.01)
    assert all(exact < said for exact, said in zip(ring.exact, ring.as_converted, strict=True))


@pytest.mark.slow
def test_a_small_run_leaves_its_files(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    small = replace(QUICK, transcripts=20, runs=20, draws=20, link_rounds=10, gap_rounds=5)
    monkeypatch.setattr(report, "CERTIFICATES", replace(report.CERTIFICATES, quick=small))
    assert main(["reproduce", "certificates", "--quick", "--json", "--out", "here"]) == 0
    answer = json.loads(capsys.readouterr().out)
    names = {
        "certificates.svg",
        "certificates.png",
        "over_central.csv",
        "results.json",
        "report.html",
    }
    assert {path.name for path in Path("here").iterdir()} == names
    told = ["A1", "A2", "A2, grid", "B0", "B1", "B1, masked", "B1, grid"]
    assert [one["theorem"] for one in answer["told"]] == told
    assert answer["clinics"]["certificate"]["theorem"] == "A2"
    for row in answer["rows"]:
        assert row["measured_noise"] == pytest.approx(
            row["noise"], rel=0.6
        )  # of 20 runs: a deviation of 16 %
    assert "DECOR" not in answer["conclusion"]  # five rounds say nothing of it


@pytest.mark.slow
def test_noise_by_link_is_less_at_the_hub_and_runs_gain_by_it():
    name, wheel, colluders = by_link.irregular()[2]
    found = by_link.by_link(name, wheel, colluders, 20)
    assert found.transfer.gain > by_link.PLAYED
    assert found.worst[1] < 0.6 * found.worst[0]
    assert found.gap is not None
    assert found.gap[1] < found.gap[0]
    assert by_link.by_link(*by_link.irregular()[-1], 20).gap is None
