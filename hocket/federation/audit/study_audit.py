"""The audit of a study's plan: nothing but sums is shown, so that who can be told apart is a question about links.

**Theorem T.** Every member adds uniform masks that it shares with its neighbours, in a finite group. Given what a
coalition knows by itself, the words of honest members that are connected are uniform on all that have the right sum. So
a coalition's view depends on nothing but the sum over each such part, whatever it does; and each of these sums it can
work out. No noise, no bound, no averaging: a second sum has masks of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hocket.claims import foreign
from hocket.errors import BadPlan
from hocket.federation.audit.plan_audit import PlanAudit, audit_plan, refuse_unsafe
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.account import ComposedAccount, ReleaseLoss, account_of
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.workloads.needs import needs
from hocket.files import toml_tables
from hocket.privacy.dp.sampling import Sampled
from hocket.privacy.graph.guarantees import Guarantees, guarantees
from hocket.privacy.wording import counted
from hocket.studies.data.design_matrix import coefficient_names
from hocket.studies.disclosure.patterns import exposure_words
from hocket.studies.disclosure.promise import Among, Promise
from hocket.studies.results.seen import DIFFERENCE
from hocket.studies.spec.study import Study, parse_study

THEOREM = "Theorem T"


@dataclass(frozen=True, eq=False)
class StudyAudit:
    """The verdict on a study's plan; it answers as `PlanAudit` does."""

    plan: FederationPlan
    study: Study
    guarantees: Guarantees
    problems: tuple[str, ...]
    earlier: tuple[EarlierRun, ...] = ()

    @property
    def before(self) -> tuple[EarlierRun, ...]:
        """The earlier runs on these data."""
        return tuple(one for one in self.earlier if one.same_data)

    @property
    def runs(self) -> int:
        """Of how many runs on these data this is the last."""
        return len(self.before) + 1

    @cached_property
    def account(self) -> ComposedAccount | None:
        """What is promised over all runs of this member's data together; None where this study promises nothing."""
        if self.promise is None:
            return None
        # Anybody who left an earlier run keeps what it saw, and may collude with anybody.
        back = {name for one in self.earlier for name in one.left if name in self.plan.names}
        among = self.promise.among
        left = among.honest - len(back)
        mu = self.promise.mu * math.sqrt(among.honest / left) if left > 0 else math.inf
        return account_of(self.plan, ReleaseLoss(mu, Sampled(mu)), self.promise.delta, self.earlier)

    @property
    def certificate(self) -> None:
        """A study's plan has no section of its own for an ε: the study has."""

    @property
    def promise(self) -> Promise | None:
        """What the study promises of any one row against so many colluders; None where the links do not hold it."""
        privacy, members = self.study.privacy, len(self.plan.names)
        if privacy is None or not self.covered:
            return None
        planned = Promise(privacy.epsilon, privacy.delta, Among(members, self.plan.audit.colluders))
        asked = Among(members, self.guarantees.colluders)
        # Members add noise as planned; against more colluders than that, less of it is left.
        return planned if asked.colluders <= planned.among.colluders else planned.against(asked)

    @property
    def least(self) -> float:
        """No gradient is shown to anybody."""
        return float("inf")

    @property
    def covered(self) -> bool:
        """Whether the theorem covers every coalition that was asked about."""
        return not self.problems

    @property
    def answer(self) -> str:
        """The verdict in one sentence."""
        f = counted(self.guarantees.colluders, "colluder")
        if self.problems:
            return f"Refused: {self.problems[0]}."
        return f"{THEOREM}: against any {f} nothing is shown but sums over all honest members."

    @property
    def history(self) -> tuple[str, ...]:
        """What these data have told before, in words."""
        if not self.before:
            return ()
        told = ", ".join(one.words for one in self.before)
        return (
            f"These data have served {counted(len(self.before), 'run')} before: {told}. Each showed sums over its own "
            "members and rows; the difference of two sums is the sum over whatever was in one of them alone.",
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The verdict in plain words, and what everybody will be shown."""
        promised = self.promise
        certified = () if promised is None else (promised.statement, *promised.assumptions)
        together = () if self.account is None else self.account.words
        return (self.answer, *certified, *together, *self._shown(), *self._left(), *self.history)

    def to_json(self) -> dict[str, Any]:
        """The verdict in plain values."""
        return {
            "safe": not self.problems,
            "problems": list(self.problems),
            "members": list(self.plan.names),
            "theorem": THEOREM if self.covered else None,
            "covered": self.covered,
            "runs": self.runs,
            "earlier": [one.served.plan for one in self.earlier],
            "least": None,
            "study": self.study.fingerprint,
            "privacy": None if self.promise is None else self.promise.to_json(),
            "together": None if self.account is None else self.account.to_json(),
            "guarantees": self.guarantees.to_json(),
        }

    def _shown(self) -> Iterator[str]:
        question = self.study.question
        what = [
            f"the coefficients of {question.formula} ({len(coefficient_names(self.study))} of them, {question.family})"
            if self.study.formula is not None
            else "",
            "descriptions of columns" if self.study.describe is not None else "",
            "survival curves" if self.study.survival is not None else "",
            "how well the model tells" if self.study.evaluate is not None else "",
        ]
        yield f"Shown to all members: {', '.join(part for part in what if part)}; and the sums that lead to them."
        limits = self.study.disclosure
        if self.study.privacy is not None:
            yield f"Each member must give {limits.fewest_rows} rows or more; noise hides the rest."
            return
        yield (
            f"Each member must give {limits.fewest_rows} rows or more; counts below {limits.smallest_cell} are not "
            f"shown, nor models with more than {limits.parameters_per_row:g} parameters per joint row."
        )
        yield from exposure_words(self.study)

    def _left(self) -> Iterator[str]:
        others = len(self.plan.names) - 1
        yield (
            f"If all {others} others collude, they know a member's part of every sum: its counts, means and cross "
            "products of the columns above, how many of its rows have each combination of columns of few values, and "
            "single rows where it has few."
        )
        if needs(self.plan.algorithm).restarts:
            yield (
                "If a member is dropped, those who stay begin the study anew without it, with new masks. "
                f"{DIFFERENCE.format(left='the leaver')}: its counts and means, and less surely what followed. Who "
                "signs agrees to that for its own rows."
            )
        else:
            yield (
                "If a member is dropped, the study stops: nobody is asked the same twice, with it and without. "
                f"{DIFFERENCE.format(left='a leaver')}; plan again only if it agrees."
            )
        yield (
            "A member who gives made-up numbers changes the answer, and chooses where sums are taken, within what each "
            "member checks: the others' rows and ranges, 15 steps, the search's region. Who it was cannot be known. A "
            "member who shows others different sums is noticed, and learns noise. Out of scope: what the results tell."
        )


def study_of(plan: FederationPlan) -> Study:
    """The study that a plan's members sign."""
    assert plan.study is not None
    return parse_study(toml_tables(plan.study))


def audit_study(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    earlier: Sequence[EarlierRun] = (),
    unsafe: bool | None = None,
) -> StudyAudit:
    """The verdict on a study's plan; one under which somebody's own sums are shown is refused, unless `unsafe` says, or
    else the plan, that its members accept that."""
    promised = guarantees(plan.network, plan.audit.colluders if colluders is None else colluders)
    study = study_of(plan)
    if why := foreign(plan.algorithm):
        raise BadPlan(f"Theorem T is about hocket's own sums: {why}")
    if study.privacy is not None and needs(plan.algorithm).restarts:
        raise BadPlan(
            "the study promises an ε for one release of its sums, and to begin anew without a leaver would be a second "
            "one, with other noise; plan it with --on-drop stop"
        )
    found = StudyAudit(plan, study, promised, tuple(_problems(plan, promised)), tuple(earlier))
    refuse_unsafe(found.problems, plan.audit.unsafe if unsafe is None else unsafe)
    return found


def _problems(plan: FederationPlan, promised: Guarantees) -> Iterator[str]:
    f, cut = promised.colluders, promised.smallest_cut
    better = f"choose a topology such as complete or harary:k={f + 1}, or plan for fewer colluders"
    if promised.exposed:
        one = promised.exposed[0]
        yield (
            f"{plan.listed(promised.exposed)} can be surrounded by {counted(f, 'colluder')}: "
            f"{plan.listed(plan.network.neighbours(one))} share all masks of {plan.names[one]}, and would know its own "
            f"numbers; {better}"
        )
    elif not promised.p2 and cut is not None:
        apart = " from ".join(f"{{{plan.listed(part)}}}" for part in cut.components)
        yield (f"{plan.listed(cut.coalition)} would cut {apart} and know the sums over each part; {better}")
    elif not promised.p2:
        yield f"{counted(f, 'colluder')} of {promised.agents} leave one member, whose numbers are the rest; {better}"


PlanVerdict = PlanAudit | StudyAudit


def judge_plan(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    earlier: Sequence[EarlierRun] = (),
) -> PlanVerdict:
    """Audit a plan; an unsafe one is refused, unless it says that its members accept what the audit found."""
    judge = audit_plan if plan.study is None else audit_study
    return judge(plan, colluders=colluders, earlier=earlier)
