"""What one algorithm leaves open to one kind of adversary, by theorem or by estimate: numbers, and no sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import COMPARED, title_of
from hocket.networks.network import Network
from hocket.privacy.attacks.messages import mixed
from hocket.privacy.audit.theorem import PrivacyClaim
from hocket.privacy.graph.guarantees import Exposure, exposure
from hocket.privacy.leakage.dry_run import NOTHING_REHEARSED, DryRun, dry_run, may_reach
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage
from hocket.privacy.leakage.levels import stands_for
from hocket.privacy.leakage.model_class import KnownModel
from hocket.privacy.leakage.worst import BOUND_WORK, Watch, least_std, worst_joint_leakage
from hocket.privacy.plain_values import plain_values
from hocket.privacy.profile import profile
from hocket.privacy.questions import Objectives
from hocket.privacy.wording import SUPPOSED, known
from hocket.problems.objective_class import ANY
from hocket.runs.run import Run
from hocket.runs.view import Threat
from hocket.steps import Step

SOON = 3
"""Rounds after which an adversary of all messages and noise knows all that pairwise noise ever hid."""
SAMPLED = 8
"""Rounds of a run at which gradients are looked at."""


@dataclass(frozen=True)
class Option:
    """An algorithm to audit, with its noise level if it is given by name."""

    algorithm: str | Algorithm
    sigma: float = 1.0
    persistent: float = 0.0

    @property
    def stands_for(self) -> Algorithm:
        """The algorithm itself, or one that stands for its name."""
        return stands_for(self.algorithm, persistent=self.persistent > 0)


@dataclass(frozen=True, eq=False)
class Finding:
    """One line of a verdict."""

    option: Option
    threat: Threat
    claim: PrivacyClaim
    """The theorem that covers it, or why none does."""
    searched: tuple[int, int] | None
    """How many coalitions were searched, and of how many; None where one was named."""
    exact: tuple[int, ...]
    """Agents whose gradients, or objectives, are known exactly."""
    averaged: tuple[int, ...]
    """Agents whose noise averages out as rounds go by."""
    leakage: Leakage
    gradient_size: float = SUPPOSED
    """How large a gradient's coordinates are, so that uncertainties can be judged."""
    labels: Sequence[object] | None = None
    """The agents' names, where they have some."""
    dry_run: DryRun = NOTHING_REHEARSED
    """The forms of objectives that were asked about, and whether the feasible set was active."""
    bound: float | None = None
    """A deviation below which no coalition of that size knows a gradient that stays the same, searched or not."""

    @property
    def label(self) -> str:
        """The algorithm's title, and whether part of its noise is reused where that is a choice."""
        return title_of(self.option.stands_for)

    @property
    def coalition(self) -> tuple[int, ...]:
        """The coalition it is about: the one named, or the worst that was found."""
        return self.leakage.coalition

    @property
    def hidden(self) -> tuple[int, ...]:
        """Agents of whom only sums with others are known."""
        return tuple(j for j in self.leakage.honest if j not in {*self.exact, *self.averaged})

    @property
    def least(self) -> float:
        """The smallest standard deviation with which an honest gradient is known."""
        return self.leakage.least

    @property
    def basis(self) -> Literal["theorem", "estimate"]:
        """Where the line comes from."""
        return "theorem" if self.claim else "estimate"

    @property
    def weakest(self) -> int:
        """The honest agent who is most exposed."""
        return min(self.leakage.honest, key=lambda j: self.leakage.sd[j])

    @property
    def form(self) -> KnownModel | None:
        """The public form that gives more away of who is most exposed; None where constant gradients do."""
        best = min(self.leakage.models, key=lambda one: one.sd[self.weakest], default=None)
        if best is None or best.sd[self.weakest] >= self.leakage.constant[self.weakest]:
            return None
        return best

    def to_json(self) -> dict[str, Any]:
        """The line in numbers."""
        return {
            "algorithm": self.label,
            **plain_values(
                self, "threat", "basis", "claim", "coalition", "searched", "bound", "exact", "averaged"
            ),
            "in_sums": list(self.hidden),
            "least_sd": self.least,
            "gradient_size": self.gradient_size,
            "known": known(self.least, self.gradient_size),
            "sd": self.leakage.sd.tolist(),
            "forms": [one.to_json() for one in self.leakage.models],
        } | self.dry_run.to_json()


@dataclass(frozen=True)
class GradientSize:
    """The root mean square of a typical gradient's coordinates, and how it came to be known."""

    size: float
    source: Literal["declared", "measured", "assumed"]

    @staticmethod
    def of(declared: float | None, run: Run | None = None) -> GradientSize:
        """As it was declared; else as a run had it; else it is assumed to be 1.

        >>> GradientSize.of(None)
        GradientSize(size=1.0, source='assumed')
        """
        if declared is not None:
            return GradientSize(float(declared), "declared")
        measured = None if run is None else typical_gradient(run)
        return GradientSize(SUPPOSED, "assumed") if measured is None else GradientSize(measured, "measured")


def typical_gradient(run: Run) -> float | None:
    """The root mean square over all agents along a run, which the auditor knows; None without its problem, or if zero.
    A mean over rounds: at the end of a run gradients may vanish, and the adversary has received the earlier ones too.
    """
    if run.problem is None or run.transcript is None:
        return None
    everything, found = run.view(threat="states"), []
    for agent in range(run.network.n):
        path = np.asarray(mixed(everything, agent), dtype=np.float64)
        rows = np.unique(np.linspace(0, len(path) - 1, SAMPLED).round().astype(int))
        found += [np.asarray(run.problem.gradient(agent, path[row])) for row in rows]
    return float(np.sqrt(np.mean(np.square(found)))) or None


@dataclass(frozen=True, eq=False)
class Scope:
    """What all lines of a verdict have in common."""

    network: Network
    colluders: int
    rounds: int
    step: Step
    runs: int
    dim: int
    size: float
    """Of a gradient."""
    watch: Watch = iter

    def run_of(self, option: Option, *, active: bool, rounds: int | None = None) -> PlannedRun:
        """The plan under one algorithm."""
        return PlannedRun(
            self.network,
            option.algorithm,
            rounds=self.rounds if rounds is None else rounds,
            step=self.step,
            dim=self.dim,
            sigma=option.sigma,
            persistent=option.persistent,
            active=active,
            times=self.runs,
        )


def find(
    scope: Scope,
    option: Option,
    claim: PrivacyClaim,
    threat: Threat,
    seen: DryRun,
    coalition: tuple[int, ...] | None,
    searched: tuple[int, int] | None = None,
) -> Finding:
    """One line of a verdict: about the coalition named, or about the worst of its size that can be found.
    `claim` says whether a theorem has a word on it; `searched` how far an earlier search went for this coalition.
    """
    soon = threat == "states+noise" and profile(option.stands_for).soon_open
    run = scope.run_of(option, active=seen.active, rounds=min(scope.rounds, SOON) if soon else None)
    models = [[model.first_rounds(run.rounds)] for model in seen.models]
    if coalition is None:
        worst = worst_joint_leakage([run], scope.colluders, models=models, threat=threat)
        found, searched = worst.leakage, (worst.searched, worst.total)
    else:
        found = joint_leakage([run], coalition=coalition, models=models, threat=threat)
    judged = exposure(scope.network, found.coalition) if claim else None
    exact = tuple(j for j in found.honest if found.constant[j] == 0) if judged is None else judged.surrounded
    return Finding(
        option=option,
        threat=threat,
        claim=claim,
        searched=searched,
        exact=exact,
        averaged=tuple(j for j in found.identifiable if j not in exact) if judged is None else (),
        leakage=found,
        gradient_size=scope.size,
        labels=scope.network.labels,
        dry_run=seen,
    )


def bounded(line: Finding, scope: Scope) -> Finding:
    """The same line with a bound on the coalitions that were not searched, where no theorem speaks of them."""
    done, total = line.searched or (0, 0)
    if done == total or line.claim:
        return line
    run = scope.run_of(line.option, active=line.dry_run.active)
    bound = least_std(run, len(line.coalition), work=BOUND_WORK, watch=scope.watch, threat=line.threat)
    return dataclasses.replace(line, bound=bound)


def rehearsed(scope: Scope, option: Option, objectives: Objectives) -> DryRun:
    """What can be told before there are data: of a declared class its forms, of a set whether states may reach it."""
    algorithm, declared = option.stands_for, objectives.declared
    how: dict[str, Any] = {"step": scope.step, "rounds": scope.rounds, "gradient_size": scope.size}
    seen = NOTHING_REHEARSED
    if declared is not None and declared != ANY and not profile(algorithm).hides_nothing:
        seen = dry_run(scope.network, algorithm, declared, **how)
    return dataclasses.replace(seen, active=may_reach(objectives.feasible, scope.dim, algorithm, **how))


def standard_options(sigma: float) -> Sequence[Option]:
    """Everything there is to choose from, at the same bound per link: half of it persistent, or all of it fresh."""
    options = []
    for key, persistent in COMPARED.items():
        options += [Option(key, sigma / 2, sigma / 2)] if persistent else []
        options.append(Option(key, sigma))
    return options


def attacked_coalition(findings: Sequence[Finding], cut: Exposure | None, f: int) -> tuple[int, ...]:
    """Against all coalitions of a size, a run is attacked by the worst: the smallest cut, or who estimates best."""
    if cut is not None and len(cut.coalition) == f:
        return cut.coalition
    return min(findings, key=lambda one: (one.threat != "coalition", one.least)).coalition


def projected_share(seen: DryRun) -> float | None:
    """In how much of a run states were moved back into the feasible set; None where none was."""
    sides = next((one.projected for one in seen.models if one.projected is not None), None)
    return None if sides is None else float(sides.any(axis=2).mean())
