"""Generalised linear models by totals, beside the pooled fit of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hocket.errors import BadStudy, NotEstimable
from hocket.studies import Table, parse_study, simulate
from tests.studies.cases import HEART, asked, cancer, diabetes, heart_data, hospitals, judges, table_of

EXACT = {"rtol": 1e-8, "atol": 1e-12}  # what the study promises; differences are near 1e-12


@heart_data
def test_four_hospitals_get_what_the_pooled_rows_give():
    results = simulate(parse_study(HEART), hospitals())
    assert results.data["rows"] == 740
    assert results.rows_by_member == {"cleveland": 303, "hungarian": 261, "switzerland": 46, "va": 130}
    assert results.totals <= 10
    X, y = pooled_hearts()
    judge = judges().GLM(y, X, family=judges().families.Binomial()).fit(tol=1e-14, maxiter=100)
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate, judge.params, **EXACT)
    np.testing.assert_allclose(se, judge.bse, **EXACT)
    np.testing.assert_allclose(results.data["deviance"], judge.deviance, rtol=1e-10)
    np.testing.assert_allclose(results.data["aic"], judge.aic, rtol=1e-10)
    np.testing.assert_allclose(results.data["null_deviance"], judge.null_deviance, rtol=1e-10)
    age, sex = results.data["coefficients"]["age"], results.data["coefficients"]["sex"]
    assert (round(age["estimate"], 4), round(age["se"], 4)) == (0.0213, 0.0126)
    assert (round(sex["estimate"], 4), round(sex["se"], 4)) == (1.2996, 0.2569)
    assert round(results.data["deviance"], 4) == 621.7843
    assert round(results.data["aic"], 4) == 649.7843
    np.testing.assert_allclose([age["p"], age["low"]], [judge.pvalues[1], judge.conf_int()[1][0]], rtol=1e-7)


def pooled_hearts() -> tuple[np.ndarray, np.ndarray]:
    """The pooled design, built by hand."""
    columns = HEART["study"]["formula"].replace("C(", "").replace(")", "").split("~")[1].split("+")
    names = [name.strip() for name in columns] + ["num"]
    rows = np.array(
        [
            [float(cell) if cell else np.nan for cell in row]
            for table in hospitals().values()
            for row in zip(*(table.columns[name] for name in names), strict=True)
        ]
    )
    rows = rows[~np.isnan(rows).any(axis=1)]
    of = dict(zip(names, rows.T, strict=True))
    X = [np.ones(len(rows)), of["age"], of["sex"], *(of["cp"] == level for level in (2, 3, 4))]
    X += [of["trestbps"], of["chol"], of["fbs"], *(of["restecg"] == level for level in (1, 2))]
    X += [of["thalach"], of["exang"], of["oldpeak"]]
    return np.stack(X, axis=1).astype(float), (of["num"] > 0).astype(float)


BMI = {"sex": {"levels": ["f", "m"]}}


def diabetes_design(*more: np.ndarray) -> np.ndarray:
    data = diabetes()
    return np.stack([np.ones(442), data["bmi"], data["bp"], data["sex"] == "m", *more], axis=1).astype(float)


def test_linear_takes_three_totals():
    results = asked("progression ~ bmi + bp + C(sex)", "linear", data=diabetes(), columns=BMI)
    judge = judges().OLS(diabetes()["progression"], diabetes_design()).fit()
    estimate, se = table_of(results)
    assert results.totals == 3
    np.testing.assert_allclose(estimate, judge.params, **EXACT)
    np.testing.assert_allclose(se, judge.bse, **EXACT)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.llf, rtol=1e-12)
    np.testing.assert_allclose(
        results.data["aic"], judge.aic + 2, rtol=1e-12
    )  # as R: the variance counts too
    np.testing.assert_allclose(results.data["r_squared"], judge.rsquared, rtol=1e-10)
    np.testing.assert_allclose(
        [one["p"] for one in results.data["coefficients"].values()], judge.pvalues, rtol=1e-6
    )


def test_weights_offset_and_robust_errors_of_a_linear_model():
    data = diabetes()
    results = asked(
        "progression ~ bmi + bp + C(sex)",
        "linear",
        data=data,
        columns=BMI,
        weights="weight",
        offset="age",
        errors="robust",
    )
    judge = (
        judges()
        .WLS(data["progression"] - data["age"], diabetes_design(), weights=data["weight"])
        .fit(cov_type="HC0")
    )
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate, judge.params, **EXACT)
    np.testing.assert_allclose(se, judge.bse, **EXACT)
    np.testing.assert_allclose(results.data["log_likelihood"], judge.llf, rtol=1e-12)


def test_counts_with_an_offset_and_robust_errors():
    data = diabetes()
    counts = dict(data) | {"count": np.floor(data["progression"] / 10), "exposure": np.log(data["age"])}
    judge = judges().GLM(
        counts["count"], diabetes_design(), family=judges().families.Poisson(), offset=counts["exposure"]
    )
    plain = asked("count ~ bmi + bp + C(sex)", "poisson", data=counts, columns=BMI, offset="exposure")
    robust = asked(
        "count ~ bmi + bp + C(sex)", "poisson", data=counts, columns=BMI, offset="exposure", errors="robust"
    )
    fitted = judge.fit(tol=1e-14)
    for results, expected in ((plain, fitted), (robust, judge.fit(tol=1e-14, cov_type="HC0"))):
        estimate, se = table_of(results)
        np.testing.assert_allclose(estimate, expected.params, **EXACT)
        np.testing.assert_allclose(se, expected.bse, **EXACT)
    np.testing.assert_allclose(plain.data["deviance"], fitted.deviance, rtol=1e-10)
    np.testing.assert_allclose(plain.data["aic"], fitted.aic, rtol=1e-10)
    np.testing.assert_allclose(plain.data["null_deviance"], fitted.null_deviance, rtol=1e-9)
    np.testing.assert_allclose(plain.data["mcfadden"], 1 - fitted.llf / fitted.llnull, rtol=1e-9)
    assert robust.totals == plain.totals + 1


@pytest.mark.filterwarnings("ignore:The InversePower link function")
@pytest.mark.parametrize("link", ["log", "inverse"])
def test_gamma(link):
    sm = judges()
    links = {"log": sm.families.links.Log(), "inverse": sm.families.links.InversePower()}
    results = asked("progression ~ bmi + bp + C(sex)", "gamma", data=diabetes(), columns=BMI, link=link)
    y = diabetes()["progression"]
    judge = sm.GLM(y, diabetes_design(), family=sm.families.Gamma(links[link])).fit(tol=1e-14, maxiter=200)
    estimate, se = table_of(results)
    assert results.totals <= 8
    np.testing.assert_allclose(estimate, judge.params, **EXACT)
    np.testing.assert_allclose(se, judge.bse, **EXACT)
    np.testing.assert_allclose(results.data["deviance"], judge.deviance, rtol=1e-10)
    # The log-likelihood as R has it, with the dispersion at deviance / rows.
    shape = len(y) / judge.deviance
    expected = stats.gamma.logpdf(y, shape, scale=judge.fittedvalues / shape).sum()
    np.testing.assert_allclose(results.data["log_likelihood"], expected, rtol=1e-10)


def test_formula_with_products_powers_logarithms_and_splines():
    data = diabetes()
    results = asked(
        "log(progression) ~ bmi*C(sex) + age^2 + sqrt(bp) + rcs(s1, 150, 190, 230)",
        "linear",
        data=data,
        columns=BMI,
    )
    male, knots = (data["sex"] == "m").astype(float), (150.0, 190.0, 230.0)
    cubes = [np.maximum(data["s1"] - knot, 0) ** 3 for knot in knots]
    bend = (cubes[0] - cubes[1] * 80 / 40 + cubes[2] * 40 / 40) / 80**2
    X = [np.ones(442), data["bmi"], male, data["age"] ** 2, np.sqrt(data["bp"]), data["s1"], bend]
    judge = judges().OLS(np.log(data["progression"]), np.stack([*X, data["bmi"] * male], axis=1)).fit()
    assert results.findings.fit is not None
    assert results.findings.fit.names == (
        "Intercept", "bmi", "C(sex)[m]", "age^2", "sqrt(bp)", "rcs(s1)[1]", "rcs(s1)[2]", "bmi:C(sex)[m]",
    )  # fmt: skip
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate, judge.params, rtol=1e-8)
    np.testing.assert_allclose(se, judge.bse, rtol=1e-8)


def test_levels_keep_their_reference_where_there_is_no_intercept():
    results = asked("progression ~ C(sex) + bmi - 1", "linear", data=diabetes(), columns=BMI)
    data = diabetes()
    X = np.stack([data["sex"] == "f", data["sex"] == "m", data["bmi"]], axis=1).astype(float)
    judge = judges().OLS(data["progression"], X).fit()
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    assert "Intercept" not in results.data["coefficients"]


def test_only_the_first_factor_keeps_its_reference_where_there_is_no_intercept():
    """The levels of each add up to one: with those of both, as none of R's formulas has it, no fit is the only one."""
    data = diabetes() | {"third": np.arange(442) % 3}
    columns = BMI | {"third": {"levels": [0, 1, 2]}}
    results = asked("progression ~ bmi + C(sex) + C(third) - 1", "linear", data=data, columns=columns)
    X = [data["bmi"], data["sex"] == "f", data["sex"] == "m", data["third"] == 1, data["third"] == 2]
    judge = judges().OLS(data["progression"], np.stack(X, axis=1).astype(float)).fit()
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    np.testing.assert_allclose(table_of(results)[1], judge.bse, **EXACT)


def test_the_reference_level_is_the_studys():
    columns = {"sex": {"levels": ["f", "m"], "reference": "m"}}
    results = asked("progression ~ C(sex)", "linear", data=diabetes(), columns=columns)
    assert set(results.data["coefficients"]) == {"Intercept", "C(sex)[f]"}


@pytest.mark.parametrize(("lasso", "ridge"), [(2.0, 0.0), (1.0, 0.5), (0.0, 0.1)])
def test_elastic_net_of_a_linear_model(lasso, ridge):
    from sklearn.linear_model import ElasticNet, Ridge

    names = ["age", "bmi", "bp", "s1", "s2", "s3"]
    results = asked(
        f"progression ~ {' + '.join(names)}",
        "linear",
        data=diabetes(),
        penalty={"lasso": lasso, "ridge": ridge},
    )
    X = np.stack([diabetes()[name] for name in names], axis=1)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    judge = (
        ElasticNet(alpha=lasso + ridge, l1_ratio=lasso / (lasso + ridge), tol=1e-15, max_iter=1_000_000)
        if lasso
        else Ridge(alpha=ridge * 442, tol=1e-14)
    ).fit(scaled, diabetes()["progression"])
    estimate, se = table_of(results)
    np.testing.assert_allclose(estimate[1:] * X.std(axis=0), judge.coef_, rtol=1e-7, atol=1e-8)
    assert np.isnan(se).all()  # none is given
    assert results.totals == 3


def test_elastic_net_of_a_logistic_regression_meets_its_conditions():
    """No judge solves it to more than six digits, but the conditions of the optimum can be held to ten."""
    names = ["mean_radius", "mean_texture", "mean_smoothness", "mean_symmetry", "worst_area"]
    lasso, ridge = 0.1, 0.01
    results = asked(
        f"benign ~ {' + '.join(names)}", "binomial", data=cancer(), penalty={"lasso": lasso, "ridge": ridge}
    )
    X, y = np.stack([cancer()[name] for name in names], axis=1), cancer()["benign"]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert results.findings.fit is not None
    beta = results.findings.fit.beta
    own = beta[1:] * X.std(axis=0)
    fitted = 1 / (1 + np.exp(-(beta[0] + X @ beta[1:])))
    pull = scaled.T @ (y - fitted) / len(y) - ridge * own
    assert 0 < (own != 0).sum() < len(names)
    np.testing.assert_allclose(pull[own != 0], lasso * np.sign(own[own != 0]), atol=1e-10)
    assert (np.abs(pull[own == 0]) <= lasso + 1e-10).all()
    np.testing.assert_allclose((y - fitted).mean(), 0, atol=1e-12)


def test_missing_numbers_are_filled_with_the_joint_mean():
    data = diabetes()
    bmi = np.where(np.arange(442) % 7 == 0, np.nan, data["bmi"])
    results = asked(
        "progression ~ bmi + bp", "linear", data={**data, "bmi": bmi}, columns={"bmi": {"missing": "mean"}}
    )
    whole = np.where(np.isnan(bmi), np.nanmean(bmi), bmi)
    judge = judges().OLS(data["progression"], np.stack([np.ones(442), whole, data["bp"]], axis=1)).fit()
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    assert results.data["rows"] == 442
    assert results.totals == 5


def test_rows_are_chosen_by_declared_conditions():
    data = diabetes()
    results = asked("progression ~ bmi", "linear", data=data, where=["age >= 50", "bmi < 35"])
    chosen = (data["age"] >= 50) & (data["bmi"] < 35)
    judge = (
        judges()
        .OLS(data["progression"][chosen], np.stack([np.ones(chosen.sum()), data["bmi"][chosen]], axis=1))
        .fit()
    )
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    assert results.data["rows"] == chosen.sum()


def test_a_coefficient_is_for_as_many_units_as_the_study_says():
    plain = asked("progression ~ bmi + log(age)", "linear", data=diabetes())
    scaled = asked(
        "progression ~ bmi + log(age)",
        "linear",
        data=diabetes(),
        columns={"bmi": {"per": 5}, "age": {"per": 10}},
    )
    one, five = plain.data["coefficients"], scaled.data["coefficients"]
    assert five["bmi"]["estimate"] == pytest.approx(5 * one["bmi"]["estimate"], rel=1e-10)
    assert five["log(age)"]["estimate"] == pytest.approx(one["log(age)"]["estimate"], rel=1e-10)


def test_shares_of_trials_are_those_of_the_pooled_table():
    """The likelihood counts in how many ways a share comes about, as R's does."""
    rng = np.random.default_rng(7)
    x, trials = rng.normal(size=90), rng.integers(1, 12, 90)
    happened = rng.binomial(trials, 1 / (1 + np.exp(-0.4 * x)))
    data = {"x": x, "trials": trials.astype(float), "share": happened / trials}
    results = asked("share ~ x", "binomial", data=data, weights="trials")
    sm = judges()
    pairs = np.stack([happened, trials - happened], axis=1)
    judge = sm.GLM(pairs, np.stack([np.ones(90), x], axis=1), family=sm.families.Binomial()).fit(tol=1e-14)
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    np.testing.assert_allclose(table_of(results)[1], judge.bse, **EXACT)
    for name, value in (
        ("deviance", judge.deviance),
        ("log_likelihood", judge.llf),
        ("aic", judge.aic),
        ("null_deviance", judge.null_deviance),
    ):
        np.testing.assert_allclose(results.data[name], value, rtol=1e-9)


def clinics(names: str = "abc", **outcome: object) -> dict[str, Table]:
    """Clinics of 40 rows, three unless named; at the second nothing ever happened."""
    rng = np.random.default_rng(5)
    made = {}
    for name in names:
        x = rng.normal(size=40)
        events = rng.poisson(np.exp(0.3 * x)) if name != "b" else np.zeros(40)
        made[name] = Table.of({"x": x.tolist(), "events": events.tolist(), **outcome}, name)
    return made


def test_a_clinic_where_nothing_happened_takes_part_in_a_count_of_events():
    tables = clinics()
    results = simulate(
        parse_study({"study": {"title": "T", "formula": "events ~ x", "family": "poisson"}}), tables
    )
    x, y = (np.concatenate([table.columns[name] for table in tables.values()]) for name in ("x", "events"))
    sm = judges()
    judge = sm.GLM(y, np.stack([np.ones(120), x], axis=1), family=sm.families.Poisson()).fit(tol=1e-14)
    np.testing.assert_allclose(table_of(results)[0], judge.params, **EXACT)
    np.testing.assert_allclose(table_of(results)[1], judge.bse, **EXACT)


@pytest.mark.parametrize(
    ("asks", "tables", "said"),
    [
        ({"formula": "none ~ x"}, clinics(none=[0] * 40), "the outcome is 0 in every joint row"),
        (
            {"formula": "same ~ x", "family": "gamma"},
            clinics("abcd", same=[2.5] * 40),
            "the outcome is the same in every joint row",
        ),
        (
            {"formula": "events ~ x", "weights": "w"},
            clinics(w=[1e-12] * 40),
            "weights are 1e-12 on average.*other units",
        ),
        ({"formula": "events ~ x", "weights": "w"}, clinics(w=[1e-300] * 40), "weights are 0 on average"),
    ],
    ids=["nothing", "the same", "light", "lighter"],
)
def test_outcomes_and_weights_without_a_mean_are_named(asks, tables, said):
    with pytest.raises(BadStudy, match=said):
        simulate(parse_study({"study": {"title": "T", "family": "poisson", **asks}}), tables)


def test_what_is_the_same_in_all_rows_of_each_member_is_no_news_beside_own_hazards():
    rng = np.random.default_rng(6)
    tables = {
        name: Table.of(
            {"t": rng.integers(1, 9, 40), "e": rng.integers(0, 2, 40), "dose": [0.1 * place] * 40}, name
        )
        for place, name in enumerate("abc")
    }
    study = {"study": {"title": "T", "formula": "Surv(t, e) ~ dose", "family": "cox"}}
    with pytest.raises(NotEstimable, match="dose is the same in all rows of each member"):
        simulate(parse_study(study), tables)
