"""What insiders can learn: guarantees by theorem, certificates, estimates, attacks, witnesses, topologies.

A question is asked of a network, an algorithm and an adversary (`questions`); every answer is typed, and made into text
at its edge.
"""

from hocket.privacy.audit.audit import Audit, audit
from hocket.privacy.coalitions import CoalitionSearch, search_coalitions
from hocket.privacy.dp import gdp
from hocket.privacy.dp.calibrate import CertificatePlan, plan_certificate
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.privacy.dp.edge_noise import EdgeNoise, optimise_links
from hocket.privacy.dp.sensitivity import least_squares_sensitivity
from hocket.privacy.graph.guarantees import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.graph.planner import Repair, TopologyPlan, plan_topology, repair
from hocket.privacy.leakage.dry_run import models_of_run, simulated
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage, leakage
from hocket.privacy.leakage.model_class import KnownModel, Model
from hocket.privacy.leakage.noise_plan import NoisePlan, plan_noise
from hocket.privacy.leakage.worst import WorstLeakage, worst_joint_leakage, worst_leakage
from hocket.privacy.questions import Adversary, Horizon, Neighbouring, NoiseSpec, Objectives
from hocket.privacy.witness.ambiguity import Ambiguity, Interval, ambiguity
from hocket.privacy.witness.linear_programme import Knowledge
from hocket.privacy.witness.witness import Witness, witness

__all__ = [
    "Adversary",
    "Ambiguity",
    "Audit",
    "Certificate",
    "CertificatePlan",
    "CoalitionSearch",
    "EdgeNoise",
    "Exposure",
    "Guarantees",
    "Horizon",
    "Interval",
    "Knowledge",
    "KnownModel",
    "Leakage",
    "Model",
    "Neighbouring",
    "NoisePlan",
    "NoiseSpec",
    "Objectives",
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
    "optimise_links",
    "plan_certificate",
    "plan_noise",
    "plan_topology",
    "repair",
    "search_coalitions",
    "simulated",
    "witness",
    "worst_joint_leakage",
    "worst_leakage",
]
