"""What the accounts remember of a run's plan: enough to work out, years later, what the run told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.algorithms.totals import study_of
from hocket.config.section import check
from hocket.config.sections import read_step
from hocket.errors import BadConfig, BadInput
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import (
    AuditSection,
    CertificateSection,
    PlanNetworkSection,
    PlanRunSection,
    TaskSection,
    read_feasible,
    read_planned_algorithm,
)
from hocket.files import json_value, toml_tables
from hocket.networks.network import Network
from hocket.privacy.leakage.dry_run import may_reach
from hocket.privacy.leakage.leakage import PlannedRun
from hocket.privacy.questions import Release
from hocket.privacy.wording import SUPPOSED
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.studies.disclosure.promise import Among, Promise
from hocket.studies.spec.study import parse_study

RELEASE: Release = "mixed"
"""What members publish at the end: what one more exchange makes of the last messages."""


def release_of(plan: FederationPlan) -> Release:
    """What members of a plan are told beside each other's words."""
    return "means" if plan.run.means else RELEASE


def record_of(plan: FederationPlan) -> str:
    """A plan as the accounts keep it: all that was agreed but the cards, and nothing that is secret."""
    tables = {name: table for name, table in plan.tables().items() if name != "cards"}
    return json.dumps(tables | {"release": release_of(plan)})


@dataclass(frozen=True, eq=False)
class ServedPlan:
    """The plan of a run that was begun, as far as what it told depends on it."""

    names: tuple[str, ...]
    run: PlannedRun
    algorithm: str
    objectives: ObjectiveClass = ANY
    gradient_size: float = SUPPOSED
    certificate: CertificateSection | None = None
    local_steps: int = 1
    is_study: bool = False
    """Whether nothing was shown but sums."""
    promise: Promise | None = None
    """What a study promised of any one row, if it added noise."""

    @classmethod
    def of(cls, plan: FederationPlan) -> ServedPlan:
        """A plan whose file is still there."""
        return cls.read(record_of(plan), OwnCode(loaded=plan.algorithm_section))

    @classmethod
    def read(cls, record: str, own: OwnCode = NO_CODE) -> ServedPlan:
        """A plan from what the accounts keep; refused where a part of it is missing or cannot be meant."""
        tables = json_value(record)
        try:
            names = tuple(tables["federation"]["members"])
            task, run = (
                check(TaskSection, "task", tables["task"]),
                check(PlanRunSection, "run", tables["run"]),
            )
            algorithm, step = (
                read_planned_algorithm(tables["algorithm"], own).build(),
                read_step(tables["step"]).build(),
            )
            feasible = read_feasible(tables["feasible"]).build()
            audit = check(AuditSection, "audit", tables["audit"])
            size, study = audit.gradient_size, study_of(algorithm)
            planned = PlannedRun(
                _network(names, check(PlanNetworkSection, "network", tables["network"])),
                algorithm,
                rounds=run.rounds,
                step=step,
                dim=task.dimension,
                release=tables.get("release", RELEASE),
                active=may_reach(
                    feasible, task.dimension, algorithm, step=step, rounds=run.rounds, gradient_size=size
                ),
            )
            kind = ObjectiveClass.parse(task.objectives)
            promised = (
                check(CertificateSection, "certificate", tables["certificate"])
                if "certificate" in tables
                else None
            )
            return cls(
                names,
                planned,
                tables["algorithm"]["name"],
                kind,
                size,
                promised,
                run.local_steps,
                study is not None,
                _promise(study, names, audit),
            )
        except (BadInput, LookupError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
            raise BadConfig(f"the plan that was kept of a run cannot be read: {error}") from None

    @staticmethod
    def promises(plan: FederationPlan) -> bool:
        """Whether a plan promises an ε, by a certificate or as a study."""
        return plan.certificate is not None or (
            plan.study is not None and parse_study(toml_tables(plan.study)).privacy is not None
        )

    @property
    def words(self) -> str:
        """The plan in a few words."""
        return f"{self.algorithm}, {self.run.rounds:,} rounds among {len(self.names)}"


def _promise(study: str | None, names: tuple[str, ...], audit: AuditSection) -> Promise | None:
    """What a study with an ε promised, against as many colluders as its plan expected."""
    privacy = None if study is None else parse_study(toml_tables(study)).privacy
    if privacy is None:
        return None
    return Promise(privacy.epsilon, privacy.delta, Among(len(names), audit.colluders, names))


def _network(names: tuple[str, ...], section: PlanNetworkSection) -> Network:
    place: Mapping[str, int] = {name: agent for agent, name in enumerate(names)}
    ends = [sorted((place[one], place[other])) for one, other in section.links]
    pairs = [(lower, higher) for lower, higher in ends]
    weights: Any = np.array(section.weights)
    return Network(pairs, n=len(names), weights=weights, name=section.topology)
