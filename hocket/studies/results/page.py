"""The results page: one offline file, from the question to who has seen what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hocket.config.files import dumps
from hocket.machine import replace_text
from hocket.privacy.wording import counted
from hocket.report.page import AnswerCard, Figure, Page, PageSection
from hocket.report.tables import Table
from hocket.studies.disclosure.promise import Promise
from hocket.studies.models.fit import RegressionFit
from hocket.studies.results.equality import QUESTION, equality_card
from hocket.studies.results.figures import curves, forest, performance
from hocket.studies.results.results import PAGE, Results
from hocket.studies.results.seen import (
    ALL_BUT_ONE,
    DIFFERENCE,
    SIMULATED,
    THEOREM,
    disclosure_rules,
    released_table,
)
from hocket.studies.results.tables import (
    coefficient_table,
    description_tables,
    evaluation_table,
    labels,
    measure_table,
    p_told,
    survival_table,
)
from hocket.studies.spec.formula import Survival
from hocket.studies.spec.study import Study
from hocket.studies.summaries.survival import Survivals


def write_page(
    results: Results,
    folder: Path,
    *,
    commands: Sequence[str],
    among: Sequence[str] = (),
    left: Sequence[str] = (),
    signed: Sequence[Table] = (),
) -> Path:
    """The page of a study, beside its results; see `results_page`."""
    page = results_page(results, commands=commands, among=among, left=left, signed=signed)
    replace_text(folder / PAGE, page.html())
    return folder / PAGE


def results_page(
    results: Results,
    *,
    commands: Sequence[str],
    among: Sequence[str] = (),
    left: Sequence[str] = (),
    signed: Sequence[Table] = (),
) -> Page:
    """The page's contents.

    `among` are the members over whose links it was carried out, none where it was simulated on one machine; `left` are
    those who were dropped on the way, and `signed` says who has signed these results.
    """
    study, findings = results.study, results.findings
    called = {} if findings.fit is None else labels(study, findings.fit.names)
    tables, figures, notes = list[Table](), list[Figure](), list[str]()
    if (fit := findings.fit) is not None:
        tables += [coefficient_table(fit, called), measure_table(fit)]
        notes += [*_how_to_read(fit), *fit.remarks]
        if (drawing := forest(fit, called)) is not None:
            figures.append(Figure.of(drawing, _forest_caption(fit)))
    notes += results.own_remarks
    if (tested := findings.evaluation) is not None:
        tables.append(evaluation_table(tested))
        caption = (
            f"Predictions for {tested.rows:,} rows that were held out. Left, how many are found for how many false "
            "alarms; right, whether predictions come true."
        )
        figures.append(Figure.of(performance(tested), caption))
    if findings.survival is not None:
        tables.append(survival_table(findings.survival))
        figures.append(Figure.of(curves(findings.survival), _survival_caption(findings.survival)))
    if findings.description is not None:
        tables += description_tables(findings.description, study)
    promise, anew = results.promise, _begun_anew(left)
    rests_on = [ALL_BUT_ONE, *disclosure_rules(study)]
    if promise is not None:
        rests_on = [promise.statement, *promise.assumptions]
    return Page(
        title=study.question.title,
        facts=_facts(results),
        summary=_summary(results, called),
        cards=_noisy_cards(results, promise) if promise else _cards(results, bool(among), anew),
        tables=tables,
        figures=figures,
        notes=notes,
        exposure=PageSection(
            title="Who could learn what",
            words=[_carried_out(among), *anew, THEOREM],
            tables=[released_table(results), *signed],
            statement=rests_on,
        ),
        configuration=dumps(_told(study)),
        commands=commands,
    )


def _carried_out(among: Sequence[str]) -> str:
    if not among:
        return SIMULATED
    return (
        f"Carried out among {', '.join(among)}, each on its own machine, over links that they alone can read."
    )


def _begun_anew(left: Sequence[str]) -> list[str]:
    gone = ", ".join(left)
    words = f"{gone} was dropped on the way, and the study was begun anew without. {DIFFERENCE.format(left=gone)}."
    return [words] if left else []


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


def _cards(results: Results, over_links: bool, anew: Sequence[str]) -> list[AnswerCard]:
    sums = (
        f"{counted(results.totals, 'total')}, {counted(results.numbers, 'number')} from each member; sums are exact in "
        "fixed point, of numbers that were rounded at home."
    )
    cards = [equality_card(results.findings, sums)]
    if own := results.rows_by_member:
        listed = ", ".join(f"{name} {rows:,}" for name, rows in [*own.items()][:8])
        whole = counted(sum(own.values()), "row")
        cards.append(AnswerCard("Whose rows?", whole, "holds", (f"{listed}. Known here only.",)))
    verdict, words = "sums over all members, and nothing else", (THEOREM,)
    if not over_links:
        verdict = "a dry run hides nothing"
        words = ("Over links, sums over all members and nothing else: Theorem T, below.",)
    elif anew:
        verdict, words = "sums over all members, with and without who left", (*anew, THEOREM)
    state = "holds" if over_links and not anew else "open"
    return [*cards, AnswerCard("What did members learn of each other?", verdict, state, words)]


def _noisy_cards(results: Results, promise: Promise) -> list[AnswerCard]:
    totals = counted(results.totals, "total")
    return [
        AnswerCard(
            "What is promised of any one row?",
            f"ε = {promise.epsilon:g}, δ = {promise.delta:g}",
            "holds",
            (promise.statement,),
        ),
        AnswerCard(
            QUESTION,
            "no: with noise",
            "open",
            (
                f"{totals}, {counted(results.numbers, 'number')} from each member, each with the noise of all members. "
                "To run the study again draws other noise, and promises less of each row.",
            ),
        ),
    ]


def _how_to_read(fit: RegressionFit) -> list[str]:
    law = (
        "normal errors" if fit.freedom is None else f"Student's t with {fit.freedom:,.0f} degrees of freedom"
    )
    words = f"From low to high is the {fit.confidence:.0%} interval, se the standard error; p is two-sided, by {law}, "
    words += "each term by itself: nothing is corrected for there being many."
    return [words] if fit.covariance is not None else []


def _forest_caption(fit: RegressionFit) -> str:
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
