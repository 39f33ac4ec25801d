"""DGD: plain decentralised gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Say


class Dgd(Algorithm):
    """Decentralised gradient descent; hides nothing [paper, Alg. 0].

    The yardstick: what the others are compared with, in convergence and in what neighbours learn.
    """

    key: ClassVar[str] = "dgd"
    label: ClassVar[str] = "DGD"
    analysed: ClassVar[bool] = True
    hides_nothing: ClassVar[bool] = True

    @classmethod
    def typical(cls, *, anchored: bool = False) -> Dgd | None:
        return None if anchored else cls()

    @property
    def plain(self) -> bool:
        return True

    @property
    def bears(self) -> Literal["", "outages", "weather"]:
        return "outages"

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        heard = yield Say(state)
        return agent.descend(agent.mix(state, heard), k)

    @property
    def soon_open(self) -> bool:
        return True

    def cure(self, *, exact: bool) -> str:
        return "dgd hides nothing: plan function-sharing for declared polynomials; rss-nb hides slopes only"
