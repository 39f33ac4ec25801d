"""RSS-LB heard by some of an agent's neighbours: what they were told stands in for what others were told.

Each neighbour of an agent hears another word, so states and mixes are known up to noise. Its distribution is public:
the draws of agent i for its neighbours have covariance γ²/3 · P.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.noise import Balanced
from hocket.privacy.attacks.hearing import Words, place_of_link
from hocket.privacy.attacks.plan import planned_draws
from hocket.privacy.wording import named
from hocket.view import View


def as_told(view: View, target: int) -> tuple[Words, Words, Float[np.ndarray, " rounds"]]:
    """Where an agent's gradients were taken, the gradients, and the deviation of their noise, all but the last round's.

    Noise of neighbouring rounds is slightly correlated, since a word serves as the end of one and the start of the
    next; that is left unused.
    """
    if view.network.period > 1:
        raise BadInput("links come and go in this run; this attack is for a fixed network")
    assert view.step is not None
    own = _weight(view, target, target)
    state, spread = _word(view, target, receiver=None)
    mix, variance = own * state, own**2 * spread
    for i in view.network.neighbours(target):
        if i in view.coalition:
            word, spread_i = view.words[0][i, target].astype(np.float64), 0.0
        else:
            word, spread_i = _word(view, i, receiver=target)
        mix, variance = (
            mix + _weight(view, i, target) * word,
            variance + _weight(view, i, target) ** 2 * spread_i,
        )
    alpha = view.step.table(1, view.rounds)
    ratio = alpha[1:] / alpha[:-1]
    gradients = (mix[:-1] - state[1:]) / alpha[:-1, None]
    return mix[:-1], gradients, np.sqrt(variance + ratio**2 * spread)


def _word(view: View, sender: int, receiver: int | None) -> tuple[Words, float]:
    """What a sender told on average to those in the coalition, and the variance of its distance from what it told the
    receiver; from its state if there is no receiver.
    """
    slots = sorted(view.network.neighbours(sender))
    hearing = [i for i in slots if i in view.coalition]
    if not hearing:
        raise BadInput(
            f"nobody in the coalition hears {named([sender])}; attack the first exchange, or let it hear more"
        )
    draw = planned_draws(view)["balanced"]
    assert isinstance(draw, Balanced)
    towards = np.asarray(draw.towards)[0, sender, : len(slots)]
    projection = np.eye(len(slots)) - np.outer(towards, towards) / (towards @ towards)
    error = np.array([(i in hearing) / len(hearing) - (i == receiver) for i in slots])
    variance = float(np.asarray(draw.gamma)[0, sender]) ** 2 / 3 * float(error @ projection @ error)
    words = np.mean([view.words[0][sender, i].astype(np.float64) for i in hearing], axis=0)
    return words, variance


def _weight(view: View, sender: int, receiver: int) -> float:
    if sender == receiver:
        return float(view.network.own[0, sender])
    return float(view.network.weight[0, place_of_link(view, sender, receiver), int(sender > receiver)])
