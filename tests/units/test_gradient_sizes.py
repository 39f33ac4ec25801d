"""Numbers that a person can judge: every ± beside a gradient's size, and words that say no more than was found."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket as hk
from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack, What, Why
from hocket.privacy.audit import text
from hocket.privacy.audit.findings import GradientSize, typical_gradient
from hocket.privacy.audit.measurements import Measurement
from hocket.privacy.wording import Said, judged, known, searched_share
from tests.units.attack_cases import RING, run_of

QUICK = {"rounds": 12, "step": hk.Power(1, 20, 0.75)}
sizes = st.floats(1e-6, 1e6)


@given(sd=sizes, size=sizes, unit=sizes)
def test_what_is_known_does_not_depend_on_the_unit(sd, size, unit):
    if abs(sd / size - 1) > 1e-9:
        assert (known(sd, size) == "error as large as the gradient") == (
            known(sd * unit, size * unit) == "error as large as the gradient"
        )
    assert (known(sd, size) == "error as large as the gradient") == (sd >= size)
    assert f"{sd:.3g}" in judged(sd, size)
    assert "exactly" not in judged(sd, size)


@given(total=st.integers(1, 10**9), data=st.data())
def test_a_part_of_a_search_is_never_told_as_all_of_it(total, data):
    done = data.draw(st.integers(1, total))
    words = searched_share(done, total)
    assert ("all" in words) == (done == total)
    assert done == total or (f"{done:,} searched of {total:,}" in words and "100 %" not in words)


def every_line(found: hk.privacy.Audit) -> str:
    return "\n".join([found.answer, *text.proved(found), *text.estimated(found), *text.repairs(found)])


@pytest.mark.parametrize("algorithm", [None, "rss-nb", "rss-lb", "dgd", "independent"])
def test_no_plus_minus_stands_alone(algorithm):
    found = hk.audit(RING, colluders=1, algorithm=algorithm, **QUICK)
    for words in (every_line(found), *map(text.cell, found.findings)):
        for at in re.finditer("±", words):
            beside = words[at.start() : at.start() + 45]
            assert re.search(r"relative error [\d.]+|error as large as the gradient", beside), beside
    assert sum("assuming gradients of size 1 per coordinate" in one for one in found.statement) == 1


def test_sizes_are_declared_measured_or_supposed():
    plan = hk.audit(RING, coalition={1}, algorithm="rss-nb", **QUICK)
    declared = hk.audit(RING, coalition={1}, algorithm="rss-nb", gradient_size=100.0, **QUICK)
    assert plan.findings[0].least == declared.findings[0].least
    assert (
        "error as large as the gradient" in known(plan.findings[0].least, plan.gradient_size.size)
        or plan.findings[0].least < 1
    )
    assert re.search(r"relative error 0?\.?\d", declared.answer)
    assert any("of size 100 per coordinate, as declared" in one for one in declared.statement)
    run = run_of("rss-nb")
    measured = hk.audit(RING, coalition={1}, run=run)
    assert measured.gradient_size.size == pytest.approx(typical_gradient(run))
    assert any("in this run" in one and "of size" in one for one in measured.statement)
    assert GradientSize.of(None, replace(run, problem=None)).size == 1.0
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadInput, match="gradient_size"):
            hk.audit(RING, coalition={1}, gradient_size=wrong, **QUICK)


def test_a_runs_size_is_the_root_mean_square_of_true_gradients():
    """Of a constant gradient it is that gradient, whatever was said."""
    slopes = np.array([[0.0, c] for c in (3.0, -3.0, 3.0, -3.0, 3.0)])
    problem = hk.polynomials(slopes.tolist(), box=(-9, 9))
    run = hk.solve(problem, RING, hk.RssNb(1.0), rounds=5, step=0.1, keep="transcript")
    assert typical_gradient(run) == pytest.approx(3.0)


def outcome(error: float, truth: float, *, identifiable: bool = False) -> str:
    attack = Attack(
        "averaging",
        (2,),
        Said(What.MEAN, who=(2,)),
        identifiable,
        Said(Why.ONE_ROUND),
        estimate=np.array([[truth + error]]),
        predicted_sd=np.array([[error]]),
    )
    return text.measured(Measurement(attack, truth, error))


def test_what_is_known_to_a_per_cent_is_not_called_hidden():
    close = outcome(0.022, 3.3)
    assert "hidden" not in close
    assert "relative error 0.0067" in close
    assert "error as large as the gradient" in outcome(5.0, 3.3)
    assert "known" not in outcome(5.0, 3.3).replace("error as large as the gradient", "")


def test_without_noise_nothing_averages_out():
    found = hk.audit(RING, colluders=1, algorithm="dgd", **QUICK)
    assert "averag" not in every_line(found) + "".join(map(text.cell, found.findings))
    assert "nothing hides it" in text.estimated(found)[0]


@pytest.mark.slow
def test_the_worst_of_a_part_is_not_the_worst():
    found = hk.audit(hk.Network.random_regular(4, 40), colluders=4, algorithm="rss-nb", rounds=5)
    done, total = found.findings[0].searched
    assert done < total == 91_390
    for words in (text.estimated(found)[0], found.answer):
        assert f"orst of the {done:,} searched of {total:,}" in words
        assert "Worst is" not in words


@pytest.mark.parametrize(
    "algorithm", ["rss-nb", "rss-lb", "dgd", "independent", hk.RssNb(1.0, persistent=0.5)]
)
def test_estimates_call_nothing_hidden(algorithm):
    found = hk.audit(RING, colluders=1, algorithm=algorithm, **QUICK)
    for one in found.findings:
        assert "hidden" not in text.line(one) + text.cell(one)
        assert "hidden" not in one.to_json()
    assert "hidden" not in " ".join(text.estimated(found))


def test_changing_gradients_are_said_to_tell_more():
    words = " ".join(hk.audit(RING, colluders=1, algorithm="rss-nb", **QUICK).statement)
    assert "harder" not in words
    assert "Who knows the public form of the objectives knows more" in words


@pytest.mark.parametrize("algorithm", ["rss-nb", hk.RssNb(1.0, persistent=0.5)])
def test_noise_in_pairs_is_recommended_for_slopes_only(algorithm):
    found = hk.audit(RING, colluders=1, algorithm=algorithm, **QUICK)
    assert any(
        "hides slopes only" in line and "choose function sharing" in line for line in text.repairs(found)
    )
    assert "everything but slopes is open" in found.answer
    assert "slopes only" in text.repairs(hk.audit(RING, colluders=1, algorithm="dgd", **QUICK))[0]


def test_the_answer_goes_by_names():
    named = RING.called(["Aalst", "Bruges", "Charleroi", "Dinant", "Eupen"])
    found = hk.audit(named, coalition={1, 4}, algorithm="rss-nb", **QUICK)
    assert found.answer == "Under RSS-NB, Bruges and Eupen would know the gradient of Aalst exactly."
    assert "Coalition Bruges and Eupen: Aalst known exactly" in text.estimated(found)[0]
