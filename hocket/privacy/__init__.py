"""What insiders can learn: guarantees by theorem, witnesses, widths, estimates, attacks, and topologies that help."""

from hocket.privacy.certificates import gdp
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.certify import certify
from hocket.privacy.estimate.joint import PlannedRun, joint_leakage
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.estimate.model_class import KnownModel, Model
from hocket.privacy.estimate.noise_plan import NoisePlan, plan_noise
from hocket.privacy.estimate.rehearsal import models_of_run, rehearsed
from hocket.privacy.estimate.worst_case import WorstLeakage, worst_leakage
from hocket.privacy.estimate.worst_joint import worst_joint_leakage
from hocket.privacy.sensitivity import least_squares_sensitivity
from hocket.privacy.topology.coalitions import CoalitionSearch, search_coalitions
from hocket.privacy.topology.guarantees import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.topology.planner import Repair, TopologyPlan, plan_topology, repair
from hocket.privacy.verdict.audit import Audit, audit
from hocket.privacy.witness.ambiguity import Ambiguity, Interval, ambiguity
from hocket.privacy.witness.linear_programme import Knowledge
from hocket.privacy.witness.witness import Witness, witness

__all__ = [
    "Ambiguity",
    "Audit",
    "Certificate",
    "CoalitionSearch",
    "Exposure",
    "Guarantees",
    "Interval",
    "Knowledge",
    "KnownModel",
    "Leakage",
    "Model",
    "NoisePlan",
    "PlannedRun",
    "Repair",
    "TopologyPlan",
    "Witness",
    "WorstLeakage",
    "ambiguity",
    "audit",
    "certify",
    "exposure",
    "gdp",
    "guarantees",
    "joint_leakage",
    "leakage",
    "least_squares_sensitivity",
    "models_of_run",
    "plan_noise",
    "plan_topology",
    "rehearsed",
    "repair",
    "search_coalitions",
    "witness",
    "worst_joint_leakage",
    "worst_leakage",
]
