"""An audit page to try things on, and what the tests look for on it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page

import hocket as hk
from hocket.privacy import guarantees
from hocket.report.audit_page import AuditPage

RING = hk.Network.cycle(5)


def page_of(network: hk.Network = RING, **changes: Any) -> AuditPage:
    parts: dict[str, Any] = {
        "title": f"Audit of {network.name}",
        "network": network,
        "verdict": ["Two colluders can single somebody out.", "One cannot."],
        "guarantees": [guarantees(network, f) for f in (1, 2)],
        "worst": (0, 2),
        "statement": ["A passive coalition.", "Not differential privacy."],
        "command": "hocket audit --topology cycle:5 --colluders 2 --html audit.html",
        "asking": "hocket audit --topology cycle:5 --coalition",
    }
    return AuditPage(**(parts | changes))


def agent(page: Page, number: int) -> Locator:
    return page.locator(f"#graph [data-agent='{number}']")


def colluders(page: Page) -> list[int]:
    pressed = page.locator("#graph [aria-pressed=true]").all()
    return [int(one.get_attribute("data-agent") or -1) for one in pressed]


def card(page: Page, algorithm: str) -> Locator:
    return page.locator(f".card[data-algorithm='{algorithm}']")


def choose(page: Page, algorithm: str) -> None:
    page.locator(f"[name=algorithm][value={algorithm}]").check()
