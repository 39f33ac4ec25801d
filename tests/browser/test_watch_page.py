"""The watch page in a browser: it stays true by itself, in the dark, on a telephone, by the keyboard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from hocket.federation.monitoring.watching.server import ServedPage, take_port
from tests.browser.contrasts import too_faint
from tests.peers.watched_case import Watched

EVIL = "<img src=x onerror='window.harmed=1'>"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    one = Watched.of(tmp_path)
    one.write(waiting_for={"clinic-e": f"connected, but silent {EVIL}"}, waiting_seconds=42.0)
    with one.running():
        yield one


@pytest.fixture
def served(watched: Watched) -> Iterator[ServedPage]:
    one = take_port(watched.look)
    thread = threading.Thread(target=one.run, daemon=True)
    thread.start()
    yield one
    if thread.is_alive():
        one.stop()
        thread.join(10)


@pytest.fixture
def opened(browser: Browser, served: ServedPage) -> Iterator[Any]:
    """Opens the page; in the end it must not have complained, nor asked anybody else for anything."""
    troubles: list[str] = []
    contexts = []

    def open_page(**settings: Any) -> Page:
        context = browser.new_context(reduced_motion="reduce", **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((served.url, f"http://127.0.0.1:{served.port}/favicon.ico"))
                else troubles.append(f"asked for {request.url}")
            ),
        )
        page.goto(served.url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def test_it_says_how_the_run_stands_and_stays_true(opened, watched, served):
    page = opened()
    expect(page.locator("h1")).to_have_text("clinic-c in digits")
    expect(page.get_by_text("400 of 1,000 rounds")).to_be_visible()
    cards = page.locator(".answers .card")
    expect(cards.first).to_contain_text("still moving")
    expect(cards.nth(1)).to_contain_text("clinic-c waits for clinic-e for 42 s")
    assert page.locator(".card.holds").count() == 0
    assert page.get_by_role("progressbar").get_attribute("value") == "400"
    assert page.evaluate("window.harmed") is None
    for figure in page.get_by_role("img").all():
        assert "in round" in (figure.get_attribute("aria-label") or "")
    # What changes on the disk changes on the page, and what a tab is called.
    watched.write(watched.lines(rounds=250))
    expect(page.get_by_text("500 of 1,000 rounds")).to_be_visible(timeout=5000)
    expect(cards.nth(1)).to_contain_text("the last message came from clinic-b, 12 ms later")
    assert page.title().startswith("clinic-c: 500 of 1,000 rounds")
    growing = {
        "movement": 0.9,
        "movement_rounds": 40,
        "movement_ahead": 9.0,
        "movement_growth": 30.0,
        "round": 500,
    }
    watched.write(watched.lines(rounds=250), measured=growing)
    expect(cards.first).to_contain_text("diverging: its size grew 30-fold", timeout=5000)
    expect(cards.first).to_have_class("card exposed")


def test_by_the_keyboard_it_can_be_paused(opened, watched):
    page = opened()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the links")).to_be_focused()
    page.keyboard.press("Tab")
    pause = page.get_by_role("button", name="Pause")
    expect(pause).to_be_focused()
    page.keyboard.press("Enter")
    expect(pause).to_have_attribute("aria-pressed", "true")
    watched.write(watched.lines(rounds=250))
    page.wait_for_timeout(1500)
    expect(page.get_by_text("400 of 1,000 rounds")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("500 of 1,000 rounds")).to_be_visible(timeout=5000)


def test_when_the_watching_ends_it_says_so(opened, served):
    page = opened()
    served.stop()
    served.server.server_close()
    expect(page.locator("#said")).to_contain_text("start hocket peer watch --web again", timeout=5000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(opened, scheme):
    assert too_faint(opened(color_scheme=scheme)) == []


def test_a_telephone_shows_it_without_scrolling_sideways(opened):
    page = opened(viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_it_comes_anew_by_itself(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("noscript meta[http-equiv=refresh]").count() == 1
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
