"""Independent noise: what cancelling noise is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.algorithms.parts.parameters import check_size, is_zero
from hocket.noise.draws import Draw, Gaussian


class IndependentNoise(Algorithm):
    """Every agent adds normal noise of its own, scaled by the step; nothing cancels.

    A baseline: it converges too (Robbins and Monro), but its gap falls with the step where that of cancelling noise
    falls with the step squared. Its noise is normal because uniform noise has edges: after K rounds the middle of the
    largest and the smallest value is off by 1/K, where a mean is off by 1/√K.
    """

    name, title = "independent", "independent noise"

    sd: float
    """σ: the standard deviation of the noise on each coordinate, in units of a gradient."""

    def __check_init__(self) -> None:
        check_size("sd", self.sd)

    def round(self, agent: Agent, x: Any, k: Any) -> Round:
        w = agent.perturb(x, own=agent.step(k))
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        if is_zero(self.sd):
            return {}
        return {"own": Gaussian(np.asarray(self.sd), width=setting.dim, label=4)}
