"""Check a built site: every link and picture leads to a page that is there, and to a heading that is on it.

    python -m docs.making.check_links build/site

MkDocs checks links that are written in Markdown; this also sees those from docstrings, menus and generated pages. It
checks, too, that every public name of the package has an entry.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import hocket


class Page(HTMLParser):
    """The anchors of one page, and what it links to."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken(site: Path) -> Iterator[str]:
    """A line for every link that leads nowhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # shown anywhere, so its links are absolute
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                yield f"{path.relative_to(site)} links to {link}, which is not there"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(site)} links to {link}, but that page has no such heading"


def unlisted(site: Path) -> Iterator[str]:
    """A line for every public name without an entry among the pages on the interface."""
    entries = {anchor for path in (site / "reference").glob("*.html") for anchor in Page(path).anchors}
    for name in hocket.__all__:
        if not any(f".{name}" in entry for entry in entries):
            yield f"hk.{name} is public and on no page under reference/"


def main() -> int:
    """Print what is wrong; the exit code is 1 if anything is."""
    site = Path(sys.argv[1]).resolve()
    wrong = [*broken(site), *unlisted(site)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
