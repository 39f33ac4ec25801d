"""A study in words, for a member who is to sign it: every column with what is read and made of it, and every rule.

A member reads this and not the TOML. So nothing that decides what is computed may be missing here, columns go by the
names in the member's own table, and what deserves a second look begins with a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scipy.special import ndtr

from hocket.links.text import quoted, quoted_lines
from hocket.privacy import gdp
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.condition import Condition, parse_condition
from hocket.studies.spec.formula import Factor, Survival
from hocket.studies.spec.study import DisclosureSection, PenaltySection, Study

LOOK = "LOOK: "
"""How a line begins that deserves a second look."""
LONGEST = 400
"""Characters that are shown of a question, which decides nothing."""
RULES = {
    "fewest_rows": "rows that each member must give",
    "smallest_cell": "rows below which a count is not shown",
    "smallest_own_cell": "rows of a level below which a member stays out",
    "parameters_per_row": "parameters of a model per joint row, at most",
    "fewest_different": "rows by which two sets of rows that are summed over must differ",
}
"""The keys of [disclosure]; all but `parameters_per_row` are weaker where they are smaller."""


def study_in_words(study: Study) -> list[str]:
    """All that a study reads, computes and shows, a line each."""
    question = study.question
    lines = [
        f"Study: {quoted(question.title)}",
        *(f"Question: {line}" for line in quoted_lines(question.question[:LONGEST])),
        *_model(study),
        *_other_parts(study),
        f"Rows: {_conditions(study)}",
        *(_column(study, name) for name in study.sources),
        *_rules(study.disclosure),
        *_noise(study),
    ]
    return [_line(line) for line in lines]


def read_elsewhere(study: Study) -> list[str]:
    """The columns of a study that are read from a column of another name, a line each."""
    return [_line(_column(study, name)) for name in study.sources if _source(study, name) != _line(name)]


def _line(text: object) -> str:
    """On one line, so that no text from a study can pass for a line of ours."""
    return " ".join(str(text).split())


def _model(study: Study) -> Iterator[str]:
    formula, question = study.formula, study.question
    if formula is None:
        return
    more = [
        f"link {study.link}",
        f"standard errors {question.errors}",
        *([f"offset {question.offset}"] if question.offset else []),
        *([f"weights {question.weights}"] if question.weights else []),
        *([f"ties {question.ties}"] if question.family == "cox" else []),
        *([_penalty(study.penalty)] if study.penalty.some else []),
        f"intervals of {question.confidence:.6g}",
    ]
    yield f"Model: {formula}, {question.family}; {', '.join(more)}"
    response = () if isinstance(formula.response, Survival) else ((formula.response,),)
    terms = (*response, *formula.terms)
    made = [_made(term) for term in terms if len(term) > 1 or any(factor.function for factor in term)]
    if made:
        yield f"Made from columns: {'; '.join(dict.fromkeys(made))}"


def _penalty(penalty: PenaltySection) -> str:
    scaled = "of columns scaled to sd 1" if penalty.standardised else "of columns as they are"
    return f"ridge {penalty.ridge:.6g} and lasso {penalty.lasso:.6g} {scaled}"


def _made(term: tuple[Factor, ...]) -> str:
    """What becomes of columns in one term."""
    words = {"log": "the logarithm of {}", "sqrt": "the root of {}", "C": "each level of {}"}

    def part(factor: Factor) -> str:
        if factor.function == "^":
            return f"{factor.column} to the power {factor.numbers[0]:g}"
        if factor.function == "rcs":
            return (
                f"a spline of {factor.column} with knots {', '.join(f'{one:.15g}' for one in factor.numbers)}"
            )
        return words.get(factor.function, "{}").format(factor.column)

    parts = [part(factor) for factor in term]
    return parts[0] if len(parts) == 1 else f"the product of {' and '.join(parts)}"


def _other_parts(study: Study) -> Iterator[str]:
    if (part := study.describe) is not None:
        cross = "".join(f", table of {one} by {other}" for one, other in part.cross)
        bars = f", histograms of {part.histograms} bars" if part.histograms else ""
        shares = _listed([f"{share:.6g}" for share in part.quantiles])
        columns = ", ".join(study.described)
        yield f"Described: {columns}, in {part.rows} rows; quantiles {shares or 'none'}{bars}{cross}"
    if (part := study.survival) is not None:
        by = f" by {part.by}" if part.by else ""
        grid = _listed([f"{time:.15g}" for time in part.grid])
        yield f"Survival curves: time {part.time}, event {part.event}{by}, at {len(part.grid)} times: {grid}"
    if (part := study.evaluate) is not None:
        yield (
            f"Evaluated on {part.held_out:.6g} of the rows, held out of the model, in {part.bins} bins; a yes from "
            f"{part.threshold:.6g}"
        )


def _conditions(study: Study) -> str:
    def one(condition: Condition) -> str:
        name, source = condition.column, _source(study, condition.column)
        return _condition(condition, name) + ("" if source == name else f" (your column {source!r})")

    return f"only where {' and '.join(map(one, study.conditions))}" if study.conditions else "all"


def _condition(condition: Condition, name: str) -> str:
    return f"{name} {condition.sign} {condition.number:.17g}"


def _source(study: Study, name: str) -> str:
    return _line(study.sources.get(name, name))


def _column(study: Study, name: str) -> str:
    column, source = study.column(name), _source(study, name)
    parts = "; ".join(_reading(column, source))
    if source == name:
        return f"Column {name}: {parts}"
    return f"{LOOK}column {name} READS YOUR COLUMN {source!r}: {parts}"


def _reading(column: ColumnSection, source: str) -> Iterator[str]:
    """What a column's cells become."""
    if isinstance(column.map, str):
        # A condition names a column, but its own cells are what is compared.
        yield f"yes where {_condition(parse_condition(column.map), source)}, else no"
    elif column.map is not None:
        yield f"yes where {source} is {_listed(column.map)}, else no"
    elif not column.levels:
        yield "numbers"
    if column.levels:
        yield f"levels {_listed(column.levels)}, against {_line(column.reference or column.levels[0])}"
    if column.range is not None:
        yield f"from {column.range[0]:.17g} to {column.range[1]:.17g}"
    if column.units or column.per != 1:
        yield f"in {column.per:.6g} {_line(column.units)}".rstrip()
    if column.missing_values:
        yield f"{_listed(column.missing_values)} means missing"
    how = {"drop": "row left out", "refuse": "refused", "mean": "filled with the joint mean"}
    yield f"missing: {how[column.missing]}"


def _listed(values: Sequence[object]) -> str:
    return _line(", ".join(map(str, values)))


def _rules(rules: DisclosureSection) -> Iterator[str]:
    for name, what in RULES.items():
        given, usual = getattr(rules, name), type(rules).model_fields[name].default
        weaker = given > usual if name == "parameters_per_row" else given < usual
        mark, than = (LOOK, f"; WEAKER than the default, {usual:g}") if weaker else ("", "")
        yield f"{mark}Rule {name} = {given:g}: {what}{than}"


def _noise(study: Study) -> Iterator[str]:
    if study.privacy is not None:
        mu = gdp.mu(study.privacy.epsilon, study.privacy.delta)
        yield (
            f"Noise: ε = {study.privacy.epsilon:g} at δ = {study.privacy.delta:g}, for any one row; the best "
            f"guess which of two rows it is is right in {ndtr(mu / 2):.0%} of cases"
        )
