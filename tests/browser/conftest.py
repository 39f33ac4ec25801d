"""A real browser that may open files, or ask the explorer, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import hocket as hk
from hocket.explore.app import ServedExplorer
from hocket.report.audit_page import AuditPage, audit_page
from tests.browser.chromium import MISSING, found
from tests.explorer import serving

Opener = Callable[..., Page]


# Per package: Playwright runs an event loop in the main thread, where tests elsewhere may want their own.
@pytest.fixture(scope="package")
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
    """Opens a page from disk, an audit's or a file; in the end, none may have complained or asked for more."""
    troubles: list[str] = []
    contexts = []

    def open_page(page: AuditPage | Path, *, link: str = "", **settings: Any) -> Page:
        context = browser.new_context(offline=True, reduced_motion="reduce", **settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        file = page if isinstance(page, Path) else tmp_path / "audit.html"
        if isinstance(page, AuditPage):
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


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExplorer]:
    with serving(hk.Network.cycle(7)) as one:
        yield one


@pytest.fixture
def explored(browser: Browser, served: ServedExplorer) -> Iterator[Opener]:
    """Opens the explorer; in the end it must not have complained, nor asked anybody else for anything."""
    troubles: list[str] = []
    contexts = []

    def explore(**settings: Any) -> Page:
        context = browser.new_context(reduced_motion="reduce", **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((f"http://127.0.0.1:{served.port}/", "data:,"))
                else troubles.append(f"asked for {request.url}")
            ),
        )
        page.goto(served.url)
        return page

    yield explore
    for context in contexts:
        context.close()
    assert troubles == []
