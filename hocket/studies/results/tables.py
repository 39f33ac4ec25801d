"""Tables of results, as a journal prints them: the terminal and the page show the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from hocket.report.tables import Table, plain
from hocket.studies.data.design_matrix import INTERCEPT, is_reduced
from hocket.studies.models.evaluate import Evaluation
from hocket.studies.models.fit import Coefficient, RegressionFit
from hocket.studies.spec.columns import ColumnSection, text_of
from hocket.studies.spec.formula import Factor
from hocket.studies.spec.study import Study
from hocket.studies.summaries.describe import Description, Summary
from hocket.studies.summaries.survival import Curve, Survivals

NAMES = {
    "deviance": "deviance",
    "null_deviance": "deviance without any column",
    "aic": "AIC",
    "log_likelihood": "log-likelihood",
    "null_log_likelihood": "log-likelihood without any column",
    "likelihood_ratio": "likelihood ratio χ²",
    "dispersion": "dispersion",
    "degrees_of_freedom": "degrees of freedom",
    "r_squared": "R²",
    "mcfadden": "McFadden's R²",
    "nagelkerke": "Nagelkerke's R²",
    "events": "events",
    "strata": "strata (members)",
    "noise": "deviation of the noise on sums of products",
}


def labels(study: Study, names: Sequence[str]) -> dict[str, str]:
    """Each of a model's names as people read it: with its column's label and units."""
    formula = study.formula
    assert formula is not None, "names are of a model"
    found = [name for name in names if name == INTERCEPT]
    for term in formula.terms:
        texts = [""]
        for factor in term:
            own = _labels_of(study, factor, reduced=is_reduced(factor, term, formula))
            texts = [f"{before} × {text}" if before else text for text in own for before in texts]
        found += texts
    return dict(zip(names, found, strict=True))


def _labels_of(study: Study, factor: Factor, *, reduced: bool) -> list[str]:
    """One for each column that a factor makes, in the order of the design. Not by the names, as levels may hold any
    sign."""
    column = study.column(factor.column)
    title = column.label or factor.column
    if factor.function == "C":
        reference = column.levels[0] if column.reference is None else column.reference
        against = f" (vs {reference})" if reduced else ""
        return [
            f"{title}: {level}{against}"
            for level in column.levels
            if not reduced or text_of(level) != text_of(reference)
        ]
    if factor.function == "rcs":
        return [f"{factor}[{place + 1}]" for place in range(len(factor.numbers) - 1)]
    return [str(factor)] if factor.function else [f"{title}{_units(column)}"]


def plain_label(study: Study, name: str) -> str:
    """A column as it is, with its units."""
    column = study.column(name)
    return f"{column.label or name}{f' ({column.units})' if column.units else ''}"


def _units(column: ColumnSection) -> str:
    if column.per == 1.0:
        return f" ({column.units})" if column.units else ""
    return f" (per {column.per:g}{f' {column.units}' if column.units else ''})"


def coefficient_table(fit: RegressionFit, labels: dict[str, str]) -> Table:
    """As a journal prints it: a ratio and its interval first, where there is one."""
    head = ["", fit.ratio or "estimate", "low", "high", *(["estimate"] if fit.ratio else []), "se"]
    head += ["t" if fit.freedom is not None else "z", "p"]
    rows = tuple(
        (labels.get(name, name), *_cells(one, ratio=bool(fit.ratio)))
        for name, one in fit.coefficients.items()
    )
    return Table(tuple(head), rows, "Coefficients", frozenset(range(1, len(head))))


def _cells(one: Coefficient, *, ratio: bool) -> list[str]:
    def risen(x: float | None) -> float | None:
        return x if x is None or not ratio else exp(min(x, 700.0))

    first = [number(risen(x)) for x in (one.estimate, one.low, one.high)]
    return [*first, *([number(one.estimate)] if ratio else []), number(one.se), number(one.z), p_value(one.p)]


def number(value: float | None) -> str:
    """A number of a table: four digits.

    >>> number(0.021329), number(1.2996126), number(-620.563609), number(None)
    ('0.02133', '1.300', '−620.6', 'not given')
    """
    if value is None:
        return "not given"
    if 1e4 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:#.4g}".rstrip(".") if 1e-4 <= abs(value) < 1e4 else plain(value)
    return text.replace("-", "−") if "e" not in text else text


def p_value(p: float | None) -> str:
    """A p-value as journals have it.

    >>> p_value(0.0471), p_value(3e-9)
    ('0.047', '< 0.001')
    """
    return "not given" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def measure_table(fit: RegressionFit) -> Table:
    """How well it fits."""
    rows = [("rows", f"{fit.rows:,}")]
    for key, value in fit.measures.items():
        whole = key in ("degrees_of_freedom", "events", "strata")
        rows.append((NAMES.get(key, key), f"{value:,.0f}" if whole else f"{value:.6g}"))
    return Table(("", ""), tuple(rows), "How well it fits", frozenset({1}))


def evaluation_table(found: Evaluation) -> Table:
    """What held-out rows say."""
    rows = [
        ("held-out rows", f"{found.rows:,}"),
        (
            "AUC",
            f"{found.auc:g}; binning moves it by {found.auc_within:g} at most; sampling error: not given",
        ),
        ("Brier score", f"{found.brier:.4f}"),
        ("log loss", f"{found.log_loss:.4f}"),
        (
            f"accuracy at {found.threshold:g}",
            "not shown" if found.accuracy is None else f"{found.accuracy:.1%}",
        ),
        *((name, "too few" if count is None else f"{count:,}") for name, count in found.confusion.items()),
    ]
    return Table(("", ""), tuple(rows), "On held-out rows")


def survival_table(found: Survivals) -> Table:
    """Every curve at every time, with its bounds where it is a life table."""
    what = "at risk, events, survival" + ("" if found.exact else " (no less, no more)")
    head = ("time", *(f"{curve.label}: {what}" for curve in found.curves))
    rows = tuple(
        (f"{time:g}", *(_survival(curve, place, exact=found.exact) for curve in found.curves))
        for place, time in enumerate(found.grid)
    )
    medians = ("median", *(_median(curve) for curve in found.curves))
    caption = "Kaplan-Meier" if found.exact else "Life table"
    return Table(head, (*rows, medians), caption, frozenset(range(len(head))))


def _survival(curve: Curve, place: int, *, exact: bool) -> str:
    value, least, most = curve.survival[place], curve.least[place], curve.most[place]
    if value is None or least is None or most is None:
        return "none at risk"
    bounds = "" if exact else f" ({least:.3f}, {most:.3f})"
    return f"{curve.at_risk[place]:,}, {curve.came[place]:,}, {value:.3f}{bounds}"


def _median(curve: Curve) -> str:
    after, by = curve.median
    if after is None:
        return "not reached"
    if after == by:
        return f"{after:g}"
    return f"after {after:g}, if at all" if by is None else f"after {after:g}, by {by:g}"


def _quantile(one: Summary, share: str) -> str:
    """With how far it may be from the pooled rows', where that is known."""
    within = (one.quantiles_within or {}).get(share)
    value = number((one.quantiles or {}).get(share))
    return value if within is None else f"{value} ± {number(within)}"


def description_tables(found: Description, study: Study) -> list[Table]:
    """Numbers, levels and tables of two."""
    numbers = {name: one for name, one in found.columns.items() if one.mean is not None}
    tables: list[Table] = []
    if numbers:
        # A column that is constant has none.
        shares = list(dict.fromkeys(share for one in numbers.values() for share in one.quantiles or {}))
        rows = tuple(
            (
                plain_label(study, name),
                few(one.rows),
                few(one.missing),
                number(one.mean),
                number(one.sd),
                *(_quantile(one, share) for share in shares),
            )
            for name, one in numbers.items()
        )
        head = ("", "rows", "missing", "mean", "sd", *(f"{100 * float(share):g}%" for share in shares))
        tables.append(Table(head, rows, _with_noise("Numbers", found), frozenset(range(1, len(head)))))
    counts = [
        (plain_label(study, name), level, few(count))
        for name, one in found.columns.items()
        for level, count in (one.levels or {}).items()
    ]
    if counts:
        tables.append(
            Table(("", "level", "rows"), tuple(counts), _with_noise("Levels", found), frozenset({2}))
        )
    for name, table in found.cross.items():
        cells = tuple((row, *map(few, line)) for row, line in zip(table["rows"], table["cells"], strict=True))
        head = (name, *table["columns"])
        tables.append(Table(head, cells, name, frozenset(range(1, len(head)))))
    return tables


def _with_noise(caption: str, found: Description) -> str:
    """Counts are off by chance where a study promises an ε."""
    return (
        caption
        if found.noise is None
        else f"{caption} (noise on every count has a deviation of {found.noise:.3g})"
    )


def few(count: int | None) -> str:
    """A count, or that there are too few to show it."""
    return "too few" if count is None else f"{count:,}"


def p_told(p: float | None) -> str:
    """A p-value in a sentence."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
