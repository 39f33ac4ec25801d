"""What makes the site: links are moved with their pages, and a link that leads nowhere is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.making.check_links import broken, unlisted
from docs.making.commands import commands_page
from docs.making.gather import rewritten, sources
from docs.making.hostile_table import PAGE, TABLES
from docs.making.schema import schema_page
from hocket.config.sections import ALGORITHM_SECTIONS as SECTIONS


@pytest.mark.parametrize(
    ("source", "place", "before", "after"),
    [
        ("README.md", "index.md", "[a](docs/start.md#install)", "[a](start.md#install)"),
        ("README.md", "index.md", "![a](docs/pictures/idea.svg)", "![a](pictures/idea.svg)"),
        ("README.md", "index.md", "[a](LICENSE)", "a"),
        ("README.md", "index.md", "[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
        ("docs/start.md", "start.md", "[a](../CHANGELOG.md)", "[a](changelog.md)"),
        ("docs/start.md", "start.md", "[a](../examples/power/README.md)", "[a](examples/power.md)"),
        ("docs/start.md", "start.md", "[a](#install)", "[a](#install)"),
        ("examples/power/README.md", "examples/power.md", "![a](figure.svg)", "![a](power-figure.svg)"),
        ("examples/power/README.md", "examples/power.md", "[`a`](run.py)", "`a`"),
        (
            "examples/power/README.md",
            "examples/power.md",
            "[a](../../docs/sign-off.md)",
            "[a](../sign-off.md)",
        ),
    ],
)
def test_links_move_with_their_pages(source: str, place: str, before: str, after: str) -> None:
    assert rewritten(before, source, place) == after


def test_scripts_are_no_pages() -> None:
    assert not [source for source in sources() if source.endswith(".py")]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "index.html").write_text(
        '<h2 id="here">Here</h2><a href="#here">good</a><a href="other.html#there">good</a>'
        '<a href="#nowhere">bad</a><a href="gone.html">bad</a><img src="gone.svg"><a href="other.html#gone">bad</a>'
        '<a href="https://example.org/">not ours</a>'
    )
    (tmp_path / "other.html").write_text('<p id="there"></p>')
    assert len(list(broken(tmp_path))) == 4
    assert any("hk.solve" in line for line in unlisted(tmp_path))


def test_commands_and_schema_are_read_off_the_code() -> None:
    commands, schema = commands_page(), schema_page()
    for heading in ("## hocket\n", "### hocket solve\n", "#### hocket peer run\n"):
        assert heading in commands
    assert "Usage: hocket audit [OPTIONS]" in commands
    assert [name for name in SECTIONS if f'name = "{name}"' not in schema] == []


def test_every_hostile_deviation_is_on_its_page():
    """The page is played and written by hand; this notices when it is out of date."""
    rows = PAGE.read_text(encoding="utf-8").split("\n| ")
    shown = {(cells[0], cells[2]) for row in rows if len(cells := row.split(" | ")) == 4}
    played = {
        (one.name, one.what.replace("|", "\\|"))
        for table in TABLES.values()
        for one in table
        if "anchored" in one.algorithms
    }
    assert played <= shown
