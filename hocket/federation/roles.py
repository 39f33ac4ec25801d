"""A member's place in the run of a plan: all of it follows from the plan, so that every member works out the same."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hocket.algorithm import Plan as NoisePlan
from hocket.federation.engine.role import Seat
from hocket.federation.masked_start import masked_start
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_sections import PUBLIC


def seat_of(plan: FederationPlan, name: str, gone: Collection[str] = ()) -> Seat:
    """Where this member sits, once some have left."""
    noise_plan = NoisePlan(plan.network, plan.task.dimension, plan.step, plan.run.rounds)
    me = plan.agent(name)
    dropped = frozenset(plan.agent(one) for one in gone) & set(plan.network.neighbours(me))
    public = plan.run.start == PUBLIC
    algorithm = plan.algorithm.effective() if public else masked_start(plan.algorithm)
    return Seat(me, noise_plan, algorithm, plan.feasible, np.dtype(plan.task.dtype), dropped, plan.run.reach)
