"""One verdict: what is proved, what is estimated, what attacks made of a run, and what each is not said about."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, BadNetwork, NoTheorem, NotRecorded
from hocket.privacy import guarantees
from hocket.privacy.audit import findings, text
from hocket.privacy.leakage.worst import WORK, worst_joint_leakage
from tests.laws.table import quadratics
from tests.units.attack_cases import RING, short_run_of
from tests.units.engine_cases import PHASES

QUICK = {"rounds": 12, "step": hk.Power(1, 20, 0.75)}
LABELS = ["FS", "RSS-NB, persistent", "RSS-NB", "RSS-LB", "DGD", "independent noise"]


def finding(found, label, threat="coalition"):
    (one,) = (one for one in found.findings if (one.label, one.threat) == (label, threat))
    return one


def test_one_colluder_on_a_ring():
    found = hk.audit(RING, colluders=1, **QUICK)
    assert (found.guarantees.min_degree, found.guarantees.vertex_connectivity) == (2, 2)
    assert (found.p1, found.p2, found.exposed, found.exposure) == (True, True, (), None)
    assert found.repair is None
    assert found.verdict[0].startswith(
        "Function sharing, if objectives are separable polynomials no higher in degree than its noise: against any 1 "
        "colluder P1 and P2 hold (Theorem 2)"
    )
    assert "P1" not in "".join(text.estimated(found))


def test_two_colluders_on_a_ring():
    found = hk.audit(RING, colluders=2, **QUICK)
    assert (found.p1, found.p2, found.exposed) == (False, False, (0, 1, 2, 3, 4))
    assert found.exposure.components == ((0,), (2, 3))
    assert len(found.repair.added) == 3
    words = str(found)
    for said in (
        "P2 fails and so does P1: the smallest degree is 2, the vertex connectivity 2, and both must exceed 2",
        "Exposed exactly to their neighbours, should these collude: the objectives of agents 0, 1, 2, 3 and 4",
        "To repair it for function sharing: add 3 links",
        "RSS-NB: no theorem. Worst of all 10 is {",
    ):
        assert said in words


def test_a_named_coalition_is_judged_by_itself():
    found = hk.audit(hk.Network.cycle(7), coalition={0, 3}, **QUICK)
    assert (found.colluders, found.p1, found.p2, found.exposed) == (2, True, False, ())
    assert "the sum over {1, 2} and the sum over {4, 5, 6}" in text.proved(found)[-1]
    harmless = hk.audit(hk.Network.cycle(7), coalition={0, 1}, **QUICK)
    assert harmless.p2  # though not every coalition of two is
    assert not harmless.guarantees.p2
    assert not any("for function sharing" in line for line in text.repairs(harmless))


def test_every_algorithm_and_every_listener_has_a_line():
    found = hk.audit(RING, coalition={1}, **QUICK)
    assert [(one.label, one.threat) for one in found.findings] == list(
        itertools.product(LABELS, ["coalition", "states", "states+noise"])
    )
    for one in found.findings:
        theorem = one.label == "FS" and one.threat != "states+noise"
        assert one.basis == ("theorem" if theorem else "estimate")
        assert sorted([*one.exact, *one.averaged, *one.hidden]) == [0, 2, 3, 4]
        assert one.least == one.leakage.sd[[0, 2, 3, 4]].min() == one.leakage.sd[one.weakest]


def test_a_theorem_is_about_what_it_is_about():
    """FS is hidden from a tap on words; to a tap on its noise all gradients are known, and no theorem speaks."""
    found = hk.audit(RING, coalition={1}, algorithm="function-sharing", **QUICK)
    words = {one.threat: text.line(one) for one in found.findings}
    assert words["coalition"] == words["states"] == "agents 0, 2, 3 and 4 hidden but for sums"
    assert words["states+noise"] == "agents 0, 2, 3 and 4 known exactly"


@pytest.mark.parametrize(
    "algorithm", ["rss-nb", "rss-lb", "dgd", "independent", hk.RssNb(1.0, persistent=0.5)]
)
def test_no_p1_or_p2_is_told_without_a_theorem(algorithm):
    found = hk.audit(RING, colluders=1, algorithm=algorithm, **QUICK)
    for name in ("p1", "p2"):
        with pytest.raises(NoTheorem, match=r"no theorem covers .* here: see `findings`"):
            getattr(found, name)
    assert (text.proved(found), found.covered) == ([], False)
    numbers = found.to_json()
    assert (numbers["p1"], numbers["p2"], numbers["smallest_cut"]) == (None, None, None)
    assert (numbers["min_degree"], numbers["vertex_connectivity"]) == (2, 2)


def test_waves_as_noise_functions_have_no_theorem():
    found = hk.audit(RING, coalition={1}, algorithm=hk.FunctionSharing(2, 1.0, family="cosine"), **QUICK)
    assert not found.covered
    assert text.estimated(found)[0].startswith("FS: no theorem: there is none for waves as noise functions")


NETWORKS = [
    hk.Network(nx.compose(nx.gnp_random_graph(6, 0.45, seed=seed), nx.path_graph(6))) for seed in (1, 4)
]


@pytest.mark.parametrize("network", NETWORKS, ids=["one", "another"])
@pytest.mark.parametrize("algorithm", ["rss-nb", "function-sharing"])
def test_each_listener_is_given_its_own_worst_coalition(network, algorithm):
    """Who hears best by itself is not who gains most from a tap."""
    found = hk.audit(network, colluders=1, algorithm=algorithm, **QUICK)
    for one in found.findings:
        every = [hk.leakage(network, algorithm, coalition={j}, threat=one.threat, **QUICK) for j in range(6)]
        assert one.least == pytest.approx(min(x.sd[list(x.honest)].min() for x in every), abs=1e-6)
        assert one.searched == (6, 6)


@pytest.mark.slow
def test_how_far_a_search_came_is_told():
    found = hk.audit(hk.Network.random_regular(4, 40), colluders=3, algorithm="rss-nb", rounds=20)
    searched, total = found.findings[0].searched
    assert total == 9880
    assert searched < total
    assert f"Worst of the {searched:,} searched of 9,880, " in text.estimated(found)[0]


def test_coalitions_that_were_not_searched_are_bounded(monkeypatch):
    # As far as a search goes, so long it takes; what is said of those it leaves out is the same.
    monkeypatch.setattr(findings, "worst_joint_leakage", partial(worst_joint_leakage, work=WORK // 10))
    network = hk.Network.random_regular(4, 40)
    found = hk.audit(network, colluders=3, algorithm="rss-nb", rounds=10)
    line = found.findings[0]
    assert line.searched[0] < line.searched[1]
    assert 0 < line.bound <= line.least
    assert line.to_json()["bound"] == line.bound
    assert (
        f"Whichever 3 they are, no gradient that stays the same is known better than ±{line.bound:.3g}"
        in str(found)
    )
    named = hk.audit(network, coalition=line.coalition, algorithm="rss-nb", rounds=10)
    assert named.findings[0].bound is None
    assert "Whichever" not in str(named)


def test_more_runs_average_fresh_noise_and_no_kept_one():
    once, often = (hk.audit(RING, coalition={1}, runs=runs, **QUICK) for runs in (1, 9))
    for label, shrinks in (("RSS-NB", True), ("RSS-NB, persistent", False), ("FS", False)):
        ratio = finding(often, label, "states").least / finding(once, label, "states").least
        assert (ratio < 0.4) == shrinks
    assert "over 12 rounds of 9 runs" in often.statement[0]


def test_an_anchor_is_advised_where_noise_averages_out():
    assert any(
        line.startswith("Persistent noise") for line in text.repairs(hk.audit(RING, colluders=1, **QUICK))
    )
    persistent = hk.audit(RING, colluders=1, algorithm=hk.RssNb(1.0, persistent=0.5), **QUICK)
    assert not any(line.startswith("Persistent noise") for line in text.repairs(persistent))
    assert "choose function sharing" in text.repairs(hk.audit(RING, colluders=1, algorithm="dgd", **QUICK))[0]


def test_what_cannot_be_mended_is_told_with_the_reason():
    found = hk.audit(hk.Network.cycle(6), colluders=2, forbidden=[(0, 2), (0, 3), (0, 4)], **QUICK)
    assert found.repair is None
    (line,) = (line for line in text.repairs(found) if "more links" in line)
    assert "{1, 5} cut {0} from {2, 3, 4} whatever is added; allow a link between these" in line
    with pytest.raises(BadNetwork, match="the forbidden link 0-9"):
        hk.audit(RING, colluders=1, forbidden=[(0, 9)], **QUICK)


@pytest.mark.parametrize("network", [PHASES, hk.Network.varying([hk.Network.cycle(6), [(0, 3), (2, 5)]])])
def test_networks_that_vary_are_judged_by_all_their_links(network):
    found = hk.audit(network, colluders=2, algorithm="rss-nb", **QUICK)
    assert found.guarantees == guarantees(network, 2)
    worst = finding(found, "RSS-NB").leakage
    again = hk.leakage(network, "rss-nb", coalition=worst.coalition, **QUICK)
    np.testing.assert_array_equal(worst.sd, again.sd)


def test_verdicts_are_json():
    for found in (
        hk.audit(RING, colluders=2, **QUICK),
        hk.audit(RING, coalition={1}, run=short_run_of("fs")),
        hk.audit(RING, coalition={1}, run=short_run_of("dgd")),
    ):
        numbers = found.to_json()
        assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
        assert numbers["verdict"] == list(found.verdict)
        assert {line["algorithm"] for line in numbers["findings"]} == {one.label for one in found.findings}


def test_what_every_verdict_says_of_itself():
    statement = "\n".join(hk.audit(RING, colluders=1, algorithm="dgd", **QUICK).statement)
    for said in (
        "any 1 member, semi-honest",
        "probe",
        "up to the width that its bound buys",
        "The sum over each honest component is exposed",
        "RSS-NB and RSS-LB have no privacy theorem",
        "not differential privacy",
        "last state must stay at home",
    ):
        assert said in statement


UNFIT = {
    "no words": lambda: replace(short_run_of("dgd"), transcript=None),
    "loaded": lambda: replace(short_run_of("dgd"), algorithm=None, step=None, problem=None),
    "whole": lambda: short_run_of("dgd"),
}


@pytest.mark.parametrize(
    ("asked", "kind", "says"),
    [
        ({}, BadInput, "an audit is against somebody: pass colluders=, a number, or coalition="),
        ({"coalition": {1, 9}}, BadInput, "agent 9 is unknown: this network has agents 0 to 4"),
        (
            {"coalition": range(5)},
            BadInput,
            "all 5 agents, nobody is left to hide anything; leave two or more",
        ),
        ({"coalition": range(1, 5)}, BadInput, "everybody but agent 0, who has nothing left to hide behind"),
        ({"coalition": ()}, BadInput, "an empty coalition sees nothing; name at least one agent"),
        ({"colluders": 5}, BadInput, "5 colluders among 5 agents leave nobody honest; plan for at most 3"),
        ({"colluders": 4}, BadInput, "leave one, with nothing to hide behind; plan for at most 3"),
        ({"colluders": 0}, BadInput, "plan for a whole number of them, 1 or more"),
        ({"colluders": 2, "coalition": {1}}, BadInput, r"2 colluders and the coalition \{1\} disagree"),
        ({"colluders": 1, "rounds": 0}, BadInput, "rounds = 0; give a whole number, 1 or more"),
        ({"colluders": 1, "runs": 0}, BadInput, "runs = 0; give a whole number, 1 or more"),
        ({"colluders": 1, "algorithm": "magic"}, BadInput, "unknown algorithm 'magic'; choose one of"),
        (
            {"colluders": 1, "run": "no words"},
            NotRecorded,
            r"kept no messages.*run it again with keep='transcript'",
        ),
        ({"colluders": 1, "run": "loaded"}, NotRecorded, "loaded from disk, without its algorithm and step"),
        ({"colluders": 1, "run": "whole", "algorithm": "dgd"}, BadInput, "leave algorithm= away"),
    ],
)
def test_impossible_questions_are_refused(asked, kind, says):
    asked = asked | {"run": UNFIT[asked["run"]]()} if "run" in asked else QUICK | asked
    with pytest.raises(kind, match=says):
        hk.audit(RING, **asked)


def test_a_run_on_another_network_is_refused():
    with pytest.raises(BadInput, match=r"this run was on cycle:5, not on complete:5; pass run\.network"):
        hk.audit(hk.Network.complete(5), colluders=1, run=short_run_of("dgd"))


def test_two_agents_have_nobody_to_hide_behind():
    with pytest.raises(BadInput, match=r"path:2 has 2 agents: .* an audit takes 3 or more"):
        hk.audit(hk.Network.path(2), colluders=1)
    how = {"rounds": 3, "step": 0.1, "keep": "transcript"}
    alone = hk.solve(quadratics(2, 1, 0), hk.Network.path(2), hk.Centralised(), **how)
    with pytest.raises(BadInput, match=r"has 1 agent: .* an audit takes 3 or more"):
        hk.audit(alone.network, coalition={0}, run=alone)
