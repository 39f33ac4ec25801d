"""What was analysed before, at one member's home."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.errors import BadStudy, JournalError
from hocket.studies import Table, parse_study
from hocket.studies.releases import FILE, Release, Releases
from hocket.studies.study import DisclosureSection

RULES = DisclosureSection(fewest_different=5)


def table(rows: int, first: int = 0) -> Table:
    return Table.of({"y": list(range(first, rows)), "x": [one % 7 for one in range(first, rows)]})


def release(home: Releases, of: Table, **question: object) -> Release:
    study = parse_study({"study": {"title": "First", "formula": "y ~ x", **question}})
    return home.of(study, of, np.ones(of.rows, dtype=bool))


@pytest.fixture
def home(tmp_path) -> Releases:
    home = Releases(tmp_path / "home")
    home.begin(RULES, release(home, table(100)))
    return home


def test_the_same_rows_serve_again_and_are_remembered_once_per_study(home):
    home.begin(RULES, release(home, table(100)))
    assert len(home.all) == 1
    home.begin(RULES, release(home, table(100), title="Second"))
    assert [one.title for one in home.all] == ["First", "Second"]
    assert Releases(home.home).all == home.all


@pytest.mark.parametrize(("now", "different"), [(table(103), 3), (table(100, 4), 4)])
def test_a_few_rows_more_or_fewer_are_refused_though_the_file_is_another(home, now, different):
    with pytest.raises(BadStudy, match=rf"differ from those of 'First' by {different}.*fewest_different = 5"):
        home.begin(RULES, release(home, now, title="Second"))
    assert len(home.all) == 1


def test_a_mended_row_counts_as_another(home):
    columns = dict(table(100).columns)
    columns["x"] = [99, *columns["x"][1:]]
    with pytest.raises(BadStudy, match="by 2"):
        home.begin(RULES, release(home, Table.of(columns)))


def test_rows_that_differ_by_enough_are_taken_in_any_order(home):
    home.begin(RULES, release(home, table(120), title="Second"))
    turned = Table.of({name: list(reversed(cells)) for name, cells in table(100).columns.items()})
    home.begin(RULES, release(home, turned, title="Third"))
    assert len(home.all) == 3


def test_nothing_in_the_file_tells_what_rows_hold(home, tmp_path):
    """Another home, with another secret, remembers the same rows in other bytes."""
    other = Releases(tmp_path / "other")
    assert set(release(other, table(100)).rows).isdisjoint(release(home, table(100)).rows)


def test_a_damaged_file_is_said_to_be(home):
    (home.home / FILE).write_text("{not json\n")
    with pytest.raises(JournalError, match="is damaged"):
        _ = home.all
