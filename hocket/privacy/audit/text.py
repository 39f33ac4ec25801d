"""Every sentence of an audit, made from its findings, for a terminal, a page and JSON alike: nothing reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hocket.algorithms import RssNb, in_a_sentence
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import only_sums
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.audit.findings import GradientSize, projected_share
from hocket.privacy.audit.measurements import After, Attempt, Measurement, rms
from hocket.privacy.audit.theorem import Theorem
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.profile import profile
from hocket.privacy.wording import (
    counted,
    grouped,
    judged,
    known,
    linked,
    listed,
    rendered,
    searched_share,
    sentence,
)

if TYPE_CHECKING:
    from hocket.privacy.audit.audit import Audit
    from hocket.privacy.audit.findings import Finding

NARROW = 0.1
"""Of a gradient's size: a width below which a theorem that others are possible says little of how far they lie."""
PART = {Theorem.FUNCTIONS: "objective", Theorem.SUMS: "contribution"}
"""What of one agent is hidden."""
OPEN = {
    Theorem.FUNCTIONS: "Only the sum over all honest agents is exposed, and what the model itself reveals.",
    Theorem.SUMS: "The sum over all honest agents is exposed in every round, exactly: of their gradients, or of where "
    "their local steps lead; and with it what the model itself reveals. Nobody's own is, but for what these sums tell: "
    "of few records they can tell the records, and not whose they are.",
}
"""What stays open where P2 holds."""
NEEDS = {
    Theorem.SUMS: "It rests on masks that are uniform to all but the two ends of a link: over links they are "
    "ChaCha20's, under keys of that link; a simulation adds up in the open."
}
"""On what a theorem rests beside its conditions."""
SIZES = {
    "declared": "gradients being of size {size:g} per coordinate, as declared",
    "measured": "gradients having been of size {size:.3g} per coordinate in this run",
    "assumed": "assuming gradients of size {size:g} per coordinate",
}


def part_of(one: Finding) -> str:
    """What of one agent a theorem is about."""
    return PART[one.claim.theorem or Theorem.FUNCTIONS]


def gradient_size(size: GradientSize) -> str:
    """What uncertainties are held against, and how that is known."""
    return SIZES[size.source].format(size=size.size)


def answer(audit: Audit) -> str:
    """What matters most, in one sentence: under the first algorithm that was audited, to a coalition by itself."""
    one = next(one for one in audit.findings if one.threat == "coalition")
    labels = audit.network.labels
    whom = listed(one.coalition, labels)
    any_of = "" if one.searched is None else f" ({searched(one)})"
    part = part_of(one)
    if one.claim.theorem is not None and audit.p2:
        against = f"any {counted(audit.colluders, 'colluder')}" if audit.coalition is None else whom
        only = (
            f"would learn only the sum over all others, and no {part} by itself ({one.claim.theorem.value})"
        )
        return f"Under {one.label}{_if(one)}, {against} {only}{_narrow(one, audit)}."
    if one.exact:
        what = part if one.claim else "gradient"
        return (
            f"Under {one.label}, {whom}{any_of} would know the {what} of {listed(one.exact, labels)} exactly."
        )
    if one.claim:
        some = f"would learn the sum over a part of the others, and no {part} by itself"
        return f"Under {one.label}{_if(one)}, {whom} {some}{_narrow(one, audit)}."
    steps = f"the mean gradient over an exchange's {audit.local_steps} local steps"
    what = "the gradient" if audit.local_steps == 1 else steps
    assumed = "gradients that stay the same"
    if one.form is not None:
        assumed = f"an adversary that knows that objectives are {one.form.words}"
    anyway = profile(one.option.stands_for).open_anyway
    return (
        f"No theorem covers {one.label} here: to {whom}{any_of} {what} of {listed([one.weakest], labels)} would be "
        f"{judged(one.least, one.gradient_size)}, after {counted(one.leakage.rounds, 'round')}, by an estimate for "
        f"{assumed}{f'; {anyway}' if anyway else ''}."
    )


def _narrow(one: Finding, audit: Audit) -> str:
    """How well a gradient is known all the same, where noise is so small that all possible ones are alike; goes on a
    sentence."""
    if one.claim.theorem is not Theorem.FUNCTIONS or one.least >= NARROW * one.gradient_size:
        return ""
    whom = listed([one.weakest], audit.network.labels)
    how = judged(one.least, one.gradient_size)
    return f"; but noise is small beside gradients, so that all possible ones are alike: that of {whom} would be {how}"


def _if(one: Finding) -> str:
    """What a theorem assumes that nobody has said."""
    return f", if {one.claim.condition}" if one.claim.assumed else ""


def proved(audit: Audit) -> list[str]:
    """What a theorem says of what was audited, where one covers it."""
    one = next((one for one in audit.findings if one.claim), None)
    if one is None or one.claim.theorem is None:
        return []
    against, theorem, part = _against(audit), one.claim.theorem, part_of(one)
    name, labels = sentence(_covered(one))[:-1], audit.network.labels
    rests = [NEEDS[theorem]] if theorem in NEEDS else []
    if audit.p2:
        hold = f"against {against} P1 and P2 hold ({theorem.value}), even with an eavesdropper on all links"
        return [f"{name}{_if(one)}: {hold}{_narrow(one, audit)}.", OPEN[theorem], *rests]
    why = "it cuts the honest agents apart"
    whom = "it"
    if audit.coalition is None:
        whom = "their neighbours, should these collude"
        why = (
            f"the smallest degree is {audit.guarantees.min_degree}, the vertex connectivity "
            f"{audit.guarantees.vertex_connectivity}, and both must exceed {audit.colluders}"
        )
    lines = [f"{name}: against {against} P2 fails{'' if audit.p1 else ' and so does P1'}: {why}."]
    if audit.exposed:
        what = part if len(audit.exposed) == 1 else f"{part}s"
        lines.append(f"Exposed exactly to {whom}: the {what} of {listed(audit.exposed, labels)}.")
    if audit.exposure is not None:
        lines.append(sentence(audit.exposure.in_words(labels, part=part)))
    return [*lines, *rests]


def _covered(one: Finding) -> str:
    """What a theorem covers, by its name in a sentence."""
    kind = one.option.stands_for
    return in_a_sentence(kind)


def _against(audit: Audit) -> str:
    if audit.coalition is None:
        return f"any {counted(audit.colluders, 'colluder')}"
    return f"coalition {grouped(audit.coalition, audit.network.labels)}"


def estimated(audit: Audit) -> list[str]:
    """What a coalition by itself can estimate under each algorithm that no theorem covers."""
    lines, labels = [], audit.network.labels
    for one in audit.findings:
        if one.threat != "coalition" or one.claim:
            continue
        who, best = grouped(one.coalition, labels), listed([one.weakest], labels)
        who = f"{sentence(searched(one))[:-1]} is {who}" if one.searched else f"Coalition {who}"
        by = "" if one.form is None else ", by that form"
        least = f"; most exposed is {best}{by}: {judged(one.least, one.gradient_size)}"
        why = f": {one.claim.reason}" if functions_of(one.option.stands_for) is not None else ""
        topology = bound = ""
        if one.claim.would_cover:
            fit = audit.guarantees if audit.coalition is None or audit.exposure is None else audit.exposure
            would = "would hold" if fit.p2 else "would fail"
            topology = f" For {one.claim.would_cover} P1 and P2 {would} against {_against(audit)}."
        if one.bound:
            bound = (
                f" Whichever {len(one.coalition)} they are, no gradient that stays the same is known better than "
                f"{judged(one.bound, one.gradient_size)}."
            )
        ending = "" if one.exact else least
        lines.append(
            f"{sentence(one.label)[:-1]}: no theorem{why}.{topology} {who}: {line(one)}{ending}.{bound}"
        )
    return lines


def line(one: Finding) -> str:
    """A finding in a line."""
    bare, parts = profile(one.option.stands_for).hides_nothing, []
    if one.exact:
        parts.append(f"{_listed(one, one.exact)} known exactly{': nothing hides it' if bare else ''}")
    if one.averaged:
        who = _listed(one, one.averaged)
        parts.append(
            f"{who} known ever better: nothing hides it"
            if bare
            else f"the noise of {who} averages out in time"
        )
    if one.hidden and one.claim:
        parts.append(f"{_listed(one, one.hidden)} hidden but for sums")
    elif one.hidden:
        parts.append(f"{_listed(one, one.hidden)} not identifiable, but for their sums with others")
    return "; ".join([*parts, *([] if one.claim else _beside(one))])


def _beside(one: Finding) -> list[str]:
    """What a public form and an active set give away beside gradients that stay the same."""
    forms = [form.in_words(one.labels) for form in one.leakage.models if form.exact or form is one.form]
    forms, algorithm = [*dict.fromkeys(forms)], one.option.stands_for
    if getattr(algorithm, "given", None) is not None:
        forms.append(
            "noise given by hand counts as random draws within its bound, and who can guess it knows more"
        )
    # What is part of the gradient is cut short along with it, and shows no more of itself.
    if one.dry_run.active and profile(algorithm).persistent and profile(algorithm).noise_in == "messages":
        forms.append("persistent noise counts as known, since states may reach the sides of the feasible set")
    if functions_of(algorithm) is not None and len(one.exact) < len(one.leakage.honest):
        forms.append(
            "noise functions are counted as an offset of the gradient and nothing more, which is cautious: what else "
            "they hide is left out"
        )
    return [*forms, *map(str, one.dry_run.unfollowed)]


def _listed(one: Finding, agents: Sequence[int]) -> str:
    return listed(agents, one.labels)


def fate(one: Finding, agent: int) -> str:
    """What becomes of one honest agent's gradient, in a few words."""
    if agent in one.exact:
        return "known exactly"
    return "only in sums with others" if one.claim else judged(one.leakage.sd[agent], one.gradient_size)


def in_time(one: Finding, agent: int) -> str:
    """What patience adds to it."""
    if agent in one.exact or (one.leakage.sd[agent] == 0 and not one.claim):
        return "nothing is left to know"
    if one.claim:
        return "no more than that"
    return "ever better" if agent in one.averaged else "better only in sums with others"


def searched(one: Finding) -> str:
    """How far the search for the worst coalition went."""
    if one.searched is None:
        return ""
    part = searched_share(*one.searched)
    # A form is asked about two of them: the worst for constant gradients, and who overhears most.
    return f"{part} for gradients that stay the same" if one.leakage.models else part


def cell(one: Finding) -> str:
    """A finding in a few characters."""

    def of(who: tuple[int, ...]) -> str:
        least = min(one.leakage.sd[j] for j in who)
        if least:
            return f" ±{least:.2g} ({known(least, one.gradient_size)})"
        return "" if who == one.exact or one.claim else " (exactly, by their form)"

    over_time = "open" if profile(one.option.stands_for).hides_nothing else "averaging"
    groups = [("exact", one.exact), (over_time, one.averaged), ("in sums", one.hidden)]
    return ", ".join(f"{len(who)} {what}{of(who)}" for what, who in groups if who)


def several_steps(audit: Audit) -> list[str]:
    """What several steps between exchanges mean for all that is said."""
    if audit.local_steps == 1 or all(only_sums(one.option.stands_for) for one in audit.findings):
        return []
    return [
        f"{audit.local_steps} local steps between exchanges: no theorem covers them. Every estimate is of what one "
        "exchange moves an agent by, over its step: the mean of the gradients on the way, and not any one of them. "
        "An adversary that knows the form of the model can fit that as well: several steps by themselves hide nothing."
    ]


def repairs(audit: Audit) -> list[str]:
    """What to add or to change, cheapest first."""
    bare = {one.label for one in audit.findings if profile(one.option.stands_for).hides_nothing}
    if bare == {one.label for one in audit.findings}:
        return [
            f"{' and '.join(sorted(bare))} hides nothing: for objectives that are declared polynomials choose function "
            f"sharing, which has a theorem; {RssNb.title} has none, and without independent noise it hides slopes "
            "only."
        ]
    kinds = [one.option.stands_for for one in audit.findings if one.basis == "estimate"]
    caveats = [*dict.fromkeys(profile(kind).caveat for kind in kinds if profile(kind).caveat)]
    return [*_links(audit), *caveats, *_persistent(audit)]


def _links(audit: Audit) -> list[str]:
    """More links help where a coalition cuts the others apart, or leaves somebody alone."""
    if not (audit.exposed if not audit.covered else not audit.p2):
        return []
    if audit.unrepairable:
        return [f"No more links help: {audit.unrepairable}."]
    if audit.repair is None or not audit.repair.added:
        return []
    labels = audit.network.labels
    if audit.covered:
        one = next(one for one in audit.findings if one.claim)
        return [f"To repair it for {_covered(one)}: {audit.repair.in_words(labels)}."]
    return [f"To leave nobody alone among colluders: add {linked(audit.repair.added, labels)}."]


def _persistent(audit: Audit) -> list[str]:
    """Noise that is drawn once and reused helps where fresh noise averages out."""
    alone = [
        (one, kind)
        for one in audit.findings
        if one.threat == "coalition" and type(kind := one.option.stands_for) is RssNb
    ]
    fresh = next((one for one, kind in alone if not profile(kind).persistent), None)
    kept = next((one for one, kind in alone if profile(kind).persistent), None)
    if fresh is None or not fresh.averaged:
        return []
    advice = (
        f"Persistent noise, {RssNb.__name__}(delta, persistent=0.5), keeps slopes under {RssNb.title} from "
        "averaging out, and nothing else"
    )
    if kept is None or not kept.least or not fresh.least:
        return [f"{advice}."]
    return [
        f"{advice}: half of the noise drawn once leaves {judged(kept.least, kept.gradient_size)} after "
        f"{counted(kept.leakage.rounds, 'round')}, and that half stays however long the run; all of it fresh leaves "
        f"{judged(fresh.least, fresh.gradient_size)}, and ever less."
    ]


def in_this_run(audit: Audit) -> list[str]:
    """What the run says of its noise, and what the strongest attacks made of it."""
    labels, lines = audit.network.labels, [f"{remark}." for remark in audit.remarks]
    if (part := projected_share(audit.seen)) is not None:
        lines.append(f"{part:.2%} of all states lay on a side of the feasible set, where they are known.")
    return [f"In this run: {one}" for one in [*lines, *(measured(one, labels) for one in audit.measured)]]


def how_known(one: Measurement) -> str:
    """How well an attack knows the truth; empty where no truth is at hand."""
    if one.error is None or one.truth is None:
        return ""
    if not one.truth:
        return "known exactly" if not one.error else "off, the truth being zero"
    return known(0.0 if one.exact else one.error, one.truth)  # what is left of an exact attack is rounding


def measured(one: Measurement, labels: Sequence[object] | None = None) -> str:
    """The best that an attack made of a run."""
    attack = one.attack
    words = f"{_attack_on(attack, labels)}: "
    if one.error is None:
        return f"{words}{attack.verdict(labels)}."
    beside = f"off by {one.error:.2g}, the truth in the end being {one.truth:.2g} in size"
    if not one.surprising:
        return f"{words}{attack.verdict(labels)}; it is {beside}: {how_known(one)}."
    return (
        f"{words}{attack.what.in_words(labels)}, {beside}. It predicts {attack.typical_sd:.2g}, assuming that "
        f"{rendered(attack.assuming, labels)}, which is not so here."
    )


def _attack_on(attack: Attack, labels: Sequence[object] | None) -> str:
    return f"{attack.name} attack on {listed(attack.target, labels)}"


def result(one: Attempt, labels: Sequence[object] | None = None) -> str:
    """What one kind of attack came to, over all on whom it was tried."""
    if not one.found:
        return "does not apply" if one.why is None else f"does not apply: {one.why.in_words(labels)}"

    def whom(found: Sequence[Measurement]) -> str:
        return listed({agent for each in found for agent in each.attack.target}, labels)

    if not one.useful:
        return f"{whom(one.found)}: of no use, since what it assumes is not so"
    exact = [each for each in one.useful if each.exact]
    rest = [each for each in one.useful if not each.exact]
    said = [f"{whom(exact)}: known exactly"] if exact else []
    if rest:
        truth = _over([each.truth for each in rest])
        how = known(_over([each.error for each in rest]) or 0.0, truth) if truth else "found"
        said.append(f"{whom(rest)}: {how}")
    return "; ".join(said) if one.after is After.GRADIENT else f"{one.after.value}, {'; '.join(said)}"


def predicted(one: Attempt) -> str:
    """What it says itself that it is off by, and what it is off by in truth, over all against whom it is of use."""
    if not one.useful:
        return ""
    sd = _over([each.attack.typical_sd for each in one.useful])
    error = _over([each.error for each in one.useful])
    off = "" if error is None else f"; off by {error:.2g}"
    return f"{f'±{sd:.2g}' if sd else 'exactly'} predicted{off}"


def _over(numbers: Sequence[float | None]) -> float | None:
    """The root mean square over several agents: the luck of one says nothing of the attack."""
    told = [one for one in numbers if one is not None]
    return rms(np.array(told)) if len(told) == len(numbers) else None


def attempts(audit: Audit) -> list[str]:
    """Every attack on the run in a line of its own."""
    labels, lines = audit.network.labels, []
    for one in audit.tried:
        said = f" ({predicted(one)})" if predicted(one) else ""
        lines.append(f"Tried on this run: {one.name} attack: {result(one, labels)}{said}.")
    return lines


def statement(audit: Audit) -> tuple[str, ...]:
    """The scope of an audit, in paragraphs."""
    who = f"any {counted(audit.colluders, 'member')}"
    if audit.coalition:
        who = f"the members {grouped(audit.coalition, audit.network.labels)}"
    runs = "one run" if audit.runs == 1 else counted(audit.runs, "run")
    about = "this run as it was recorded" if audit.of_run else f"{counted(audit.rounds, 'round')} of {runs}"
    read = (
        "How to read ±: the standard deviation of what is not known, per coordinate, "
        f"{gradient_size(audit.gradient_size)}. Relative error 0.1: off by a tenth of that size."
    )
    if all(only_sums(one.option.stands_for) for one in audit.findings):
        return (
            f"Against whom: {who}, pooling what is seen and knowing the plan; over {about}.",
            *SUMS,
            read,
            _private(audit.certificate, model="that of a server which averages"),
        )
    what = (
        "a gradient"
        if audit.local_steps == 1
        else f"an exchange's displacement, {audit.local_steps} local steps together,"
    )
    return (
        f"Against whom: {who}, semi-honest (honest-but-curious), pooling what is seen and knowing the plan; over "
        f"{about}. Malicious members, who lie, probe or change their messages, are out of scope.",
        "Function sharing (Theorem 2) hides the span of its noise family, up to the width that its bound buys, if "
        "objectives are separable polynomials no higher in degree than its noise, or quadratics under a family with "
        "cross terms, with one step along the gradient over all records between two exchanges. The sum over each "
        "honest component is exposed, and so is what the model itself reveals. Width is not all: who knows that "
        "objectives are convex can narrow coefficients of even power to an interval from zero to the component's sum.",
        "RSS-NB and RSS-LB have no privacy theorem. What stands here is the linear-Gaussian estimate: how closely the "
        f"best attack knows {what} that stays the same, while no projection is active. It is exact for normal noise, "
        "which an algorithm by name stands for; for bounded noise ± is a lower bound, which no estimator gets below. "
        "Who knows the public form of the objectives knows more, since gradients that change tell more of it: an "
        "estimate with a model class says by how much. An adversary that receives all messages of an honest component "
        "reads everything of its objectives but their slopes exactly from noise that cancels in every round (the sum "
        "attack).",
        read,
        f"{_private(audit.certificate)} A member's own last state must stay at home: with the messages of its "
        "neighbourhood it gives the last gradient away.",
    )


def _private(certificate: Certificate | None, *, model: str = "DGD's") -> str:
    """What of a verdict is differential privacy, and what is not."""
    if certificate is None:
        return (
            "This is not differential privacy: nothing here hides whether one record took part, and the final model is "
            f"{model}, so what can be inferred from it is undiminished."
        )
    said = (
        f"Differential privacy is what the certificate says, of {certificate.protected}, and of nothing else; "
        "estimates are none."
    )
    if certificate.hides_records:
        return said
    return (
        f"{said} It does not say by how much it is hidden whether one record took part: for that give independent "
        "noise, and how far one record moves a sum (hk.certify, sensitivity=)."
    )


SUMS = (
    "Secure sums (Theorem T): what connected honest members send is uniform on all messages with their sum, given all "
    "that the coalition knows by itself. So its view depends on nothing but the sum over each honest component, in "
    "every round, whatever is summed: gradients, models after several local steps, counts. Topology decides, by the "
    "same cuts as for function sharing: one member that is cut off has no sum to hide in, and all it gives is known.",
    "Members may be malicious: other numbers than their own move the point at which all are asked next, and so choose "
    "where the sum is taken, but show no part of it; who shows members different sums is noticed, since masks are "
    "bound to all sums so far. Masks are taken to be uniform to all but the ends of their link; over links they are "
    "ChaCha20's, so that the theorem is about adversaries that cannot tell the two apart.",
    "What sums tell is not hidden: in every round how far the average moved, which is the gradient of the joint "
    "objective, exactly; and of two runs on data that differ, the difference. Where members hold few records and the "
    "form of the model is public, gradients of the joint objective at many points can be fitted by the records "
    "themselves, though not by whose they are.",
)
