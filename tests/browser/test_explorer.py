"""The explorer as people use it: every control by mouse or keyboard, in the dark and on a telephone."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from hocket.explore.questions import forecast
from tests.browser.audit_cases import agent, card, choose, colluders
from tests.browser.contrasts import too_faint

KNOWN = re.compile(r"What stays unknown of each gradient, against rounds; of agent \d, known best, from")


def collude(page: Page, *members: int) -> None:
    for member in members:
        agent(page, member).click()


def link(page: Page, i: int, j: int) -> Any:
    return page.locator(f"#graph .link[data-from='{i}'][data-to='{j}']")


def test_it_opens_on_the_network_that_was_named(explored):
    page = explored()
    expect(page).to_have_title("Explore a topology")
    expect(page.locator("#facts")).to_have_text("cycle:7 · 7 agents · 7 links")
    expect(page.locator("#guarantees tbody tr")).to_have_count(3)
    expect(page.locator("#forecast-words")).to_have_text(
        "Nobody listens: choose colluders in the graph, or an eavesdropper."
    )


def test_a_topology_is_chosen_from_the_list_or_written_out(explored):
    page = explored()
    page.locator("#form").select_option(label="star")
    expect(page.locator("#facts")).to_have_text("star:6 · 6 agents · 5 links")
    expect(page.locator("#graph .agent")).to_have_count(6)
    expect(page.locator("#guarantees tbody tr").first).to_contain_text("✗ fails")
    page.locator("#topology").fill("harary:k=3,n=8")
    page.locator("#topology").press("Enter")
    expect(page.locator("#facts")).to_have_text("harary:k=3,n=8 · 8 agents · 12 links")
    expect(page.locator("#guarantees tbody tr").nth(1)).to_contain_text("✓ holds")
    page.locator("#topology").fill("cycle:1000")
    page.get_by_role("button", name="Use").click()
    expect(page.locator("#message")).to_contain_text(
        "the explorer takes up to 40 agents; audit larger networks with"
    )
    expect(page.locator("#graph .agent")).to_have_count(8)


def test_colluders_are_clicked_and_the_chosen_algorithm_is_judged(explored):
    page = explored()
    collude(page, 1, 3)
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 fail")
    expect(page.locator("#cards .card")).to_have_count(1)
    choose(page, "rss-nb")
    expect(page.locator("#headline")).to_have_text("Agents 1 and 3 collude. Under RSS-NB: 1 exposed exactly.")
    expect(card(page, "rss-nb")).to_contain_text("Estimated, rss-nb against coalition {1, 3}, 1,000 rounds")
    expect(card(page, "rss-nb")).to_contain_text("known exactly: the gradients of agent 2")
    page.get_by_role("button", name="Undo").click()
    assert colluders(page) == [1]


def test_the_keyboard_makes_agents_collude(explored):
    page = explored()
    agent(page, 0).focus()
    for key in ("ArrowRight", "Space", "End", "Enter"):
        page.keyboard.press(key)
    assert colluders(page) == [1, 6]
    page.locator("#typed").fill("2, 5")
    page.locator("#typed").press("Enter")
    assert colluders(page) == [2, 5]


def test_an_example_from_the_guarantees_is_shown_on_a_new_network(explored):
    page = explored()
    page.locator("#form").select_option(label="path")
    expect(page.locator("#facts")).to_contain_text("path:4")
    page.locator("#guarantees tbody tr").first.get_by_role("button", name="show me").click()
    assert len(colluders(page)) == 1


def test_links_are_drawn_and_taken_away_by_two_presses(explored):
    page = explored()
    collude(page, 1, 6)
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 fail")
    page.get_by_label("draws a link").check()
    agent(page, 0).click()
    expect(page.locator("#message")).to_have_text(
        "A link from agent 0: press the agent at its other end, or Escape."
    )
    agent(page, 3).click()
    expect(link(page, 0, 3)).to_have_count(1)
    expect(page.locator("#message")).to_have_text("Agents 0 and 3 are linked.")
    assert colluders(page) == [1, 6]  # nobody else was made to collude
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 hold")
    expect(page.locator("#facts")).to_have_text("drawn · 7 agents · 8 links")
    agent(page, 3).click()
    agent(page, 0).click()
    expect(link(page, 0, 3)).to_have_count(0)
    expect(page.locator("#facts")).to_have_text("drawn · 7 agents · 7 links")
    page.get_by_label("makes it collude").check()
    agent(page, 1).click()
    assert colluders(page) == [6]


def test_links_are_drawn_by_keyboard(explored):
    page = explored()
    page.get_by_label("draws a link").check()
    agent(page, 0).focus()
    for key in ("Enter", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(link(page, 0, 2)).to_have_count(1)
    page.keyboard.press("Space")
    expect(page.locator(".picked")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".picked")).to_have_count(0)
    expect(page.locator("#message")).to_have_text("")


def test_a_drawing_that_falls_apart_says_so_and_can_be_tidied_once_mended(explored):
    page = explored()
    page.get_by_label("draws a link").check()
    page.get_by_role("button", name="Remove all links").click()
    expect(page.locator("#graph .link")).to_have_count(0)
    expect(page.locator("#guarantees")).to_contain_text("not connected, it falls into 7 parts")
    expect(page.locator("#guarantees")).to_contain_text("add links between them")
    for other in range(1, 7):
        agent(page, 0).click()
        agent(page, other).click()
    expect(page.locator("#facts")).to_have_text("drawn · 7 agents · 6 links")
    expect(page.locator("#guarantees tbody tr").first).to_contain_text("{0} cuts the others apart")
    before = agent(page, 0).get_attribute("transform")
    page.get_by_role("button", name="Tidy up").click()
    expect(agent(page, 0)).not_to_have_attribute("transform", before or "")
    expect(page.locator("#graph .link")).to_have_count(6)


def test_the_forecast_follows_noise_anchor_rounds_and_listener(explored):
    page = explored()
    collude(page, 1)
    expect(page.locator("#anchor-field")).to_be_hidden()
    choose(page, "rss-nb")
    words, estimate = page.locator("#forecast-words"), card(page, "rss-nb").locator(".estimate")
    expect(words).to_contain_text("over 1,000 rounds")
    expect(page.locator("#leakage-chart > svg")).to_have_attribute("aria-label", KNOWN)
    seen = [estimate.inner_text()]

    def changed() -> None:
        expect(estimate).not_to_have_text(seen[-1], use_inner_text=True)
        seen.append(estimate.inner_text())

    page.locator("#delta").fill("10")
    changed()
    page.locator("#persistent").fill("0.5")
    changed()
    page.locator("#rounds").fill("100")
    changed()
    expect(words).to_contain_text("over 100 rounds")
    page.locator("#threat").select_option("states")
    changed()
    assert "and an eavesdropper on all links" in seen[-1]
    page.get_by_role("button", name="Nobody").click()
    expect(words).to_contain_text("Of each gradient")  # a tap listens without any insider
    collude(page, *range(6))
    expect(words).to_have_text("Nobody is left to hide behind: choose fewer colluders.")


def test_an_estimate_on_its_way_does_not_overwrite_a_later_answer(explored, monkeypatch):
    def slowly(question: Any) -> Any:
        time.sleep(0.5)
        return forecast(question)

    monkeypatch.setattr("hocket.explore.app.forecast", slowly)
    page = explored()
    choose(page, "rss-nb")
    collude(page, 1)
    words = page.locator("#forecast-words")
    expect(words).to_have_text("Estimating …")
    collude(page, 0, 2, 3, 4, 5)
    expect(words).to_have_text("Nobody is left to hide behind: choose fewer colluders.")
    page.wait_for_timeout(1500)
    expect(words).to_have_text("Nobody is left to hide behind: choose fewer colluders.")


def test_numbers_out_of_bounds_are_not_asked(explored):
    page = explored()
    collude(page, 1)
    expect(page.locator("#forecast-words")).to_contain_text("over 1,000 rounds")
    page.locator("#rounds").fill("10000000")
    page.locator("#run").click()
    expect(page.locator("#run")).to_be_enabled()
    assert page.locator("#rounds").evaluate("one => one.validationMessage") != ""
    expect(page.locator("#run-words")).to_have_text("The paper's polynomials, dealt around; press Run.")


def test_a_wrong_token_shows_nothing_but_what_to_do(browser, served):
    page = browser.new_page()
    for address in (served.url[:-1], served.url.split("?")[0]):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 403
        expect(page.locator("body")).to_contain_text("open the address that hocket explore printed")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(explored, scheme):
    page = explored(color_scheme=scheme)
    collude(page, 1, 3)
    page.get_by_label("draws a link").check()
    expect(page.locator("#leakage-chart > svg")).to_be_visible()
    assert too_faint(page) == []


def test_a_telephone_shows_it_without_scrolling_sideways(explored):
    page = explored(viewport={"width": 390, "height": 844}, has_touch=True)
    agent(page, 1).tap()
    expect(page.locator("#leakage-chart > svg")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("#headline")).to_be_in_viewport()
