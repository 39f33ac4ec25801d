"""A start that is not public, under RSS-NB: noise from the first word on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Setting
from hocket.algorithms.clipped_messages import Kept
from hocket.noise.draws import Draw, Paired
from hocket.noise.mechanism import Mechanism

if TYPE_CHECKING:
    from hocket.algorithms.rss_nb import RssNb


class MaskedStart(Algorithm):
    """RSS-NB with fresh noise in round 1 too.
    For a start that is not public; the anchor begins in round 2 as ever.
    """

    noise_in: ClassVar[Literal["words", "gradient"] | None] = "words"

    algorithm: RssNb

    @property
    def delta(self) -> float:
        """Δ: bound on the norm of the noise."""
        return self.algorithm.delta

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        if self.algorithm.late(agent, k):
            # Noise that is scaled by α_{k−1} has no scale in round 1; there it takes the first step's.
            masked = (k == 1) * agent.step(1) * agent.paired_noise(k)
            state = state._replace(v=state.v + masked) if isinstance(state, Kept) else state + masked
        return self.algorithm.round(agent, state, k)

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.setup(agent, x)

    def check(self, setting: Setting) -> None:
        self.algorithm.check(setting)

    @property
    def reach_beyond(self) -> float | None:
        return self.algorithm.reach_beyond

    @property
    def scaled_with_gradient(self) -> bool:
        return self.algorithm.scaled_with_gradient

    @property
    def withholds_x(self) -> bool:
        return self.algorithm.withholds_x

    def mechanism(self, setting: Setting) -> Mechanism | str:
        found = self.algorithm.mechanism(setting)
        return found if isinstance(found, str) else replace(found, start="published")

    def by_coordinate(self, setting: Setting) -> Algorithm:
        return replace(self, algorithm=self.algorithm.by_coordinate(setting))

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        drawn = self.algorithm.draws(setting)
        return {
            name: replace(draw, first=1) if isinstance(draw, Paired) and not draw.once else draw
            for name, draw in drawn.items()
        }
