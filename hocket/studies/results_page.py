"""The results page: one offline file, from the question to who has seen what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hocket.config.files import dumps
from hocket.machine import replace_text
from hocket.privacy.wording import counted
from hocket.report.page import Card, Exposure, Figure, Page
from hocket.report.tables import Table
from hocket.studies.equality import QUESTION, equality_card
from hocket.studies.figures import curves, forest, performance
from hocket.studies.fit import Fit
from hocket.studies.formula import Survival
from hocket.studies.promise import Promise
from hocket.studies.results import PAGE, Results
from hocket.studies.results_tables import (
    coefficient_table,
    description_tables,
    evaluation_table,
    labels,
    measure_table,
    p_told,
    survival_table,
)
from hocket.studies.seen import ALL_BUT_ONE, REHEARSED, THEOREM, disclosure_rules, released_table
from hocket.studies.study import Study
from hocket.studies.survival import Survivals


def write_page(
    results: Results,
    folder: Path,
    *,
    commands: Sequence[str],
    exposure: Sequence[str] = (REHEARSED,),
    signed: Sequence[Table] = (),
) -> Path:
    """The page of a study, beside its results; `exposure` says among whom it was carried out, and what hid them."""
    path = folder / PAGE
    replace_text(path, results_page(results, commands=commands, exposure=exposure, signed=signed).html())
    return path


def results_page(
    results: Results,
    *,
    commands: Sequence[str],
    exposure: Sequence[str] = (REHEARSED,),
    signed: Sequence[Table] = (),
) -> Page:
    """The page's contents; `signed` says who has signed these results."""
    study, findings = results.study, results.findings
    question = study.question
    called = {} if findings.fit is None else labels(study, findings.fit.names)
    tables, figures, notes = list[Table](), list[Figure](), list[str]()
    if findings.fit is not None:
        tables += [coefficient_table(findings.fit, called), measure_table(findings.fit)]
        notes += [*_how_to_read(findings.fit), *findings.fit.remarks]
        drawing = forest(findings.fit, called)
        if drawing is not None:
            figures.append(Figure.of(drawing, _forest_caption(findings.fit)))
    notes += results.own_remarks
    if findings.evaluation is not None:
        tables.append(evaluation_table(findings.evaluation))
        figures.append(
            Figure.of(
                performance(findings.evaluation),
                f"Predictions for {findings.evaluation.rows:,} rows that were held out. Left, how many are found for "
                "how many false alarms; right, whether predictions come true.",
            )
        )
    if findings.survival is not None:
        tables.append(survival_table(findings.survival))
        figures.append(Figure.of(curves(findings.survival), _survival_caption(findings.survival)))
    if findings.description is not None:
        tables += description_tables(findings.description, study)
    return Page(
        title=question.title,
        facts=_facts(results),
        summary=_summary(results, called),
        cards=_cards(results, exposure),
        tables=tables,
        figures=figures,
        notes=notes,
        exposure=Exposure(
            words=[*exposure, THEOREM],
            tables=[released_table(results), *signed],
            statement=[
                *_promised(results),
                *([] if results.promise else [ALL_BUT_ONE, *disclosure_rules(study)]),
            ],
        ),
        configuration=dumps(_told(study)),
        commands=commands,
    )


def _promised(results: Results) -> list[str]:
    """What noise hides, by which theorem, and on what that rests."""
    return [] if results.promise is None else [results.promise.statement, *results.promise.assumptions]


def _facts(results: Results) -> list[str]:
    fit, facts = results.findings.fit, list[str]()
    if results.members is not None:
        facts.append(counted(results.members, "member"))
    if fit is not None:
        facts += [
            counted(fit.rows, "row"),
            f"{'Cox' if fit.family == 'cox' else fit.family} model",
            counted(len(fit.names), "coefficient"),
        ]
    return [*facts, counted(results.totals, "total"), f"study {results.study.fingerprint[:12]}"]


def _summary(results: Results, labels: dict[str, str]) -> list[str]:
    study, fit = results.study, results.findings.fit
    asked = [study.question.question] if study.question.question else []
    if fit is None:
        return [*asked, f"What the rows of all members look like, from {counted(results.totals, 'total')}."]
    response = str(study.formula.response) if study.formula is not None else fit.family
    if study.formula is not None and isinstance(study.formula.response, Survival):
        response = study.formula.response.event
    terms = [labels[name] for name in fit.names if name != "Intercept"]
    found = f"{response} explained by {', '.join(terms[:6])}"
    if len(terms) > 6:
        found += f" and {counted(len(terms) - 6, 'term')} more"
    if fit.covariance is None:
        found += f"; the penalty left {sum(abs(b) > 0 for b in fit.beta)} coefficients other than 0"
    return [*asked, f"Over {fit.rows:,} rows, {found}. Estimates and intervals are in the table."]


def _cards(results: Results, exposure: Sequence[str]) -> list[Card]:
    totals = counted(results.totals, "total")
    if results.promise is not None:
        return _noisy_cards(results, results.promise)
    sums = (
        f"{totals}, {counted(results.numbers, 'number')} from each member; sums are exact in fixed point, of numbers "
        "that were rounded at home."
    )
    cards = [equality_card(results.findings, sums)]
    cards += _whose(results)
    rehearsed = exposure and exposure[0] == REHEARSED
    more = () if rehearsed else exposure[1:]  # of who left on the way
    learnt = (
        "sums over all members, with and without who left"
        if more
        else "sums over all members, and nothing else"
    )
    cards.append(
        Card(
            "What did members learn of each other?",
            "a rehearsal hides nothing" if rehearsed else learnt,
            "open" if rehearsed or more else "holds",
            ("Over links, sums over all members and nothing else: Theorem T, below.",)
            if rehearsed
            else (*more, THEOREM),
        )
    )
    return cards


def _whose(results: Results) -> list[Card]:
    own = results.rows_by_member
    if not own:
        return []
    listed = ", ".join(f"{name} {rows:,}" for name, rows in list(own.items())[:8])
    return [Card("Whose rows?", counted(sum(own.values()), "row"), "holds", (f"{listed}. Known here only.",))]


def _noisy_cards(results: Results, promise: Promise) -> list[Card]:
    totals = counted(results.totals, "total")
    return [
        Card(
            "What is promised of any one row?",
            f"ε = {promise.epsilon:g}, δ = {promise.delta:g}",
            "holds",
            (promise.statement,),
        ),
        Card(
            QUESTION,
            "no: with noise",
            "open",
            (
                f"{totals}, {counted(results.numbers, 'number')} from each member, each with the noise of all members. "
                "Whoever runs the study again gets other noise, and promises less of each row.",
            ),
        ),
    ]


def _how_to_read(fit: Fit) -> list[str]:
    law = (
        "normal errors" if fit.freedom is None else f"Student's t with {fit.freedom:,.0f} degrees of freedom"
    )
    words = f"From low to high is the {fit.confidence:.0%} interval, se the standard error; p is two-sided, by {law}, "
    words += "each term by itself: nothing is corrected for there being many."
    return [words] if fit.covariance is not None else []


def _forest_caption(fit: Fit) -> str:
    line = "1, no difference" if fit.ratio else "0, no difference"
    return f"Each term's {fit.ratio or 'coefficient'} and its {fit.confidence:.0%} interval; the line is at {line}."


def _survival_caption(found: Survivals) -> str:
    test = "" if found.log_rank is None else f" Log-rank χ² {found.log_rank:.3g}, {p_told(found.p)}"
    test += "" if not test else "." if found.exact and found.log_rank_exact else ", on merged intervals."
    words = "The share without the event, at times that the study declares, with bands of "
    words += f"{found.curves[0].confidence:.0%} confidence."
    if found.coarser:
        words += " Times are left out where few rows would lie between two."
    if not found.exact:
        words += (
            " This is a life table: the Kaplan-Meier curve of the pooled rows lies between the thin lines, "
            f"{found.within:.2g} away at most."
        )
    return words + test


def _told(study: Study) -> dict[str, dict[str, Any]]:
    """The study without what was left at its default."""
    columns = {
        f"columns.{name}": column.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        for name, column in study.columns.items()
    }
    told = {name: part.model_dump(mode="json", exclude_defaults=True) for name, part in study.parts.items()}
    return {name: table for name, table in told.items() if table} | columns
