"""Audits of runs: the attack that fits each algorithm, beside the truth, and no praise where suppositions fail."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NotRecorded
from hocket.privacy import witness
from hocket.privacy.audit import text
from hocket.report.audit_rows import attack_rows, readable_rows
from hocket.report.exposure import exposed
from tests.units.attack_cases import FEW, RING, play_on_ring, run_of, short_run_of
from tests.units.engine_cases import PHASES, play


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        ("dgd", "difference"),
        ("rss-nb", "difference"),
        ("anchored", "difference"),
        ("rss-lb", "LB collusion"),
        ("fs", "difference"),
        ("fs-waves", "difference"),
        ("gaussian, straight", "difference"),
        ("uniform, straight", "Pitman"),
    ],
)
def test_a_run_is_attacked_with_what_fits(name, attack):
    run = short_run_of(name)
    found = hk.audit(RING, coalition={1, 4}, run=run)
    first = found.measured[0]
    assert (first.attack.name, first.attack.target) == (attack, (0,))
    assert first.attack.exact == (attack != "Pitman")
    assert not first.surprising
    if first.attack.exact:
        assert first.error < 1e-6 * first.truth
    assert {j for one in found.measured for j in one.attack.target} == {0, 2, 3}
    assert any(f"In this run: {text.measured(first)}" == line for line in found.verdict)
    assert "over this run as it was recorded" in found.statement[0]


def test_far_agents_are_attacked_through_what_nobody_heard():
    found = hk.audit(RING, coalition={1}, run=run_of("rss-nb, straight"))
    by = {one.attack.target[0]: one for one in found.measured}
    assert {one.attack.name for one in by.values()} == {"averaging"}
    for one in by.values():
        assert 0.5 < one.error / one.attack.typical_sd < 1.5  # sixty coordinates
    assert (
        found.findings[0].leakage.sd[[0, 2, 3, 4]] <= [by[j].attack.typical_sd for j in (0, 2, 3, 4)]
    ).all()


def test_an_attack_whose_suppositions_fail_is_not_praised():
    """Gradients of a short run change a lot, so a mean over all rounds is off by more than noise explains."""
    found = hk.audit(RING, coalition={1}, run=play_on_ring(hk.RssNb(1e-3), FEW, step=0.1))
    one = found.measured[0]
    assert one.surprising
    assert "exactly" not in text.measured(one)
    assert "assuming that" in text.measured(one)
    assert "which is not so here" in text.measured(one)


def test_the_sum_over_each_component_of_fs_is_reconstructed():
    found = hk.audit(RING, coalition={1, 4}, run=short_run_of("fs"))
    parts = {one.attack.target: one.attack for one in found.measured if one.attack.name == "component"}
    assert set(parts) == {(0,), (2, 3)}
    assert all(part.exact for part in parts.values())
    assert found.remarks[0] in text.in_this_run(found)[0]


FEATURES = np.random.default_rng(0).normal(size=(5, 8, 2))


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        (hk.FunctionSharing(1, 0.3), FEW),  # linear noise on quadratics
        (hk.FunctionSharing(2, 0.3, family="cosine"), FEW),
        (hk.FunctionSharing(2, 0.1), hk.logistic(FEATURES, FEATURES[..., 0] > 0.2, feasible=hk.Ball(1.0))),
    ],
    ids=["degree too low", "waves", "no polynomials"],
)
def test_objectives_that_noise_cannot_match_have_no_theorem(algorithm, problem):
    found = hk.audit(RING, coalition={1}, run=play_on_ring(algorithm, problem, rounds=8))
    assert not found.covered
    assert text.proved(found) == []
    assert found.to_json()["p2"] is None
    assert any("FS hides" in line for line in text.in_this_run(found))
    if algorithm.degree == 1:
        assert any("coefficients above 1 stay exposed" in line for line in text.in_this_run(found))


def test_any_coalition_of_a_run_is_the_smallest_cut_or_the_worst_listener():
    cut = hk.audit(RING, colluders=2, run=short_run_of("fs"))
    assert {one.attack.target for one in cut.measured} >= {(0,), (2,), (3,)}
    worst = hk.audit(RING, colluders=1, run=short_run_of("rss-nb"))
    received = {j for one in worst.measured for j in one.attack.target}
    assert received == {0, 1, 2, 3, 4} - {*worst.findings[0].coalition}


@pytest.mark.parametrize("name", ["rss-nb", "rss-lb", "fs", "dgd", "independent"])
def test_exact_runs_are_audited_too(name):
    algorithms = {"fs": hk.FunctionSharing(2, 1.0), "rss-nb": hk.RssNb(1.0), "rss-lb": hk.RssLb(1.0)}
    algorithms |= {"dgd": hk.Dgd(), "independent": hk.IndependentNoise(1.0)}
    problem = hk.polynomials([[0, j, 1] for j in range(5)], box=(-9, 9))
    run = hk.solve(problem, RING, algorithms[name], rounds=6, step=hk.Power(1, 7), engine="exact")
    for coalition in ({1, 4}, {1}):
        found = hk.audit(RING, coalition=coalition, run=run)
        assert len(found.measured) >= 3
        json.dumps(found.to_json(), allow_nan=False)


def test_varying_runs_are_audited_too():
    run = play(hk.RssNb(1.0, persistent=0.5), network=PHASES, rounds=30, keep="transcript")
    found = hk.audit(PHASES, coalition={0, 3}, run=run)
    assert len(found.measured) == 4
    assert found.findings[0].label == "RSS-NB, persistent"


def test_a_witness_needs_a_transcript_too():
    run = play_on_ring(hk.FunctionSharing(2, 1.0), FEW)
    with pytest.raises(NotRecorded, match="run it again with keep='transcript'"):
        witness(replace(run, transcript=None), {1}, {2: [0, 1, 1]})


def test_a_run_is_measured_with_the_form_of_its_objectives():
    """Averaging takes gradients to be the same in all rounds; anybody who knows the form need not, and is closer."""
    rows = [[0, -2.0 * j, 1 + 0.3 * j] for j in range(5)]
    problem, network = hk.polynomials(rows, box=(-1e3, 1e3)), hk.Network.complete(5)
    run = hk.solve(
        problem, network, hk.RssNb(5.0), rounds=60, step=0.05, start=4.0, seed=1, keep="transcript"
    )
    measured = hk.audit(network, coalition={0}, run=run).measured
    assert {one.attack.name for one in measured} == {"model"}
    assert not any(one.surprising for one in measured)


def test_every_attack_is_listed_under_its_own_name_with_its_result_or_its_reason():
    everybody = hk.Network.complete(5)
    problem = hk.polynomials([[0.0, -j, 1 + 0.1 * j] for j in range(5)], box=(-50, 50))
    how = {"rounds": 20, "step": hk.Power(0.5, 10, 0.75), "seed": 1, "keep": "transcript"}
    found = hk.audit(everybody, coalition={0}, run=hk.solve(problem, everybody, hk.RssNb(5.0), **how))
    by = {one.name: one for one in found.tried}
    assert {*by} >= {"difference", "averaging", "model", "sum", "projection", "changed record", "mixed plans"}
    # An eavesdropper on all links reads how every gradient changes, and of each slope no more than averaging tells.
    assert text.result(by["sum"]).endswith("agents 1, 2, 3 and 4: known exactly")
    assert text.predicted(by["sum"]).startswith("exactly predicted")
    assert not any(one.exact for one in by["model"].found)
    assert text.result(by["projection"]) == "does not apply: no state was moved back into the feasible set"
    assert text.result(by["mixed plans"]).startswith("does not apply: this is one run")
    told = json.loads(json.dumps(found.to_json()))["attacks"]
    assert [one["name"] for one in told] == [*by]
    assert [one["applies"] for one in told] == [bool(one.found) for one in by.values()]
    assert all(f"{name} attack:" in str(found) for name in by)


def test_results_are_over_all_whom_an_attack_was_tried_on():
    """Of several agents one may be guessed well by luck: that says nothing of the attack."""
    found = hk.audit(RING, coalition={1}, run=run_of("rss-nb, straight"))
    by = {one.name: one for one in found.tried}
    errors = [one.error for one in by["averaging"].useful]
    assert f"off by {np.sqrt(np.mean(np.square(errors))):.2g}" in text.predicted(by["averaging"])
    assert text.result(by["sum"]).startswith(
        "does not apply: nobody in the coalition receives the messages of"
    )


def test_agents_with_names_go_by_them_in_every_sentence():
    towns = ["Aalst", "Bruges", "Ghent", "Namur", "Ostend"]
    ring = hk.Network.cycle(5).called(towns)
    run = play_on_ring(hk.RssNb(1.0), FEW, step=0.1)
    found = hk.audit(ring, coalition={1}, run=replace(run, network=ring))
    told = [found.answer, *found.verdict, *text.attempts(found), *found.statement]
    told += [
        cell for table in (readable_rows(found), attack_rows(found)) for row in table.rows for cell in row
    ]
    assert not [one for one in told if re.search(r"\bagents? \d|\{\d", one)]
    assert "Bruges" in found.answer
    card, section = exposed(found)
    assert "Bruges" in card.verdict
    assert not re.search(r"\bagents? \d", section.graph.caption)


def test_a_certificate_of_a_run_is_over_all_its_rounds():
    """Of a run of 100 rounds, under ε = 18.7, a certificate over the first was printed: ε = 1.25."""
    problem = hk.polynomials([[0.0, j, 1.0 + j] for j in range(5)], box=(-5, 5))
    run = play_on_ring(hk.CertifiedRssNb(2.0, 5.0, clip=1.0), problem, rounds=20)
    for rounds in (1, 20, None):
        found = hk.audit(RING, coalition={1}, run=run, rounds=rounds).certificate
        assert found is not None
        assert found.rounds == 20
    with pytest.raises(BadInput, match="a run says itself which steps it took"):
        hk.audit(RING, coalition={1}, run=run, step=1e-9)
