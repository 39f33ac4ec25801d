"""The page of a whole verdict: all that an audit says, answer first."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.algorithms import in_a_sentence
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import named, only_sums
from hocket.privacy import Audit, guarantees
from hocket.report.audit_page import ALGORITHMS, OTHER, SUMS, AuditPage
from hocket.report.audit_rows import attack_rows, readable_rows
from hocket.report.exposure import findings_table


def verdict_page(
    audit: Audit,
    *,
    title: str = "",
    answer: str = "",
    verdict: Sequence[str] | None = None,
    command: str = "",
    asking: str = "",
) -> AuditPage:
    """What to show of an audit; `answer` and `verdict` take the place of its own where somebody knows more."""
    network, cut = audit.network, audit.exposure if audit.covered and audit.coalition is None else None
    most = min(audit.colluders + 2, network.n - 2)
    alone = next(one for one in audit.findings if one.threat == "coalition")
    return AuditPage(
        title=title or f"Audit of {network.name}",
        network=network,
        answer=answer or audit.answer,
        rows=readable_rows(audit),
        attacks=attack_rows(audit),
        verdict=audit.verdict if verdict is None else verdict,
        guarantees=[guarantees(network, f) for f in range(1, most + 1)] if audit.covered else (),
        repair=audit.repair if audit.covered else None,
        coalition=alone.coalition,
        worst=cut.coalition if cut is not None else alone.coalition if alone.searched else (),
        leakage=[
            one.leakage for one in audit.findings if not (one.claim and only_sums(one.option.stands_for))
        ],
        tables=[findings_table(audit.findings)],
        statement=audit.statement,
        command=command,
        asking=asking,
        algorithms=judged_algorithms(audit),
        gradient_size=audit.gradient_size.size,
    )


def judged_algorithms(audit: Audit) -> dict[str, str]:
    """What the page's graph judges a coalition under: what was audited, and by its theorem only where that holds."""
    found: dict[str, str] = {}
    for one in audit.findings:
        kind = one.option.stands_for
        ours = kind.name in ALGORITHMS and named(kind.name) is type(kind)
        told = ours and (functions_of(kind) is None or audit.covered)
        if told:
            found[kind.name] = ALGORITHMS[kind.name]
        elif only_sums(kind):
            found[SUMS] = in_a_sentence(kind)
        elif len({line.label for line in audit.findings}) == 1:
            found[OTHER] = one.label
    return found
