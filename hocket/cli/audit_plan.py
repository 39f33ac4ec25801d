"""`hocket audit --plan`: what a federation's plan exposes, for anybody who has the file, without a key or a home."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.cli.answer import Answer
from hocket.cli.options import command_line, flags

if TYPE_CHECKING:
    from hocket.federation.audit.study_audit import StudyAudit
    from hocket.report.audit_page import AuditPage


def answer_on_plan(path: Path, *, colluders: int | None, html: Path | None, algorithm: str | None) -> Answer:
    """What `hocket peer plan` and `hocket peer sign` say of a plan, members by name; and its page."""
    from hocket.cli.peer.common import members_in_words, objectives_in_words
    from hocket.federation.audit.plan_audit import PlanAudit, audit_plan
    from hocket.federation.audit.study_audit import audit_study
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.home import Home
    from hocket.report.audit_rows import readable_rows
    from hocket.report.verdict_page import verdict_page

    plan = read_plan(path, Home.at().own_code.naming(algorithm))
    table, last, problems = list[Any](), list[str](), list[str]()
    members = [*members_in_words(plan)]
    if plan.study is None:
        found = audit_plan(plan, colluders=colluders, unsafe=True)
        answer, shown, problems = found.answer, [*found.words], [*found.problems]
        table, last = [readable_rows(found.verdict)], ["", *found.verdict.statement]
    else:
        found = audit_study(plan, colluders=colluders, unsafe=True)
        answer, *shown = found.words
        members.append(objectives_in_words(plan))
        # The first of those that are not accepted is the answer.
        problems = [*found.problems[0 if plan.audit.unsafe else 1 :]]
    how = "Accepted as it is" if plan.audit.unsafe else "Refused"
    refused = [f"{how}: {problem}" for problem in problems]
    fingerprint = f"Fingerprint, to compare by voice: {plan.fingerprint}"
    words: list[Any] = [answer, "", *members, "", *table, *shown, *refused, fingerprint, *last]
    data = {"plan": str(path), "hash": plan.hash.hex(), "answer": answer, **found.to_json()}
    if html is not None:
        asked = {"plan": path, "colluders": colluders, "algorithm": algorithm, "html": html}
        command = command_line("hocket", "audit", *flags(asked))
        title, verdict = f"Audit of the plan {plan.task.name}", (*refused, *shown)
        if isinstance(found, PlanAudit):
            page = verdict_page(found.verdict, title=title, answer=answer, verdict=verdict, command=command)
        else:
            page = _page_of_sums(found, title, answer, verdict, command)
        data |= {"page": str(write_page(page, html))}
        words += [f"Page: {html}"]
    return Answer(data, words)


def _page_of_sums(
    found: StudyAudit, title: str, answer: str, verdict: Sequence[str], command: str
) -> AuditPage:
    """On a study's page: whose part of a sum cannot be told from whose."""
    from hocket.privacy import guarantees
    from hocket.report.audit_page import SUMS, AuditPage

    network = found.plan.network
    most = max(1, min(found.guarantees.colluders + 2, network.n - 2))
    return AuditPage(
        title=title,
        network=network,
        answer=answer,
        verdict=verdict,
        guarantees=[guarantees(network, some) for some in range(1, most + 1)],
        command=command,
        algorithms={SUMS: "secure sums"},
    )


def write_page(page: AuditPage, path: Path) -> Path:
    """Write an audit's page where somebody asked for it."""
    from hocket.report.audit_page import audit_page

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(audit_page(page), encoding="utf-8")
    return path
