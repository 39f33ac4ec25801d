"""Independent noise: what cancelling noise is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Say, Setting
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import check_size
from hocket.noise.draws import Draw, Own


class IndependentNoise(Algorithm):
    """Every agent adds zero-mean noise of its own, scaled by the step; nothing cancels.

    A baseline: it converges too (Robbins and Monro), but its gap falls with the step where that of cancelling noise
    falls with the step squared.
    """

    key: ClassVar[str] = "independent"
    label: ClassVar[str] = "independent noise"
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"

    delta: float
    """Δ: bound on the norm of the noise."""

    def __check_init__(self) -> None:
        check_size("delta", self.delta)

    @classmethod
    def typical(cls, *, anchored: bool = False) -> IndependentNoise | None:
        return None if anchored else cls(1.0)

    @property
    def plain(self) -> bool:
        return True

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        w = state + agent.step(k) * agent.own_noise(k)
        heard = yield Say(w)
        return agent.descend(agent.mix(w, heard), k)

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        return Dgd() if self.delta == 0 else self

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        return {"own": Own(np.asarray(self.delta / np.sqrt(setting.dim)), width=setting.dim, label=4)}
