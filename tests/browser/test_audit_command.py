"""The page that `hocket audit --html` writes: it opens by itself, offline, and everything on it can be pressed."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from hocket.cli import main
from tests.browser.audit_cases import agent, card, colluders


def test_the_page_of_the_command_opens_and_answers(
    browser: Browser, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--topology", "cycle:6", "--coalition", "1,3", "--rounds", "8", "--html", "audit.html"]
    assert main(["audit", *words]) == 0
    assert "Page: audit.html" in capsys.readouterr().out
    file, troubles = tmp_path / "audit.html", []
    context = browser.new_context(offline=True, reduced_motion="reduce")
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: troubles.append(request.url) if request.url != file.as_uri() else None)
    page.goto(file.as_uri())

    assert colluders(page) == [1, 3]
    expect(page.locator("#headline")).to_contain_text("agent 2 is exposed exactly")
    expect(card(page, "rss-nb")).to_contain_text(
        "Estimated, rss-nb against coalition {1, 3}, 8 rounds, gradients"
    )
    expect(page.locator("#command")).to_have_text(
        "hocket audit --topology cycle:6 --rounds 8 --coalition 1,3 --html audit.html"
    )
    agent(page, 3).click()
    assert colluders(page) == [1]
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 hold")
    expect(page.locator("#estimate-command")).to_have_text(
        "hocket audit --topology cycle:6 --rounds 8 --coalition 1"
    )
    page.get_by_role("button", name="Undo").click()
    assert colluders(page) == [1, 3]
    page.locator("#repaired").check()
    expect(card(page, "function-sharing")).to_contain_text("P1 and P2 hold")
    page.get_by_role("button", name="Nobody").click()
    assert colluders(page) == []
    page.get_by_role("button", name="Smallest cut").click()
    assert len(colluders(page)) == 2
    rows = page.locator("table", has_text="Guarantees by number of colluders").locator("tbody tr")
    rows.nth(1).get_by_role("button", name="show me").click()
    assert len(colluders(page)) == 2

    context.close()
    assert troubles == []
