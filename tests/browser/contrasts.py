"""Words that stand out too little from their ground."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

MEASURE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
LEAST = 4.5
"""The contrast that WCAG 2 asks for in text, level AA."""


def too_faint(page: Page) -> list[tuple[str, float]]:
    """Visible words of a page whose contrast is too low, with that contrast."""
    return [(words, contrast) for words, contrast in page.evaluate(MEASURE) if contrast < LEAST]
