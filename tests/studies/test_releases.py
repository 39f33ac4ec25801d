"""What was analysed before, at one member's home; and which differences of sums are about a few rows."""

from __future__ import annotations

import stat
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.errors import BadStudy, JournalError
from hocket.federation.state.accounts import Accounts
from hocket.studies import Study, Table, check_table, parse_study
from hocket.studies.analysis import promise_of
from hocket.studies.disclosure.isolation import isolated
from hocket.studies.disclosure.known_rows import KnownRows
from hocket.studies.disclosure.releases import Releases
from hocket.studies.disclosure.row_sets import row_sets
from hocket.studies.spec.study import PrivacySection


def table(rows: int, first: int = 0) -> Table:
    return Table.of({"y": list(range(first, rows)), "x": [one % 7 for one in range(first, rows)]})


def asked(title: str = "First", where: tuple[str, ...] = (), **more: object) -> Study:
    question = {"title": title, "formula": "y ~ x", "where": list(where), **more}
    return parse_study({"study": question, "disclosure": {"fewest_different": 5}})


def begin(home: Releases, of: Table, study: Study | None = None) -> None:
    study = asked() if study is None else study
    home.begin(study, of, row_sets(check_table(study, of)[1]))


@pytest.fixture
def home(tmp_path) -> Releases:
    home = Releases(Accounts(tmp_path / "home"))
    begin(home, table(100))
    return home


def test_the_same_rows_serve_again_and_are_remembered_once_per_study(home):
    begin(home, table(100))
    assert len(home.all) == 1
    begin(home, table(100), asked("Second"))
    assert [one.title for one in home.all] == ["First", "Second"]
    assert Releases(home.store).all[1].line == home.all[1].line
    assert home.all[0].words == "'First': y, x in 100 rows"


@pytest.mark.parametrize(("now", "different"), [(table(103), 3), (table(100, 4), 4)])
def test_a_few_rows_more_or_fewer_are_refused_though_the_file_is_another(home, now, different):
    with pytest.raises(
        BadStudy, match=rf"model of 'First' and of the model tell {different} apart.*_different = 5"
    ):
        begin(home, now, asked("Second"))
    assert len(home.all) == 1


def test_two_conditions_that_differ_by_one_row_are_refused(home):
    begin(home, table(100), asked("Second", ("y > 16",)))
    with pytest.raises(BadStudy, match="model of 'Second' and of the model tell 1 apart"):
        begin(home, table(100), asked("Third", ("y > 17",)))


def test_whatever_columns_a_study_uses_its_rows_are_held_against_the_others(home):
    wider = Table.of({**table(100).columns, "z": [one % 5 for one in range(100)]})
    other = parse_study({"study": {"title": "Other", "where": ["y > 1"]}, "describe": {"columns": ["z"]}})
    with pytest.raises(BadStudy, match="model of 'First' and of the description tell 2 apart"):
        begin(home, wider, other)


def test_rows_are_known_again_in_a_file_with_other_columns(home):
    """A column more, and one fewer: the row that is left out now is told by the columns that both have."""
    rows = table(99)
    wider = Table.of({**rows.columns, "new": [one * 3 for one in range(99)]})
    with pytest.raises(BadStudy, match="tell 1 apart"):
        begin(home, wider, asked("Second"))
    begin(home, Table.of({**table(100).columns, "new": [one * 3 for one in range(100)]}), asked("Second"))
    narrower = {name: cells for name, cells in wider.columns.items() if name != "x"}
    study = parse_study({"study": {"title": "Third", "formula": "y ~ new"}})
    with pytest.raises(BadStudy, match="tell 1 apart"):
        begin(home, Table.of(narrower), study)


def test_three_studies_whose_sums_add_up_are_noticed(home):
    """All, a half, and the other half but for one row: no two of them differ by few."""
    begin(home, table(100), asked("Half", ("y < 50",)))
    with pytest.raises(
        BadStudy, match=r"of the model of 'First' and of the model of 'Half' and of the model tell 1"
    ):
        begin(home, table(100), asked("Rest", ("y >= 51",)))
    begin(home, table(100), asked("Rest", ("y >= 50",)))


def test_splines_of_two_studies_with_few_rows_between_their_knots_are_refused(home):
    """Splines with many knots are, in some combination, 0 but between two of them: so are those of two studies."""

    def spline(*knots: int) -> Study:
        formula = f"x ~ rcs(y, {', '.join(map(str, knots))})"
        return parse_study({"study": {"title": "T", "formula": formula}})

    begin(home, table(100), spline(20, 40, 60))
    begin(home, table(100), spline(30, 40, 60))
    with pytest.raises(BadStudy, match=r"y above 40 of 'T' and of rows with y above 41 tell 1 apart"):
        begin(home, table(100), spline(20, 41, 60))


def test_thresholds_of_an_outcome_that_differ_by_one_row_are_refused(home):
    def threshold(at: int) -> Study:
        return parse_study(
            {
                "study": {"title": f"Above {at}", "formula": "high ~ x", "family": "binomial"},
                "columns": {"high": {"from": "y", "map": f"y > {at}"}},
            }
        )

    begin(home, table(100), threshold(40))
    begin(home, table(100), threshold(50))
    with pytest.raises(
        BadStudy, match="with high of 'Above 50' and of rows of the model with high tell 2 apart"
    ):
        begin(home, table(100), threshold(52))


def test_a_model_beside_a_description_of_rows_with_a_gap():
    """One row has no x: the mean of y over all rows, and sums of y over the others, show its y."""
    gap = Table.of({"y": list(range(60)), "x": [None, *[one % 7 for one in range(59)]]})
    study = {"study": {"title": "T", "formula": "y ~ x"}, "describe": {"columns": ["y"]}}
    with pytest.raises(
        BadStudy, match=r"the description of y and of the model tell 1 apart.*rows = 'analysed'"
    ):
        check_table(parse_study(study), gap)
    study["describe"]["rows"] = "analysed"
    check_table(parse_study(study), gap)


def test_a_mended_row_counts_as_another(home):
    columns = dict(table(100).columns)
    columns["x"] = [columns["x"][0] + 1, *columns["x"][1:]]
    with pytest.raises(BadStudy, match="tell 2 apart"):
        begin(home, Table.of(columns))


def test_rows_that_differ_by_enough_are_taken_in_any_order(home):
    begin(home, table(120), asked("Second"))
    turned = Table.of({name: list(reversed(cells)) for name, cells in table(100).columns.items()})
    begin(home, turned, asked("Third"))
    assert len(home.all) == 3


def test_nothing_in_the_files_tells_what_rows_hold_and_nobody_else_reads_them(home, tmp_path):
    """Another home, with another secret, remembers the same rows in other bytes."""
    other = KnownRows(Accounts(tmp_path / "other")).fingerprints(table(100))
    mine = KnownRows(home.store).fingerprints(table(100))
    assert not (other.cells == mine.cells).any()
    kept = [*(tmp_path / "home").iterdir()]
    assert {path.name for path in kept} == {"accounts.db", "accounts.db.lock"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)


@pytest.mark.parametrize("damage", ["releases SET line = '{not json'", "versions SET cells = x'00'"])
def test_damaged_accounts_are_said_to_be(home, damage):
    with home.store.writing() as write:
        write.execute(f"UPDATE {damage}")
    with pytest.raises(JournalError, match="are damaged"):
        begin(home, table(100), asked("Second"))


members = st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=2, max_size=4)


@given(members, st.integers(1, 4))
def test_no_small_combination_of_sums_is_missed(sets, fewest):
    """Against all combinations with weights −1, 0 and 1: whatever they isolate is found, and what is found is there."""
    whole = np.array(sets)
    found = isolated(whole, list(range(len(sets))), fewest)
    sums = [np.array(weights) @ whole.astype(int) for weights in product((-1, 0, 1), repeat=len(sets))]
    # An empty set, and one that was there twice, add nothing; a set by itself is for other rules unless it is small.
    smallest = min((int((one != 0).sum()) for one in sums if one.any()), default=99)
    if smallest < fewest:
        assert found is not None
    if found is not None:
        assert found.rows < fewest
        basis = whole[list(found.sets)].astype(float)
        atoms = np.unique(basis, axis=1).shape[1]
        assert atoms > 1 or basis.any()


def test_what_was_known_before_does_not_hide_what_is_new():
    """All rows but the first were analysed under laxer rules; now the rest of a half but for one row."""
    rows = np.arange(30)
    sets = np.array([rows >= 0, rows > 0, rows < 15, rows > 15])
    assert isolated(sets[:3], [2], 3) is None
    found = isolated(sets, [3], 2)
    assert found is not None
    assert found.rows == 1
    assert found.sets == (0, 2, 3)


def test_the_whole_less_two_thresholds_of_two_studies_is_refused(home):
    """All rows, those below 50 and those above: what is left is one row."""
    for title, condition, refused in (("Below", "y < 50", False), ("Above", "y > 50", True)):
        study = parse_study(
            {
                "study": {"title": title, "formula": "x ~ it"},
                "columns": {"it": {"from": "y", "map": condition}},
            }
        )
        if refused:
            with pytest.raises(BadStudy, match="tell 1 apart"):
                begin(home, table(100), study)
        else:
            begin(home, table(100), study)


FLAGS = Table.of(
    {
        "z": [float(one * one) for one in range(60)],
        "icu": [int(one < 30) for one in range(60)],
        "tube": [int(one < 29) for one in range(60)],
        "home": [int(one > 30) for one in range(60)],
        "coded": [1 + (one < 29) for one in range(60)],
        "age": [20 + one for one in range(60)],
        "sex": [one % 2 for one in range(60)],
        "lab": [None if one >= 50 else float(one) for one in range(60)],
        "dose": [None if one >= 49 else float(one) for one in range(60)],
    }
)
"""Flags that differ by a row: who lay in intensive care, who had a tube, and who was neither there nor the 31st row."""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"formula": "z ~ icu"}, {"formula": "z ~ tube"}),
        ({"formula": "z ~ icu"}, {"formula": "tube ~ z", "family": "binomial"}),
        ({"formula": "z ~ icu"}, {"formula": "z ~ age", "where": ["tube == 1"]}),
        ({"formula": "z ~ icu"}, {"formula": "z ~ home"}),
        ({"formula": "z ~ icu"}, {"formula": "z ~ coded"}),
        ({"formula": "z ~ sex:old"}, {"formula": "z ~ sex:older"}),
    ],
    ids=["flags", "outcome", "condition", "opposite", "one and two", "products"],
)
def test_columns_of_two_studies_that_differ_by_one_row_are_refused(tmp_path, first, second):
    """In one study near twins are refused; in two, the difference of their sums of z was the z of that row."""
    releases = Releases(Accounts(tmp_path))
    columns = {"old": {"from": "age", "map": "age > 45"}, "older": {"from": "age", "map": "age > 50"}}
    if "sex:old" not in first["formula"]:
        columns = {}
    one, other = (
        parse_study({"study": {"title": title, **asks}, "columns": columns, "disclosure": {"fewest_rows": 5}})
        for title, asks in (("First", first), ("Second", second))
    )
    begin(releases, FLAGS, one)
    with pytest.raises(BadStudy, match=r"of 'First' and of .* tell [1-3] apart"):
        begin(releases, FLAGS, other)
    begin(releases, FLAGS, one)  # the same rows serve again


def test_the_mean_that_fills_in_is_a_sum_over_rows_of_its_own(tmp_path):
    """Eleven rows have no dose, ten of them no lab either: the mean of lab over all, and over the others, shows one."""
    releases = Releases(Accounts(tmp_path))
    describe = parse_study({"study": {"title": "Lab"}, "describe": {"columns": ["lab"]}})
    model = parse_study(
        {"study": {"title": "Dose", "formula": "dose ~ lab"}, "columns": {"lab": {"missing": "mean"}}}
    )
    begin(releases, FLAGS, describe)
    with pytest.raises(
        BadStudy, match="description of lab of 'Lab' and of the mean that fills in lab tell 1"
    ):
        begin(releases, FLAGS, model)


def test_noise_that_is_drawn_anew_is_told_anew(tmp_path):
    home, study = Releases(Accounts(tmp_path)), asked()
    sets = row_sets(check_table(study, table(100))[1])
    for run in ("one", "one", "another"):  # the first is taken up again after a crash
        home.begin(study, table(100), sets, 0.5, run)
    assert [one.run for one in home.all] == ["one", "another"]


def ruled(formula: str, fewest: int, title: str = "Second", where: tuple[str, ...] = ()) -> Study:
    question = {"title": title, "formula": formula, "where": list(where)}
    return parse_study({"study": question, "disclosure": {"fewest_different": fewest, "fewest_rows": 5}})


def test_a_second_study_cannot_weaken_the_rule_of_the_first(home):
    """With fewest_different = 1 in the second study, the difference of two sums was one patient's row."""
    with pytest.raises(BadStudy, match=r"tell 1 apart, where 'First' has fewest_different = 5"):
        begin(home, table(100), ruled("y ~ x", 1, where=("y < 99",)))
    assert len(home.all) == 1


def test_of_two_lax_studies_the_member_s_own_policy_still_counts(tmp_path):
    home = Releases(Accounts(tmp_path))
    begin(home, table(100), ruled("y ~ x", 1, "First"))
    lax = ruled("y ~ x", 1, where=("y < 97",))
    sets = row_sets(check_table(lax, table(100))[1])
    with pytest.raises(BadStudy, match=r"tell 3 apart, where your policy has fewest_different = 4"):
        home.begin(lax, table(100), sets, least=4)
    home.begin(lax, table(100), sets, least=3)


def test_a_later_study_is_held_to_the_strictest_of_the_earlier_ones(tmp_path):
    home = Releases(Accounts(tmp_path))
    begin(home, table(100), ruled("y ~ x", 20, "Strict"))
    assert Releases(Accounts(tmp_path)).all[0].fewest_different == 20
    with pytest.raises(BadStudy, match=r"tell 10 apart, where 'Strict' has fewest_different = 20"):
        begin(home, table(90), ruled("y ~ x", 5))
    begin(home, table(80), ruled("y ~ x", 5))


@pytest.mark.parametrize(("name", "least"), [("smallest_cell", 5), ("fewest_rows", 10)])
def test_a_later_study_shows_no_count_that_an_earlier_one_kept_back(tmp_path, name, least):
    """Only fewest_different was remembered: a second study with smallest_cell = 1 showed what the first had hidden."""
    home, sets = Releases(Accounts(tmp_path)), row_sets(check_table(asked(), table(100))[1])
    home.begin(asked(), table(100), sets)
    rules = {"fewest_different": 5, name: least - 1}
    lax = parse_study({"study": {"title": "Second", "formula": "y ~ x"}, "disclosure": rules})
    with pytest.raises(
        BadStudy, match=rf"{name} = {least - 1}.*'First', which has {name} = {least}.*{least} or more"
    ):
        Releases(Accounts(tmp_path)).begin(lax, table(100), sets)
    assert len(home.all) == 1
    begin(home, table(300, 200), lax)  # other rows


def test_a_rule_so_large_that_it_looks_at_no_level_switches_no_smaller_one_off(tmp_path):
    """Flags of 30 and 29 rows: under fewest_different = 40 neither had rows enough to be held against others."""
    home = Releases(Accounts(tmp_path))
    begin(home, FLAGS, ruled("z ~ icu", 40, "First"))
    with pytest.raises(BadStudy, match=r"tell 1 apart, where fewest_different = 5 is held in any case"):
        begin(home, FLAGS, ruled("z ~ tube", 40))


def test_a_title_with_braces_is_only_a_title(tmp_path):
    home = Releases(Accounts(tmp_path))
    begin(home, table(100), ruled("y ~ x", 5, "{0.__class__}"))
    with pytest.raises(BadStudy, match=r"where '\{0.__class__\}' has fewest_different = 5"):
        begin(home, table(100), ruled("y ~ x", 1, where=("y < 99",)))


def test_what_is_forgotten_is_held_against_nobody(home):
    sets = row_sets(check_table(asked(), table(103))[1])
    with pytest.raises(BadStudy):
        home.begin(asked("Second"), table(103), sets, run="wrong")
    begin(home, table(60), asked("Third"))
    assert home.forget("no such run") == []
    assert [one.title for one in home.forget("")] == ["First", "Third"]  # these were of no run
    home.begin(asked("Second"), table(103), sets, run="right")
    assert [one.run for one in home.all] == ["right"]


def noisy(epsilon: float, title: str, where: tuple[str, ...] = ()) -> Study:
    question = {"title": title, "formula": "y ~ x", "where": list(where)}
    columns = {"y": {"range": [0, 100]}, "x": {"range": [0, 6]}}
    study = parse_study({"study": question, "columns": columns, "privacy": {"epsilon": 1.0, "delta": 1e-6}})
    return replace(study, privacy=PrivacySection(epsilon=epsilon, delta=1e-6))


@pytest.mark.parametrize("order", ["noise first", "noise second"])
def test_an_epsilon_that_hides_nothing_does_not_switch_the_rule_off(tmp_path, order):
    """Noise of ε = 10,000 is no noise: the difference of the two sums is the row of one patient."""
    home = Releases(Accounts(tmp_path))

    def told(epsilon: float) -> None:
        study = noisy(epsilon, "Noisy", where=("y < 99",))
        rows = check_table(study, table(100))[1]
        promise = promise_of(rows)
        assert promise is not None
        home.begin(study, table(100), row_sets(rows), promise.mu, "run")

    pair = [partial(begin, home, table(100)), partial(told, 1e4)]
    first, second = pair if order == "noise second" else pair[::-1]
    first()
    with pytest.raises(BadStudy, match="tell 1 apart"):
        second()
    if order == "noise second":
        told(4.0)


def crossed(title: str, *cuts: int) -> Study:
    columns = {f"above{cut}": {"from": "y", "map": f"y > {cut}"} for cut in cuts}
    cross = [[name, "ill"] for name in columns]
    return parse_study(
        {
            "study": {"title": title},
            "describe": {"columns": ["ill"], "cross": cross},
            "columns": {"ill": {"from": "x", "map": "x > 3"}, **columns},
        }
    )


def test_tables_of_two_at_thresholds_that_differ_by_one_row_are_refused(home):
    with pytest.raises(BadStudy, match=r"with above41 and of .* above40 tell 1 apart"):
        check_table(crossed("Both", 40, 41), table(100))
    begin(home, table(100), crossed("One", 40))
    begin(home, table(100), crossed("Far", 60))
    with pytest.raises(BadStudy, match=r"above40 of 'One' and of .* above41 tell 1 apart"):
        begin(home, table(100), crossed("Two", 41))


def test_three_maps_that_add_up_to_one_row_are_refused():
    """No two of them differ by few: 0 to 10, 11 to 20, and both but for 10."""
    maps = {"s1": range(11), "s2": range(11, 21), "s3": [one for one in range(21) if one != 10]}
    columns = {name: {"from": "x", "map": [*levels]} for name, levels in maps.items()}
    rows = Table.of({"x": [*range(60)], "y": [one % 7 for one in range(60)]})
    study = parse_study({"study": {"title": "T", "formula": "y ~ s1 + s2 + s3"}, "columns": columns})
    with pytest.raises(BadStudy, match=r"with s1 and of .* s2 and of .* s3 tell 1 apart"):
        check_table(study, rows)


def test_a_histogram_with_an_edge_moved_by_one_row_is_refused(home):
    def bars(high: int) -> Study:
        column = {"range": [-1, high]}
        part = {"columns": ["y"], "histograms": 2}
        return parse_study({"study": {"title": f"To {high}"}, "describe": part, "columns": {"y": column}})

    begin(home, table(100), bars(100))
    with pytest.raises(BadStudy, match="tell 1 apart"):
        begin(home, table(100), bars(102))


def test_a_weight_that_one_row_carries_is_refused():
    rows = Table.of({**table(60).columns, "w": [5000.0, *[1.0] * 59]})
    study = parse_study({"study": {"title": "T", "formula": "y ~ x", "weights": "w"}})
    with pytest.raises(BadStudy, match="one row carries more than half of the term w "):
        check_table(study, rows)


@pytest.mark.parametrize(
    ("before", "after", "decimal"),
    [
        (None, "NA", "."),
        ("", float("nan"), "."),
        (True, "true", "."),
        (True, 1, "."),
        ("1.5", "1,5", ","),
        (1.5, "1,50", ","),
    ],
)
def test_rows_are_known_again_in_a_file_that_writes_cells_in_another_way(tmp_path, before, after, decimal):
    """The same rows as CSV and as Parquet, or with decimal commas, counted as others: one more could be told apart."""

    def written(cell: object, rows: int, sign: str = ".") -> Table:
        made = Table.of({"y": list(range(rows)), "x": [one % 7 for one in range(rows)], "z": [cell] * rows})
        return replace(made, decimal=sign)

    known = KnownRows(Accounts(tmp_path))
    found = known.fingerprints(written(before, 50))
    known.remember(found, known.numbers(found))
    again = known.numbers(known.fingerprints(written(after, 51, decimal)))
    assert sorted(again) == [*range(51)]
