"""Gather the pages of the site in one folder: those of docs/, those that lie elsewhere, and those read off the code.

    python -m docs.making.gather build/pages

The builder of the site, which `mkdocs.yml` configures, then has plain Markdown before it and needs no plugin of ours.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from docs.making.commands import commands_page
from docs.making.schema import schema_page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<file>[^)#\s]+)(?P<heading>#[^)\s]+)?\)")
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/results.svg": "results/bench.svg",
}
"""Pages and figures that are read where they lie, in the repository, and their places on the site."""
BESIDE = {".svg", ".png", ".json", ".css"}
"""What lies beside pages: figures, their numbers, the style sheet."""


def gather(folder: Path) -> None:
    """Write all pages and figures into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for source in sources():
        place = place_of(source)
        assert place is not None
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            text = (ROOT / source).read_text(encoding="utf-8")
            target.write_text(rewritten(text, source, place), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, target)
    (folder / "reference" / "commands.md").write_text(commands_page(), encoding="utf-8")
    (folder / "reference" / "schema.md").write_text(schema_page(), encoding="utf-8")


def sources() -> list[str]:
    """Every page and figure, named from the root of the repository."""
    files = [*OUTSIDE]
    for pattern in ("docs/**/*", "examples/*/*"):
        files += [str(path.relative_to(ROOT).as_posix()) for path in sorted(ROOT.glob(pattern))]
    return [file for file in files if place_of(file) is not None]


def place_of(source: str) -> str | None:
    """Where a file of the repository is on the site; None if it is not there, as a script is not."""
    path = PurePosixPath(source)
    if source in OUTSIDE:
        return OUTSIDE[source]
    if path.parts[0] == "docs" and path.suffix in BESIDE | {".md"}:
        return str(path.relative_to("docs"))
    if path.parts[0] == "examples" and path.name == "README.md":
        return f"examples/{path.parent.name}.md"
    if path.parts[0] == "examples" and path.suffix in BESIDE:
        return f"examples/{path.parent.name}-{path.name}"
    return None


def rewritten(text: str, source: str, place: str) -> str:
    """A page with its links as they are on the site; a link to what is not there becomes its words alone."""

    def moved(link: re.Match[str]) -> str:
        if "://" in link["file"]:
            return link[0]
        there = place_of(normpath(str(PurePosixPath(source).parent / link["file"])))
        if there is None:
            return link["text"]
        here = relpath(there, str(PurePosixPath(place).parent))
        return f"{link['mark']}[{link['text']}]({here}{link['heading'] or ''})"

    return LINK.sub(moved, text)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
