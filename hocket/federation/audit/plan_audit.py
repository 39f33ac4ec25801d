"""The audit of a plan, before anybody signs it: what so many colluders would learn, and who stands in the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithms.function_sharing import functions_of
from hocket.claims import only_sums
from hocket.errors import BadPlan, UnsafePlan
from hocket.federation.audit.certificate_check import PlanCertificate, check_certificate
from hocket.federation.audit.joint_audit import Sequel
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.account import ComposedAccount
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import release_of
from hocket.privacy import Audit, audit
from hocket.privacy.audit import text
from hocket.privacy.audit.theorem import PrivacyClaim, privacy_claim
from hocket.privacy.graph.guarantees import COVERED
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage
from hocket.privacy.leakage.worst import SCOUTED, WORK, worst_joint_leakage
from hocket.privacy.profile import fix, profile
from hocket.privacy.wording import SUPPOSED, counted, judged, listed, share

MOST_SECONDS = 600.0
"""Of an audit, by `audit_seconds`: a plan that takes longer is refused."""
ONE_ROUND, ONE_PAIR = 80e-6, 0.8e-6
"""Seconds to follow a listener's posterior through a round, and for every pair of members in it: measured on one core,
from 5 members to 50, with every algorithm, within a factor of two."""
FOLLOWED = 2
"""Kinds of listener that are followed through one run; what is published is followed through all of them."""


@dataclass(frozen=True, eq=False)
class PlanAudit:
    """The verdict on a plan whose members follow gradients; of a study's plan see `study_audit`."""

    plan: FederationPlan
    verdict: Audit
    """On the network and algorithm of the plan."""
    worst: Leakage
    """What the worst coalition can estimate after all runs, and from what members publish at the end of each."""
    problems: tuple[str, ...]
    """Why the plan is refused; empty if it is not."""
    sequel: Sequel
    """The plan, after what its data have told already."""
    history: tuple[str, ...] = ()
    """What that was, in words."""
    certificate: PlanCertificate | None = None
    """What the plan promises as differential privacy, worked out again; None if it promises nothing."""
    beside: tuple[EarlierRun, ...] = ()
    """Runs on other data that share rows with these, or may: gradients are others, and what is told of those rows adds
    up."""

    @property
    def account(self) -> ComposedAccount | None:
        """What is promised over all runs of this member's data together; None where this plan promises nothing."""
        return None if self.certificate is None else self.certificate.account

    @property
    def runs(self) -> int:
        """Of how many runs on these data this is the last."""
        return self.worst.runs

    @property
    def least(self) -> float:
        """How well the worst coalition knows whichever gradient it knows best, per coordinate; zero is exactly."""
        return 0.0 if self.sequel.unknown else self.worst.least

    @property
    def words(self) -> tuple[str, ...]:
        """The verdict in plain words, agents by the numbers that members have in the plan."""
        promised = () if self.certificate is None else self.certificate.words
        partly = [f"{one}." for one in dict.fromkeys(str(one.shared) for one in self.beside if one.shared)]
        told = (*self.verdict.verdict, self._with_what_is_published, *self.history, *partly)
        return (*promised, *told, self._sized)

    @property
    def answer(self) -> str:
        """The verdict in a sentence: what is promised, what a theorem says, or what the worst coalition knows in the
        end."""
        anyway = profile(self.plan.algorithm).open_anyway
        more = f"; {anyway}" if anyway else ""
        told = (
            self.verdict.answer
            if self.covered
            else f"No theorem{self._together}. {self._with_what_is_published[:-1]}{more}."
        )
        promised = "" if self.certificate is None else f"{self.certificate.words[0]} "
        return f"{'Refused by its own limits. ' if self.problems else ''}{promised}{told}"

    @property
    def covered(self) -> bool:
        """Whether a theorem covers this run, and with it all that the same data have served before."""
        return self.verdict.covered and self.sequel.repeats

    @property
    def _together(self) -> str:
        return " covers this run together with the earlier ones on these data" if self.verdict.covered else ""

    @property
    def _sized(self) -> str:
        size = self.plan.audit
        limit = f"no gradient may be known better than to {share(size.min_sd, 1.0)} of that"
        if not size.min_sd:
            limit = "the plan sets no limit to how well a gradient may be known, short of exactly"
        return f"Every ± is per coordinate, {text.gradient_size(self.verdict.gradient_size)}; {limit}."

    @property
    def _with_what_is_published(self) -> str:
        found, names = self.worst, self.plan.names
        weakest = min(found.honest, key=lambda j: found.sd[j])
        runs = "" if found.runs == 1 else f", over {found.runs} runs on these data"
        means = " and the means of all states on the way" if self.plan.run.means else ""
        return (
            f"With the states that all members publish at the end{means}{runs}, to {listed(found.coalition, names)} "
            f"the gradient of {names[weakest]} would be {judged(found.sd[weakest], self.plan.audit.gradient_size)}."
        )

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        return {
            "safe": not self.problems,
            "problems": list(self.problems),
            "members": list(self.plan.names),
            "objectives": str(self.plan.objectives),
            "gradient_size": self.plan.audit.gradient_size,
            "min_sd": self.plan.audit.min_sd,
            "covered": self.covered,
            "runs": self.worst.runs,
            "earlier": [one.served.plan for one in (*self.sequel.earlier, *self.beside)],
            "least": self.least,
            "worst": self.worst.to_json(),
            "audit": self.verdict.to_json(),
        } | ({} if self.certificate is None else {"certificate": self.certificate.to_json()})


def plan_claim(plan: FederationPlan) -> PrivacyClaim:
    """The theorem on privacy that covers a plan as its members sign it, or why none does."""
    return privacy_claim(
        plan.algorithm, plan.objectives, dim=plan.task.dimension, local_steps=plan.run.local_steps
    )


def audit_of_plan(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Audit:
    """The verdict on a plan's network, algorithm and objectives, as all that speak of a plan give it."""
    return audit(
        plan.network,
        colluders=colluders,
        coalition=coalition,
        algorithm=plan.algorithm,
        objectives=plan.objectives,
        local_steps=plan.run.local_steps,
        rounds=plan.run.rounds,
        step=plan.step,
        dim=plan.task.dimension,
        feasible=plan.feasible,
        gradient_size=None if plan.audit.gradient_size == SUPPOSED else plan.audit.gradient_size,
        watch=watch,
    )


def rounds_and_runs(found: Leakage, *, earlier: int) -> str:
    """After how much listening, in words; `earlier` runs were of plans of their own."""
    if earlier:
        return f"{counted(found.rounds, 'round')} and {counted(earlier, 'earlier run')} on these data"
    return counted(found.rounds, "round") + ("" if found.runs == 1 else f" in each of {found.runs} runs")


def affordable_coalitions(plan: FederationPlan) -> int:
    """How many coalitions can be compared in the rounds that scouts look at."""
    scouted = min(plan.run.rounds, SCOUTED)
    return max(1, WORK // (scouted * (len(plan.names) + 50) ** 2))


def audit_plan(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    min_sd: float | None = None,
    unsafe: bool | None = None,
    runs: int = 1,
    earlier: Sequence[EarlierRun] = (),
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> PlanAudit:
    """Audit a plan; an unsafe one is refused, unless `unsafe` says that its members accept what the audit found.
    Anybody who draws up a plan asks it first, every member before signing, and survivors when somebody leaves.

    What is not given is taken from the plan's own section [audit]; `min_sd` is a share of its `gradient_size`.
    `earlier` are the runs that the same data have served, each with its own plan; `runs` asks what so many runs of
    this very plan would tell. Anchors and noise functions are the same wherever they were kept, fresh noise is not.
    """
    certificate = check_certificate(plan, earlier=earlier)
    sequel = Sequel(plan, tuple(earlier))
    beside = tuple(one for one in earlier if not one.same_data)
    earlier = sequel.earlier
    _check_affordable(plan, runs, earlier)
    f = plan.audit.colluders if colluders is None else colluders
    size = plan.audit.gradient_size
    least = plan.audit.least if min_sd is None else min_sd * size
    verdict = audit_of_plan(plan, colluders=f, watch=watch)
    # What members publish at the end is received as well: one more exchange, mixed and masked.
    seen = verdict.findings[0].dry_run
    run = PlannedRun(
        plan.network,
        plan.algorithm,
        rounds=plan.run.rounds,
        step=plan.step,
        dim=plan.task.dimension,
        release=release_of(plan),
        active=seen.active,
        times=1 if earlier else runs,
    )
    models = [[one] for one in seen.models]
    if earlier:
        joint = sequel.worst(f)
        worst = joint.beside(joint_leakage([run], coalition=joint.coalition, models=models))
    else:
        worst = worst_joint_leakage([run], f, models=models).leakage
    problems = (*_problems(plan, verdict, worst, least, len(earlier)), *sequel.problems())
    found = PlanAudit(plan, verdict, worst, problems, sequel, tuple(sequel.words(worst)), certificate, beside)
    accepted = plan.audit.unsafe if unsafe is None else unsafe
    refuse_unsafe(found.problems, accepted)
    return found


def refuse_unsafe(problems: Iterable[str], accepted: bool) -> None:
    """Refuse a plan with problems that its members do not accept."""
    if (found := [*problems]) and not accepted:
        found.append("Mend this, or let the plan say that its members accept it (--unsafe).")
        raise UnsafePlan("\n".join(found))


def audit_seconds(plan: FederationPlan, *, runs: int = 1, earlier: Sequence[EarlierRun] = ()) -> float:
    """About how long `audit_plan` takes: a posterior is followed through all rounds, of all runs on the same data."""
    own = (FOLLOWED + runs) * (_searched_rounds(plan) + plan.run.rounds) * _round_seconds(plan)
    # As many coalitions are compared in the first rounds of an earlier run, and it is followed by itself as well.
    coalitions = _searched_rounds(plan) // min(plan.run.rounds, SCOUTED)
    planned = [one.plan.run for one in earlier if one.plan is not None]
    before = sum(
        (coalitions * min(run.rounds, SCOUTED) + FOLLOWED * run.rounds)
        * (ONE_ROUND + ONE_PAIR * run.network.n**2)
        for run in planned
    )
    return own + before


def _check_affordable(plan: FederationPlan, runs: int, earlier: Sequence[EarlierRun]) -> None:
    seconds = audit_seconds(plan, runs=runs, earlier=earlier)
    if seconds <= MOST_SECONDS:
        return
    runs += len(earlier)
    n = len(plan.names)
    rounds = int(MOST_SECONDS / ((FOLLOWED + runs) * _round_seconds(plan))) - _searched_rounds(plan)
    over = "" if runs == 1 else f", after {runs - 1:,} runs on the same data,"
    fix = (
        f"plan at most {rounds:,} rounds"
        if rounds > 0
        else "plan fewer members, or other data: these have served too many runs"
    )
    raise BadPlan(
        f"to audit {counted(plan.run.rounds, 'round')} of {n:,} members{over} would take about {_duration(seconds)}, "
        f"and {_duration(MOST_SECONDS)} are the most; {fix}"
    )


def _round_seconds(plan: FederationPlan) -> float:
    return ONE_ROUND + ONE_PAIR * len(plan.names) ** 2


def _searched_rounds(plan: FederationPlan) -> int:
    """Rounds through which coalitions are compared before the worst is followed to the end."""
    n, scouted = len(plan.names), min(plan.run.rounds, SCOUTED)
    return scouted * min(affordable_coalitions(plan), math.comb(n, min(plan.audit.colluders, n)))


def _duration(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.0f} hours" if seconds < 172_800 else f"{seconds / 86_400:,.0f} days"


def _problems(
    plan: FederationPlan, verdict: Audit, worst: Leakage, least: float, earlier: int
) -> Iterator[str]:
    f, promised = counted(verdict.colluders, "colluder"), verdict.guarantees
    exposed, cut = promised.exposed, promised.smallest_cut
    if exposed:
        near = plan.network.neighbours(exposed[0])
        yield (
            f"{plan.listed(exposed)} can be surrounded by {f}: {plan.listed(near)} are all that "
            f"{plan.names[exposed[0]]} talks to, and together they know whatever hides it; choose a topology in which "
            f"everybody has {verdict.colluders + 1} neighbours, such as harary:k={verdict.colluders + 1}, or plan for "
            "fewer colluders"
        )
    elif (functions_of(plan.algorithm) is not None or only_sums(plan.algorithm)) and not promised.p2 and cut:
        apart = " from ".join(f"{{{plan.listed(part)}}}" for part in cut.components)
        yield (
            f"P2 fails: {plan.listed(cut.coalition)} would cut {apart} and learn the sum over each part; "
            f"choose a topology of connectivity {verdict.colluders + 1}, such as harary:k={verdict.colluders + 1}"
        )
    yield from _too_well_known(plan, verdict, worst, least, earlier)


def _too_well_known(
    plan: FederationPlan, verdict: Audit, worst: Leakage, least: float, earlier: int
) -> Iterator[str]:
    """Whom the worst coalition knows better than the plan allows; who can be surrounded is named already."""
    known = [j for j in worst.honest if worst.sd[j] <= least and (least > 0 or worst.sd[j] == 0)]
    known = [j for j in known if j not in verdict.guarantees.exposed]
    if not known:
        return
    weakest = min(known, key=lambda j: worst.sd[j])
    after = rounds_and_runs(worst, earlier=earlier)
    exact, size = worst.sd[weakest] == 0, plan.audit.gradient_size
    how = judged(worst.sd[weakest], size)
    enough = "" if exact else f", where {share(least, size)} of a gradient of size {size:g} is the least"
    yield (
        f"to {plan.listed(worst.coalition)} the gradient of {plan.names[weakest]} would be {how} after "
        f"{after}{enough}; {_cure(plan, exact=exact)}"
    )


def _cure(plan: FederationPlan, *, exact: bool) -> str:
    own = fix(plan.algorithm, exact=exact)
    if own:
        return own
    if exact:
        return f"add links, plan for fewer colluders, or choose {COVERED}"
    return "plan more noise, fewer rounds or more links"
