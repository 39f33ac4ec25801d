"""What fits together only as a whole: the formula, the family, and what is said of each column."""

from __future__ import annotations

from hocket.config.sections import nearest
from hocket.errors import BadStudy
from hocket.studies.condition import parse_condition
from hocket.studies.formula import Factor, Formula, Survival
from hocket.studies.study import LINKS, Study


def contradictions(study: Study) -> list[str]:
    """What fits together only as a whole."""
    try:
        formula, conditions = study.formula, study.conditions
    except BadStudy as error:
        return [f"[study] {error}"]
    found: list[str] = []
    question = study.question
    if formula is None and study.describe is None and study.survival is None:
        found.append("[study] asks nothing: give a formula, or a section [describe] or [survival]")
    if question.link and question.link not in LINKS[question.family]:
        found.append(
            f"[study] link = {question.link!r} does not go with {question.family!r}: {LINKS[question.family]}"
        )
    if formula is not None:
        found += _formula_contradictions(study, formula)
    if study.evaluate is not None and (formula is None or question.family != "binomial"):
        found.append("[evaluate] needs a formula with family = 'binomial'")
    if study.evaluate is not None and question.site:
        found.append(
            "[evaluate] cannot go with site = true: each member's own intercept would be part of its scores"
        )
    survival = study.survival
    if survival is not None and list(survival.grid) != sorted({t for t in survival.grid if t > 0}):
        found.append("[survival] grid must be times above 0 that rise")
    if survival is not None and survival.by and not study.column(survival.by).coded:
        found.append(
            f"[survival] by = {survival.by!r} has no levels; declare them in [columns.{survival.by}]"
        )
    if study.describe is not None:
        found += [
            f"[describe] cross: {name} has no levels; declare them in [columns.{name}]"
            for pair in study.describe.cross
            for name in pair
            if not study.column(name).levels and study.column(name).map is None
        ]
        if not all(0 < share < 1 for share in study.describe.quantiles):
            found.append("[describe] quantiles are shares between 0 and 1; extremes are not shown")
    for name, column in study.columns.items():
        found += [f"[columns.{name}] {one}" for one in column.contradictions]
        source = column.source or name
        if isinstance(column.map, str) and parse_condition(column.map).column not in (source, name):
            found.append(f"[columns.{name}] map = {column.map!r} is of another column than {source}")
    for condition in conditions:
        if study.column(condition.column).coded:
            found.append(
                f"[study] where: {condition.column} has levels, which are not compared by their size"
            )
    known = set(study.columns)
    for name in study.used:
        close = nearest(name, known)
        if name not in known and close:
            found.append(
                f"the study uses the column {name}, which has no section{close}; write one, or mend the name"
            )
    return found


def _formula_contradictions(study: Study, formula: Formula) -> list[str]:
    found: list[str] = []
    question, survival = study.question, isinstance(formula.response, Survival)
    if survival != (question.family == "cox"):
        found.append("[study] family = 'cox' and a formula with Surv(time, event) ~ … go together")
    if question.family == "cox" and (
        not formula.intercept or question.offset or question.weights or question.site
    ):
        found.append(
            "[study] a Cox model is stratified by member and has no intercept, offset, weights or site"
        )
    if not formula.terms and not formula.intercept:
        found.append("[study] the formula explains by nothing")
    if isinstance(formula.response, Factor) and study.column(formula.response.column).coded:
        name = formula.response.column
        found.append(
            f"[study] {name} has levels, and is no number to explain; say which count: map in [columns.{name}]"
        )
    for factor in dict.fromkeys(factor for term in formula.terms for factor in term):
        levels = study.column(factor.column).coded
        if factor.function == "C" and not levels:
            found.append(
                f"[study] C({factor.column}) needs its levels: [columns.{factor.column}] levels = […]"
            )
        if factor.function != "C" and levels:
            found.append(f"[study] {factor.column} has levels; write C({factor.column}) in the formula")
    if study.penalty.lasso + study.penalty.ridge > 0 and (question.family == "cox" or question.site):
        found.append("[penalty] goes with linear, binomial, poisson and gamma, without site")
    return found
