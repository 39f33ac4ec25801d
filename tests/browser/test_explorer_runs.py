"""Runs in the explorer: watched while they play, to their end or until they are cancelled."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from hocket.explore.live_runs import Tell, play
from hocket.explore.questions import Question
from tests.browser.audit_cases import choose

LONG = 60_000
"""Milliseconds for a run: most of it is compiling."""


@pytest.fixture
def gate(monkeypatch) -> threading.Event:
    """Runs halt where they first say how far they are, until the gate opens or they are called off."""
    opened = threading.Event()

    def halting(question: Question, tell: Tell, stop: threading.Event) -> None:
        def told(event: dict[str, Any]) -> None:
            tell(event)
            while event.get("done") and not (opened.is_set() or stop.is_set()):
                time.sleep(0.01)

        play(question, told, stop)

    monkeypatch.setattr("hocket.explore.live_runs.play", halting)
    return opened


def test_a_run_is_watched_to_its_end_beside_dgd(explored, gate):
    page = explored()
    choose(page, "rss-lb")
    page.locator("#rounds").fill("300")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#run-words")).to_contain_text(re.compile(r"DGD: \d+ of 300 rounds\."), timeout=LONG)
    expect(page.locator("#run")).to_be_disabled()
    bar = page.get_by_role("progressbar", name="Rounds played")
    expect(bar).to_be_visible()
    assert 0 < bar.evaluate("bar => bar.value") < bar.evaluate("bar => bar.max") == 300
    expect(page.locator("#run-chart path.curve.c0")).not_to_have_count(0)
    gate.set()
    expect(page.locator("#run-words")).to_contain_text("from the optimum. Theorem 1", timeout=LONG)
    expect(page.locator("#run-chart .key")).to_have_text("DGDRSS-LB")
    expect(page.locator("#run-chart path.curve.c2")).not_to_have_count(0)
    expect(bar).to_be_hidden()
    expect(page.locator("#cancel")).to_be_disabled()
    before = page.locator("#run-words").inner_text()
    page.locator("#minima").select_option("apart")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#run-words")).not_to_have_text(before)
    expect(page.locator("#run-words")).to_contain_text("from the optimum", timeout=LONG)
    assert page.locator("#run-words").inner_text() != before


@pytest.mark.slow
def test_a_run_is_cancelled_and_another_begun(explored, gate):
    page = explored()
    choose(page, "rss-nb")
    page.locator("#rounds").fill("200000")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#run-words")).to_contain_text("of 200,000 rounds", timeout=LONG)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#run-words")).to_have_text("Cancelled.")
    expect(page.locator("#run")).to_be_enabled()
    gate.set()
    page.locator("#rounds").fill("20")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#run-words")).to_contain_text("from the optimum", timeout=LONG)


def test_a_run_on_a_drawing_that_falls_apart_is_refused_in_words(explored):
    page = explored()
    page.get_by_label("draws a link").check()
    page.get_by_role("button", name="Remove all links").click()
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#run-words")).to_contain_text("not connected")
    expect(page.locator("#run")).to_be_enabled()
