"""The verdict of an audit in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket.privacy.wording import braced, counted, named

if TYPE_CHECKING:
    from hocket.privacy.audit import Audit


def proved(audit: Audit) -> list[str]:
    """What Theorem 2 says of function sharing, if that is among what was audited."""
    covered = [one for one in audit.findings if one.label == "FS"]
    if not covered:
        return []
    against = (
        f"any {counted(audit.colluders, 'colluder')}"
        if audit.coalition is None
        else f"coalition {braced(audit.coalition)}"
    )
    if audit.p2:
        return [
            f"Function sharing: against {against} P1 and P2 hold (Theorem 2), even with a tap on all words.",
            "Only the sum over all honest agents is exposed, and what the model itself reveals.",
        ]
    why = (
        f"the smallest degree is {audit.guarantees.min_degree}, the vertex connectivity "
        f"{audit.guarantees.vertex_connectivity}, and both must exceed {audit.colluders}"
        if audit.coalition is None
        else "it cuts the honest agents apart"
    )
    lines = [f"Function sharing: against {against} P2 fails{'' if audit.p1 else ' and so does P1'}: {why}."]
    if audit.exposed:
        whom = "their neighbours, should these collude" if audit.coalition is None else "it"
        what = "objective" if len(audit.exposed) == 1 else "objectives"
        lines.append(f"Exposed exactly to {whom}: the {what} of {named(audit.exposed)}.")
    if audit.exposure is not None:
        lines.append(f"{str(audit.exposure)[0].upper()}{str(audit.exposure)[1:]}.")
    return lines


def estimated(audit: Audit) -> list[str]:
    """What a coalition by itself can estimate under each algorithm that no theorem covers."""
    lines = []
    for one in audit.findings:
        if one.threat != "coalition" or one.basis == "theorem":
            continue
        who = f"Coalition {braced(one.coalition)}"
        if one.searched:
            who = f"Worst is {braced(one.coalition)} ({one.searched_words})"
        least = "" if one.least == 0 else f"; agent {one.weakest} is known best, to ±{one.least:.3g}"
        lines.append(f"{one.label}: no theorem. {who}: {one.words}{least}.")
    return lines


def mending(audit: Audit) -> list[str]:
    """What to add or to change, cheapest first."""
    lines = []
    if not audit.p2 and audit.repair is not None and audit.repair.added:
        lines.append(f"To mend it for function sharing: {audit.repair}.")
    if not audit.p2 and audit.repair is None:
        lines.append(
            f"No links mend it for function sharing: plan for fewer than {counted(audit.colluders, 'colluder')}."
        )
    averaged = [
        one for one in audit.findings if one.label == "RSS-NB" and one.threat == "coalition" and one.averaged
    ]
    anchored = [
        one for one in audit.findings if one.label == "RSS-NB, anchored" and one.threat == "coalition"
    ]
    if averaged and anchored and anchored[0].least > 0:
        lines.append(
            f"To keep RSS-NB's noise from averaging out: give it an anchor; with half of it drawn once and kept, "
            f"agent {anchored[0].weakest} is known to ±{anchored[0].least:.3g}, however long the run."
        )
    elif averaged:
        lines.append(
            "To keep RSS-NB's noise from averaging out: give it an anchor, RssNb(delta, anchor=0.5)."
        )
    return lines
