"""One verdict on a topology, or on a run: what is proved, what is estimated, what is exposed, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hocket.algorithm import Algorithm
from hocket.errors import BadInput, NoTheorem
from hocket.networks.network import Network, network_asked
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.estimate.rehearsal import NOTHING_REHEARSED, seen_in
from hocket.privacy.plain_values import plain_values
from hocket.privacy.topology.guarantees import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.topology.planner import (
    Link,
    Repair,
    TopologyPlan,
    check_forbidden,
    plan_topology,
    repair_or_reason,
)
from hocket.privacy.verdict import sentences
from hocket.privacy.verdict.adversary import adversary, worst_of
from hocket.privacy.verdict.certified import certificate_of
from hocket.privacy.verdict.findings import (
    Finding,
    Option,
    bounded,
    find,
    projected_rounds,
    rehearsal_of,
    standard_options,
)
from hocket.privacy.verdict.gradient_size import GradientSize
from hocket.privacy.verdict.measurements import Attempt, Measured, Measurement, measure
from hocket.privacy.verdict.recorded import local_steps_of, plan_of
from hocket.privacy.verdict.theorem import PrivacyClaim, objectives_of, privacy_claim
from hocket.privacy.wording import renamed
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.sets import FeasibleSet
from hocket.rationals import is_number, whole
from hocket.runs.run import Run
from hocket.runs.view import Threat
from hocket.steps import Number, Power, Step, as_step

ROUNDS = 1000
THREATS: tuple[Threat, ...] = ("coalition", "states", "states+noise")
WITHOUT_NOISE = PrivacyClaim(None, "no noise hides anything from who knows all of it")


@dataclass(frozen=True, eq=False)
class Audit:
    """The verdict. Print it, or take it apart."""

    network: Network
    colluders: int
    coalition: tuple[int, ...] | None
    """The coalition named, or None for all of that size."""
    guarantees: Guarantees
    """P1 and P2 of the topology against every coalition of that size; a claim only where `covered`."""
    exposure: Exposure | None
    """What the named coalition singles out under function sharing, or the smallest cut where P2 fails."""
    findings: tuple[Finding, ...]
    measured: tuple[Measurement, ...]
    """The strongest attack on every honest agent of the run, if there was one."""
    tried: tuple[Attempt, ...]
    """All attacks on the run, under their own names, with those that do not apply."""
    remarks: tuple[str, ...]
    """What the run says of its own noise."""
    repair: Repair | None
    """The fewest links found with which P1 and P2 hold; None if they do, or cannot."""
    unmendable: str
    """Why no links that may be added make them hold; empty if some do, or none are needed."""
    cheapest: TopologyPlan
    """The topology with fewest links for as many colluders."""
    gradient_size: GradientSize
    """What uncertainties are held against."""
    local_steps: int
    """Steps along gradients between two exchanges."""
    statement: tuple[str, ...]
    certificate: Certificate | None = None
    """Differential privacy with a number, where the algorithm's noise has it."""

    @property
    def covered(self) -> bool:
        """Whether a theorem covers something that was audited; see `claim` for what it supposes."""
        return bool(self.claim)

    @property
    def claim(self) -> PrivacyClaim:
        """The theorem that covers what was audited, or why none does."""
        return next((one.claim for one in self.findings if one.claim), self.findings[0].claim)

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
                f"P1 and P2 are theorems, and no theorem covers {' and '.join(labels)} here: see `findings`, what a "
                f"coalition can estimate instead, for {self.claim.reason}"
            )
        return self.guarantees if self.coalition is None or self.exposure is None else self.exposure

    @property
    def answer(self) -> str:
        """The verdict in one sentence, for whoever reads no other; agents by name where they have one."""
        return sentences.answer(self)

    @property
    def verdict(self) -> tuple[str, ...]:
        """The answer in plain words, most important first."""
        return (*self.proved, *self.estimated, *sentences.several_steps(self), *self.attacked, *self.mending)

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
        return tuple(f"In this run: {renamed(one, self.network.labels)}" for one in words)

    @property
    def attempts(self) -> tuple[str, ...]:
        """Every attack on the run in a line of its own."""
        return tuple(f"Tried on this run: {one.in_words(self.network.labels)}." for one in self.tried)

    @property
    def mending(self) -> tuple[str, ...]:
        """What would help."""
        return tuple(sentences.mending(self))

    @property
    def certified(self) -> tuple[str, ...]:
        """The certificate as a line, if there is one: what a verdict begins with."""
        return () if self.certificate is None else (self.certificate.statement,)

    def __str__(self) -> str:
        return "\n".join([*self.certified, *self.verdict, *self.attempts, "", *self.statement])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        numbers = self.guarantees.to_json() | plain_values(self, "exposed", "covered", "claim")
        if self.covered:
            numbers |= {"p1": self.p1, "p2": self.p2}
        else:
            numbers |= {"p1": None, "p2": None, "smallest_cut": None}
        return numbers | {
            "topology": self.network.name,
            "components": None
            if self.exposure is None
            else [list(part) for part in self.exposure.components],
            "gradient_size": self.gradient_size.size,
            "attacks": [one.to_json() for one in self.tried],
            "unmendable": self.unmendable or None,
            **plain_values(self, "coalition", "answer", "certificate", "verdict", "local_steps", "findings"),
            **plain_values(self, "remarks", "measured", "repair", "cheapest", "statement"),
        }


def audit(
    network: Network,
    *,
    colluders: int | None = None,
    coalition: Iterable[int] | None = None,
    run: Run | None = None,
    algorithm: str | Algorithm | None = None,
    objectives: ObjectiveClass | str | None = None,
    local_steps: int = 1,
    rounds: int | None = None,
    sigma: float = 1.0,
    step: Step | Number | None = None,
    runs: int = 1,
    prior: float = 100.0,
    start: float = 0.0,
    dim: int = 1,
    gradient_size: float | None = None,
    feasible: FeasibleSet | None = None,
    forbidden: Iterable[Link] = (),
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Audit:
    """What f colluders, or one coalition by name, can learn on this network, per algorithm and kind of listener.
    Ask it before a run, with the plan's `rounds` and `step`, or with a `run` to have what was said attacked too: its
    estimates may then be over fewer `rounds`, for a glance, and a certificate is over all.

    Without an `algorithm` all are compared with the same noise: `sigma` is the standard deviation of one draw, and
    uncertainties are in its unit. Each is held against `gradient_size`, the root mean square of a typical gradient's
    coordinates: measured in a run, else 1 unless it is given. An algorithm with its own Δ deals it over `dim`
    coordinates. `objectives` is the class that all objectives are declared to be of, "polynomial:2" or "any": a theorem
    is claimed for what is declared, and what such a form gives away is estimated; a run declares its problem's. Without
    it a theorem is stated with its condition. With several `local_steps` between exchanges no theorem is, and estimates
    are of what an exchange does to an agent as a whole. `feasible` is the set that states are moved back into, if that
    may happen. `forbidden` are links that a repair may not use; `watch` may show progress.

    >>> from hocket import Network
    >>> plan = {"colluders": 1, "algorithm": "function-sharing", "rounds": 10}
    >>> print(audit(Network.cycle(5), objectives="polynomial:2", **plan).claim)
    Theorem 2, if its noise is of degree 2 or more
    >>> print(audit(Network.cycle(5), objectives="any", **plan).claim)
    no theorem: nobody has said that objectives are separable polynomials; declare objectives, such as polynomial:2
    """
    network = network_asked(network)
    f, members = adversary(network.both_ways("an audit"), colluders, coalition)
    rounds = None if rounds is None else whole("rounds", rounds)
    local_steps, runs = whole("local_steps", local_steps), whole("runs", runs)
    asked: Any = algorithm
    if not isinstance(asked, str | Algorithm | None):
        raise BadInput(f"algorithm = {asked!r}; give a key, such as 'rss-nb', or an algorithm")
    if not is_number(sigma):
        raise BadInput(
            f"sigma = {sigma!r}; give the standard deviation of one draw, a number such as sigma=1.0"
        )
    objectives = ObjectiveClass.parse(objectives) if isinstance(objectives, str) else objectives
    batches = False
    forbidden = check_forbidden(forbidden, network.n)
    if run is not None:
        algorithm, step = plan_of(run, network, algorithm, step)
        local_steps = max(local_steps, local_steps_of(run))
        objectives, batches = objectives_of(run, objectives)
        rounds, dim = run.rounds if rounds is None else rounds, run.x.shape[1]
    size = GradientSize.of(gradient_size, run)
    options = standard_options(sigma) if algorithm is None else (Option(algorithm, sigma),)
    rounds = ROUNDS if rounds is None else rounds
    plan: dict[str, Any] = {
        "step": as_step(step if step is not None else Power(1.0, 20, 0.75)),
        "runs": runs,
        "prior": prior,
        "start": start,
        "dim": dim,
        "gradient_size": size.size,
    }
    promised = guarantees(network, f)
    cut = None if promised.p2 else promised.smallest_cut
    findings: list[Finding] = []
    seen = NOTHING_REHEARSED if run is None else seen_in(run)
    for option, threat in watch([(option, threat) for option in options for threat in THREATS]):
        # With all noise known one coalition is like another: whom a tap on words serves best is followed.
        last = findings[-1] if threat == "states+noise" else None
        claim = privacy_claim(
            option.algorithm,
            objectives,
            dim=plan["dim"],
            local_steps=local_steps,
            batches=batches,
            step=plan["step"],
        )
        if runs > 1:
            claim = claim.kept_over_runs()
        if run is None and threat == THREATS[0] and not claim:
            seen = rehearsal_of(network, option, objectives, feasible, rounds=rounds, **plan)
        findings.append(
            find(
                network,
                option,
                colluders=f,
                coalition=members if last is None else last.coalition,
                searched=None if last is None else last.searched,
                claim=claim if last is None else WITHOUT_NOISE,
                threat=threat,
                rehearsal=seen,
                rounds=rounds,
                **plan,
            )
        )
    if algorithm is not None:  # a comparison of all would wait for each of them
        findings[0] = bounded(findings[0], network, rounds=rounds, watch=watch, **plan)
    worst = members if members is not None else worst_of(findings, cut, f)
    attacked = Measured() if run is None else measure(run, worst)
    mended, unmendable = (None, "") if promised.p2 else repair_or_reason(network, f, forbidden)
    certified = certificate_of(
        network,
        algorithm,
        colluders=f,
        coalition=members,
        step=plan["step"],
        rounds=rounds if run is None else run.rounds,
        runs=runs,
        dim=dim,
        problem=None if run is None else run.problem,
        local_steps=local_steps,
        sigma=sigma,
        objectives=objectives,
        batches=batches,
    )
    found = Audit(
        network=network,
        colluders=f,
        coalition=members,
        guarantees=promised,
        exposure=cut if members is None else exposure(network, members),
        findings=tuple(findings),
        measured=attacked.best,
        tried=attacked.tried,
        remarks=() if run is None else (*run.remarks, *projected_rounds(seen)),
        repair=mended,
        unmendable=unmendable,
        cheapest=plan_topology(network.n, f),
        gradient_size=size,
        local_steps=local_steps,
        statement=(),
        certificate=certified,
    )
    scope = sentences.statement(found, rounds=rounds, runs=runs, measured=run is not None)
    return replace(found, statement=scope)
