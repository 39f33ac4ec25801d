"""The series that every attack on single rounds starts from: by how much an agent's words moved, as a gradient.

Whoever heard all of N[j] knows v_k, and with the next word

    (v_k − w_{k+1}) / α_k = ∇f_j(v_k) − r_k d_{k+1} − C        r_k = α_{k+1} / α_k

where d is fresh noise and C an anchor; function sharing adds ∇p_j(v_k) instead. What the view knows of the noise is
taken off, exactly. The rest is described by its distribution, which is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hocket.algorithm import Algorithm
from hocket.privacy.attacks.attack import NO_PROJECTION
from hocket.privacy.attacks.noise import (
    Fresh,
    Moments,
    Points,
    fresh_noise,
    hidden_links,
    kept_noise,
    known_noise,
)
from hocket.privacy.attacks.public_plan import AnyStep, check_target, uses_own_noise, with_plan
from hocket.privacy.attacks.words import mixed, own_word, unheard
from hocket.privacy.wording import counted, linked
from hocket.runs.view import View


@dataclass(frozen=True, eq=False)
class Residuals:
    """An agent's gradients as far as a view can tell, and how what still hides them is distributed."""

    target: int
    rounds: Int[np.ndarray, " rounds"]
    """The rounds whose mix and whose next word were both heard."""
    at: Points
    """v_k, where the gradient was taken."""
    values: Points
    """The gradient, with what hidden noise is left in it."""
    fresh: Fresh
    kept: Float[np.ndarray, "rounds draws dim"]
    """What each hidden draw that was made once adds to each row, at one standard deviation."""
    hidden: tuple[tuple[int, int], ...]
    """The target's links whose noise is not known."""
    silence: str
    """Why there are no rounds, if there are none."""
    supposing: tuple[str, ...]
    """What an attacker has to take for granted."""

    @property
    def sd(self) -> Points:
        """The standard deviation that all hidden noise together gives each number."""
        return np.sqrt(self.fresh.sd[:, None] ** 2 + (self.kept**2).sum(axis=1))

    @property
    def behind(self) -> str:
        """What hides the target, in words."""
        if not self.hidden:
            return f"noise that agent {self.target} draws for itself"
        return f"noise on {counted(len(self.hidden), 'link')} ({linked(self.hidden)}) that the attacker does not know"


def residuals(
    view: View, target: int, *, step: AnyStep | None = None, algorithm: Algorithm | None = None
) -> Residuals:
    """An agent's gradients as they look to whoever heard its whole neighbourhood, with known noise removed.
    For building attacks: those in this package start here. `step` and `algorithm` are for runs loaded from disk.
    """
    view, target = with_plan(view, step, algorithm), check_target(view, target)
    assert view.step is not None
    v, w = mixed(view, target), own_word(view, target)
    usable = np.flatnonzero(np.isfinite(v[:-1]).all(axis=1) & np.isfinite(w[1:]).all(axis=1))
    alpha = view.step.table(1, view.rounds)
    moments = Moments(usable + 1, alpha[usable + 1] / alpha[usable], v[usable])
    moved = (v[usable] - w[usable + 1]) / alpha[usable, None]
    return cleaned(view, target, moments, moved)


def cleaned(view: View, target: int, moments: Moments, moved: Points) -> Residuals:
    """A series with all noise taken off that the view knows, and a description of what is left."""
    return Residuals(
        target=target,
        rounds=moments.rounds,
        at=moments.at,
        values=moved - known_noise(view, target, moments),
        fresh=fresh_noise(view, target, moments),
        kept=kept_noise(view, target, moments),
        hidden=hidden_links(view, target),
        silence="" if len(moved) else _silence(view, target),
        supposing=_supposing(view),
    )


def _supposing(view: View) -> tuple[str, ...]:
    """What nothing in a view would show to be otherwise."""
    taken = [NO_PROJECTION, *view.algorithm.taken_for_granted]
    if uses_own_noise(view):
        taken.append("the user's own noise is spread like random draws")
    return tuple(taken)


def _silence(view: View, target: int) -> str:
    if view.rounds < 2:
        return "a single round was seen, and a gradient shows only in the next word"
    return unheard(view, target) or (
        f"in no round was all heard that agent {target} mixes, and its next word as well"
    )
