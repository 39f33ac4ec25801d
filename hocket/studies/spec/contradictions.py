"""What fits together only as a whole: the formula, the family, and what is said of each column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from scipy.special import ndtr

from hocket.errors import BadStudy
from hocket.privacy.dp import gdp
from hocket.studies.data.design_matrix import refuse_wide
from hocket.studies.disclosure.promise import HIDES
from hocket.studies.models.private_linear import unscalable
from hocket.studies.spec.condition import parse_condition
from hocket.studies.spec.formula import Factor, Formula, Survival
from hocket.studies.spec.ranges import factor_range
from hocket.studies.spec.study import LINKS, DescribeSection, PrivacySection, Study

MOST_NUMBERS = 1 << 16
"""Numbers of one total: what links make room for."""
MOST_QUANTILES = 5
MOST_TIMES = 10_000
MOST_CONDITIONS = 100


def contradictions(study: Study) -> list[str]:
    """Everything that does not go together."""
    if len(study.question.where) > MOST_CONDITIONS:
        return [f"[study] where has {len(study.question.where):,} conditions; {MOST_CONDITIONS} are the most"]
    try:
        formula, conditions = study.formula, study.conditions
    except BadStudy as error:
        return [f"[study] {error}"]
    found = [*_of_question(study), *_of_columns(study), *_of_curves(study), *_of_description(study)]
    if formula is not None:
        found += [*_of_formula(study, formula), *_of_factors(study, formula)]
        found = found or [*refuse_wide(formula, study.columns)]
    if study.privacy is not None:
        found = found or [*_of_privacy(study), *_of_noise(study.privacy)]
    for condition in conditions:
        if study.column(condition.column).coded:
            found.append(
                f"[study] where: {condition.column} has levels, which are not compared by their size"
            )
    return found


def _of_question(study: Study) -> Iterator[str]:
    question = study.question
    if study.formula is None and study.describe is None and study.survival is None:
        yield "[study] asks nothing: give a formula, or a section [describe] or [survival]"
    if question.link and question.link not in LINKS[question.family]:
        fit = " or ".join(map(repr, LINKS[question.family]))
        yield f"[study] link = {question.link!r} does not go with {question.family!r}; {fit} does"
    for role in ("offset", "weights"):
        name = getattr(question, role)
        if name and not study.column(name).numeric:
            yield (
                f"[study] {role} = {name!r} is a yes or no, or has levels: with a row set apart, the fit would differ "
                "from the one without it by that row; give a column of numbers"
            )
    if study.evaluate is not None and (study.formula is None or question.family != "binomial"):
        yield "[evaluate] needs a formula with family = 'binomial'"
    if study.penalty.some and question.family == "cox":
        yield "[penalty] goes with linear, binomial, poisson and gamma"
    if question.site:
        # They are Σ_j S_j S_jᵀ / n_j, over members with n_j rows and sums S_j, both whole numbers for columns of yes
        # and no. With more columns than members, the whole vectors in its column space form a lattice that (n_j, S_j)
        # span, which lattice reduction finds. With fewer, the entries are fractions of one denominator, the least
        # common multiple of all n_j; each prime that divides one n_j alone gives that member's S_j up to a factor.
        yield (
            "[study] site = true: an own intercept is taken out by squares of each member's own sums, and from their "
            "sum one member computes the others' own numbers of rows and of every yes. More members do not hide them. "
            "Leave site out, or put into the formula columns that say how members differ"
        )


def _of_columns(study: Study) -> Iterator[str]:
    for name, column in study.columns.items():
        yield from (f"[columns.{name}] {one}" for one in column.contradictions)
        source = column.source or name
        if isinstance(column.map, str) and parse_condition(column.map).column not in (source, name):
            yield f"[columns.{name}] map = {column.map!r} is of another column than {source}"


def _of_curves(study: Study) -> Iterator[str]:
    part = study.survival
    if part is None:
        return
    if not part.grid or list(part.grid) != sorted({time for time in part.grid if time > 0}):
        yield "[survival] grid must be times above 0 that rise"
    if len(part.grid) > MOST_TIMES:
        yield f"[survival] grid has {len(part.grid):,} times, where {MOST_TIMES:,} are the most"
    yield from _guessed(study, {part.time: "a time", part.event: "an event"})
    if part.by and not study.column(part.by).coded:
        yield f"[survival] by = {part.by!r} has no levels; declare them in [columns.{part.by}]"


def _guessed(study: Study, roles: Mapping[str, str]) -> Iterator[str]:
    """What is to be explained cannot be a mean that was put in its place."""
    for name, role in roles.items():
        if study.column(name).missing == "mean":
            yield (
                f"[columns.{name}] missing = 'mean' would make up {role} where there is none; drop the row "
                "(missing = 'drop')"
            )


def _of_description(study: Study) -> Iterator[str]:
    part = study.describe
    if part is None:
        return
    for name in dict.fromkeys(one for pair in part.cross for one in pair):
        if study.column(name).numeric:
            yield f"[describe] cross: {name} has no levels; declare them in [columns.{name}]"
    numbers = {study.source(name): name for name in study.described if study.column(name).numeric}
    for name in study.described if study.privacy is None else ():
        if not study.column(name).numeric and (same := numbers.get(study.source(name))):
            yield (
                f"[describe] {name} and {same} are of the same column, once as levels and once as numbers: mean and "
                "standard deviation would tell the counts of levels that are too few to be shown; leave one of them out"
            )
    if not all(0 < share < 1 for share in part.quantiles):
        yield "[describe] quantiles are shares between 0 and 1; extremes are not shown"
    if len(part.quantiles) > MOST_QUANTILES:
        yield (
            f"[describe] asks for {len(part.quantiles):,} quantiles, where {MOST_QUANTILES} are the most: each more "
            "is a count nearer to single rows; name up to five, such as [0.1, 0.25, 0.5, 0.75, 0.9]"
        )
    elif len({f"{share:g}" for share in part.quantiles}) < len(part.quantiles):
        yield "[describe] quantiles: two are the same to six digits, by which results name them; leave one out"
    if (numbers := _numbers(study, part)) > MOST_NUMBERS:
        yield (
            f"[describe] asks for {numbers:,} numbers at once, where {MOST_NUMBERS:,} go over a link: describe fewer "
            "columns, cross fewer of them, or join levels"
        )
    if part.rows == "analysed" and study.formula is None and study.survival is None:
        yield "[describe] rows = 'analysed' are those of a formula or of [survival], and there is neither"


def _numbers(study: Study, part: DescribeSection) -> int:
    """Numbers that a description gives to its largest total, about."""
    levels = {name: len(column.coded) or 2 for name, column in study.columns.items()}
    each = max(part.histograms, len(part.quantiles)) + 4
    counts = [each if study.column(name).numeric else levels.get(name, 2) + 1 for name in study.described]
    return sum(counts) + sum(levels.get(one, 2) * levels.get(other, 2) for one, other in part.cross)


def _of_formula(study: Study, formula: Formula) -> Iterator[str]:
    question, survival = study.question, isinstance(formula.response, Survival)
    if survival != (question.family == "cox"):
        yield "[study] family = 'cox' and a formula with Surv(time, event) ~ … go together"
    if not formula.terms and (question.family == "cox" or not formula.intercept):
        yield "[study] the formula explains by nothing"
    own = bool(question.offset or question.weights or question.errors == "robust")
    if question.family == "cox" and (own or not formula.intercept):
        yield "[study] a Cox model is stratified by member: no intercept, offset, weights or robust errors"
    explains = {factor.column for factor in formula.factors}
    if isinstance(formula.response, Factor) and formula.response.column in explains:
        yield f"[study] {formula.response.column} is explained by itself; leave it out on the right"
    if isinstance(formula.response, Survival):
        yield from _guessed(study, {formula.response.time: "a time", formula.response.event: "an event"})
    else:
        yield from _guessed(study, {formula.response.column: "an outcome"})
        if formula.response.function and question.family != "linear":
            yield (
                f"[study] {formula.response} is not what a {question.family} model explains: its mean is of outcomes "
                f"as they are; explain {formula.response.column}, or take family = 'linear'"
            )
    if isinstance(formula.response, Factor) and study.column(formula.response.column).coded:
        name = formula.response.column
        yield f"[study] {name} has levels, and is no number to explain; say which count: map in [columns.{name}]"


def _of_factors(study: Study, formula: Formula) -> Iterator[str]:
    for factor in formula.factors:
        levels = study.column(factor.column).coded
        if factor.function == "C" and not levels:
            yield f"[study] C({factor.column}) needs its levels: [columns.{factor.column}] levels = […]"
        if factor.function != "C" and levels:
            yield f"[study] {factor.column} has levels; write C({factor.column}) in the formula"


def _of_privacy(study: Study) -> Iterator[str]:
    """With an ε, every sum has bounds that are declared."""
    question, formula = study.question, study.formula
    if study.survival is not None or study.evaluate is not None or (formula and question.family != "linear"):
        yield "[privacy] goes with [describe] and with family = 'linear'; other parts ask for sums without end"
    if question.offset or question.weights or question.errors == "robust" or study.penalty.some:
        yield "[privacy] goes without offset, weights, robust errors and [penalty]"
    for name in study.used:
        if study.column(name).missing == "mean":
            yield f"[columns.{name}] missing = 'mean' would need a sum of its own; with [privacy], drop or refuse"
    needed = [*_unbounded(study)]
    for what in dict.fromkeys(needed):
        yield (
            f"[privacy] {what} has no bounds: noise is as large as what one row can change; declare "
            "range = [low, high] in its section, or leave it out"
        )
    for what in dict.fromkeys(() if needed else unscalable(study)):
        yield (
            f"[privacy] the declared ends of {what} are too large, or too close together, to be scaled to -1 and 1: "
            "noise is made for that scale; declare a range = [low, high] such as values really have"
        )


def _of_noise(privacy: PrivacySection) -> Iterator[str]:
    """With an ε no small count is left out, so that noise has to hide them all."""
    mu = gdp.mu(privacy.epsilon, privacy.delta)
    if mu == 0:
        yield (
            f"[privacy] epsilon = {privacy.epsilon:g} at delta = {privacy.delta:g} asks for noise without end; ask "
            "for less, such as epsilon = 1.0 at delta = 1e-6"
        )
    if mu <= HIDES:
        return
    most = gdp.epsilon(HIDES, privacy.delta)
    yield (
        f"[privacy] epsilon = {privacy.epsilon:g} at delta = {privacy.delta:g} is so little noise that the best guess "
        f"which of two rows it is is right in {ndtr(mu / 2):.0%} of cases, and counts of a few rows, which are not "
        f"left out where there is noise, would be seen; {_most_epsilon(most, privacy.delta)}"
    )


def _most_epsilon(most: float, delta: float) -> str:
    if most == 0:
        return "choose a small delta, such as 1e-6"
    digits = 10.0 ** (2 - math.floor(math.log10(most)))
    return f"epsilon = {math.floor(most * digits) / digits:g} is the most at delta = {delta:g}, or leave [privacy] out"


def _unbounded(study: Study) -> Iterator[str]:
    formula = study.formula
    if formula is not None and isinstance(formula.response, Factor):
        for factor in (formula.response, *formula.factors):
            if factor_range(factor, study.columns) is None:
                yield str(factor)
    for name in () if study.describe is None else study.described:
        if study.column(name).numeric and study.column(name).range is None:
            yield name
