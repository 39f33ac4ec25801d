"""One verdict on a topology, or on a run: what is proved, what is estimated, what is exposed, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hocket.algorithm import Algorithm
from hocket.errors import BadInput, BadNetwork, NoTheorem, NotRecorded
from hocket.network import Network
from hocket.privacy import verdict
from hocket.privacy.findings import Finding, Option, finding, standard_options
from hocket.privacy.honest import check_colluders, check_hiding
from hocket.privacy.leakage import leakage
from hocket.privacy.measuring import Measurement, measure
from hocket.privacy.planner import Link, Repair, TopologyPlan, plan_topology, repair
from hocket.privacy.statement import statement
from hocket.privacy.topology import Exposure, Guarantees, exposure, guarantees, refuse_without_theorem
from hocket.privacy.wording import braced
from hocket.privacy.worst_case import worst_leakage
from hocket.steps import Number, Power, Step, as_step
from hocket.view import Threat

if TYPE_CHECKING:
    from hocket.run import Run

ROUNDS = 1000
THREATS: tuple[Threat, ...] = ("coalition", "states", "states+noise")
SOON = 3
"""Rounds after which a tap on words and noise knows all that pairwise noise ever hid."""


@dataclass(frozen=True, eq=False)
class Audit:
    """The verdict. Print it, or take it apart."""

    network: Network
    colluders: int
    coalition: tuple[int, ...] | None
    """The coalition named, or None for all of that size."""
    guarantees: Guarantees
    """P1 and P2 against every coalition of that size, under function sharing."""
    exposure: Exposure | None
    """What the named coalition, or the smallest cut, singles out under function sharing."""
    findings: tuple[Finding, ...]
    measured: tuple[Measurement, ...]
    """What attacks made of the run, if there was one."""
    repair: Repair | None
    """The fewest links found with which P1 and P2 hold; None if they do, or cannot."""
    cheapest: TopologyPlan
    """The topology with fewest links for as many colluders."""
    statement: tuple[str, ...]

    @property
    def p1(self) -> bool:
        """Whether no single objective is exposed under function sharing."""
        return self.guarantees.p1 if self.coalition is None or self.exposure is None else self.exposure.p1

    @property
    def p2(self) -> bool:
        """Whether no sum is, save over all honest agents."""
        return self.guarantees.p2 if self.coalition is None or self.exposure is None else self.exposure.p2

    @property
    def exposed(self) -> tuple[int, ...]:
        """Agents whose objectives function sharing cannot hide."""
        if self.coalition is None or self.exposure is None:
            return self.guarantees.exposed
        return self.exposure.surrounded

    @property
    def verdict(self) -> tuple[str, ...]:
        """The answer in plain words, most important first."""
        return (*self.proved, *self.estimated, *self.attacked, *self.mending)

    @property
    def proved(self) -> tuple[str, ...]:
        """What a theorem says."""
        return tuple(verdict.proved(self))

    @property
    def estimated(self) -> tuple[str, ...]:
        """What is estimated where no theorem says anything, against the coalition alone."""
        return tuple(verdict.estimated(self))

    @property
    def attacked(self) -> tuple[str, ...]:
        """What attacks made of the run."""
        return tuple(f"In this run: {one}" for one in self.measured)

    @property
    def mending(self) -> tuple[str, ...]:
        """What would help."""
        return tuple(verdict.mending(self))

    def __str__(self) -> str:
        return "\n".join([*self.verdict, "", *self.statement])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        numbers = self.guarantees.to_json() | {"p1": self.p1, "p2": self.p2, "exposed": list(self.exposed)}
        return numbers | {
            "topology": self.network.name,
            "coalition": None if self.coalition is None else list(self.coalition),
            "components": None
            if self.exposure is None
            else [list(part) for part in self.exposure.components],
            "verdict": list(self.verdict),
            "findings": [one.to_json() for one in self.findings],
            "measured": [one.to_json() for one in self.measured],
            "repair": None if self.repair is None else self.repair.to_json(),
            "cheapest": self.cheapest.to_json(),
            "statement": list(self.statement),
        }


def audit(
    network: Network,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    run: Run | None = None,
    algorithm: str | Algorithm | None = None,
    rounds: int | None = None,
    sigma: float = 1.0,
    step: Step | Number | None = None,
    prior: float = 100.0,
    start: float = 0.0,
    dim: int = 1,
    forbidden: Iterable[Link] = (),
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Audit:
    """What f colluders, or one coalition by name, can learn on this network, per algorithm and kind of listener.
    Ask it before a run, with the plan's `rounds` and `step`, or with a `run` to have what was said attacked too.

    Without an `algorithm` all are compared with the same noise: `sigma` is the standard deviation of one draw, and
    uncertainties are in its unit. `forbidden` are links that a repair may not use; `watch` may show progress.

    >>> from hocket import Network
    >>> print(audit(Network.cycle(5), colluders=1, algorithm="function-sharing", rounds=10).verdict[0])
    Function sharing: against any 1 colluder P1 and P2 hold (Theorem 2), even with a tap on all words.
    """
    members = None if coalition is None else tuple(sorted(check_hiding(coalition, network.n)))
    f = _how_many(network, colluders, members)
    if run is not None:
        if run.algorithm is None or run.step is None:
            raise NotRecorded(
                "this run was loaded from disk, without its algorithm and step; audit it where it was run"
            )
        algorithm, step, rounds = algorithm or run.algorithm, step or run.step, rounds or run.rounds
        dim = run.x.shape[1]
    options = standard_options(sigma) if algorithm is None else (Option(algorithm, sigma),)
    plan = {
        "rounds": rounds or ROUNDS,
        "step": as_step(step if step is not None else Power(1.0, 20, 0.75)),
        "prior": prior,
        "start": start,
        "dim": dim,
    }
    promised = guarantees(network, f)
    named_one = None if members is None else exposure(network, members)
    asked = [(option, threat) for option in options for threat in THREATS]
    findings: list[Finding] = []
    for option, threat in watch(asked):
        # Who hears most is worst whatever else is tapped: it is searched for once, and then followed.
        known = next((one for one in findings if one.option == option), None)
        findings.append(_found(network, f, members, option, threat, plan, known))
    worst = members if members is not None else _worst_of(findings, promised)
    return Audit(
        network=network,
        colluders=f,
        coalition=members,
        guarantees=promised,
        exposure=named_one if named_one is not None else promised.smallest_cut,
        findings=tuple(findings),
        measured=() if run is None else measure(run, worst),
        repair=None if promised.p2 else _repaired(network, f, forbidden),
        cheapest=plan_topology(network.n, f),
        statement=statement(
            colluders=f, coalition=members, rounds=rounds or ROUNDS, measured=run is not None
        ),
    )


def _how_many(network: Network, colluders: int | None, members: tuple[int, ...] | None) -> int:
    if members is None:
        if colluders is None:
            raise BadInput(
                "an audit is against somebody: pass colluders=, a number, or coalition=, their names"
            )
        f = check_colluders(colluders, network.n)
        if f == network.n - 1:
            raise BadInput(
                f"{f} colluders among {network.n} agents leave one, with nothing to hide behind; "
                f"plan for at most {f - 1}"
            )
        return f
    if colluders is not None and colluders != len(members):
        raise BadInput(
            f"{colluders} colluders and the coalition {braced(members)} disagree; pass one of them"
        )
    return len(members)


def _found(
    network: Network,
    f: int,
    members: tuple[int, ...] | None,
    option: Option,
    threat: Threat,
    plan: dict[str, Any],
    known: Finding | None,
) -> Finding:
    """One line of the verdict: of the coalition named, or of the worst that can be found."""
    plan = plan | {"sigma": option.sigma, "anchor_sigma": option.anchor_sigma, "threat": threat}
    if threat == "states+noise" and _only_pairwise(option):
        plan["rounds"] = min(plan["rounds"], SOON)
    searched = None if known is None else known.searched
    if members is None and known is None:
        worst = worst_leakage(network, option.algorithm, f, **plan)
        found, searched = worst.leakage, (worst.searched, worst.total)
    else:
        coalition = known.coalition if members is None and known is not None else members
        found = leakage(network, option.algorithm, coalition=coalition or (), **plan)
    covered = threat != "states+noise" and _has_theorem(option.algorithm)
    return finding(option, found, exposure(network, found.coalition) if covered else None, searched)


def _only_pairwise(option: Option) -> bool:
    """Whether knowing all pairwise noise is knowing all noise."""
    kind = option.algorithm if isinstance(option.algorithm, str) else type(option.algorithm).__name__
    return kind not in ("independent", "IndependentNoise")


def _has_theorem(algorithm: str | Algorithm) -> bool:
    try:
        refuse_without_theorem(algorithm)
    except NoTheorem:
        return False
    return True


def _worst_of(findings: Sequence[Finding], promised: Guarantees) -> tuple[int, ...]:
    """Against all coalitions of a size, a run is attacked by the worst: the smallest cut, or who estimates best."""
    cut = promised.smallest_cut
    if not promised.p2 and cut is not None and len(cut.coalition) == promised.colluders:
        return cut.coalition
    return min(findings, key=lambda one: (one.threat != "coalition", one.least)).coalition


def _repaired(network: Network, f: int, forbidden: Iterable[Link]) -> Repair | None:
    try:
        return repair(network, f, forbidden=forbidden)
    except BadNetwork:
        return None
