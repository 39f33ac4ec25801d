"""What insiders can learn: guarantees by theorem, witnesses, widths, estimates, attacks, and topologies that help."""

from hocket.privacy.ambiguity import Ambiguity, Interval, ambiguity
from hocket.privacy.coalitions import CoalitionSearch, search_coalitions
from hocket.privacy.leakage import Leakage, leakage
from hocket.privacy.planner import Repair, TopologyPlan, plan_topology, repair
from hocket.privacy.programme import Knowledge
from hocket.privacy.topology import Exposure, Guarantees, exposure, guarantees
from hocket.privacy.witness import Witness, witness

__all__ = [
    "Ambiguity",
    "CoalitionSearch",
    "Exposure",
    "Guarantees",
    "Interval",
    "Knowledge",
    "Leakage",
    "Repair",
    "TopologyPlan",
    "Witness",
    "ambiguity",
    "exposure",
    "guarantees",
    "leakage",
    "plan_topology",
    "repair",
    "search_coalitions",
    "witness",
]
