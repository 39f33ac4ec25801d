"""`hocket certify` as it is typed, and a certificate at the head of an audit."""

from __future__ import annotations

import json

import pytest

import hocket as hk
from hocket.cli import main

RING = ["certify", "--topology", "cycle:5", "--sigma", "2"]


def test_the_answer_comes_first(capsys):
    assert main([*RING, "--colluders", "1", "--move", "1,4,.6;-.8"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    found = hk.certify(
        hk.Network.cycle(5), "function-sharing", colluders=1, sigma=2.0, move=(1, 4, [0.6, -0.8])
    )
    assert first == found.statement
    assert "μ = 0.612372, ε = 2.50174 at δ = 1e-05, δ = 0.0209592 at ε = 1" in rest
    assert sum(line.startswith("- ") for line in rest) == len(found.assumptions)


@pytest.mark.parametrize(
    ("words", "ask"),
    [
        (
            ["--coalition", "0", "--shift", "1:1;0,2:-2;1,4:1;-1"],
            {"shift": {1: [1, 0], 2: [-2, 1], 4: [1, -1]}},
        ),
        (["--coalition", "0", "--transfer", ".3", "--runs", "3"], {"transfer": 0.3, "runs": 3}),
        (
            [
                "--coalition",
                "0",
                "--sensitivity",
                ".3",
                "--independent",
                ".5",
                "--records",
                "2",
                "--leavers",
                "2",
            ],
            {"sensitivity": 0.3, "independent": 0.5, "records": 2, "leavers": {2}},
        ),
    ],
)
def test_what_is_typed_is_what_is_asked(words, ask, capsys):
    assert main([*RING, *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    asked = hk.certify(hk.Network.cycle(5), "function-sharing", coalition={0}, sigma=2.0, **ask)
    assert found == json.loads(json.dumps(asked.to_json()))


def test_noise_in_every_round(capsys):
    words = ["--algorithm", "certified-rss-nb", "--coalition", "0", "--move", "1,3,.1", "--rounds", "50"]
    assert main(["certify", "--topology", "cycle:5", *words, "--step", "1,20,.75", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mu"] == pytest.approx(0.707107, abs=1e-6)


def test_infinity_is_an_answer(capsys):
    assert main([*RING, "--coalition", "0,2", "--transfer", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mu"] is None
    assert "the sum over {1} changes" in found["reason"]
    assert main([*RING, "--coalition", "0,2", "--transfer", "1"]) == 0
    assert capsys.readouterr().out.startswith("No certificate for function sharing")


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--colluders", "1", "--move", "1"], "--move '1' is no move"),
        (["--colluders", "1", "--move", "1,2,a"], "no list of numbers"),
        (["--colluders", "1", "--shift", "1"], "--shift '1' is no shift"),
        (["--coalition", "0", "--shift", "1:1,1:2"], "names agent 1 twice"),
        (["--colluders", "1", "--transfer", "1", "--rate", ".5"], "where one record is replaced"),
        (["--colluders", "1"], "none was named"),
        (["--transfer", "1"], "neither was named"),
        (["--colluders", "1", "--transfer", "1", "--edges", "x"], "one of --topology and --edges"),
    ],
)
def test_mistakes_are_named(words, culprit, capsys):
    assert main([*RING, *words]) == 1
    assert culprit in capsys.readouterr().err


def test_a_word_by_itself_is_told_what_it_lacks(capsys):
    assert main([*RING, "--colluders", "1", "--transfer", "1", "function-sharing"]) == 2
    assert "name it, as in --algorithm rss-nb" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "said"), [("999999999", "20,000,000 are the most"), ("20000", "for 2,000 agents at most")]
)
def test_networks_beyond_all_measure_are_refused(size, said, capsys):
    assert main(["certify", "--topology", f"cycle:{size}", "--colluders", "1", "--transfer", "1"]) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_secret_coins_and_the_price_are_said(capsys):
    words = [
        "--sensitivity",
        ".4",
        "--independent",
        "1",
        "--algorithm",
        "certified-rss-nb",
        "--rounds",
        "20",
        "--rate",
        ".1",
    ]
    assert main([*RING, "--colluders", "1", *words]) == 0
    said = capsys.readouterr().out
    assert "gives, by Theorem B1 with S" in said
    assert (
        "to an adversary that knows in which rounds it takes part, which it does with probability 0.1" in said
    )
    assert "Gap: " in said
    assert (
        "Rounds to a tenth of the gap: about 2.22, with a server 1.15, everybody for itself 2.22; averaging"
        in said
    )


CLIPPED = hk.CertifiedRssNb(1.0, 0.5, clip=0.5)


def test_an_audit_begins_with_the_certificate_where_there_is_one():
    ask = {"colluders": 1, "rounds": 6, "step": hk.Constant(0.1)}
    found = hk.audit(hk.Network.cycle(5), algorithm=CLIPPED, **ask)
    certified = hk.certify(hk.Network.cycle(5), CLIPPED, **ask)
    assert str(found).splitlines()[0] == certified.statement
    assert found.to_json()["certificate"]["mu"] == certified.mu
    without = hk.audit(hk.Network.cycle(5), algorithm="dgd", **ask)
    assert without.certificate is None
    assert without.to_json()["certificate"] is None
