"""Studies that promise an ε: how far one row moves all numbers together, what a coalition tells, what it costs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.errors import BadInput, BadStudy, NotEstimable
from hocket.noise.discrete_gaussian import Bits
from hocket.privacy.dp import gdp
from hocket.privacy.dp.empirical import Told
from hocket.secagg.noise_share import GRID_BITS, variances, with_noise
from hocket.secagg.summands import encoded, flat
from hocket.studies import Table, check_table, parse_study, simulate
from hocket.studies.analysis import analyse
from hocket.studies.disclosure.promise import Among, Promise
from hocket.studies.models.private_linear import Bounds, solved
from hocket.studies.spec.study import PrivacySection
from tests.studies.cases import diabetes

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {
    "y": {"range": [0, 100]},
    "x": {"range": [-3, 5]},
    "t": {"range": [1, 9]},
    "g": {"levels": ["a", "b", "c"]},
    "h": {"from": "x", "map": "x > 0"},
}
STUDY = {
    "study": {"title": "T", "formula": "y ~ x + C(g) + log(t) + x:C(g) + h"},
    "columns": COLUMNS,
    "describe": {"columns": ["x", "g", "h"], "cross": [["g", "h"]], "histograms": 6},
    "privacy": PRIVACY,
    "disclosure": {"fewest_rows": 1},
}


def bits_by(seed: int) -> Any:
    def bits(name: str) -> Bits:
        return Bits(np.random.default_rng([seed, *name.encode()]).bytes)

    return bits


def first_total(rows: list[tuple[Any, ...]], among: Among, study: Any = STUDY) -> Any:
    table = Table.of(dict(zip("yxtg", map(list, zip(*rows, strict=True)), strict=True)))
    return next(analyse(check_table(parse_study(study), table, among)[1]))


value = st.floats(-1e3, 1e3, allow_nan=False) | st.sampled_from([-3.0, 0.0, 1.0, 5.0, 100.0, None])
row = st.tuples(
    st.floats(-10, 200),
    value,
    st.floats(1, 9) | st.sampled_from([1.0, 9.0]),
    st.sampled_from(["a", "b", "c", None]),
)
OTHERS = [(50.0, 1.0, 2.0, "a"), (10.0, -2.0, 5.0, "b"), (90.0, 4.0, 8.0, "c")]


def told(one: tuple[Any, ...], other: tuple[Any, ...], among: Among, study: Any = STUDY) -> float:
    """μ of a row against another, against a coalition that takes its own noise off."""
    first, second = first_total([one, *OTHERS], among, study), first_total([other, *OTHERS], among, study)
    moved = (flat(first.values) - flat(second.values)) * 2.0**GRID_BITS
    spread = np.array(variances(first.values, first.noise), dtype=float)
    return math.sqrt(float((moved**2 / (among.honest * spread)).sum()))


@settings(max_examples=60)
@given(row, row, st.integers(2, 6), st.integers(0, 1))
def test_no_row_moves_the_totals_by_more_than_is_promised(one, other, members, colluders):
    among = Among(members, colluders)
    assert told(one, other, among) <= Promise(1.0, 1e-6, among).mu


def test_the_bound_is_nearly_met():
    """Two rows at opposite ends of everything: the noise is not larger than it must be by much."""
    simple = {
        "study": {"title": "T", "formula": "y ~ x"},
        "columns": {"y": {"range": [0, 100]}, "x": {"range": [-3, 5]}},
        "privacy": PRIVACY,
        "disclosure": {"fewest_rows": 1},
    }
    found = told((0.0, 5.0, 1.0, "a"), (100.0, 1.0, 1.0, "a"), Among(4, 1), simple)
    promised = Promise(1.0, 1e-6, Among(4, 1)).mu
    assert 0.8 * promised < found <= promised
    only = {**simple, "study": {"title": "T"}, "describe": {"columns": ["x"], "quantiles": []}}
    assert told((0.0, 5.0, 1.0, "a"), (0.0, -3.0, 1.0, "a"), Among(4, 1), only) == pytest.approx(
        promised, rel=1e-6
    )


def test_noise_for_the_honest_alone_is_as_much_as_a_centre_would_add():
    promise = Promise(1.0, 1e-6, Among(5, 2))
    share = math.sqrt(promise.share_variance(3.0)) * 2.0**-GRID_BITS
    assert share * math.sqrt(3) == pytest.approx(3.0 / gdp.mu(1.0, 1e-6), rel=1e-9)
    assert promise.noise_sd(3.0) == pytest.approx(math.sqrt(5 / 3) * 3.0 / gdp.mu(1.0, 1e-6), rel=1e-9)
    assert promise.against(Among(5, 3)).mu == pytest.approx(promise.mu * math.sqrt(3 / 2), rel=1e-6)
    two = Promise(1.0, 1e-6, Among(5, 2), parts=2)
    assert two.noise_sd(3.0) == pytest.approx(math.sqrt(2) * promise.noise_sd(3.0), rel=1e-9)


def scores(values: np.ndarray, promise: Promise, honest: int, direction: np.ndarray, seed: int) -> np.ndarray:
    """What a coalition sees of a total, along the direction in which two worlds differ; one score for each run."""
    draw = Bits(np.random.default_rng(seed).bytes)
    variance = promise.share_variance(2.0)
    found = []
    for _ in range(RUNS):
        words = encoded(values, bits=64, members=promise.among.members)
        for _ in range(honest):
            words = with_noise(words, values, variance, 64, draw)
        low, high = (int(one) for one in words[:, 0])
        whole = (high << 64) + low
        whole -= (1 << 128) * (whole >> 127)
        found.append(float(whole) * 2.0**-64 * direction[0])
    return np.array(found)


RUNS = 1_500


@pytest.mark.parametrize(("left", "holds"), [(3, True), (1, False)])
def test_who_tells_two_rows_apart_as_well_as_can_be_stays_below_epsilon(left, holds):
    """A coalition of f takes its shares off. If noise is only there for as many as planned, μ is met and ε holds; with
    more colluders than planned for, the same test beats it."""
    promise = Promise(4.0, 1e-3, Among(4, 1))
    first, second = (
        scores(np.array([at]), promise, left, np.ones(1), seed) for seed, at in ((1, 1.0), (2, 3.0))
    )
    told = Told(first, second, confidence=0.99)
    low, high = told.interval
    if holds:
        assert low <= promise.mu <= high
        assert told.mu_bound(2.0) <= promise.mu
        assert told.epsilon_bound(promise.delta) <= promise.epsilon
    else:
        assert told.mu_bound(2.0) > promise.mu


def test_what_is_shown_lies_on_the_grid_and_is_no_float_that_was_added():
    values = {"a": np.array([1.0, 2.0**-GRID_BITS]), "b": np.array([3.0])}
    noise = {"a": 1 << 40, "b": None}
    draw = Bits(np.random.default_rng(0).bytes)
    own = encoded(values, bits=64, members=3)
    made = with_noise(own, values, noise, 64, draw)
    assert (made[0] % np.uint64(1 << (64 - GRID_BITS)) == 0).all()
    assert (made[:, 2] == own[:, 2]).all()
    assert (made[:, :2] != own[:, :2]).any(axis=0).all()
    with pytest.raises(BadInput, match="put them on the grid first"):
        with_noise(own, {"a": np.array([0.1, 0.2]), "b": np.array([3.0])}, noise, 64, draw)


def many(rows: int = 30_000) -> dict[str, Table]:
    rng = np.random.default_rng(3)
    x, g = rng.uniform(-3, 5, rows), rng.choice(["a", "b", "c"], rows)
    y = 40 + 4 * x + 8 * (g == "b") + rng.normal(0, 6, rows)
    place = rng.integers(0, 4, rows)
    return {
        name: Table.of(
            {"y": y[place == j].tolist(), "x": x[place == j].tolist(), "g": g[place == j].tolist()}
        )
        for j, name in enumerate("abcd")
    }


ASKED = {
    "study": {"title": "T", "formula": "y ~ x + C(g)"},
    "columns": {name: COLUMNS[name] for name in "yxg"},
    "describe": {"columns": ["x", "g"]},
}


def test_results_are_near_those_without_noise_by_what_they_say():
    tables = many()
    exact = simulate(parse_study(ASKED), tables)
    noisy = simulate(parse_study({**ASKED, "privacy": PRIVACY}), tables, bits=bits_by(1))
    assert noisy.totals == 1
    for name, one in noisy.data["coefficients"].items():
        true = exact.data["coefficients"][name]
        assert one["se"] > true["se"]
        assert abs(one["estimate"] - true["estimate"]) < 4 * math.sqrt(one["se"] ** 2 - true["se"] ** 2)
    assert noisy.findings.description is not None
    assert exact.findings.description is not None
    described, true = noisy.findings.description.columns["x"], exact.findings.description.columns["x"]
    assert described.mean_noise is not None
    assert described.mean is not None
    assert abs(described.mean - true.mean) < 4 * described.mean_noise + 8 / 2**14
    assert all(abs(one - true.quantiles[share]) < 0.5 for share, one in described.quantiles.items())
    again = simulate(parse_study({**ASKED, "privacy": PRIVACY}), tables, bits=bits_by(1))
    assert again.transcript == noisy.transcript
    other = simulate(parse_study({**ASKED, "privacy": PRIVACY}), tables)
    assert other.transcript != noisy.transcript


def test_standard_errors_carry_the_noise():
    """Over many draws of noise coefficients are off by what their errors say beyond sampling, in the mean square."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, (20_000, 2))
    y = np.clip(0.2 + 0.3 * z[:, 0] - 0.1 * z[:, 1] + rng.normal(0, 0.2, len(z)), -1, 1)
    u = np.column_stack([np.ones(len(z)), z, y])
    study = parse_study(
        {
            "study": {"title": "T", "formula": "y ~ a + b"},
            "columns": {name: {"range": [-1, 3]} for name in ("y", "a", "b")},
            "privacy": PRIVACY,
        }
    )
    from hocket.studies.data.design_matrix import Design

    design, bounds, sd = Design(np.zeros((0, 3)), ("Intercept", "a", "b"), True), [Bounds(1.0, 2.0)] * 3, 60.0
    exact = solved(study, design, bounds, u.T @ u, 1e-9)
    off = []
    for _ in range(400):
        noise = np.triu(rng.normal(0, sd, (4, 4)), 1)
        noise = noise + noise.T + np.diag(rng.normal(0, sd * math.sqrt(2), 4))
        found = solved(study, design, bounds, u.T @ u + noise, sd)
        assert found.covariance is not None
        assert exact.covariance is not None
        added = np.diag(found.covariance) - np.diag(exact.covariance)
        off.append((found.beta - exact.beta) / np.sqrt(added))
    # 400 squares have a relative deviation of 7 %.
    assert np.sqrt((np.array(off) ** 2).mean(axis=0)) == pytest.approx(np.ones(3), abs=0.2)


def test_too_much_noise_is_said_and_not_solved():
    data = {name: diabetes()[name] for name in ("progression", "bmi")}
    study = {
        "study": {"title": "T", "formula": "progression ~ bmi"},
        "columns": {"progression": {"range": [0, 400]}, "bmi": {"range": [10, 60]}},
        "privacy": {"epsilon": 0.05, "delta": 1e-6},
    }
    halves = [{name: cells[j::2].tolist() for name, cells in data.items()} for j in range(2)]
    with pytest.raises(NotEstimable, match=r"noise of deviation .* hides"):
        simulate(parse_study(study), {name: Table.of(one) for name, one in zip("ab", halves, strict=True)})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"study": {"title": "T", "formula": "y ~ x", "family": "poisson"}},
            r"goes with \[describe\] and with family",
        ),
        ({"study": {"title": "T", "formula": "y ~ x", "offset": "o"}}, "goes without offset"),
        ({"study": {"title": "T", "formula": "y ~ z"}}, "z has no bounds.*declare range"),
        ({"study": {"title": "T", "formula": "y ~ log(x)"}}, r"log\(x\) has no bounds"),
        ({"study": {"title": "T", "formula": "y ~ rcs(x, 1, 2, 3)"}}, r"rcs\(x\) has no bounds"),
        ({"columns": {**COLUMNS, "x": {"range": [-3, 5], "missing": "mean"}}}, "would need a sum of its own"),
        ({"describe": {"columns": ["free"]}}, "free has no bounds"),
        ({"privacy": {"epsilon": 0, "delta": 1e-6}}, r"\[privacy\] epsilon = 0"),
        ({"privacy": {"epsilon": 1.0}}, r"\[privacy\].*delta"),
        (
            {"privacy": {"epsilon": 100.0, "delta": 1e-6}},
            r"few rows.*epsilon = 10\.9 is the most at delta = 1e-06",
        ),
        ({"privacy": {"epsilon": 0.1, "delta": 0.9}}, "choose a small delta"),
        ({"privacy": {"epsilon": 1e-300, "delta": 1e-300}}, "asks for noise without end"),
        ({"columns": {**COLUMNS, "x": {"range": [-1.7e308, 1.7e308]}}}, "too far apart"),
    ],
)
def test_what_cannot_be_promised_is_refused_by_name(change, complaint):
    with pytest.raises(BadStudy, match=complaint):
        parse_study({**STUDY, **change})


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.5])
def test_the_most_epsilon_that_is_named_is_allowed(delta):
    with pytest.raises(BadStudy) as refused:
        parse_study({**STUDY, "privacy": {"epsilon": 1e3, "delta": delta}})
    most = re.search(r"epsilon = (\S+) is the most", str(refused.value))
    assert most is not None
    parse_study({**STUDY, "privacy": {"epsilon": float(most[1]), "delta": delta}})


def test_cells_beyond_a_range_count_as_its_end_and_that_is_noted():
    rows = {"y": [500.0, *[50.0] * 11], "x": [1.0] * 12, "t": [2.0] * 12, "g": ["a"] * 12}
    found, kept = check_table(parse_study(STUDY), Table.of(rows))
    assert kept.values["y"].max() == 100.0
    assert "1 cells of y lie outside 0 to 100 and count as the nearer end" in found.notes


def test_a_promise_against_everybody_is_none():
    with pytest.raises(BadStudy, match="leave at least one"):
        simulate(parse_study({**ASKED, "privacy": PRIVACY}), many(400), colluders=4)


def test_the_page_says_what_is_promised(tmp_path):
    from hocket.studies.results.page import results_page

    results = simulate(parse_study({**ASKED, "privacy": PRIVACY}), many(), bits=bits_by(2))
    page = results_page(results, commands=["hocket study simulate"]).html()
    assert "ε = 1, δ = 1e‑06" in page  # with a hyphen that does not break
    assert "Theorem A2 for totals" in page
    assert results.data["privacy"]["mu"] == gdp.mu(1.0, 1e-6)
    assert jax.tree.leaves(results.data["privacy"])


@pytest.mark.parametrize(
    "formula", ["y ~ x + C(g) + log(t) + x:C(g) + h + t^2", "y ~ sqrt(t) + x - 1", "log(y) ~ x:t"]
)
def test_with_next_to_no_noise_it_is_the_pooled_fit(formula):
    """Bounds, scales and crossed terms are taken back rightly: what is left is rounding of columns to 2^-14."""
    rng = np.random.default_rng(5)
    rows = 4_000
    data = {
        "x": rng.uniform(-3, 5, rows),
        "t": rng.uniform(1, 9, rows),
        "g": rng.choice(["a", "b", "c"], rows),
        "y": rng.uniform(5, 95, rows),
    }
    columns = {**COLUMNS, "y": {"range": [1, 100], "per": 10}, "x": {"range": [-3, 5], "per": 2}}
    asked = {"study": {"title": "T", "formula": formula}, "columns": columns}
    halves = {
        name: Table.of({key: cells[j::2].tolist() for key, cells in data.items()})
        for j, name in enumerate("ab")
    }
    exact = simulate(parse_study(asked), halves).data["coefficients"]
    little = PrivacySection(epsilon=1e6, delta=1e-6)  # which no file may ask for
    noisy = simulate(replace(parse_study(asked), privacy=little), halves)
    for name, one in noisy.data["coefficients"].items():
        assert abs(one["estimate"] - exact[name]["estimate"]) < 0.02 * exact[name]["se"] + 3 * math.sqrt(
            max(one["se"] ** 2 - exact[name]["se"] ** 2, 0.0)
        )
        assert one["se"] == pytest.approx(exact[name]["se"], rel=0.02)


def test_the_command_line_says_what_is_promised(tmp_path, capsys):
    from hocket.cli import main
    from hocket.config.files import dumps

    flattened = {
        "study": {"title": "T"},
        "describe": {"columns": ["x"]},
        "privacy": PRIVACY,
        "columns.x": COLUMNS["x"],
    }
    (tmp_path / "study.toml").write_text(dumps(flattened))
    paths = []
    for name in "abc":
        path = tmp_path / f"{name}.csv"
        path.write_text("x\n" + "\n".join(["1.5"] * 300) + "\n")
        paths.append(str(path))
    command = ["study", "simulate", str(tmp_path / "study.toml"), "--data", *paths, "--json", "--out"]
    assert main([*command, str(tmp_path / "one"), "--colluders", "2"]) == 0
    import json

    found = json.loads(capsys.readouterr().out)
    assert found["privacy"]["colluders"] == 2
    assert found["description"]["noise"] == pytest.approx(
        math.sqrt(3) * math.sqrt(6) / gdp.mu(1.0, 1e-6), rel=1e-6
    )
    assert main([*command, str(tmp_path / "two"), "--colluders", "3"]) == 1
    assert "leave at least one" in capsys.readouterr().err
