"""A real browser that may open files and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from hocket.report.audit_page import AuditPage, audit_page
from tests.browser.chromium import MISSING, found

Opener = Callable[..., Page]


# Per module: Playwright runs an event loop in the main thread, where tests of other modules may want their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = found()
    if path is None:
        pytest.fail(MISSING, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens an audit page from disk; in the end, whatever was opened must not have complained or asked for anything."""
    troubles: list[str] = []
    contexts = []

    def open_page(page: AuditPage, *, link: str = "", **settings: Any) -> Page:
        context = browser.new_context(offline=True, reduced_motion="reduce", **settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        file = tmp_path / "audit.html"
        file.write_text(audit_page(page), encoding="utf-8")

        def only_the_file(route: Any) -> None:
            if route.request.url.split("#")[0] == file.as_uri():
                route.continue_()
            else:
                troubles.append(f"asked for {route.request.url}")
                route.abort()

        context.route("**/*", only_the_file)
        tab.goto(file.as_uri() + link)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []
