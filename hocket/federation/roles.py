"""A member's place in the run of a plan: all of it follows from the plan, so that every member works out the same."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hocket.algorithm import Setting
from hocket.federation.engine.role import Role
from hocket.federation.masked_start import masked_start
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_sections import PUBLIC


def role_of(plan: FederationPlan, name: str, gone: Collection[str] = ()) -> Role:
    """Where this member sits, once some have left."""
    setting = Setting(plan.network, plan.task.dimension, plan.step, plan.run.rounds)
    me = plan.agent(name)
    dropped = frozenset(plan.agent(one) for one in gone) & set(plan.network.neighbours(me))
    public = plan.run.start == PUBLIC
    algorithm = plan.algorithm.effective() if public else masked_start(plan.algorithm)
    return Role(me, setting, algorithm, plan.feasible, np.dtype(plan.task.dtype), dropped, plan.run.reach)
