"""One verdict on a topology, or on a run: what is proved, what is estimated, what is exposed, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.errors import BadInput, BadNetwork, NoTheorem, NotRecorded
from hocket.networks.network import Network
from hocket.privacy.topology.connectivity import check_colluders, check_hiding
from hocket.privacy.topology.guarantees import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.topology.planner import Link, Repair, TopologyPlan, check_forbidden, plan_topology, repair
from hocket.privacy.verdict import sentences
from hocket.privacy.verdict.findings import (
    Finding,
    Measurement,
    Option,
    find,
    has_theorem,
    measure,
    standard_options,
)
from hocket.privacy.wording import braced, counted
from hocket.runs.run import Run
from hocket.runs.view import Threat
from hocket.steps import Number, Power, Step, as_step

ROUNDS = 1000
FEWEST = 3
"""Agents: one to listen, and two so that one can hide behind the other."""
THREATS: tuple[Threat, ...] = ("coalition", "states", "states+noise")


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
    """What the named coalition singles out under function sharing, or the smallest cut where P2 fails."""
    findings: tuple[Finding, ...]
    measured: tuple[Measurement, ...]
    """What attacks made of the run, if there was one."""
    remarks: tuple[str, ...]
    """What the run says of its own noise."""
    repair: Repair | None
    """The fewest links found with which P1 and P2 hold; None if they do, or cannot."""
    unmendable: str
    """Why no links that may be added make them hold; empty if some do, or none are needed."""
    cheapest: TopologyPlan
    """The topology with fewest links for as many colluders."""
    statement: tuple[str, ...]

    @property
    def covered(self) -> bool:
        """Whether Theorem 2 covers something that was audited: function sharing of polynomials."""
        return any(one.basis == "theorem" for one in self.findings)

    @property
    def p1(self) -> bool:
        """Whether no single objective is exposed under function sharing; refused where no theorem says so."""
        return self._judged.p1

    @property
    def p2(self) -> bool:
        """Whether no sum is, save over all honest agents; refused where no theorem says so."""
        return self._judged.p2

    @property
    def exposed(self) -> tuple[int, ...]:
        """Agents whose objectives function sharing cannot hide; without it, whose gradients are known exactly."""
        if not self.covered:
            return self.findings[0].exact
        judged = self._judged
        return judged.exposed if isinstance(judged, Guarantees) else judged.surrounded

    @property
    def _judged(self) -> Guarantees | Exposure:
        """Theorem 2's word on the coalition named, or on all of its size."""
        if not self.covered:
            labels = sorted({one.label for one in self.findings})
            raise NoTheorem(
                "P1 and P2 are Theorem 2, about function sharing of polynomials no higher in degree than its noise; no "
                f"theorem covers {' and '.join(labels)} here: see `findings`, what a coalition can estimate instead"
            )
        return self.guarantees if self.coalition is None or self.exposure is None else self.exposure

    @property
    def verdict(self) -> tuple[str, ...]:
        """The answer in plain words, most important first."""
        return (*self.proved, *self.estimated, *self.attacked, *self.mending)

    @property
    def proved(self) -> tuple[str, ...]:
        """What a theorem says."""
        return tuple(sentences.proved(self))

    @property
    def estimated(self) -> tuple[str, ...]:
        """What is estimated where no theorem says anything, against the coalition alone."""
        return tuple(sentences.estimated(self))

    @property
    def attacked(self) -> tuple[str, ...]:
        """What the run says of its noise, and what attacks made of it."""
        words = [*(f"{remark}." for remark in self.remarks), *map(str, self.measured)]
        return tuple(f"In this run: {one}" for one in words)

    @property
    def mending(self) -> tuple[str, ...]:
        """What would help."""
        return tuple(sentences.mending(self))

    def __str__(self) -> str:
        return "\n".join([*self.verdict, "", *self.statement])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        numbers = self.guarantees.to_json() | {"exposed": list(self.exposed), "covered": self.covered}
        if self.covered:
            numbers |= {"p1": self.p1, "p2": self.p2}
        else:
            numbers |= {"p1": None, "p2": None, "smallest_cut": None}
        return numbers | {
            "topology": self.network.name,
            "coalition": None if self.coalition is None else list(self.coalition),
            "components": None
            if self.exposure is None
            else [list(part) for part in self.exposure.components],
            "verdict": list(self.verdict),
            "findings": [one.to_json() for one in self.findings],
            "remarks": list(self.remarks),
            "measured": [one.to_json() for one in self.measured],
            "repair": None if self.repair is None else self.repair.to_json(),
            "unmendable": self.unmendable or None,
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
    runs: int = 1,
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
    f, members = _adversary(network, colluders, coalition)
    forbidden = check_forbidden(forbidden, network.n)
    if run is not None:
        algorithm, step = _plan_of(run, network, algorithm, step)
        rounds, dim = run.rounds if rounds is None else rounds, run.x.shape[1]
    options = standard_options(sigma) if algorithm is None else (Option(algorithm, sigma),)
    rounds = ROUNDS if rounds is None else rounds
    plan = {
        "step": as_step(step if step is not None else Power(1.0, 20, 0.75)),
        "runs": runs,
        "prior": prior,
        "start": start,
        "dim": dim,
    }
    promised = guarantees(network, f)
    cut = None if promised.p2 else promised.smallest_cut
    findings: list[Finding] = []
    for option, threat in watch([(option, threat) for option in options for threat in THREATS]):
        # With all noise known one coalition is like another: whom a tap on words serves best is followed.
        last = findings[-1] if threat == "states+noise" else None
        findings.append(
            find(
                network,
                option,
                colluders=f,
                coalition=members if last is None else last.coalition,
                searched=None if last is None else last.searched,
                covered=last is None and has_theorem(option.algorithm, run),
                threat=threat,
                rounds=rounds,
                **plan,
            )
        )
    worst = members if members is not None else _worst_of(findings, cut, f)
    mended, unmendable = (None, "") if promised.p2 else _repaired(network, f, forbidden)
    return Audit(
        network=network,
        colluders=f,
        coalition=members,
        guarantees=promised,
        exposure=cut if members is None else exposure(network, members),
        findings=tuple(findings),
        measured=() if run is None else measure(run, worst),
        remarks=() if run is None else run.remarks,
        repair=mended,
        unmendable=unmendable,
        cheapest=plan_topology(network.n, f),
        statement=sentences.statement(
            colluders=f, coalition=members, rounds=rounds, runs=runs, measured=run is not None
        ),
    )


def _adversary(
    network: Network, colluders: int | None, coalition: Iterable[int] | None
) -> tuple[int, tuple[int, ...] | None]:
    """How many collude and, if they were named, who."""
    if network.n < FEWEST:
        raise BadInput(
            f"{network.name} has {counted(network.n, 'agent')}: with one of them listening nobody is left for another "
            f"to hide behind; an audit takes {FEWEST} or more"
        )
    if coalition is None:
        return _number(network, colluders), None
    members = tuple(sorted(check_hiding(coalition, network.n)))
    if colluders is not None and colluders != len(members):
        raise BadInput(
            f"{counted(colluders, 'colluder')} and the coalition {braced(members)} disagree; pass one of them"
        )
    return len(members), members


def _number(network: Network, colluders: int | None) -> int:
    if colluders is None:
        raise BadInput("an audit is against somebody: pass colluders=, a number, or coalition=, their names")
    f = check_colluders(colluders, network.n)
    if f == network.n - 1:
        raise BadInput(
            f"{f} colluders among {network.n} agents leave one, with nothing to hide behind; plan for at most {f - 1}"
        )
    return f


def _plan_of(
    run: Run, network: Network, algorithm: str | Algorithm | None, step: Step | Number | None
) -> tuple[Algorithm, Step | Number]:
    """The algorithm and the step of a run that can be audited: it kept its words, and knows its plan."""
    if algorithm is not None:
        raise BadInput("a run says itself which algorithm it played; leave algorithm= away, or the run")
    if run.network.n != network.n or not np.array_equal(run.network.links, network.links):
        raise BadInput(f"this run was on {run.network.name}, not on {network.name}; pass run.network")
    if run.transcript is None:
        raise NotRecorded("this run kept no words to attack; run it again with keep='transcript'")
    if run.algorithm is None or run.step is None:
        raise NotRecorded(
            "this run was loaded from disk, without its algorithm and step; audit it where it was run, or its folder "
            "with `hocket audit --run`"
        )
    return run.algorithm, run.step if step is None else step


def _worst_of(findings: Sequence[Finding], cut: Exposure | None, f: int) -> tuple[int, ...]:
    """Against all coalitions of a size, a run is attacked by the worst: the smallest cut, or who estimates best."""
    if cut is not None and len(cut.coalition) == f:
        return cut.coalition
    return min(findings, key=lambda one: (one.threat != "coalition", one.least)).coalition


def _repaired(network: Network, f: int, forbidden: Iterable[Link]) -> tuple[Repair | None, str]:
    """The links to add, or why none do."""
    try:
        return repair(network, f, forbidden=forbidden), ""
    except BadNetwork as error:
        return None, str(error)
