"""What results say of themselves: equal to the pooled fit only where they are, no headline by p, errors with limits."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
import pytest

from hocket.studies import Results, Table, check_table, parse_study, simulate
from hocket.studies.models.evaluate import Evaluation
from hocket.studies.results.equality import FITS, QUESTION, equalities, equality_card
from hocket.studies.results.figures import performance
from hocket.studies.results.page import results_page
from hocket.studies.results.results import digest_of
from hocket.studies.results.tables import labels
from hocket.studies.spec.study import QuestionSection


def columns(seed: int, rows: int = 200) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), rng.normal(size=rows)
    return {
        "x": x.tolist(),
        "z": z.tolist(),
        "n": rng.poisson(np.exp(0.3 * x)).tolist(),
        "y": (rng.random(rows) < 1 / (1 + np.exp(-x + 0.8 * x * z))).astype(int).tolist(),
        "t": rng.exponential(np.exp(-x)).round(3).__add__(0.001).tolist(),
        "e": (rng.random(rows) < 0.7).astype(int).tolist(),
        "patient_id": [f"p{one // 2}" for one in range(rows)],
    }


def found(tables: dict[str, Any], **more: list[Any]) -> Results:
    members = {name: Table.of(columns(seed) | more) for seed, name in enumerate(("a", "b", "c"))}
    return simulate(parse_study({**tables, "study": {"title": "T", **tables["study"]}}), members)


def card(results: Results) -> Any:
    return equality_card(results.findings, "sums")


GRID = [0.5, 1.0, 2.0, 4.0]
CLAIMS = [
    ({"study": {"formula": "z ~ x"}}, "yes, to rounding", "the pooled fit, to rounding"),
    (
        {"study": {"formula": "y ~ x", "family": "binomial"}},
        "yes, to rounding",
        "the pooled fit, to rounding",
    ),
    ({"study": {"formula": "n ~ x", "family": "poisson"}}, "yes, to rounding", "the pooled fit, to rounding"),
    ({"study": {"formula": "t ~ x", "family": "gamma"}}, "yes, to rounding", "the pooled fit, to rounding"),
    (
        {"study": {"formula": "Surv(t, e) ~ x", "family": "cox"}},
        "yes, to rounding",
        "not the one without strata",
    ),
    (
        {"study": {"formula": "z ~ x"}, "penalty": {"lasso": 0.1}},
        "yes, to rounding",
        "to the precision at which",
    ),
    (
        {"study": {}, "describe": {"columns": ["x"], "quantiles": []}},
        "yes, to rounding",
        "means and standard",
    ),
    ({"study": {}, "describe": {"columns": ["x"]}}, "in part", "found by bisection"),
    ({"study": {}, "survival": {"time": "t", "event": "e", "grid": GRID}}, "not exactly", "a life table"),
    (
        {"study": {"formula": "y ~ x", "family": "binomial"}, "evaluate": {"held_out": 0.4}},
        "in part",
        "which is no sampling error",
    ),
]


@pytest.mark.parametrize(("tables", "verdict", "words"), CLAIMS)
def test_equal_to_the_pooled_fit_is_said_by_one_closed_list(tables, verdict, words):
    """Before, every study without noise was ticked: "yes"."""
    results = found(tables)
    shown = card(results)
    assert shown.verdict == verdict
    assert words in " ".join(shown.reasons)
    assert (shown.tone == "holds") == (verdict == "yes, to rounding")
    page = results_page(results, commands=[]).html()
    assert QUESTION in page
    assert ("yes, to rounding" in page) == (verdict == "yes, to rounding")


def test_a_family_that_is_not_on_the_list_is_not_called_equal():
    families = typing.get_args(QuestionSection.model_fields["family"].annotation)
    assert set(families) == set(FITS)
    results = found({"study": {"formula": "z ~ x"}})
    fit = results.findings.fit
    assert fit is not None
    object.__setattr__(fit, "family", "ordinal")
    assert [one.equal for one in equalities(results.findings)] == [False]
    assert card(results).verdict == "not exactly"


def test_exact_curves_are_called_so():
    grid = sorted({one for seed in range(3) for one in columns(seed)["t"]})
    tables = {
        "study": {},
        "survival": {"time": "t", "event": "e", "grid": grid},
        "disclosure": {"smallest_cell": 1},
    }
    assert card(found(tables)).verdict == "yes, to rounding"


def test_no_headline_picks_small_p_values_or_quotes_a_main_effect_of_an_interaction():
    """Before: "y goes with x (odds ratio 2.2, p < 0.001), …", where x is in an interaction."""
    results = found({"study": {"formula": "y ~ x*z", "family": "binomial"}})
    page = results_page(results, commands=[])
    summary = " ".join(page.summary)
    assert summary == "Over 600 rows, y explained by x, z, x × z. Estimates and intervals are in the table."
    for word in ("p <", "p =", "odds ratio", "goes with"):
        assert word not in summary


def test_binning_is_called_binning():
    results = found({"study": {"formula": "y ~ x", "family": "binomial"}, "evaluate": {"held_out": 0.4}})
    tested: Evaluation | None = results.findings.evaluation
    assert tested is not None
    page = results_page(results, commands=[]).html()
    assert f"binning moves it by {tested.auc_within:g} at most; sampling error: not given" in page
    assert "±" not in performance(tested).svg.split("</metadata>")[-1]


def test_filled_in_means_are_remarked_upon():
    rng = np.random.default_rng(0)
    holes = [None if rng.random() < 0.2 else float(one) for one in rng.normal(size=200)]
    tables = {"study": {"formula": "z ~ x + w"}, "columns": {"w": {"missing": "mean"}}}
    results = found(tables, w=holes)
    words = "Missing cells of w were filled in with the joint mean; standard errors and p-values ignore that"
    assert words in " ".join(results.data["remarks"])
    assert words in results_page(results, commands=[]).html()
    assert "filled in" not in " ".join(found({"study": {"formula": "z ~ x"}}).data["remarks"])


def test_rows_of_the_same_person_are_remarked_upon():
    results = found({"study": {"formula": "z ~ x"}})
    words = "column patient_id looks like an id and has 100 different values in 200 rows"
    study = results.study
    check, rows = check_table(study, Table.of(columns(0), "a"))
    assert words in " ".join(check.notes)
    assert words in results_page(results, commands=[]).html()
    assert [one.split(":")[0] for one in results.data["own_remarks"]] == ["a", "b", "c"]
    assert "Standard errors and p-values hold for rows that are independent" in " ".join(
        results.data["remarks"]
    )
    assert digest_of(results.data) == digest_of(results.data | {"own_remarks": []})
    assert rows.remarks


@pytest.mark.parametrize("name", ["id", "ID", "Pat-Nr", "subject", "SubjectID", "study_id", "person"])
def test_what_looks_like_an_id(name):
    study = parse_study({"study": {"title": "T", "formula": "z ~ x"}})
    twice = columns(0) | {name: [*range(100), *range(100)]}
    del twice["patient_id"]
    assert f"column {name} looks like an id" in " ".join(check_table(study, Table.of(twice))[0].notes)
    once = twice | {name: [*range(200)]}
    assert not check_table(study, Table.of(once))[0].notes
    other = {("idle" if key == name else key): cells for key, cells in twice.items()}
    assert not check_table(study, Table.of(other))[0].notes


def test_a_private_study_says_nothing_of_ids_in_its_results():
    bounds = {"x": {"range": [-5, 5]}, "z": {"range": [-5, 5]}}
    results = found(
        {"study": {"formula": "z ~ x"}, "columns": bounds, "privacy": {"epsilon": 8.0, "delta": 1e-6}}
    )
    assert not results.own_remarks
    assert "own_remarks" not in results.data


def test_a_level_with_a_colon_keeps_its_name_on_the_page():
    """A*11:01 and A*12:01 both stood as "hla: A*1 (vs B*07:02) × 01]"."""
    levels = ["A*11:01", "A*12:01", "B*07:02"]
    cells = np.random.default_rng(0).choice(levels, 200).tolist()
    sections = {"columns": {"hla": {"levels": levels, "reference": "B*07:02"}, "x": {"label": "Age"}}}
    results = found({"study": {"formula": "z ~ x*C(hla)"}, **sections}, hla=cells)
    called = labels(results.study, results.findings.fit.names)
    assert called["C(hla)[A*11:01]"] == "hla: A*11:01 (vs B*07:02)"
    assert called["x:C(hla)[A*12:01]"] == "Age × hla: A*12:01 (vs B*07:02)"
    assert "hla: A*12:01 (vs B*07:02)" in results_page(results, commands=[]).html()


def test_a_level_without_a_reference_is_against_none():
    cells = np.random.default_rng(0).choice(["a", "b"], 200).tolist()
    results = found({"study": {"formula": "z ~ 0 + C(g)"}, "columns": {"g": {"levels": ["a", "b"]}}}, g=cells)
    assert [*labels(results.study, results.findings.fit.names).values()] == ["g: a", "g: b"]


def test_a_level_that_is_called_none_is_a_level():
    """Its rows counted as missing, and were left out: "none: 0, missing: 160" was called that of the pooled rows."""
    levels = ["none", "mild", "NA"]
    cells = [*(levels * 60), *["?"] * 20]
    results = found(
        {"columns": {"s": {"levels": levels}}, "describe": {"columns": ["s"]}, "study": {}}, s=cells
    )
    summary = results.findings.description.columns["s"]
    assert summary.levels == {"none": 180, "mild": 180, "NA": 180}
    assert summary.missing == 60
    some = {"columns": {"any": {"from": "s", "map": ["none"]}}, "describe": {"columns": ["any"]}, "study": {}}
    assert found(some, s=cells).findings.description.columns["any"].levels == {"0": 180, "1": 180}
