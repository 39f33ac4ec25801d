"""The audit of what remains when members have left: they, and as many more as the plan expects, against the others.

Anybody who leaves keeps what it saw, and its links' noise is used no longer; so it is counted as a colluder, beside the
plan's own number of colluders among those who stay.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithms import in_a_sentence
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import foreign
from hocket.errors import BadPlan
from hocket.federation.audit.joint_audit import Sequel
from hocket.federation.audit.plan_audit import affordable_coalitions, plan_claim, rounds_and_runs
from hocket.federation.audit.plan_certificate import certificate_without
from hocket.federation.membership.votes import check_survivors
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.policy import NONE, Policy
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import release_of
from hocket.federation.workloads.needs import needs
from hocket.networks.network import Network
from hocket.privacy.coalitions import suspects, worst_of
from hocket.privacy.graph.guarantees import Guarantees, guarantees
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage
from hocket.privacy.leakage.worst import SCOUTED
from hocket.privacy.plain_values import plain_values
from hocket.privacy.profile import profile
from hocket.privacy.wording import counted, judged, searched_share, sentence, share
from hocket.studies.results.seen import DIFFERENCE


@dataclass(frozen=True)
class SurvivorsVerdict:
    """What remains, in words and in numbers."""

    remaining: tuple[str, ...]
    colluders: int
    """How many of those who remain are counted with those who left."""
    words: tuple[str, ...]
    safe: bool
    """Whether nobody is known exactly, cut off, or better than the plan allows."""
    sd: Mapping[str, float]
    """By member who remains and is not in the worst coalition, how well its gradient would be known."""

    def to_json(self) -> dict[str, Any]:
        """The verdict in plain values."""
        return plain_values(self, "remaining", "colluders", "safe", "words") | {"sd": dict(self.sd)}


def judge_survivors(
    plan: FederationPlan,
    last: Mapping[str, int],
    *,
    runs: int = 1,
    earlier: Sequence[EarlierRun] = (),
    policy: Policy = NONE,
) -> SurvivorsVerdict:
    """The audit of what remains, given the last round of each who left, against the plan's limit and a member's policy.
    Every operator asks it before voting, and every survivor when somebody was dropped.
    """
    check_survivors(plan, frozenset(last))
    left = {plan.agent(name): min(k, plan.run.rounds) for name, k in last.items()}
    stay = [agent for agent in range(len(plan.names)) if agent not in left]
    f, least = plan.audit.colluders, plan.audit.least
    words = [
        f"{plan.listed(left)} left and {'is' if len(left) == 1 else 'are'} counted as colluding, with any {f} of "
        f"{plan.listed(stay)}."
    ]
    safe, sd = True, {}
    if len(stay) - f < 2:
        words.append("That leaves nobody to hide behind: everything must be assumed known. Begin a new plan.")
        safe = False
    elif needs(plan.algorithm).sums and (why := foreign(plan.algorithm)):
        words.append(f"What sums among those who stay show, nobody can tell: {why}.")
        safe = False
    elif needs(plan.algorithm).sums:
        promised = guarantees(_without(plan, stay), f)
        safe = bool(promised.p2)
        words += [*_sums(plan, left, stay, promised)]
    elif (
        functions_of(plan.algorithm) is not None and not (promised := guarantees(_without(plan, stay), f)).p2
    ):
        safe = False  # a cut exposes sums, whatever the objectives are
        words += [_cut_apart(plan, stay, promised, "Function sharing")]
    elif (claim := plan_claim(plan)).theorem is not None:
        name = sentence(in_a_sentence(plan.algorithm))[:-1]
        words += [
            f"{name}: against them and any {counted(f, 'survivor')} P1 and P2 still hold ({claim.theorem.value})."
        ]
    else:
        sequel = Sequel(plan, tuple(earlier), tuple(last.items()))
        worst, searched, total = _worst(sequel, left, stay, runs)
        words += sequel.problems()
        sd = {plan.names[j]: float(worst.sd[j]) for j in worst.honest}
        below = policy.refuses(min(sd.values()), plan.audit.gradient_size)
        safe = min(sd.values()) > least and below is None and not sequel.unknown
        words += [_estimated(plan, worst, least, searched_share(searched, total), len(earlier))]
        words += [] if below is None else [f"That is below your policy{below}."]
    promised = certificate_without(plan, left)
    if promised is not None:
        words += [promised.words]
        safe = safe and promised.kept
    if profile(plan.algorithm).persistent:
        words.append(
            f"Noise was kept on the links of {plan.listed(left)}: going on without them shows it by the difference "
            "before and after, and with it what it hid of anybody who left."
        )
    return SurvivorsVerdict(tuple(plan.names[j] for j in stay), f, tuple(words), safe, sd)


def check_drop_rule(plan: FederationPlan) -> None:
    """Refuse a plan whose rule could never drop anybody: its members would rely on what does not happen."""
    if not plan.run.drop_after:
        return
    against = [_against(plan, name) for name in plan.names]
    if None not in against:
        raise BadPlan(
            f"--drop-after {plan.run.drop_after} would never drop anybody: the loss of no member could be survived. "
            f"{against[0]} Leave --drop-after away, or plan more members, more links or fewer --colluders"
        )


def _against(plan: FederationPlan, name: str) -> str | None:
    """Why the rule would not drop this member alone, be it early or late in the run; None if it would."""
    if len(plan.names) <= 2:
        return f"Without {name} no more than half of all members would stay."
    try:
        found = [judge_survivors(plan, {name: k}) for k in dict.fromkeys((1, plan.run.rounds))]
    except BadPlan as error:
        return f"For one, {error}."
    return None if any(one.safe for one in found) else " ".join(found[0].words)


def _without(plan: FederationPlan, stay: list[int]) -> Network:
    """The network of those who stay, numbered anew in the same order."""
    place = {agent: new for new, agent in enumerate(stay)}
    pairs = [(place[i], place[j]) for i, j in plan.pairs if i in place and j in place]
    return Network(pairs, n=len(stay))


def _sums(plan: FederationPlan, left: Iterable[int], stay: list[int], promised: Guarantees) -> Iterator[str]:
    """What sums among those who stay show, and what they show beside those that were taken before."""
    against = f"them and any {counted(promised.colluders, 'survivor')}"
    if promised.p2:
        yield f"Theorem T: against {against} nothing is shown but sums over all who are honest."
    else:
        yield _cut_apart(plan, stay, promised, "Theorem T")
    if needs(plan.algorithm).restarts:
        yield f"Those who stay begin anew. {DIFFERENCE.format(left=plan.listed(left))}; all have signed that."
    else:
        yield "No sum can be taken without them, and this plan does not say to begin anew: the run stops."


def _cut_apart(plan: FederationPlan, stay: list[int], promised: Guarantees, label: str) -> str:
    against = f"them and any {counted(promised.colluders, 'survivor')}"
    exposed = [stay[j] for j in promised.exposed]
    if exposed:
        return f"{label}: against {against} P1 and P2 fail: {plan.listed(exposed)} can be surrounded."
    cut = promised.smallest_cut
    assert cut is not None  # else P2 would hold
    apart = " from ".join(f"{{{plan.listed([stay[j] for j in part])}}}" for part in cut.components)
    who = plan.listed([stay[j] for j in cut.coalition])
    return f"{label}: against {against} P2 fails: {who} would cut {apart}."


def _worst(sequel: Sequel, left: Mapping[int, int], stay: list[int], runs: int) -> tuple[Leakage, int, int]:
    """What the worst coalition of those who left and f more would know; as many are searched as time allows."""
    plan = sequel.plan
    rounds, f = plan.run.rounds, plan.audit.colluders
    scouted = min(rounds, SCOUTED)
    found = itertools.islice(suspects(_without(plan, stay), f), affordable_coalitions(plan))
    chosen = [tuple(stay[j] for j in one) for one in found]

    def known(coalition: Iterable[int], upto: int) -> Leakage:
        run = PlannedRun(
            plan.network,
            plan.algorithm,
            rounds=upto,
            step=plan.step,
            dim=plan.task.dimension,
            release=release_of(plan),
            leavers={agent: min(k, upto) for agent, k in left.items()},
            active=sequel.last.active,
            times=runs,
        )
        return joint_leakage([run], coalition=coalition)

    worst = worst_of(chosen, lambda one: known(one, scouted).least, operator.lt).coalition
    if sequel.earlier:
        return sequel.known(worst), len(chosen), math.comb(len(stay), f)
    return known(worst, rounds), len(chosen), math.comb(len(stay), f)


def _estimated(plan: FederationPlan, worst: Leakage, least: float, searched: str, earlier: int) -> str:
    weakest = min(worst.honest, key=lambda j: worst.sd[j])
    sd, size = float(worst.sd[weakest]), plan.audit.gradient_size
    enough = "" if sd > least else f", where the plan wants {share(least, size)} of a gradient or more"
    over = rounds_and_runs(worst, earlier=earlier)
    return (
        f"No theorem: {plan_claim(plan).reason}. To {plan.listed(worst.coalition)} ({searched}) the gradient of "
        f"{plan.names[weakest]} is {judged(sd, size)} after {over}{enough}."
    )
