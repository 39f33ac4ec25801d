"""A start that is not public, under RSS-NB: noise from the first message on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Setting
from hocket.algorithms.certified_rss_nb import CertifiedRssNb
from hocket.algorithms.parts.clipped_messages import ClippedState
from hocket.algorithms.rss_nb import RssNb
from hocket.noise.draws import Draw, Paired


@final
class MaskedStart(Algorithm):
    """RSS-NB with fresh noise in round 1 too, for a start that is not public; persistent noise begins in round 2."""

    algorithm: RssNb | CertifiedRssNb

    def init(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.init(agent, x)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        if isinstance(self.algorithm, CertifiedRssNb):
            # Noise that is scaled by α_{k−1} has no scale in round 1; there it takes the first step's.
            masked = (k == 1) * agent.step(1) * agent.noise("paired")
            state = state._replace(v=state.v + masked) if isinstance(state, ClippedState) else state + masked
        return self.algorithm.round(agent, state, k)

    def validate(self, setting: Setting) -> None:
        self.algorithm.validate(setting)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        drawn = self.algorithm.noise(setting)
        return {
            name: replace(draw, first=1) if isinstance(draw, Paired) and not draw.once else draw
            for name, draw in drawn.items()
        }
