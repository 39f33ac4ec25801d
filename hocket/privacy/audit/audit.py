"""One verdict on a topology, or on a run: what is proved, what is estimated, what is exposed, and how to repair it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.claims import NOISE_ON
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.networks.network import Network, network_asked
from hocket.noise.mechanism import Mechanism
from hocket.privacy.audit import text
from hocket.privacy.audit.findings import (
    Finding,
    GradientSize,
    Option,
    Scope,
    attacked_coalition,
    bounded,
    find,
    rehearsed,
    standard_options,
)
from hocket.privacy.audit.measurements import Attempt, Measured, Measurement, measure
from hocket.privacy.audit.theorem import PrivacyClaim, Reason, objectives_of, privacy_claim
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.privacy.dp.source import source_of
from hocket.privacy.graph.guarantees import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.graph.planner import (
    Link,
    Repair,
    TopologyPlan,
    check_forbidden,
    plan_topology,
    repair_or_reason,
)
from hocket.privacy.leakage.dry_run import NOTHING_REHEARSED, DryRun, seen_in
from hocket.privacy.plain_values import plain_values
from hocket.privacy.questions import Adversary, Horizon, Neighbouring, NoiseSpec, Objectives, Question
from hocket.privacy.wording import Said
from hocket.runs.job import describe_algorithm
from hocket.runs.run import Run
from hocket.runs.view import Threat
from hocket.steps import Power, Step

ROUNDS = 1000
THREATS: tuple[Threat, ...] = ("coalition", "states", "states+noise")
WITHOUT_NOISE = PrivacyClaim(None, Said(Reason.NO_NOISE))
UNIT = 1.0
"""The norm of what is moved where no record's sensitivity is known: all μ are per unit then."""
TAKEN = frozenset(
    [
        "colluders",
        "coalition",
        "sigma",
        "rounds",
        "step",
        "runs",
        "form",
        "dim",
        "local_steps",
        "feasible",
        "gradient_size",
    ]
)
"""Fields of a question that an audit has a use for."""


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
    unrepairable: str
    """Why no links that may be added make them hold; empty if some do, or none are needed."""
    cheapest: TopologyPlan
    """The topology with fewest links for as many colluders."""
    gradient_size: GradientSize
    """What uncertainties are held against."""
    local_steps: int
    """Steps along gradients between two exchanges."""
    rounds: int
    runs: int
    of_run: bool
    """Whether it is about a run as it was recorded."""
    seen: DryRun
    """What is known of the run, or of a rehearsal, beside its noise."""
    certificate: Certificate | None = None
    """Differential privacy with a number, where the algorithm's noise has it."""

    @property
    def covered(self) -> bool:
        """Whether a theorem covers something that was audited; see `claim` for what it assumes."""
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
        """The verdict in one sentence; agents by name where they have one."""
        return text.answer(self)

    @property
    def verdict(self) -> tuple[str, ...]:
        """The answer in plain words, most important first."""
        parts = (text.proved, text.estimated, text.several_steps, text.in_this_run, text.repairs)
        return tuple(one for part in parts for one in part(self))

    @property
    def statement(self) -> tuple[str, ...]:
        """Its scope, in paragraphs."""
        return text.statement(self)

    def __str__(self) -> str:
        certified = [] if self.certificate is None else [self.certificate.statement]
        return "\n".join([*certified, *self.verdict, *text.attempts(self), "", *self.statement])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers and words."""
        numbers = self.guarantees.to_json() | plain_values(self, "exposed", "covered", "claim")
        if self.covered:
            numbers |= {"p1": self.p1, "p2": self.p2}
        else:
            numbers |= {"p1": None, "p2": None, "smallest_cut": None}
        parts = None if self.exposure is None else [list(part) for part in self.exposure.components]
        return numbers | {
            "topology": self.network.name,
            "components": parts,
            "gradient_size": self.gradient_size.size,
            "attacks": [
                one.to_json() | {"result": text.result(one), "predicted": text.predicted(one) or None}
                for one in self.tried
            ],
            "measured": [one.to_json() | {"known": text.how_known(one) or None} for one in self.measured],
            "unrepairable": self.unrepairable or None,
            **plain_values(self, "coalition", "answer", "certificate", "verdict", "local_steps", "findings"),
            **plain_values(self, "remarks", "repair", "cheapest", "statement"),
        }


def audit(
    network: Network,
    *,
    run: Run | None = None,
    algorithm: str | Algorithm | None = None,
    adversary: Adversary | None = None,
    noise: NoiseSpec | None = None,
    horizon: Horizon | None = None,
    objectives: Any = None,
    forbidden: Iterable[Link] = (),
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    **plain: Any,
) -> Audit:
    """What f colluders, or one coalition by name, can learn on this network, per algorithm and kind of adversary.
    Ask it before a run, with the plan's `rounds` and `step`, or with a `run` to have its messages attacked too: its
    estimates may then be over fewer `rounds`, for a glance, and a certificate is over all.

    Without an `algorithm` all are compared with the same noise: `sigma` is the standard deviation of one draw, and
    uncertainties are in its unit. Each is held against `gradient_size`, the root mean square of a typical gradient's
    coordinates: measured in a run, else 1 unless it is given. An algorithm with its own Δ deals it over `dim`
    coordinates. `objectives` is the class that all objectives are declared to be of, "polynomial:2" or "any": a theorem
    is claimed for what is declared, and what such a form gives away is estimated; a run declares its problem's. Without
    it a theorem is stated with its condition. With several `local_steps` between exchanges no theorem is, and estimates
    are of what an exchange does to an agent as a whole. `feasible` is the set that states are moved back into, if that
    may happen. `forbidden` are links that a repair may not use; `watch` may show progress. `plain` are fields of
    `adversary`, `noise`, `horizon` and `objectives` by their own names.

    >>> from hocket import Network
    >>> plan = {"colluders": 1, "algorithm": "function-sharing", "rounds": 10}
    >>> print(audit(Network.cycle(5), objectives="polynomial:2", **plan).claim)
    Theorem 2, if its noise is of degree 2 or more
    >>> print(audit(Network.cycle(5), objectives="any", **plan).claim)
    no theorem: nobody has said that objectives are separable polynomials; declare objectives, such as polynomial:2
    """
    network = network_asked(network)
    parts = {"adversary": adversary, "noise": noise, "horizon": horizon, "objectives": objectives}
    asked = Question.of("audit", TAKEN, plain, **parts)
    f, members = asked.adversary.audited(network.both_ways("an audit"))
    if not isinstance(algorithm, str | Algorithm | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"algorithm = {algorithm!r}; give a key, such as 'rss-nb', or an algorithm")
    forbidden, sigma, known = check_forbidden(forbidden, network.n), asked.noise.alone(), asked.objectives
    rounds, step, seen = asked.horizon.rounds, asked.horizon.steps, NOTHING_REHEARSED
    if run is not None:
        algorithm, step = _plan_of(run, network, algorithm, step)
        form, batches = objectives_of(run, known.declared)
        steps = max(known.local_steps, int(run.settings.get("learning", {}).get("local_steps", 1)))
        seen, dim = seen_in(run), run.x.shape[1]
        known = replace(known, form=form, batches=batches, local_steps=steps, dim=dim, problem=run.problem)
        rounds = run.rounds if rounds is None else rounds
    size = GradientSize.of(known.gradient_size, run)
    scope = Scope(
        network=network,
        colluders=f,
        rounds=ROUNDS if rounds is None else rounds,
        step=Power(1.0, 20, 0.75) if step is None else step,
        runs=asked.horizon.runs,
        dim=known.dim or 1,
        size=size.size,
        watch=watch,
    )
    options = standard_options(sigma) if algorithm is None else (Option(algorithm, sigma),)
    promised = guarantees(network, f)
    cut = None if promised.p2 else promised.smallest_cut
    findings: list[Finding] = []
    for option, threat in watch([(option, threat) for option in options for threat in THREATS]):
        if threat == "states+noise":
            # With all noise known one coalition is like another: whom a tap on messages serves best is followed.
            last = findings[-1]
            findings.append(find(scope, option, WITHOUT_NOISE, threat, seen, last.coalition, last.searched))
            continue
        claim = privacy_claim(
            option.algorithm,
            known.declared,
            dim=scope.dim,
            local_steps=known.local_steps,
            batches=known.batches,
            step=scope.step,
        )
        claim = claim.over_runs() if scope.runs > 1 else claim
        if run is None and threat == THREATS[0] and not claim:
            seen = rehearsed(scope, option, known)
        findings.append(find(scope, option, claim, threat, seen, members))
    if algorithm is not None:  # a comparison of all would wait for each of them
        findings[0] = bounded(findings[0], scope)
    worst = members if members is not None else attacked_coalition(findings, cut, f)
    attacked = Measured() if run is None else measure(run, worst)
    repaired, unrepairable = (None, "") if promised.p2 else repair_or_reason(network, f, forbidden)
    over = Horizon(scope.rounds if run is None else run.rounds, scope.step, scope.runs)
    return Audit(
        network=network,
        colluders=f,
        coalition=members,
        guarantees=promised,
        exposure=cut if members is None else exposure(network, members),
        findings=tuple(findings),
        measured=attacked.best,
        tried=attacked.tried,
        remarks=() if run is None else tuple(run.remarks),
        repair=repaired,
        unrepairable=unrepairable,
        cheapest=plan_topology(network.n, f),
        gradient_size=size,
        local_steps=known.local_steps,
        rounds=scope.rounds,
        runs=scope.runs,
        of_run=run is not None,
        seen=seen if run is not None else NOTHING_REHEARSED,
        certificate=_certificate(
            network, algorithm, Adversary(None if members else f, members), sigma, over, known
        ),
    )


def _plan_of(
    run: Run, network: Network, algorithm: str | Algorithm | None, step: Step | None
) -> tuple[Algorithm, Step]:
    """The algorithm and the step of a run that can be audited: it kept its messages, and knows its plan."""
    if algorithm is not None:
        raise BadInput("a run says itself which algorithm it played; leave algorithm= away, or the run")
    if step is not None:
        raise BadInput("a run says itself which steps it took; leave step= away, or the run")
    if run.network.n != network.n or not np.array_equal(run.network.links, network.links):
        raise BadInput(f"this run was on {run.network.name}, not on {network.name}; pass run.network")
    run.check_received("what its words gave away")
    if run.transcript is None:
        raise NotRecorded("this run kept no messages to attack; run it again with keep='transcript'")
    if run.algorithm is None or run.step is None:
        raise NotRecorded(
            "this run was loaded from disk, without its algorithm and step; audit it where it was run, or its folder "
            "with `hocket audit --run`"
        )
    if describe_algorithm(run.algorithm) != run.settings["algorithm"]:
        raise BadInput(
            f"{run.algorithm.title} of this run has other numbers than those that were played; make another instance, "
            "and leave the run's as it is"
        )
    return run.algorithm, run.step


def _certificate(
    network: Network,
    algorithm: str | Algorithm | None,
    adversary: Adversary,
    sigma: float,
    horizon: Horizon,
    objectives: Objectives,
) -> Certificate | None:
    """What is certified of an algorithm that knows its noise: one record, or else a unit moved between any two.
    By its key it is the latter, for normal draws of deviation `sigma`.

    Nothing where agents take several steps between two exchanges: theorems are about one along the whole gradient. And
    noise functions are the same in all runs on the same data; what is drawn in every round is fresh in each.
    """
    if algorithm is None or objectives.local_steps > 1:
        return None
    by_key, sensitivity = isinstance(algorithm, str), None
    on = NOISE_ON.get(algorithm) if isinstance(algorithm, str) else None
    try:
        if isinstance(algorithm, Algorithm):
            problem = objectives.problem
            dim = objectives.dim or 1 if problem is None else problem.dim
            source = source_of(
                network,
                algorithm,
                sigma=None,
                own=0.0,
                persistent_sigma=0.0,
                dim=dim,
                step=horizon.steps,
                rounds=horizon.rounds,
            )
            objectives = replace(objectives, dim=dim)
            if not isinstance(source.mechanism, Mechanism):
                return None
            on, sensitivity = source.mechanism.on, source.mechanism.sensitivity
        elif on is None or not sigma > 0:
            return None
        found = certify(
            network,
            algorithm,
            adversary=adversary,
            noise=NoiseSpec(sigma) if by_key else None,
            horizon=replace(horizon, kept=on == "objective"),
            neighbouring=Neighbouring(transfer=None if sensitivity is not None else UNIT),
            objectives=objectives if not by_key else replace(objectives, problem=None, batches=False),
        )
    except BadInput:  # a setting that the algorithm itself refuses
        return None
    if not found.holds:
        return None
    if not by_key:
        return found
    return replace(found, algorithm=f"{found.algorithm} with normal draws of σ = {sigma:g}")
