"""`hocket audit --plan`: what a federation's plan exposes, for whoever has the file, without a key or a home."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.answer import Answer

if TYPE_CHECKING:
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
    found = audit_plan(plan, colluders=colluders, unsafe=True)
    how = "Accepted as it is" if plan.audit.unsafe else "Refused"
    problems = [f"{how}: {problem}" for problem in found.problems]
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
        asked = ["hocket", "audit", "--plan", str(path)]
        asked += [] if colluders is None else ["--colluders", str(colluders)]
        asked += [] if algorithm is None else ["--algorithm", algorithm]
        page = verdict_page(
            found.verdict,
            title=f"Audit of the plan {plan.task.name}",
            answer=found.answer,
            verdict=(*problems, *found.words),
            command=shlex.join([*asked, "--html", str(html)]),
        )
        data |= {"page": str(write_page(page, html))}
        words += [f"Page: {html}"]
    return Answer(data, words)


def write_page(page: AuditPage, path: Path) -> Path:
    """Write an audit's page where somebody asked for it."""
    from hocket.report.audit_page import audit_page

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(audit_page(page), encoding="utf-8")
    return path
