"""The audit of a plan, before anybody signs it: what so many colluders would learn, and who stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithms import FunctionSharing
from hocket.errors import UnsafePlan
from hocket.federation.plan import FederationPlan
from hocket.privacy import Audit, audit
from hocket.privacy.leakage import Leakage
from hocket.privacy.wording import counted
from hocket.privacy.worst_case import worst_leakage


@dataclass(frozen=True, eq=False)
class PlanAudit:
    """The verdict on a plan."""

    plan: FederationPlan
    verdict: Audit
    """On the network and algorithm of the plan."""
    worst: Leakage
    """What the worst coalition can estimate after all runs, and from what members publish at the end of each."""
    problems: tuple[str, ...]
    """Why the plan is refused; empty if it is not."""

    @property
    def words(self) -> tuple[str, ...]:
        """The verdict in plain words, agents by the numbers that members have in the plan."""
        steps = self.plan.run.local_steps
        learning = (
            [] if steps == 1 else [f"No theorem covers {steps} local steps; estimates take them as one."]
        )
        return (*self.verdict.verdict, self._with_what_is_published, *learning)

    @property
    def _with_what_is_published(self) -> str:
        found, names = self.worst, self.plan.names
        weakest = min(found.honest, key=lambda j: found.sd[j])
        sd = float(found.sd[weakest])
        runs = "" if found.runs == 1 else f", over {found.runs} runs on these data"
        return (
            f"With the states that all members publish at the end{runs}, {_names(self.plan, found.coalition)} would "
            f"know the gradient of {names[weakest]} {'exactly' if sd == 0 else f'to ±{sd:.3g}'}."
        )

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        return {
            "safe": not self.problems,
            "problems": list(self.problems),
            "members": list(self.plan.names),
            "runs": self.worst.runs,
            "worst": self.worst.to_json(),
            "audit": self.verdict.to_json(),
        }


def audit_plan(
    plan: FederationPlan,
    *,
    colluders: int | None = None,
    min_sd: float | None = None,
    unsafe: bool | None = None,
    runs: int = 1,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> PlanAudit:
    """Audit a plan; an unsafe one is refused, unless `unsafe` says that its members accept what the audit found.
    Whoever draws up a plan asks it first, every member before signing, and survivors when somebody leaves.

    What is not given is taken from the plan's own section [audit]. `runs` counts the runs on the same data, this one
    included: anchors and noise functions are the same in all of them, fresh noise is not.
    """
    f = plan.audit.colluders if colluders is None else colluders
    least = plan.audit.min_sd if min_sd is None else min_sd
    course: dict[str, Any] = {"rounds": plan.run.rounds, "step": plan.step, "dim": plan.task.dimension}
    verdict = audit(plan.network, colluders=f, algorithm=plan.algorithm, watch=watch, **course)
    # What members publish at the end is heard as well: one more exchange, mixed and masked.
    worst = worst_leakage(plan.network, plan.algorithm, f, runs=runs, release="mixed", **course).leakage
    found = PlanAudit(plan, verdict, worst, tuple(_problems(plan, verdict, worst, least)))
    accepted = plan.audit.unsafe if unsafe is None else unsafe
    if found.problems and not accepted:
        raise UnsafePlan(
            "\n".join(
                [*found.problems, "Mend this, or let the plan say that its members accept it (--unsafe)."]
            )
        )
    return found


def _problems(plan: FederationPlan, verdict: Audit, worst: Leakage, least: float) -> Iterator[str]:
    f, promised = counted(verdict.colluders, "colluder"), verdict.guarantees
    exposed, cut = promised.exposed, promised.smallest_cut
    if exposed:
        near = plan.network.neighbours(exposed[0])
        yield (
            f"{_names(plan, exposed)} can be surrounded by {f}: {_names(plan, near)} are all that "
            f"{plan.names[exposed[0]]} talks to, and together they know whatever hides it; choose a topology in which "
            f"everybody has {verdict.colluders + 1} neighbours, such as harary:k={verdict.colluders + 1}, or plan for "
            "fewer colluders"
        )
    elif isinstance(plan.algorithm, FunctionSharing) and not promised.p2 and cut is not None:
        apart = " from ".join(f"{{{_names(plan, part)}}}" for part in cut.components)
        yield (
            f"P2 fails: {_names(plan, cut.coalition)} would cut {apart} and learn the sum of each part's objectives; "
            f"choose a topology of connectivity {verdict.colluders + 1}, such as harary:k={verdict.colluders + 1}"
        )
    yield from _too_well_known(plan, verdict, worst, least)


def _too_well_known(plan: FederationPlan, verdict: Audit, worst: Leakage, least: float) -> Iterator[str]:
    """Whom the worst coalition knows better than the plan allows; who can be surrounded is named already."""
    known = [j for j in worst.honest if worst.sd[j] <= least and (least > 0 or worst.sd[j] == 0)]
    known = [j for j in known if j not in verdict.guarantees.exposed]
    if not known:
        return
    weakest = min(known, key=lambda j: worst.sd[j])
    after = counted(worst.rounds, "round") + ("" if worst.runs == 1 else f" in each of {worst.runs} runs")
    exactly = (
        "exactly" if worst.sd[weakest] == 0 else f"to ±{worst.sd[weakest]:.3g} where {least:g} is the least"
    )
    yield (
        f"{_names(plan, worst.coalition)} would know the gradient of {plan.names[weakest]} {exactly}, after {after}; "
        f"{_cure(plan, exact=worst.sd[weakest] == 0)}"
    )


def _cure(plan: FederationPlan, *, exact: bool) -> str:
    name = plan.algorithm_section.name
    if name == "dgd":
        return "dgd hides nothing: plan rss-nb or function-sharing"
    if exact:
        return "add links, plan for fewer colluders, or choose function-sharing"
    if name == "rss-nb" and not getattr(plan.algorithm, "anchor", 0.0):
        return "give part of the noise an anchor (--anchor 0.5), more noise (--delta), or fewer rounds"
    return "plan more noise, fewer rounds or more links"


def _names(plan: FederationPlan, agents: Iterable[int]) -> str:
    return ", ".join(plan.names[agent] for agent in sorted(agents))
