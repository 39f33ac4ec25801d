"""What members agree on, and what each of them does: cards, plans, audits of plans, tasks and running.

    from hocket.federation import GradientTask

Names are loaded when first used, so that reading a plan waits for no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hocket.federation.adapters.clipped_loss import ClippedTask
    from hocket.federation.adapters.jax_loss import JaxTask
    from hocket.federation.adapters.least_squares import LeastSquaresTask
    from hocket.federation.adapters.partial_fit import PartialFitTask
    from hocket.federation.adapters.torch_module import TorchTask
    from hocket.federation.digest import digest_of
    from hocket.federation.home import Home
    from hocket.federation.member import Member
    from hocket.federation.participation import take_part
    from hocket.federation.plan import FederationPlan
    from hocket.federation.plan_file import read_plan
    from hocket.federation.task import GradientTask, LocalSteps, Task

__all__ = [
    "ClippedTask", "FederationPlan", "GradientTask", "Home", "JaxTask", "LeastSquaresTask", "LocalSteps", "Member",
    "PartialFitTask", "Task", "TorchTask", "digest_of", "read_plan", "take_part",
]  # fmt: skip
_HOME = {
    "ClippedTask": "adapters.clipped_loss",
    "JaxTask": "adapters.jax_loss",
    "LeastSquaresTask": "adapters.least_squares",
    "PartialFitTask": "adapters.partial_fit",
    "TorchTask": "adapters.torch_module",
    "digest_of": "digest",
    "Home": "home",
    "Member": "member",
    "take_part": "participation",
    "FederationPlan": "plan",
    "read_plan": "plan_file",
    "GradientTask": "task",
    "LocalSteps": "task",
    "Task": "task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"hocket.federation has no {name!r}")
    return getattr(importlib.import_module(f"hocket.federation.{_HOME[name]}"), name)
