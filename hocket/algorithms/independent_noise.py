"""Independent noise: what cancelling noise is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import check_size
from hocket.noise.draws import Draw, Gaussian
from hocket.noise.mechanism import Mechanism


class IndependentNoise(Algorithm):
    """Every agent adds normal noise of its own, scaled by the step; nothing cancels.

    A baseline: it converges too (Robbins and Monro), but its gap falls with the step where that of cancelling noise
    falls with the step squared. Its noise is normal because uniform noise has edges: after K rounds the middle of the
    largest and the smallest value is off by 1/K, where a mean is off by 1/√K.
    """

    key: ClassVar[str] = "independent"
    label: ClassVar[str] = "independent noise"
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"

    sd: float
    """σ: the standard deviation of the noise on each coordinate, in units of a gradient."""

    def __check_init__(self) -> None:
        check_size("sd", self.sd)

    @classmethod
    def typical(cls, *, persistent: bool = False) -> IndependentNoise | None:
        return None if persistent else cls(1.0)

    @property
    def plain(self) -> bool:
        return True

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        w = state + agent.step(k) * agent.own_noise(k)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)

    @property
    def noise_bound(self) -> float | None:
        return None

    def bounded_noise(self) -> tuple[bool | None, str]:
        return None, "normal noise keeps within no bound for certain"

    def mechanism(self, setting: Setting) -> Mechanism | str:
        return (
            "independent noise is a baseline, and nothing limits what one record adds to its gradients: take "
            "hk.RssNb.certified(sd, own), whose own noise certificates know"
        )

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        return Dgd() if self.sd == 0 else self

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Gaussian(np.asarray(self.sd), width=setting.dim, label=4)}
