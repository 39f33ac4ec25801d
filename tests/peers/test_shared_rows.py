"""The same data under another name, or some of their rows: what runs told of them adds up all the same."""

from __future__ import annotations

import dataclasses
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from hocket.cli import main
from hocket.errors import JournalError, UnsafePlan
from hocket.federation import GradientTask, JaxTask, LeastSquaresTask
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.audit.plan_certificate import certificate_of_plan
from hocket.federation.plan.plan_file import plan_text
from hocket.federation.state.accounts import MOST, RecordedRun
from hocket.federation.state.consent import check_consent, keep_consent
from hocket.federation.state.digests import row_digests, salted_digest, shared_with
from hocket.federation.state.earlier_runs import EarlierRun, earlier_runs
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.state.served_plan import record_of
from tests.peers.plans import IDENTITIES
from tests.peers.test_certified_plans import MEMBER, drawn

ROWS = np.random.default_rng(0).uniform(-1, 1, size=(50, 3))
TARGETS = ROWS @ [0.5, -0.2, 0.1]
TASK = LeastSquaresTask(ROWS, TARGETS)


def renamed(plan, name: str):
    return dataclasses.replace(plan, task=plan.task.model_copy(update={"dataset": name}))


def begun(home: Home, plan, task) -> None:
    served = RecordedRun(
        plan.run_hash.hex()[:8],
        plan.run_hash.hex(),
        plan.algorithm_section.name,
        salted_digest(home, task),
        record_of(plan),
    )
    home.accounts.begin(plan.task.dataset, served)
    home.accounts.keep_rows(plan.task.dataset, row_digests(home, task))


def before(home: Home, plan, task) -> tuple[EarlierRun, ...]:
    return earlier_runs(home, plan, data=salted_digest(home, task), rows=row_digests(home, task))


FRESH = drawn(MEMBER, key="certified-rss-nb", run={"id": 16 * "1"})
OTHER = renamed(drawn(MEMBER, key="certified-rss-nb"), "trial-7-again")


def test_another_name_does_not_start_the_account_at_zero(tmp_path):
    home = Home(tmp_path)
    begun(home, OTHER, TASK)
    found = check_certificate(FRESH, earlier=before(home, FRESH, TASK))
    assert found.composed == pytest.approx(np.sqrt(2) * certificate_of_plan(FRESH).mu)
    assert "trial-7-again (the same data under another name)" in found.words[1]


def test_data_without_digests_under_another_name_count_as_the_same(tmp_path):
    """Whether they are nobody can tell, and the account began anew with every name."""
    home, silent = Home(tmp_path), GradientTask(3, lambda x, k, h, rng: x)
    other = LeastSquaresTask(ROWS + 0.5, TARGETS)
    begun(home, OTHER, TASK)
    assert before(home, FRESH, other) == ()
    assert [one.assumed for one in before(home, FRESH, silent)] == [True]
    assert before(home, dataclasses.replace(FRESH, certificate=None), silent) == ()
    begun(home, renamed(FRESH, "silent"), silent)
    (one,) = before(home, FRESH, other)
    assert (one.dataset, one.assumed) == ("silent", True)
    found = check_certificate(FRESH, earlier=[one])
    assert found.composed == pytest.approx(np.sqrt(2) * certificate_of_plan(FRESH).mu)


def test_noise_functions_under_another_name_are_others(tmp_path):
    """Kept noise is kept by name: under another it is drawn afresh, and then squares add up."""
    home, plan = Home(tmp_path), drawn()
    begun(home, renamed(plan, "trial-8"), TASK)
    found = check_certificate(plan, earlier=before(home, plan, TASK))
    assert found.composed == pytest.approx(np.sqrt(2) * found.certificate.mu)
    joint = audit_plan(plan, earlier=before(home, plan, TASK))
    assert not joint.covered
    assert "trial-8 is another name of the same data." in joint.words


def test_one_changed_row_hides_nothing_of_the_others(tmp_path):
    home, rows = Home(tmp_path), ROWS.copy()
    rows[0, 0] = 0.123
    nearly = LeastSquaresTask(rows, TARGETS)
    begun(home, OTHER, nearly)
    (one,) = before(home, FRESH, TASK)
    assert (one.shared.shared, one.shared.of) == (49, 50)
    found = check_certificate(FRESH, earlier=[one])
    assert found.composed == pytest.approx(np.sqrt(2) * certificate_of_plan(FRESH).mu)
    assert "trial-7-again (49 of 50 rows are the same)" in found.words[1]
    said = audit_plan(FRESH, earlier=[one], unsafe=True)
    assert any("49 of 50 rows are also in the data trial-7-again" in line for line in said.words)
    assert said.to_json()["earlier"] == [OTHER.run_hash.hex()]


def test_what_was_found_after_signing_is_refused(tmp_path):
    home = Home(tmp_path)
    folder = RunFolder(home.run(FRESH.run_hash))
    keep_consent(FRESH, folder, audit_plan(FRESH, unsafe=True))
    known = {"data": salted_digest(home, TASK), "rows": row_digests(home, TASK)}
    check_consent(FRESH, home, folder, **known)
    begun(home, OTHER, TASK)
    with pytest.raises(
        UnsafePlan, match="have served 1 run as trial-7-again, which this member did not know"
    ):
        check_consent(FRESH, home, folder, **known)


def test_rows_are_the_same_in_any_task_and_type(tmp_path):
    home = Home(tmp_path)
    ours = row_digests(home, TASK)
    whole = LeastSquaresTask(np.arange(6).reshape(3, 2), np.arange(3))
    floats = JaxTask(lambda x, d: 0.0, (np.arange(6.0).reshape(3, 2).astype(np.float32), np.arange(3.0)), 2)
    assert (row_digests(home, whole) == row_digests(home, floats)).all()
    assert len(ours) == len(ROWS)
    assert len(np.intersect1d(ours, row_digests(Home(tmp_path / "other"), TASK))) == 0  # salted
    shuffled = np.random.default_rng(1).permutation(len(ROWS))
    assert (row_digests(home, LeastSquaresTask(ROWS[shuffled], TARGETS[shuffled])) == ours).all()
    (tmp_path / "table.csv").write_text("age,size\n1,2\n3,4\n")
    assert len(row_digests(home, GradientTask(1, lambda x, k, h, rng: x, data=tmp_path / "table.csv"))) == 2
    assert len(row_digests(home, GradientTask(1, lambda x, k, h, rng: x, data={"seed": 3}))) == 0
    assert len(row_digests(home, GradientTask(1, lambda x, k, h, rng: x, data=np.arange(9.0)))) == 0


def digests(home: Home, data: object) -> np.ndarray:
    return row_digests(home, GradientTask(3, lambda x, k, h, rng: x, data=data))


def test_lists_of_records_are_rows_as_arrays_are(tmp_path):
    """They were taken for columns: with one record changed none was noticed."""
    home, table = Home(tmp_path), np.column_stack([ROWS, TARGETS])
    lists, others = table.tolist(), [[9.0] * 4, *table.tolist()[1:]]
    assert len(np.intersect1d(digests(home, lists), digests(home, others))) == 49
    assert len(np.intersect1d(digests(home, lists), digests(home, (ROWS, TARGETS)))) == 50
    tables = [{"age": one, "sex": "f"} for one in TARGETS.tolist()]
    columns = {"age": TARGETS, "sex": ["f"] * 50}
    assert len(np.intersect1d(digests(home, tables), digests(home, columns))) == 50


def test_a_longer_text_in_one_row_changes_no_other_row(tmp_path):
    """An array of texts pads all to the longest, and digests were of the padded ones."""
    home, names = Home(tmp_path), [f"n{place}" for place in range(50)]
    one, other = digests(home, (ROWS, names)), digests(home, (ROWS, ["a longer name", *names[1:]]))
    assert len(np.intersect1d(one, other)) == 49


def test_rows_are_kept_for_their_owner_alone(tmp_path):
    home = Home(tmp_path)
    home.accounts.keep_rows("trial-7", row_digests(home, TASK))
    home.accounts.keep_rows("trial-7", np.array([3], dtype=np.uint64))
    assert home.accounts.path.stat().st_mode & 0o777 == 0o600
    assert len(home.accounts.rows("trial-7")) == len(ROWS) + 1
    with home.accounts.writing() as write:
        write.execute("UPDATE rows SET digests = ?", (b"12345",))
    with pytest.raises(JournalError, match=r"is damaged .*end within a digest"):
        home.accounts.rows("trial-7")


def test_of_large_tables_samples_are_compared(tmp_path):
    """The smallest digests of each: what lies beyond the end of either sample is not taken for another row."""
    home, rng = Home(tmp_path), np.random.default_rng(0)
    every = np.unique(rng.integers(0, 2**63, size=3 * MOST, dtype=np.uint64))
    one, other = np.sort(every[rng.permutation(len(every))[: 2 * MOST]]), every
    home.accounts.keep_rows("large", other[:MOST])
    found = shared_with(home, "large", one[:MOST])
    assert found.shared == found.of  # all of one are in the other
    assert 0.5 * MOST < found.of <= MOST


TASKS = """
import numpy as np
from hocket.federation import LeastSquaresTask
rows = np.random.default_rng(0).uniform(-1, 1, size=(50, 3))
task = LeastSquaresTask(rows, rows @ [0.5, -0.2, 0.1])
"""


def test_signing_says_what_is_and_what_is_not_noticed(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setenv("COLUMNS", "400")
    home = Home(Path("home"))
    IDENTITIES[0].save(home.identity)
    Path("plan.toml").write_text(plan_text(drawn()))
    Path("mine.py").write_text(TASKS)
    sign = ["peer", "sign", "plan.toml", "--home", "home", "--yes"]
    begun(home, renamed(drawn(), "trial-9"), LeastSquaresTask(1 + ROWS, TARGETS))
    assert main([*sign, "--task", "mine.py:task"]) == 0
    assert (
        "rows that were rounded, scaled or given other columns would not be noticed"
        in capsys.readouterr().out
    )
    assert main(sign) == 0
    blind = capsys.readouterr().out
    assert "Whether trial-9 shares rows with these cannot be known" in blind
    assert "Rows are compared if tasks give them (data=) and you sign with --task." in blind
    begun(home, renamed(drawn(run={"id": 16 * "2"}), "trial-8"), TASK)
    assert main([*sign, "--task", "mine.py:task"]) == 0
    said = capsys.readouterr().out
    assert "The same data, or rows of them, under another name: trial-8; counted above." in said
    assert "With 1 earlier run on trial-8 (the same data under another name), ε = " in said
