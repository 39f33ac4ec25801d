"""A run that starts from what an earlier run ended with: masked from its first word on, or refused.

The paper's round 1 is said without noise, since everybody knows a public start already [maths, decision 3]. The end of
an earlier run depends on the data. Each member starts from the state that it published, which holds no gradient of its
own that was not mixed under noise; never from its own last state, of which the last gradient could be read. And it says
even that under the fresh noise of round 1. An anchor stays out of round 1: it enters with the gradients that it hides,
and beside a state that was published it would be seen alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Plan, Round
from hocket.algorithms import RssLb, RssNb
from hocket.errors import BadPlan
from hocket.noise import Draw, Paired

ADVICE = "plan rss-nb or rss-lb, or leave out --after for a public start"


class MaskedStart(Algorithm):
    """RSS-NB with fresh noise in round 1 too.
    For a start that is not public; the anchor begins in round 2 as ever.
    """

    algorithm: RssNb

    @property
    def delta(self) -> float:
        """Δ: bound on the norm of the noise."""
        return self.algorithm.delta

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return self.algorithm.round(agent, state, k)

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.algorithm.setup(agent, x)

    def check(self, plan: Plan) -> None:
        self.algorithm.check(plan)

    def draws(self, plan: Plan) -> Mapping[str, Draw]:
        drawn = self.algorithm.draws(plan)
        return {
            name: replace(draw, first=1) if isinstance(draw, Paired) and not draw.once else draw
            for name, draw in drawn.items()
        }


def masked_start(algorithm: Algorithm) -> Algorithm:
    """The algorithm, with noise from the first word on; refused where that word would be said without any."""
    match algorithm.effective():
        case RssNb(anchor=share) as found if share < 1:
            return MaskedStart(found)
        case RssNb():
            raise BadPlan(
                "with anchor = 1 there is no fresh noise, so round 1 would say a start that depends on data without "
                f"any; give the anchor a smaller share, or {ADVICE}"
            )
        case RssLb(unprotected=False) as found:  # its noise begins in round 1
            return found
        case RssLb():
            raise BadPlan(
                "unprotected RSS-LB may say states without noise, and a start that depends on data must not be said "
                f"so; give everybody two links and leave unprotected out, or {ADVICE}"
            )
        case found:
            raise BadPlan(
                f"{type(found).__name__} says its first state without noise, which tells nothing only if the start is "
                "public. The end of an earlier run depends on the data: beside what neighbours heard before, it gives "
                f"gradients away, and Theorem 2 is about what is said from a public start on; {ADVICE}"
            )
