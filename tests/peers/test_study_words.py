"""What a study's plan says before anybody signs it, and what it refuses among few members."""

from __future__ import annotations

import pytest

from hocket.errors import BadStudy
from hocket.federation.audit.study_audit import judge_plan
from hocket.links.keys.identity import Identity

from .study_case import NAMES, STUDY, planned

IDENTITIES = [Identity.create(name) for name in NAMES]

FLAGS = """
[study]
title = "Yes or no"
formula = "ill ~ smoker + C(sex)"
family = "binomial"
[columns.ill]
map = "ill > 0"
[columns.smoker]
map = "smoker > 0"
[columns.sex]
levels = ["f", "m"]
"""


def test_a_plan_says_what_a_member_computes_of_the_others_rows():
    words = "\n".join(judge_plan(planned(IDENTITIES, range(7000, 7004), study=FLAGS)).words)
    assert (
        "smoker, sex, ill can be combined in 8 ways, and the model over at most 15 steps shows up to" in words
    )
    assert "A member can compute how many of the others' rows have each combination." in words
    assert "A member who gives made-up numbers changes the answer, and chooses where sums are taken" in words


def test_a_plan_with_own_intercepts_is_refused():
    study = STUDY.replace('family = "binomial"', 'family = "binomial"\nsite = true')
    with pytest.raises(BadStudy, match=r"site = true: .* Leave site out"):
        judge_plan(planned(IDENTITIES, range(7000, 7004), study=study))
