"""What insiders can learn: guarantees by theorem, witnesses, widths, estimates, attacks, and topologies that help."""

from hocket.privacy.ambiguity import Ambiguity, Interval, ambiguity
from hocket.privacy.audit import Audit, audit
from hocket.privacy.coalitions import CoalitionSearch, search_coalitions
from hocket.privacy.leakage import Leakage, leakage
from hocket.privacy.noise_plan import NoisePlan, plan_noise
from hocket.privacy.planner import Repair, TopologyPlan, plan_topology, repair
from hocket.privacy.programme import Knowledge
from hocket.privacy.topology import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.witness import Witness, witness
from hocket.privacy.worst_case import WorstLeakage, worst_leakage

__all__ = [
    "Ambiguity",
    "Audit",
    "CoalitionSearch",
    "Exposure",
    "Guarantees",
    "Interval",
    "Knowledge",
    "Leakage",
    "NoisePlan",
    "Repair",
    "TopologyPlan",
    "Witness",
    "WorstLeakage",
    "ambiguity",
    "audit",
    "exposure",
    "guarantees",
    "leakage",
    "plan_noise",
    "plan_topology",
    "repair",
    "search_coalitions",
    "witness",
    "worst_leakage",
]
