"""An analysis by sums over all members, one after the other."""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Setting
from hocket.errors import BadAlgorithm


class Totals(Algorithm):
    """What a study asks for, sum by sum, until it has its answer; nobody is shown anything but the sums.

    A member's state is all sums so far, one after the other: they are all that the analysis has from others, so that
    it can be taken up from them. What is asked for next is the business of the agent's `local`, an analysis.
    """

    name, title = "masked-totals", "Totals"

    study: str = eqx.field(static=True)
    """The study, as the text of its file: all members sign the same."""
    on_drop: Literal["stop", "restart"] = eqx.field(static=True, default="stop")
    """What becomes of the study when a member is dropped: it stops, or those who stay begin it anew, from its first
    sum, which shows everybody by the difference of two sums what the leaver gave."""

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        analysis: Any = agent.local
        total = yield analysis.asked(state)
        return np.concatenate([state, *(np.ravel(leaf) for leaf in jax.tree.leaves(total))])

    def finished(self, local: Any, state: Any) -> bool:
        return local.asked(state) is None

    def validate(self, setting: Setting) -> None:
        if setting.network.n < 3:
            raise BadAlgorithm(
                f"{setting.network.n} members: each would see the other's numbers, its own taken off the sum; a study "
                "needs three or more"
            )


def study_of(algorithm: Any) -> str | None:
    """The text of the study that is carried out; None for anything else, also for a class with a study of its own."""
    return algorithm.study if type(algorithm) is Totals else None
