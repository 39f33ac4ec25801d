"""The results page of a study in a browser: all its parts, in the dark, on a telephone, on paper."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from hocket.studies import Table, parse_study, simulate
from hocket.studies.results.page import write_page
from tests.browser.contrasts import too_faint

EVIL = "<img src=x onerror='window.harmed=1'>"
STUDY = {
    "study": {
        "title": "Who falls ill?",
        "question": f"Does a long wait matter? {EVIL}",
        "formula": "ill ~ age + C(arm) + age:C(arm)",
        "family": "binomial",
    },
    "columns": {
        "ill": {"map": "ill > 0"},
        "age": {"units": "$years$", "per": 10, "label": EVIL},
        "arm": {"levels": ["usual", "new"], "label": r"$\frac{1}{$"},
        "time": {"units": "weeks"},
    },
    "describe": {"columns": ["age", "arm", "ill"], "cross": [["arm", "ill"]]},
    "survival": {"time": "time", "event": "ill", "grid": [1, 2, 4, 8], "by": "arm"},
    "evaluate": {"held_out": 0.3},
}


def clinic(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    age, arm = rng.normal(60, 10, 150), rng.integers(0, 2, 150)
    ill = rng.random(150) < 1 / (1 + np.exp(-(age - 60) / 10 + arm))
    arms = np.array(["usual", "new"])[arm]
    return Table.of({"ill": ill.astype(int), "age": age, "arm": arms, "time": rng.exponential(4, 150)})


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    found = simulate(parse_study(STUDY), {name: clinic(seed) for seed, name in enumerate("abc")})
    return write_page(found, folder, commands=["hocket study simulate study.toml --data a.csv b.csv c.csv"])


def test_question_answers_tables_and_what_was_seen(opened, results):
    page = opened(results)
    expect(page.locator("h1")).to_have_text("Who falls ill?")
    expect(page.locator(".lead")).to_contain_text("Does a long wait matter?")
    cards = page.locator(".answers .card")
    expect(cards).to_have_count(3)
    expect(cards.nth(1)).to_contain_text("a 150, b 150, c 150")
    expect(cards.nth(2)).to_contain_text("a dry run hides nothing")
    for table in (
        "Coefficients",
        "How well it fits",
        "On held-out rows",
        "Life table",
        "Levels",
        "What was seen",
    ):
        assert page.locator("caption", has_text=table).count() == 1, table
    expect(page.get_by_role("columnheader", name="odds ratio")).to_be_visible()
    expect(page.get_by_text("Theorem T (function sharing in a finite group)")).to_be_visible()
    assert page.locator("figure.plot").count() == 3  # forest, ROC and calibration, survival
    for figure in page.get_by_role("img").all():
        assert len(figure.get_attribute("aria-label") or "") > 40
    levels = [
        int(one[1]) for one in page.locator("h1, h2, h3").evaluate_all("all => all.map(one => one.tagName)")
    ]
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(opened, results, scheme):
    page = opened(results, color_scheme=scheme)
    page.locator("summary").evaluate_all("all => all.forEach(one => { one.parentNode.open = true; })")
    assert too_faint(page) == []


def test_a_telephone_shows_it_without_scrolling_sideways(opened, results):
    page = opened(results, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_on_paper_it_is_light_and_complete(opened, results):
    page = opened(results, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.get_by_text("If all other members but one collude")).to_be_visible()
    assert page.pdf().startswith(b"%PDF")


def test_words_of_a_study_that_mean_harm_are_only_words(opened, results):
    page = opened(results)
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
