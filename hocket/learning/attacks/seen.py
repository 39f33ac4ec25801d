"""An agent's gradients as a coalition sees them, ready to be inverted.

There are two ways to them. The first exchange starts from a public state, so the best linear estimate from everything
that was heard in rounds 1 and 2 is that of one gradient, whoever listens. Later ones need all words that the target
mixed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithms import RssLb
from hocket.errors import BadInput
from hocket.learning.attacks.told import as_told
from hocket.privacy.attacks import averaging_attack, residuals
from hocket.view import View

Rows = Float[np.ndarray, "rounds dim"]
WIDE = 100.0
"""Standard deviation of a gradient's coordinate before anything was heard: far more than samples of size 1 give."""


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
    The choice for a single neighbour: it need not hear all that the target mixed.
    """
    if view.rounds < 2:
        raise BadInput("a single exchange was seen, and a gradient shows in the next word; train for longer")
    attack = averaging_attack(_beginning(view, 2), target, start=start, prior=WIDE)
    assert attack.estimate is not None
    # RSS-LB mixes noise into the first state already: the gradient is then taken a little beside the start.
    return Seen(target, np.atleast_2d(start), attack.estimate, np.array([attack.typical_sd]), 0.0)


def all_gradients(view: View, target: int) -> Seen:
    """The gradients of all exchanges but the last, from the differences of words.
    The choice where the same samples are seen again and again; all that the target mixes must be heard.
    """
    found = residuals(view, target)
    if len(found.rounds):
        offset = float(np.sqrt(np.mean((found.kept**2).sum(axis=1)))) if found.kept.size else 0.0
        return Seen(target, found.at, found.values, found.fresh.sd, offset)
    if not isinstance(view.algorithm, RssLb):
        raise BadInput(f"{found.silence}; attack the first exchange, or let the coalition hear more")
    return Seen(target, *as_told(view, target), offset_sd=0.0)


def _beginning(view: View, rounds: int) -> View:
    """What was seen of the first rounds."""
    return dataclasses.replace(
        view,
        rounds=rounds,
        words=tuple({link: rows[:rounds] for link, rows in table.items()} for table in view.words),
        noise={
            kind: {link: rows[:rounds] for link, rows in table.items()} for kind, table in view.noise.items()
        },
        states={member: rows[: rounds + 1] for member, rows in view.states.items()},
    )
