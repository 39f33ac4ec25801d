"""What members agree on, and what each of them does: cards, plans, audits of plans, tasks and running.

    from hocket.federation import GradientTask

Names are loaded when first used, so that reading a plan waits for no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.participation import take_part
    from hocket.federation.state.digest import digest_of
    from hocket.federation.state.home import Home
    from hocket.federation.workloads.adapters.clipped_loss import ClippedTask
    from hocket.federation.workloads.adapters.jax_loss import JaxTask
    from hocket.federation.workloads.adapters.least_squares import LeastSquaresTask
    from hocket.federation.workloads.adapters.partial_fit import PartialFitTask
    from hocket.federation.workloads.adapters.torch_module import TorchTask
    from hocket.federation.workloads.task import GradientTask, LocalSteps, Task

__all__ = [
    "ClippedTask", "FederationPlan", "GradientTask", "Home", "JaxTask", "LeastSquaresTask", "LocalSteps", "Member",
    "PartialFitTask", "Task", "TorchTask", "digest_of", "read_plan", "take_part",
]  # fmt: skip
_HOME = {
    "ClippedTask": "workloads.adapters.clipped_loss",
    "JaxTask": "workloads.adapters.jax_loss",
    "LeastSquaresTask": "workloads.adapters.least_squares",
    "PartialFitTask": "workloads.adapters.partial_fit",
    "TorchTask": "workloads.adapters.torch_module",
    "digest_of": "state.digest",
    "Home": "state.home",
    "Member": "runtime.member",
    "take_part": "runtime.participation",
    "FederationPlan": "plan.plan",
    "read_plan": "plan.plan_file",
    "GradientTask": "workloads.task",
    "LocalSteps": "workloads.task",
    "Task": "workloads.task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"hocket.federation has no {name!r}")
    return getattr(importlib.import_module(f"hocket.federation.{_HOME[name]}"), name)
