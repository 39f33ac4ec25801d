"""Formulas and conditions: what they may hold, and that nothing else passes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hocket.errors import BadStudy
from hocket.studies.data.design_matrix import design_names
from hocket.studies.spec.condition import parse_condition
from hocket.studies.spec.formula import Factor, Formula, Survival, parse_formula


def terms(text: str) -> list[str]:
    return [":".join(map(str, term)) for term in parse_formula(text).terms]


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("a + b", ["a", "b"]),
        ("a*b", ["a", "b", "a:b"]),
        ("a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("a:b + a + a", ["a", "a:b"]),
        ("a:b + b:a", ["a:b"]),
        ("a^2 + a**3 + log(a) + sqrt(b)", ["a^2", "a^3", "log(a)", "sqrt(b)"]),
        ("rcs(a, -1, 0.5, 2e1)", ["rcs(a)"]),
        ("C(a):b", ["C(a):b"]),
        ("1", []),
    ],
)
def test_what_a_formula_may_hold(right, expected):
    assert terms(f"y ~ {right}") == expected


@pytest.mark.parametrize(
    ("right", "intercept"), [("a - 1", False), ("0 + a", False), ("-1 + a", False), ("1 + a", True)]
)
def test_the_intercept(right, intercept):
    assert parse_formula(f"y ~ {right}").intercept is intercept


def test_times_and_events():
    assert parse_formula("Surv(t, e) ~ a").response == Survival("t", "e")
    assert parse_formula("Surv(t, e) ~ a").columns == ("t", "e", "a")


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("y ~ __import__('os').system('id')", '"\'" at character 16, which is not allowed'),
        ("y ~ exp(a)", "'exp' at character 5"),
        ("y ~ a[0]", r"'\[' at character 6"),
        ("y ~ a.b", r"'.' at character 6"),
        ("y ~ {a}", r"'{' at character 5"),
        ("y ~ I(a)", "'I' at character 5"),
        ("y ~ C(a, Treatment)", "',' at character 8"),
        ("y ~ log(log(a))", r"'\(' at character 12"),
        ("y ~ a - b", "takes 'b' away"),
        ("y ~ a^12", r"a\^12: a power"),
        ("y ~ a^b", "'b' at character 7"),
        ("y ~ rcs(a, 3, 2, 1)", "knots that rise"),
        ("y ~ a b", "'b' at character 7"),
        ("y ~ ", "ends too early"),
        ("y", "ends too early"),
        ("~ a", "'~' at character 1"),
        ("y ~ a ~ b", "'~' at character 7"),
        ("C(y) ~ a", r"C\(y\) cannot be explained"),
        ("y ~ a*b*c*d*e*f*g", "more than six"),
        ("y ~ " + "a + " * 2000 + "a", "8,005 characters"),
        ("y ~ ａ", "'ａ' at character 5"),
    ],
)
def test_anything_else_is_refused_by_name(text, culprit):
    with pytest.raises(BadStudy, match=culprit):
        parse_formula(text)


PIECES = st.sampled_from(
    ["y", "~", "a", "b", "+", "-", ":", "*", "^", "**", "1", "0", "2", "C(", "log(", "rcs(", ")", ",", "Surv(", " ",
     "(", "__import__", "os", ".", "[", "'", "lambda", "{", "@", "\\", "\n", "é", "\x00", "1e309", "9" * 50]
)  # fmt: skip


@given(st.lists(PIECES, max_size=24).map("".join) | st.text(max_size=60))
@example("y ~ a + b:C(a) - 1")
def test_whatever_the_text_it_is_a_formula_of_plain_names_or_refused(text):
    try:
        formula = parse_formula(text)
    except BadStudy:
        return
    assert isinstance(formula, Formula)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in formula.columns)
    factors = [factor for term in formula.terms for factor in term]
    assert all(factor.function in ("", "C", "log", "sqrt", "^", "rcs") for factor in factors)
    assert all(np.isfinite(number) for factor in factors for number in factor.numbers)
    # Nothing is lost: what was understood says the same when it is read again (knots are not part of a name).
    if not any(factor.function == "rcs" for factor in factors):
        assert parse_formula(str(formula)) == formula


@given(
    st.lists(
        st.sampled_from(["num", ">", "=", "<", "!", "0", "-1", "1e3", " ", "(", "or", "__x", ".", "é"]),
        max_size=8,
    ).map("".join)
    | st.text(max_size=30)
)
@example("num > 0")
def test_whatever_the_text_it_is_a_comparison_or_refused(text):
    try:
        condition = parse_condition(text)
    except BadStudy:
        return
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", condition.column)
    assert parse_condition(str(condition)) == condition


@pytest.mark.parametrize(
    "text", ["num > 0 or True", "num > __import__('os')", "0 < num", "num", "num > num", "num > 0; x"]
)
def test_conditions_that_could_be_code_are_refused(text):
    with pytest.raises(BadStudy, match="is no condition"):
        parse_condition(text)


def test_names_of_columns_follow_the_formula():
    from hocket.studies.spec.columns import ColumnSection

    columns = {"b": ColumnSection(levels=(1, 2, 3)), "c": ColumnSection(levels=("x", "y"))}

    def names(text: str) -> tuple[str, ...]:
        formula = parse_formula(text)
        return design_names(formula, columns, intercept=formula.intercept)

    assert names("y ~ a + C(b)") == ("Intercept", "a", "C(b)[2]", "C(b)[3]")
    assert names("y ~ C(b) - 1") == ("C(b)[1]", "C(b)[2]", "C(b)[3]")
    # As in R: without C(b) itself, its product with C(c) keeps every level of b.
    assert names("y ~ C(c) + C(b):C(c)")[2:] == (
        "C(b)[2]:C(c)[x]", "C(b)[3]:C(c)[x]", "C(b)[2]:C(c)[y]", "C(b)[3]:C(c)[y]",
    )  # fmt: skip
    assert Factor("a", "^", (2.0,)) in parse_formula("y ~ a^2").terms[0]
