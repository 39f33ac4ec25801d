"""The verdict of an audit in plain words, and what it says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket.algorithms import ANCHORED
from hocket.privacy.wording import braced, counted, linked, named, sentence

if TYPE_CHECKING:
    from hocket.privacy.verdict.audit import Audit
    from hocket.privacy.verdict.findings import Finding


def proved(audit: Audit) -> list[str]:
    """What Theorem 2 says of function sharing, if that is among what was audited and is covered."""
    if not audit.covered:
        return []
    against = _against(audit)
    if audit.p2:
        supposing = f", if {audit.claim.supposing}" if audit.claim.supposing else ""
        return [
            f"Function sharing{supposing}: against {against} P1 and P2 hold (Theorem 2), even with a tap on all words.",
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
        lines.append(sentence(str(audit.exposure)))
    return lines


def _against(audit: Audit) -> str:
    if audit.coalition is None:
        return f"any {counted(audit.colluders, 'colluder')}"
    return f"coalition {braced(audit.coalition)}"


def _would_hold(audit: Audit, one: Finding) -> str:
    """What the topology is worth under noise functions, where objectives are not such as they hide."""
    judged = audit.guarantees if audit.coalition is None or audit.exposure is None else audit.exposure
    would = "would hold" if judged.p2 else "would fail"
    return f" For {one.claim.would_cover} P1 and P2 {would} against {_against(audit)}."


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
        why = f": {one.claim.reason}" if one.option.stands_for.functions is not None else ""
        topology = _would_hold(audit, one) if one.claim.would_cover else ""
        lines.append(f"{one.label}: no theorem{why}.{topology} {who}: {one.words}{least}.")
    return lines


def mending(audit: Audit) -> list[str]:
    """What to add or to change, cheapest first."""
    bare = {one.label for one in audit.findings if one.option.stands_for.effective().hides_nothing}
    if bare == {one.label for one in audit.findings}:
        return [
            f"{' and '.join(sorted(bare))} hides nothing: choose function sharing, which has a theorem, or "
            f"{ANCHORED.label} with an anchor, which has none."
        ]
    return [*_links(audit), *_anchor(audit)]


def _links(audit: Audit) -> list[str]:
    """More links help where a coalition cuts the others apart, or leaves somebody alone."""
    if not (audit.exposed if not audit.covered else not audit.p2):
        return []
    if audit.unmendable:
        return [f"No more links help: {audit.unmendable}."]
    if audit.repair is None or not audit.repair.added:
        return []
    if audit.covered:
        return [f"To mend it for function sharing: {audit.repair}."]
    return [f"To leave nobody alone among colluders: add {linked(audit.repair.added)}."]


def _anchor(audit: Audit) -> list[str]:
    """Noise that is drawn once and kept helps where fresh noise averages out."""
    alone = {one.label: one for one in audit.findings if one.threat == "coalition"}
    fresh, kept = alone.get(ANCHORED.label), alone.get(f"{ANCHORED.label}, anchored")
    if fresh is None or not fresh.averaged:
        return []
    advice = (
        f"To keep {ANCHORED.label}'s noise from averaging out: give it an anchor, "
        f"{ANCHORED.__name__}(delta, anchor=0.5)"
    )
    if kept is None or not kept.least or not fresh.least:
        return [f"{advice}."]
    return [
        f"{advice}. Half of it drawn once leaves ±{kept.least:.3g} after "
        f"{counted(kept.leakage.rounds, 'round')}, and that half stays however long the run; all of it fresh leaves "
        f"±{fresh.least:.3g}, and ever less."
    ]


def statement(
    *, colluders: int, coalition: tuple[int, ...] | None, rounds: int, runs: int = 1, measured: bool = False
) -> tuple[str, ...]:
    """The scope of an audit, in paragraphs."""
    who = f"the members {braced(coalition)}" if coalition else f"any {counted(colluders, 'member')}"
    over = f"{counted(rounds, 'round')} of {'one run' if runs == 1 else counted(runs, 'run')}"
    about = "this run as it was recorded" if measured else over
    return (
        f"Against whom: {who}, passive and curious, pooling what is seen and knowing the plan; over {about}. "
        "Members who lie, probe or change their messages are out of scope.",
        "Function sharing (Theorem 2) hides the span of its noise family, up to the width that its bound buys, if "
        "objectives are separable polynomials no higher in degree than its noise, with one step along the gradient "
        "over all records between two exchanges. The sum over each honest component is exposed, and so is "
        "whatever the model itself reveals. Width is not all: who knows that objectives are convex can narrow "
        "coefficients of even power to an interval from zero to the component's sum.",
        "RSS-NB and RSS-LB have no privacy theorem. What stands here is the linear-Gaussian estimate: how closely the "
        "best linear attack knows a gradient that stays the same, while no projection is active. Noise that is not "
        "Gaussian can be beaten by somewhat more, up to 1.6 times on a single link; gradients that change are harder.",
        "This is not differential privacy: nothing here hides whether one record took part, and the final model is "
        "DGD's, so what can be inferred from it is undiminished. A member's own last state must stay home: to whoever "
        "heard its neighbourhood it gives the last gradient away.",
    )
