"""`hocket audit --plan`: what a federation's plan exposes, for whoever has the file, without a key or a home."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.answer import Answer

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan
    from hocket.report.audit_page import AuditPage


def answer_on_plan(
    path: Path, *, colluders: int | None, html: Path | None, algorithm: str | None = None
) -> Answer:
    """What `hocket peer plan` and `hocket peer sign` say of a plan, members by name; and its page."""
    from hocket.cli.peer.common import members_in_words
    from hocket.federation.home import Home
    from hocket.federation.plan_audit import audit_plan
    from hocket.federation.plan_file import read_plan
    from hocket.report.audit_rows import readable_rows
    from hocket.report.verdict_page import verdict_page

    plan = read_plan(path, Home.at().own_code.naming(algorithm))
    if plan.study is not None:
        return _answer_on_study(plan, path, colluders=colluders, html=html)
    found = audit_plan(plan, colluders=colluders, unsafe=True)
    problems = _problems(plan, found.problems)
    words = [
        found.answer,
        "",
        *members_in_words(plan),
        "",
        readable_rows(found.verdict),
        *found.words,
        *problems,
        f"Fingerprint, to compare by voice: {plan.fingerprint}",
        "",
        *found.verdict.statement,
    ]
    data = {"plan": str(path), "hash": plan.hash.hex(), "answer": found.answer, **found.to_json()}
    if html is not None:
        page = verdict_page(
            found.verdict,
            title=f"Audit of the plan {plan.task.name}",
            answer=found.answer,
            verdict=(*problems, *found.words),
            command=_asked(path, colluders, html, algorithm),
        )
        data |= {"page": str(write_page(page, html))}
        words += [f"Page: {html}"]
    return Answer(data, words)


def _answer_on_study(plan: FederationPlan, path: Path, *, colluders: int | None, html: Path | None) -> Answer:
    """What `hocket peer sign` says of a study's plan; on its page, who hides behind whom."""
    from hocket.cli.peer.common import members_in_words, objectives_in_words
    from hocket.federation.study_audit import audit_study
    from hocket.privacy import guarantees
    from hocket.report.audit_page import SUMS, AuditPage

    found = audit_study(plan, colluders=colluders, unsafe=True)
    answer, *shown = found.words
    # The first of those that are not accepted is the answer.
    problems = _problems(plan, found.problems[0 if plan.audit.unsafe else 1 :])
    words = [
        answer,
        "",
        *members_in_words(plan),
        objectives_in_words(plan),
        "",
        *shown,
        *problems,
        f"Fingerprint, to compare by voice: {plan.fingerprint}",
    ]
    data = {"plan": str(path), "hash": plan.hash.hex(), "answer": answer, **found.to_json()}
    if html is not None:
        f = found.guarantees.colluders
        most = max(1, min(f + 2, len(plan.names) - 2))
        page = AuditPage(
            title=f"Audit of the plan {plan.task.name}",
            network=plan.network,
            answer=answer,
            verdict=(*problems, *shown),
            guarantees=[guarantees(plan.network, some) for some in range(1, most + 1)],
            command=_asked(path, colluders, html),
            algorithms={SUMS: "secure sums"},
        )
        data |= {"page": str(write_page(page, html))}
        words += [f"Page: {html}"]
    return Answer(data, words)


def _problems(plan: FederationPlan, problems: Sequence[str]) -> list[str]:
    how = "Accepted as it is" if plan.audit.unsafe else "Refused"
    return [f"{how}: {problem}" for problem in problems]


def _asked(path: Path, colluders: int | None, html: Path, algorithm: str | None = None) -> str:
    """What to type to have the page again."""
    asked = ["hocket", "audit", "--plan", str(path)]
    asked += [] if colluders is None else ["--colluders", str(colluders)]
    asked += [] if algorithm is None else ["--algorithm", algorithm]
    return shlex.join([*asked, "--html", str(html)])


def write_page(page: AuditPage, path: Path) -> Path:
    """Write an audit's page where somebody asked for it."""
    from hocket.report.audit_page import audit_page

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(audit_page(page), encoding="utf-8")
    return path
