"""DGD: plain decentralised gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Broadcast, Round


class Dgd(Algorithm):
    """Decentralised gradient descent; hides nothing [paper, Alg. 0].

    The yardstick: what the others are compared with, in convergence and in what neighbours learn.
    """

    key: ClassVar[str] = "dgd"
    label: ClassVar[str] = "DGD"
    analysed: ClassVar[bool] = True
    hides_nothing: ClassVar[bool] = True

    @classmethod
    def typical(cls, *, persistent: bool = False) -> Dgd | None:
        return None if persistent else cls()

    @property
    def plain(self) -> bool:
        return True

    @property
    def bears(self) -> Literal["", "outages", "channel"]:
        return "outages"

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        received = yield Broadcast(state)
        return agent.descend(agent.mix(state, received), k)

    @property
    def soon_open(self) -> bool:
        return True

    def fix(self, *, exact: bool) -> str:
        return "dgd hides nothing: plan function-sharing for declared polynomials; rss-nb hides slopes only"
