"""The verdict of an audit in plain words, and what it says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hocket.algorithms import ANCHORED
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.verdict.theorem import THEOREM
from hocket.privacy.wording import counted, grouped, judged, linked, listed, sentence

if TYPE_CHECKING:
    from hocket.privacy.verdict.audit import Audit
    from hocket.privacy.verdict.findings import Finding


def answer(audit: Audit) -> str:
    """What matters most, in one sentence: under the first algorithm that was audited, to a coalition by itself."""
    one = next(one for one in audit.findings if one.threat == "coalition")
    whom = listed(one.coalition, audit.network.labels)
    any_of = "" if one.searched is None else f" ({one.searched_words})"
    if one.basis == "theorem" and audit.p2:
        against = f"any {counted(audit.colluders, 'colluder')}" if audit.coalition is None else whom
        only = f"would learn only the sum over all others, and no {one.claim.part} by itself ({one.claim.theorem})"
        return f"Under {one.label}{_if(one)}, {against} {only}{_narrow(one, audit)}."
    if one.exact:
        what = one.claim.part if one.basis == "theorem" else "gradient"
        open_to = listed(one.exact, audit.network.labels)
        return f"Under {one.label}, {whom}{any_of} would know the {what} of {open_to} exactly."
    if one.basis == "theorem":
        some = f"would learn the sum over a part of the others, and no {one.claim.part} by itself"
        return f"Under {one.label}{_if(one)}, {whom} {some}{_narrow(one, audit)}."
    weakest = listed([one.weakest], audit.network.labels)
    how = judged(one.least, one.gradient_size)
    steps = f"the mean gradient over an exchange's {audit.local_steps} local steps"
    what = "the gradient" if audit.local_steps == 1 else steps
    anyway = one.option.stands_for.effective().open_anyway
    return (
        f"No theorem covers {one.label} here: to {whom}{any_of} {what} of {weakest} would be {how}, after "
        f"{counted(one.leakage.rounds, 'round')}, by an estimate for {_supposed(one)}"
        f"{f'; {anyway}' if anyway else ''}."
    )


NARROW = 0.1
"""Of a gradient's size: a width below which a theorem that others are possible says little of how far they lie."""


def _narrow(one: Finding, audit: Audit) -> str:
    """How well a gradient is known all the same, where noise is so small that all possible ones are alike; goes on a
    sentence."""
    if one.claim.theorem != THEOREM or one.least >= NARROW * one.gradient_size:
        return ""
    whom = listed([one.weakest], audit.network.labels)
    how = judged(one.least, one.gradient_size)
    return f"; but noise is small beside gradients, so that all possible ones are alike: that of {whom} would be {how}"


def _if(one: Finding) -> str:
    """What a theorem supposes that nobody has said."""
    return f", if {one.claim.supposing}" if one.claim.supposing else ""


def _supposed(one: Finding) -> str:
    """What the number of whoever is known best supposes."""
    if one.form is None:
        return "gradients that stay the same"
    return f"whoever knows that objectives are {one.form.words}"


def proved(audit: Audit) -> list[str]:
    """What a theorem says of what was audited, where one covers it."""
    if not audit.covered:
        return []
    against, claim = _against(audit), audit.claim
    name = sentence(_covered(audit))[:-1]
    if audit.p2:
        supposing = f", if {claim.supposing}" if claim.supposing else ""
        narrow = _narrow(next(one for one in audit.findings if one.claim), audit)
        hold = f"against {against} P1 and P2 hold ({claim.theorem}), even with a tap on all words{narrow}"
        return [f"{name}{supposing}: {hold}.", claim.told, *filter(None, [claim.needs])]
    why = (
        f"the smallest degree is {audit.guarantees.min_degree}, the vertex connectivity "
        f"{audit.guarantees.vertex_connectivity}, and both must exceed {audit.colluders}"
        if audit.coalition is None
        else "it cuts the honest agents apart"
    )
    lines = [f"{name}: against {against} P2 fails{'' if audit.p1 else ' and so does P1'}: {why}."]
    if audit.exposed:
        whom = "their neighbours, should these collude" if audit.coalition is None else "it"
        what = claim.part if len(audit.exposed) == 1 else f"{claim.part}s"
        lines.append(
            f"Exposed exactly to {whom}: the {what} of {listed(audit.exposed, audit.network.labels)}."
        )
    if audit.exposure is not None:
        lines.append(sentence(audit.exposure.in_words(audit.network.labels, part=claim.part)))
    return [*lines, *filter(None, [claim.needs])]


def _covered(audit: Audit) -> str:
    """What a theorem covers, by its name in a sentence."""
    kind = next(one.option.stands_for for one in audit.findings if one.claim)
    return kind.in_words or kind.title


def _against(audit: Audit) -> str:
    if audit.coalition is None:
        return f"any {counted(audit.colluders, 'colluder')}"
    return f"coalition {grouped(audit.coalition, audit.network.labels)}"


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
        labels = audit.network.labels
        who = grouped(one.coalition, labels)
        best = listed([one.weakest], labels)
        who = f"{sentence(one.searched_words)[:-1]} is {who}" if one.searched else f"Coalition {who}"
        by = "" if one.form is None else ", by that form"
        least = "" if one.exact else f"; {best} is known best{by}: {judged(one.least, one.gradient_size)}"
        why = f": {one.claim.reason}" if one.option.stands_for.functions is not None else ""
        topology = _would_hold(audit, one) if one.claim.would_cover else ""
        lines.append(f"{one.label}: no theorem{why}.{topology} {who}: {one.words}{least}.{one.bound_words}")
    return lines


def several_steps(audit: Audit) -> list[str]:
    """What several steps between exchanges mean for all that is said."""
    if audit.local_steps == 1 or all(one.option.stands_for.only_totals for one in audit.findings):
        return []
    return [
        f"{audit.local_steps} local steps between exchanges: no theorem covers them. Every estimate is of what one "
        "exchange moves an agent by, over its step: the mean of the gradients on the way, and not any one of them. "
        "Whoever knows the form of the model can fit that as well: several steps by themselves hide nothing."
    ]


def mending(audit: Audit) -> list[str]:
    """What to add or to change, cheapest first."""
    bare = {one.label for one in audit.findings if one.option.stands_for.effective().hides_nothing}
    if bare == {one.label for one in audit.findings}:
        return [
            f"{' and '.join(sorted(bare))} hides nothing: for objectives that are declared polynomials choose function "
            f"sharing, which has a theorem; {ANCHORED.label} has none, and without noise of each member's own it hides "
            "slopes only."
        ]
    return [*_links(audit), *_caveats(audit), *_anchor(audit)]


def _links(audit: Audit) -> list[str]:
    """More links help where a coalition cuts the others apart, or leaves somebody alone."""
    if not (audit.exposed if not audit.covered else not audit.p2):
        return []
    if audit.unmendable:
        return [f"No more links help: {audit.unmendable}."]
    if audit.repair is None or not audit.repair.added:
        return []
    if audit.covered:
        return [f"To mend it for {_covered(audit)}: {audit.repair.in_words(audit.network.labels)}."]
    return [f"To leave nobody alone among colluders: add {linked(audit.repair.added, audit.network.labels)}."]


def _caveats(audit: Audit) -> list[str]:
    """What no amount of an algorithm's noise keeps off, and what to choose instead."""
    kinds = [one.option.stands_for.effective() for one in audit.findings if one.basis == "estimate"]
    return [*dict.fromkeys(kind.caveat for kind in kinds if kind.caveat)]


def _anchor(audit: Audit) -> list[str]:
    """Noise that is drawn once and kept helps where fresh noise averages out."""
    alone = {one.label: one for one in audit.findings if one.threat == "coalition"}
    fresh, kept = alone.get(ANCHORED.label), alone.get(f"{ANCHORED.label}, anchored")
    if fresh is None or not fresh.averaged:
        return []
    advice = (
        f"An anchor, {ANCHORED.__name__}(delta, anchor=0.5), keeps slopes under {ANCHORED.label} from averaging out, "
        "and nothing else"
    )
    if kept is None or not kept.least or not fresh.least:
        return [f"{advice}."]
    return [
        f"{advice}: half of the noise drawn once leaves {judged(kept.least, kept.gradient_size)} after "
        f"{counted(kept.leakage.rounds, 'round')}, and that half stays however long the run; all of it fresh leaves "
        f"{judged(fresh.least, fresh.gradient_size)}, and ever less."
    ]


def statement(audit: Audit, *, rounds: int, runs: int, measured: bool) -> tuple[str, ...]:
    """The scope of an audit, in paragraphs."""
    who = f"any {counted(audit.colluders, 'member')}"
    if audit.coalition:
        who = f"the members {grouped(audit.coalition, audit.network.labels)}"
    over = f"{counted(rounds, 'round')} of {'one run' if runs == 1 else counted(runs, 'run')}"
    about = "this run as it was recorded" if measured else over
    what = (
        "a gradient"
        if audit.local_steps == 1
        else f"an exchange's displacement, {audit.local_steps} local steps together,"
    )
    read = (
        f"How to read ±: the standard deviation of what is not known, per coordinate, {audit.gradient_size.words}. "
        "Known to 10 %: off by a tenth of that size. As good as unknown: off by that size or more."
    )
    if all(one.option.stands_for.only_totals for one in audit.findings):
        return (
            f"Against whom: {who}, pooling what is seen and knowing the plan; over {about}.",
            *_TOTALS,
            read,
            _private(audit.certificate, model="that of a server which averages"),
        )
    return (
        f"Against whom: {who}, passive and curious, pooling what is seen and knowing the plan; over {about}. "
        "Members who lie, probe or change their messages are out of scope.",
        "Function sharing (Theorem 2) hides the span of its noise family, up to the width that its bound buys, if "
        "objectives are separable polynomials no higher in degree than its noise, or quadratics under a family with "
        "cross terms, with one step along the gradient over all records between two exchanges. The sum over each "
        "honest component is exposed, and so is whatever the model itself reveals. Width is not all: who knows that "
        "objectives are convex can narrow coefficients of even power to an interval from zero to the component's sum.",
        "RSS-NB and RSS-LB have no privacy theorem. What stands here is the linear-Gaussian estimate: how closely the "
        f"best attack knows {what} that stays the same, while no projection is active. It is exact for normal noise, "
        "which an algorithm by name stands for; for bounded noise ± is a lower bound, which no estimator gets below. "
        "Whoever knows the public form of "
        "the objectives knows more, since gradients that change tell more of it: an estimate with a model class says "
        "by how much. Whoever hears all words of an honest component reads everything of its objectives but their "
        "slopes exactly from noise that cancels in every round (the sum attack).",
        read,
        f"{_private(audit.certificate)} A member's own last state must stay home: to whoever heard its neighbourhood "
        "it gives the last gradient away.",
    )


def _private(certificate: Certificate | None, *, model: str = "DGD's") -> str:
    """What of a verdict is differential privacy, and what is not."""
    if certificate is None:
        return (
            "This is not differential privacy: nothing here hides whether one record took part, and the final model is "
            f"{model}, so what can be inferred from it is undiminished."
        )
    known = (
        f"Differential privacy is what the certificate says, of {certificate.protected}, and of nothing else; "
        "estimates are none."
    )
    if certificate.hides_records:
        return known
    return (
        f"{known} It does not say by how much it is hidden whether one record took part: for that give own noise, and "
        "how far one record moves a sum (hk.certify, sensitivity=)."
    )


_TOTALS = (
    "Totals (Theorem T): what honest members that hang together send is uniform on all words with their sum, given all "
    "that the coalition knows by itself. So its view depends on nothing but the sum over each honest component, in "
    "every round, whatever is summed: gradients, models after several local steps, counts. Topology decides, by the "
    "same cuts as for function sharing: one member that is cut off has no sum to hide in, and all it gives is known.",
    "Members may lie: other numbers than their own move the point at which all are asked next, and so choose where the "
    "sum is taken, but show no part of it; who shows members different sums is noticed, since masks are bound to all "
    "sums so far. Masks are taken to be uniform to all but the ends of their link; over links they are ChaCha20's, so "
    "that the theorem is about whoever cannot tell the two apart.",
    "What sums tell is not hidden: in every round how far the average moved, which is the gradient of the joint "
    "objective, exactly; and of two runs on data that differ, the difference. Where members hold few records and the "
    "form of the model is public, gradients of the joint objective at many points can be fitted by the records "
    "themselves, though not by whose they are.",
)
