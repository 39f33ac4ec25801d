"""The page of a run: the first questions answered, what an audit found, and the same page again from its folder."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import hocket as hk
from hocket.engines.solver import solve
from hocket.report.exposure import (
    FEW_ROUNDS,
    LARGEST,
    audit_of,
    compared,
    exposed,
    leakage_figure,
    marked_graph,
)
from hocket.report.folder import convergence_card, theorem_card
from hocket.report.page import AnswerCard, Page, whole_numbers
from hocket.report.tables import Table
from hocket.runs.run import Ending, Outcome


def played(algorithm=None, network=None, **choices):
    network = hk.Network.cycle(5) if network is None else network
    choices = {"rounds": 30, "start": 0.5} | choices
    return solve(hk.paper_polynomials(), network, algorithm or hk.RssNb(1.0), **choices)


@pytest.fixture(scope="module")
def run():
    return played()


def test_whether_it_converged_is_said_with_its_numbers(run):
    card = convergence_card(run)
    assert card.verdict == f"gap {run.gap:.3g} after 30 rounds".replace("e-0", "e-")
    assert "farther than" in card.reasons[1]
    small = dataclasses.replace(run, gap=run.history["gap"][0] / 1000)
    assert (convergence_card(small).tone, convergence_card(dataclasses.replace(run, gap=1e9)).tone) == (
        "holds",
        "open",
    )
    met = dataclasses.replace(run, outcome=Outcome(Ending.CONVERGED, 30, "gap below 0.1"))
    assert convergence_card(met).verdict == "yes, at round 30: gap below 0.1"
    unknown = dataclasses.replace(run, gap=math.nan)
    assert convergence_card(unknown).tone == "open"
    assert "The optimum is not known" in convergence_card(unknown).reasons[0]
    broken = dataclasses.replace(run, outcome=Outcome(Ending.DIVERGED, 1207, "agent 2's state is not finite"))
    assert convergence_card(broken).verdict == "no: diverged at round 1,207"
    assert convergence_card(broken).reasons == ("Agent 2's state is not finite.",)


def test_which_theorem_applies_is_said_or_why_none_does(run):
    assert theorem_card(run.claim).verdict == "Theorem 1"
    assert theorem_card(run.claim).reasons == ("Every agent converges to one optimum.",)
    none = played(step=0.01).claim
    assert theorem_card(none).verdict == "none"
    assert "does not satisfy" in theorem_card(none).reasons[0]


@pytest.mark.parametrize(
    ("algorithm", "tone", "verdict"),
    [
        (hk.FunctionSharing(4, 1.0), "holds", "nothing but sums, to 1 colluder (Theorem 2)"),
        (hk.RssNb(1.0), "open", "to 1 colluder; no theorem"),
        (hk.Dgd(), "exposed", "4 gradients exactly, to 1 colluder"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_is_exposed_follows_the_algorithm(algorithm, tone, verdict):
    card, section = exposed(audit_of(played(algorithm)))
    assert card.tone == tone
    assert verdict in card.verdict
    assert section is not None
    assert section.words[1] == card.reasons[0]  # after the answer
    assert section.graph is not None
    assert "squares collude: agent 0" in section.graph.alt


def test_a_named_coalition_that_cuts_is_told_so():
    run = played(hk.FunctionSharing(4, 1.0))
    card, section = exposed(audit_of(run, coalition={1, 4}))
    assert card.verdict == "single objectives, to coalition {1, 4}"
    assert section is not None
    assert section.graph is not None
    assert section.graph.svg.count('class="agent colluder"') == 2
    assert section.graph.svg.count('class="agent exact"') == 1
    assert section.graph.svg.count('class="agent group tint-0"') == 2
    assert section.graph.svg.count('class="link seen"') == 4


def test_a_run_that_cannot_be_audited_says_why(run):
    large = dataclasses.replace(run, network=hk.Network.cycle(30))
    assert "--colluders 1" in str(audit_of(large))
    loaded = dataclasses.replace(run, algorithm=None)
    assert "without its configuration" in str(audit_of(loaded))
    broken = dataclasses.replace(run, outcome=Outcome(Ending.DIVERGED, 3))
    assert "diverged" in str(audit_of(broken))
    pair = solve(hk.polynomials([[0, 0, 1], [0, 0, 1]], box=(-1, 1)), hk.Network.path(2), hk.Dgd(), rounds=3)
    assert "nobody is left" in str(audit_of(pair))
    card, section = exposed("there is no word for it")
    assert (card.verdict, card.reasons, section) == ("not audited", ("There is no word for it.",), None)


def test_a_long_run_is_audited_over_its_first_rounds_and_says_so(run):
    found = audit_of(dataclasses.replace(run, history={"round": np.array([0, 5000])}))
    assert not isinstance(found, str)
    assert found.findings[0].leakage.rounds == FEW_ROUNDS
    _, section = exposed(found, rounds=5000)
    assert section is not None
    assert "over the first 1,000 of 5,000 rounds" in section.words[-1]


def test_several_algorithms_are_compared_in_one_card():
    ring = hk.Network.cycle(5)
    plans = (hk.Dgd(), hk.RssNb(1.0), hk.FunctionSharing(4, 1.0))
    card, section = compared([hk.audit(ring, coalition={0}, algorithm=one, rounds=20) for one in plans])
    assert card.verdict == "nothing but sums under FS; more under the others"
    assert len(card.reasons) == 3
    assert "DGD: known exactly from round 1 on" in section.figures[0].alt
    assert [row[0] for row in section.tables[0].rows] == ["DGD", "RSS-NB", "FS"]


def test_a_figure_of_nothing_hidden_is_left_out():
    told = hk.leakage(hk.Network.cycle(5), "dgd", rounds=5, coalition={0, 2})
    assert leakage_figure({"DGD": dataclasses.replace(told, history=_known(told.history))}) is None


def _known(history):
    return {"round": history["round"], "sd": np.zeros_like(history["sd"])}


def test_a_graph_too_large_for_a_page_is_left_out():
    network = hk.Network.cycle(LARGEST + 1)
    finding = hk.audit(network, coalition={0}, algorithm="dgd", rounds=2).findings[0]
    assert marked_graph(network, finding) is None


def test_a_page_without_figures_or_audit_is_a_page():
    table = Table(("name", "gap"), (("a", "1"), ("b", "2")), "Results", numeric=frozenset({1}))
    text = Page(
        title="T",
        summary=["Words."],
        cards=[AnswerCard("Q?", "yes", "holds")],
        tables=[table],
        configuration="",
        commands=[],
    ).html()
    assert "Who could learn what" not in text
    assert 'href="#figures"' not in text
    assert 'class="sortable"' in text


def test_numbers_are_not_broken_over_lines():
    assert whole_numbers("1.2e-7 and a-b") == "1.2e\u20117 and a-b"
