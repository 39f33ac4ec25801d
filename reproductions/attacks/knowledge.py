"""What an attacker has: how samples look in public, and an agent's gradients as a coalition sees them.

There are two ways to gradients. The first exchange starts from a public state, so the best linear estimate from
everything that was received in rounds 1 and 2 is that of one gradient, no matter who listens. Later ones need all
messages that the target mixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithms import RssLb
from hocket.claims import only_sums
from hocket.errors import BadInput
from hocket.learning.data.dataset import Dataset
from hocket.noise.draws import Balanced
from hocket.privacy.attacks import averaging_attack, residuals, total_attack
from hocket.privacy.attacks.messages import Messages, place_of_link, planned_draws
from hocket.privacy.wording import named
from hocket.runs.view import View

FLOOR = 1e-2
"""Variance that every direction is left with, over the mean: a pixel that is dark in all public samples need not be."""
WIDE = 100.0
"""Standard deviation of a gradient's coordinate before anything was received: far more than samples of size 1 give."""


@dataclass(frozen=True, eq=False)
class Public:
    """Samples as a normal distribution around the mean of their label, with the same axes for all labels."""

    means: Float[np.ndarray, "classes features"]
    axes: Float[np.ndarray, "features features"]
    """Columns along which features vary independently."""
    variance: Float[np.ndarray, " features"]
    """Along each axis."""

    @property
    def guess(self) -> Float[np.ndarray, " features"]:
        """The best guess of somebody who received nothing."""
        return self.means.mean(axis=0)


def features(data: Dataset) -> Float[np.ndarray, "samples features"]:
    """Inputs as the rows of numbers that a linear model multiplies: bytes become numbers from 0 to 1."""
    scale = 255.0 if data.inputs.dtype == np.uint8 else 1.0
    return data.inputs.reshape(len(data), -1).astype(np.float64) / scale


def public_knowledge(data: Dataset) -> Public:
    """What samples of the same kind, which anybody may have, say about those that are attacked."""
    rows = features(data)
    missing = sorted(set(range(data.classes)) - set(data.labels.tolist()))
    if missing:
        raise BadInput(f"no public sample has label {missing[0]}; give at least one of every label")
    means = np.stack([rows[data.labels == label].mean(axis=0) for label in range(data.classes)])
    apart = rows - means[data.labels]
    variance, axes = np.linalg.eigh(apart.T @ apart / len(apart))
    return Public(means, axes, np.maximum(variance, 0) + FLOOR * max(variance.mean(), FLOOR))


def as_told(view: View, target: int) -> tuple[Messages, Messages, Float[np.ndarray, " rounds"]]:
    """Where an agent's gradients were taken, the gradients, and the deviation of their noise, all but the last round's.

    For RSS-LB received by some of the agent's neighbours. Each receives another message, so states and mixes are
    known up to noise, of public distribution: agent i's draws for its neighbours have covariance γ²/3 · P. Noise of
    neighbouring rounds is slightly correlated, since a message serves as the end of one and the start of the
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


def _word(view: View, sender: int, receiver: int | None) -> tuple[Messages, float]:
    """What a sender told on average to those in the coalition, and the variance of its distance from what it told the
    receiver; from its state if there is no receiver.
    """
    slots = sorted(view.network.neighbours(sender))
    hearing = [i for i in slots if i in view.coalition]
    if not hearing:
        raise BadInput(
            f"nobody in the coalition receives {named([sender])}; attack the first exchange, or let it receive more"
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


Rows = Float[np.ndarray, "rounds dim"]


@dataclass(frozen=True, eq=False)
class Seen:
    """Gradients with what noise is left in them."""

    target: int
    at: Rows
    """Where each gradient was taken."""
    values: Rows
    sd: Float[np.ndarray, " rounds"]
    """Of the noise in one coordinate that is new in every row."""
    offset_sd: float
    """Of the noise in one coordinate that all rows share."""


def first_gradient(view: View, target: int, start: Float[np.ndarray, " dim"]) -> Seen:
    """The gradient of the first exchange, from a start that everybody knows.
    The choice for a single neighbour: it need not receive all that the target mixed.
    """
    if view.rounds < 2:
        raise BadInput(
            "a single exchange was seen, and a gradient shows in the next message; train for longer"
        )
    if only_sums(view.algorithm):
        return _share_of_sums(view.first_rounds(2), target)
    attack = averaging_attack(view.first_rounds(2), target, start=start, prior=WIDE)
    assert attack.estimate is not None
    # RSS-LB mixes noise into the first state already: the gradient is then taken a little beside the start.
    return Seen(target, np.atleast_2d(start), attack.estimate, np.array([attack.typical_sd]), 0.0)


def all_gradients(view: View, target: int) -> Seen:
    """The gradients of all exchanges but the last, from the differences of messages.
    The choice where the same samples are seen again and again; all that the target mixes must be received.
    """
    if only_sums(view.algorithm):
        return _share_of_sums(view, target)
    found = residuals(view, target)
    if len(found.rounds):
        offset = float(np.sqrt(np.mean((found.kept**2).sum(axis=1)))) if found.kept.size else 0.0
        return Seen(target, found.at, found.values, found.fresh.sd, offset)
    if not isinstance(view.algorithm, RssLb):
        raise BadInput(f"{found.silence}; attack the first exchange, or let the coalition receive more")
    return Seen(target, *as_told(view, target), offset_sd=0.0)


def _share_of_sums(view: View, target: int) -> Seen:
    """An equal share of the sum over the honest, for want of anything better: of its own gradient nothing is said."""
    attack = total_attack(view)
    assert attack.estimate is not None
    assert attack.at is not None
    share = attack.estimate / len(attack.target)
    # Gradients of others are about as long as its own, and point elsewhere.
    return Seen(target, attack.at, share, np.sqrt(np.mean(share**2, axis=1)), 0.0)
