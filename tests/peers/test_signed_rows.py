"""A signature is for the rows that were checked: others are refused, and it is said how many differ."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hocket.cli import main
from hocket.errors import JournalError, UnsafePlan
from hocket.federation import GradientTask, LeastSquaresTask
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.participation import take_part
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.state.signed_rows import FILE, SignedRows, check_signed_rows, rows_to_sign
from hocket.federation.workloads.study import StudyTask
from hocket.files import toml_tables
from hocket.links.keys.identity import Identity
from hocket.studies.data.table import Table
from hocket.studies.spec.study import parse_study

from .federation_case import free_ports
from .study_case import NAMES, STUDY, planned, tables
from .test_studies import members

TABLE: dict[str, list[Any]] = {
    "hba1c": [5.0 + row % 7 / 10 for row in range(60)],
    "age": [30 + row for row in range(60)],
    "name": [f"patient {row}" for row in range(60)],
}
ASKED = {"study": {"title": "T", "formula": "hba1c ~ age", "where": ["age < 85"]}}


def task(columns: dict[str, list[Any]], asked: dict[str, Any] = ASKED) -> StudyTask:
    return StudyTask(parse_study(asked), Table.of(columns), "ash")


def changed(rows: dict[int, tuple[str, Any]]) -> dict[str, list[Any]]:
    """The table with some cells changed."""
    found = {name: list(cells) for name, cells in TABLE.items()}
    for row, (name, value) in rows.items():
        found[name][row] = value
    return found


def more(count: int, found: dict[str, list[Any]] = TABLE) -> dict[str, list[Any]]:
    return {name: [*cells, *cells[:count]] for name, cells in found.items()}


@pytest.fixture
def signed(tmp_path) -> Home:
    home = Home(tmp_path)
    rows = rows_to_sign(home, task(TABLE))
    assert rows is not None
    rows.save(tmp_path)
    return home


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (more(8, changed({3: ("hba1c", 9.9)})), r"8 rows added, 1 row changed \(in hba1c\)\. A signature"),
        (more(1), r"1 row added\. A"),  # though there is one like it already
        ({name: cells[2:] for name, cells in TABLE.items()}, "2 rows removed"),
        (changed({3: ("hba1c", 9.9), 5: ("age", 20)}), r"2 rows changed \(in age, hba1c\)"),
        (changed({3: ("hba1c", None)}), r"1 row changed \(in hba1c\)"),
        (changed({3: ("age", 85)}), "1 row removed"),  # by the study's condition
    ],
    ids=["added and changed", "twice", "removed", "two columns", "missing", "no longer chosen"],
)
def test_other_rows_are_refused_with_how_many(signed, now, said):
    with pytest.raises(UnsafePlan, match=rf"not the rows that this member signed: {said}"):
        check_signed_rows(signed, task(now), signed.folder)


@pytest.mark.parametrize(
    "now",
    [
        TABLE,
        {name: cells[::-1] for name, cells in TABLE.items()},
        {name: [str(cell) for cell in cells] for name, cells in TABLE.items()},
        changed({3: ("name", "another name")}),
        changed({58: ("hba1c", 9.9)}),
        {**TABLE, "new": list(range(60))},
    ],
    ids=["the same", "turned round", "as text", "not read", "not chosen", "a column more"],
)
def test_what_the_study_would_not_notice_is_the_same(signed, now):
    assert check_signed_rows(signed, task(now), signed.folder)


def test_numbers_read_with_another_decimal_sign_are_other_rows(tmp_path):
    """The cells are the same text: what counts is what the study makes of them."""
    cells = {"y": [f"{row},500" for row in range(40)], "x": [row % 5 for row in range(40)]}
    asked = parse_study({"study": {"title": "T", "formula": "y ~ x"}})
    point = {name: [str(cell).replace(",", "") for cell in column] for name, column in cells.items()}
    home = Home(tmp_path)
    rows_to_sign(home, StudyTask(asked, replace(Table.of(cells), decimal=","), "ash")).save(tmp_path)
    with pytest.raises(UnsafePlan, match="not the rows that this member signed"):
        check_signed_rows(home, StudyTask(asked, Table.of(point), "ash"), tmp_path)


def test_what_is_kept_tells_nobody_what_rows_hold(signed, tmp_path):
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    other = rows_to_sign(Home(tmp_path / "other"), task(TABLE))
    kept = SignedRows.read(tmp_path)
    assert kept is not None
    assert other is not None
    assert not np.isin(other.cells, kept.cells).any()


def test_another_secret_and_a_damaged_file_are_named(signed, tmp_path):
    signed.accounts.path.unlink()
    with pytest.raises(UnsafePlan, match=r"in accounts\.db of its home, is another one now"):
        check_signed_rows(signed, task(TABLE), tmp_path)
    (tmp_path / FILE).write_bytes(b"PK\x03\x04")
    with pytest.raises(JournalError, match=r"signed-rows\.npz is damaged"):
        check_signed_rows(signed, task(TABLE), tmp_path)


ROWS = np.random.default_rng(0).uniform(-1, 1, size=(50, 3))


def test_tasks_that_name_their_data_are_bound_too(tmp_path):
    home, targets = Home(tmp_path), ROWS @ [0.5, -0.2, 0.1]
    rows_to_sign(home, LeastSquaresTask(ROWS, targets)).save(tmp_path)
    assert check_signed_rows(home, LeastSquaresTask(ROWS, targets), tmp_path)
    with pytest.raises(UnsafePlan, match="3 rows removed"):
        check_signed_rows(home, LeastSquaresTask(ROWS[3:], targets[3:]), tmp_path)
    silent = GradientTask(3, lambda x, k, h, rng: x)
    with pytest.raises(UnsafePlan, match="the task gave a digest of them then, and gives none now"):
        check_signed_rows(home, silent, tmp_path)
    assert rows_to_sign(home, silent) is None
    assert not check_signed_rows(home, silent, tmp_path / "unsigned")


def test_data_whose_rows_nobody_knows_are_refused_as_a_whole(tmp_path):
    home = Home(tmp_path)
    rows_to_sign(home, GradientTask(1, lambda x, k, h, rng: x, data=np.arange(9.0))).save(tmp_path)
    with pytest.raises(UnsafePlan, match="how many rows have cannot be told"):
        check_signed_rows(home, GradientTask(1, lambda x, k, h, rng: x, data=np.arange(8.0)), tmp_path)


@pytest.fixture(scope="module")
def identities():
    return [Identity.create(name) for name in NAMES]


def csv(table: Table, cells: dict[str, list[Any]] | None = None) -> str:
    columns = {name: list((cells or table.columns)[name]) for name in table.columns}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    return "\n".join(lines) + "\n"


def test_what_sign_checked_is_what_run_takes(tmp_path, identities, monkeypatch, capsys):
    """Eight rows added and one cell changed between the two went unnoticed."""
    monkeypatch.setenv("COLUMNS", "400")
    plan, table = planned(identities, free_ports(len(NAMES))), tables()["ash"]
    home = Home(tmp_path / "home")
    identities[0].save(home.identity)
    for one in identities[1:]:
        plan = plan.signed_by(one)
    write_plan(plan, tmp_path / "plan.toml")
    (tmp_path / "good.csv").write_text(csv(table))
    cells = {name: [*column, *column[10:18]] for name, column in table.columns.items()}
    cells["mean radius"][3] += 1
    (tmp_path / "other.csv").write_text(csv(table, cells))
    options = ["--home", str(home.folder), "--data"]
    sign = ["peer", "sign", str(tmp_path / "plan.toml"), "--yes", *options]
    assert main([*sign, str(tmp_path / "good.csv")]) == 0
    assert f"Your signature binds the {table.rows} rows that the study uses" in capsys.readouterr().out
    for command in ("run", "check"):
        assert (
            main(["peer", command, str(tmp_path / "plan.toml"), *options, str(tmp_path / "other.csv")]) == 1
        )
        assert "8 rows added, 1 row changed (in radius)" in capsys.readouterr().err
    assert not RunFolder(home.run(plan.run_hash)).journal.exists()
    assert main([*sign, str(tmp_path / "other.csv")]) == 0  # then it is what was signed


def test_a_signature_without_a_table_says_that_it_binds_none(tmp_path, identities, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    plan, home = planned(identities, range(7000, 7004)), Home(tmp_path / "home")
    identities[0].save(home.identity)
    write_plan(plan, tmp_path / "plan.toml")
    assert main(["peer", "sign", str(tmp_path / "plan.toml"), "--yes", "--home", str(home.folder)]) == 0
    assert "No rows are bound by this member's signature" in capsys.readouterr().out


def test_a_run_refuses_before_anything_is_remembered(tmp_path, identities):
    from hocket.studies.disclosure.releases import Releases

    ash = members(tmp_path, planned(identities, free_ports(len(NAMES))), identities)[0]
    rows_to_sign(ash.home, ash.task).save(ash.folder.path)
    short = {name: cells[1:] for name, cells in tables()["ash"].columns.items()}
    other = replace(ash, task=StudyTask(parse_study(toml_tables(STUDY)), Table.of(short, "ash"), "ash"))
    with pytest.raises(UnsafePlan, match="1 row removed"):
        asyncio.run(take_part(other))
    assert Releases(ash.home.accounts).all == []
