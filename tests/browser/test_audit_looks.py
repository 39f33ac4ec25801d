"""How the audit page looks: large graphs, small screens, in the dark, on paper, and without its script."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

import hocket as hk
from hocket.privacy import leakage, repair
from hocket.report.verdict_page import verdict_page
from tests.browser.audit_cases import RING, agent, colluders, page_of
from tests.browser.contrasts import too_faint

NAMES = ["Aalst", "Bruges", "Charleroi", "Dinant", "Eupen"]


def whole_verdict():
    """A verdict on one algorithm, members by name."""
    how = {"rounds": 20, "algorithm": hk.RssNb(5.0, persistent=0.5), "dim": 3}
    return verdict_page(hk.audit(RING.called(NAMES), coalition={1}, **how))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_whole_verdict_begins_with_the_answer_and_rows_by_name(opened, scheme):
    page = opened(whole_verdict(), color_scheme=scheme)
    expect(page.locator(".lead")).to_contain_text("to Bruges the gradient of")
    rows = page.locator("[aria-label=Verdict] table.stacked tbody tr")
    assert {*rows.locator("th").all_text_contents()} == {*NAMES} - {"Bruges"}
    assert colluders(page) == [1]
    expect(page.locator("details").first).not_to_have_attribute("open", "")
    assert page.get_by_text("P1").count() == 0
    expect(page.locator("#headline")).to_have_text("Agent 1 (Bruges) colludes. Under RSS-NB: no theorem.")
    assert too_faint(page) == []


def test_rows_of_a_verdict_stack_on_a_telephone(opened):
    page = opened(whole_verdict(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    cell = page.locator("[aria-label=Verdict] table.stacked td").first
    assert "Bruges alone" in cell.evaluate("one => getComputedStyle(one, '::before').content")
    assert cell.bounding_box()["width"] > 300


def test_a_whole_verdict_prints_its_words_numbers_and_legend(opened):
    page = opened(whole_verdict(), color_scheme="dark")
    page.emulate_media(media="print")
    for part in (".lead", "[aria-label=Verdict] table.stacked", "dl.words", "#graph"):
        expect(page.locator(part)).to_be_visible()
    folded = page.locator("details table").first
    assert folded.evaluate("one => one.getBoundingClientRect().height") > 0  # paper has nothing to unfold


def test_sixty_agents_are_all_there_and_apart(opened):
    network = hk.Network.random_regular(4, 60)
    page = opened(page_of(network, worst=(1, 2)))
    assert page.locator("#graph .agent").count() == 60
    assert page.locator("#graph .link").count() == 120
    boxes = [shape.bounding_box() for shape in page.locator("#graph .agent .round").all()]
    centres = np.array([[box["x"] + box["width"] / 2, box["y"] + box["height"] / 2] for box in boxes if box])
    apart = np.linalg.norm(centres[:, None] - centres, axis=2) + 1e9 * np.eye(60)
    assert apart.min() > boxes[0]["width"]
    for number in (0, 17, 59):
        agent(page, number).click()
    assert colluders(page) == [0, 17, 59]


@pytest.mark.parametrize(
    "network", [RING, hk.Network.random_regular(3, 60)], ids=lambda network: network.name
)
def test_a_telephone_shows_it_without_scrolling_sideways(opened, network):
    page = opened(page_of(network, worst=()), viewport={"width": 390, "height": 844}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    agent(page, 1).tap()
    expect(page.locator("#headline")).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(opened, scheme):
    estimates = [leakage(RING, "rss-nb", rounds=20, coalition=(1, 4))]
    page = opened(page_of(leakage=estimates, repair=repair(RING, 2)), link="#1,4", color_scheme=scheme)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(253, 253, 252)"
    assert dark == (scheme == "dark")
    for algorithm in ("function-sharing", "dgd"):
        page.locator(f"[name=algorithm][value={algorithm}]").check()
        assert too_faint(page) == []


def test_on_paper_it_is_light_complete_and_without_controls(opened):
    network = hk.Network.random_regular(3, 60)
    estimates = [leakage(network, "rss-nb", rounds=5, coalition=(1, 4))]
    page = opened(page_of(network, leakage=estimates, worst=()), link="#1,4", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("#undo", "#clear", "#typed", "[data-copy=command]"):
        expect(page.locator(control)).to_be_hidden()
    for part in ("#graph", "#headline", "#cards", "#command"):
        expect(page.locator(part)).to_be_visible()
    table = page.locator(".long").first
    assert table.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
    assert page.pdf().startswith(b"%PDF")


def test_without_a_script_words_graph_and_tables_are_there(opened):
    page = opened(page_of(), java_script_enabled=False)
    expect(page.get_by_text("Two colluders can single somebody out.")).to_be_visible()
    expect(page.locator("noscript p")).to_contain_text("The script of this page does not run here")
    expect(page.locator(".tools")).to_be_hidden()
    expect(agent(page, 4)).to_be_visible()
    expect(page.get_by_text("Guarantees by number of colluders")).to_be_attached()
    expect(page.locator("#command")).to_be_visible()
