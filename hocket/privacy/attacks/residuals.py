"""The series that every attack on single rounds starts from: by how much an agent's messages moved, as a gradient.

Anybody who heard all of N[j] knows v_k, and with the next message

    (v_k − w_{k+1}) / α_k = ∇f_j(v_k) − r_k d_{k+1} − C        r_k = α_{k+1} / α_k, or 1

where d is fresh noise and C persistent noise; function sharing adds ∇p_j(v_k) instead. What the view knows of the noise
is taken off, exactly. The rest is described by its distribution, which is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from jaxtyping import Float, Int

from hocket.algorithms.function_sharing import functions_of
from hocket.noise.draws import Gaussian, Own, Paired
from hocket.noise.functions import Family
from hocket.privacy.attacks.attack import NO_PROJECTION, Assumed, Why
from hocket.privacy.attacks.messages import (
    Plan,
    check_target,
    mixed,
    not_received,
    own_message,
    place_of_link,
    planned_draws,
    uses_own_noise,
    with_plan,
)
from hocket.privacy.profile import profile
from hocket.privacy.wording import Said
from hocket.runs.view import View

Points = Float[np.ndarray, "rounds dim"]


@dataclass(frozen=True, eq=False)
class Moments:
    """The rounds in which an agent's gradient is looked for."""

    rounds: Int[np.ndarray, " rounds"]
    """k, counted from 1; the noise is that of the next message."""
    ratio: Float[np.ndarray, " rounds"]
    """r_k: what fresh noise in the next message is scaled by, beside the gradient in it."""
    at: Points
    """v_k."""


@dataclass(frozen=True, eq=False)
class Fresh:
    """The distribution of noise that is new in every round: a sum of uniform draws and a normal one."""

    scale: Float[np.ndarray, " rounds"]
    """What the noise of each round is multiplied by."""
    phase: Int[np.ndarray, " rounds"]
    boxes: Float[np.ndarray, "phases draws"]
    """Bounds of the uniform draws."""
    normal: Float[np.ndarray, " phases"]
    """Standard deviation of the normal part."""

    @property
    def sd(self) -> Float[np.ndarray, " rounds"]:
        """The standard deviation of a coordinate in each round."""
        return self.scale * np.sqrt((self.boxes**2).sum(axis=1) / 3 + self.normal**2)[self.phase]


def hidden_links(view: View, target: int) -> tuple[tuple[int, int], ...]:
    """The target's links with pairwise noise that the view does not know."""
    paired = any(isinstance(draw, Paired) for draw in planned_draws(view).values())
    unknown = _neighbours(view, target, known=False) if paired else []
    return tuple((min(i, target), max(i, target)) for i in unknown)


def known_noise(view: View, target: int, moments: Moments) -> Points:
    """What pairwise noise that the view knows adds to the residuals."""
    total = np.zeros_like(moments.at)
    for name, draw in planned_draws(view).items():
        if isinstance(draw, Paired):
            for i in _neighbours(view, target, known=True):
                table = view.noise[name]
                net = (table[i, target] - table[target, i]).astype(np.float64)
                drawn = net if draw.once else net[moments.rounds]  # the row after round k's own
                load = _load(view, draw, target, i, moments)
                # Unless noise has cross terms, every coordinate has numbers of its own.
                functions = functions_of(view.algorithm)
                apart = functions is None or functions.family.separable
                shape = load.shape[1:] if apart else (load.shape[1], 1)
                total = total + (load * drawn.reshape(len(drawn), *shape)).sum(axis=1)
    return total


def kept_noise(view: View, target: int, moments: Moments) -> Float[np.ndarray, "rounds draws dim"]:
    """What each hidden draw that was made once adds to the residuals, at one standard deviation of a link's net."""
    parts = [np.zeros((*moments.at.shape[:1], 0, *moments.at.shape[1:]))]
    for draw in planned_draws(view).values():
        if isinstance(draw, Paired) and draw.once:
            for i in _neighbours(view, target, known=False):
                net_sd = np.sqrt(2) * draw.sd[0, place_of_link(view, target, i)]
                parts.append(net_sd * _weighed(draw, _load(view, draw, target, i, moments)))
        elif isinstance(draw, Gaussian) and draw.once:
            functions = functions_of(view.algorithm)
            assert functions is not None
            parts.append(draw.sd * _weighed(draw, slopes(functions.family, moments.at)))
    return np.concatenate(parts, axis=1)


def _weighed(draw: Paired | Gaussian, load: np.ndarray) -> np.ndarray:
    """What a draw is multiplied by, with the weight that each coefficient's noise has beside the others'."""
    return load if draw.relative is None else load * draw.relative[:, None]


def fresh_noise(view: View, target: int, moments: Moments) -> Fresh:
    """How hidden noise of single rounds is distributed."""
    period = view.network.period
    boxes, normal = [np.zeros((period, 0))], np.zeros(period)
    for draw in planned_draws(view).values():
        if isinstance(draw, Paired) and not draw.once:
            hidden = [place_of_link(view, target, i) for i in _neighbours(view, target, known=False)]
            both = np.repeat(np.broadcast_to(draw.scale, (period, draw.scale.shape[1]))[:, hidden], 2, axis=1)
            if draw.normal:
                normal = np.hypot(normal, np.sqrt((both**2).sum(axis=1)))
            else:
                boxes.append(both)  # two directed draws on every link
        elif draw.once:
            continue
        elif isinstance(draw, Own):
            boxes.append(np.full((period, 1), float(draw.bound)))
        elif isinstance(draw, Gaussian):
            normal = np.hypot(normal, draw.sigma)
    return Fresh(moments.ratio, moments.rounds % period, np.concatenate(boxes, axis=1), normal)


def slopes(basis: Family, at: Points) -> Float[np.ndarray, "rounds terms dim"]:
    """φ'_m(x_c) for every basis function of a family of noise functions, at every point; ∂φ_m/∂x_c of one whose
    coordinates are not apart."""
    if not basis.separable:
        units = np.eye(basis.width(at.shape[1]))
        rows = [[basis.gradient(x, unit) for unit in units] for x in at]
        return np.array(rows).reshape(len(at), len(units), at.shape[1])
    terms = basis.width(1)
    # Coordinates are alike and apart: all points together serve as one long point.
    flat = at.reshape(-1)
    rows = [basis.gradient(flat, np.repeat(np.eye(terms)[m], at.size)) for m in range(terms)]
    return np.stack([row.reshape(at.shape) for row in rows], axis=1)


def _load(view: View, draw: Paired, target: int, neighbour: int, moments: Moments) -> Any:
    """What the net noise of a link is multiplied by in each residual: (rounds, terms of one coordinate, dim), or of all
    coordinates together where they are not apart."""
    if (functions := functions_of(view.algorithm)) is not None:
        return slopes(functions.family, moments.at)
    factor = np.ones(len(moments.rounds)) if draw.once else moments.ratio
    if draw.active is not None:
        factor = (
            factor * draw.active[moments.rounds % len(draw.active), place_of_link(view, target, neighbour)]
        )
    return -np.broadcast_to(factor[:, None, None], (len(factor), 1, moments.at.shape[1]))


def _neighbours(view: View, target: int, *, known: bool) -> list[int]:
    """Neighbours whose noise shared with the target the view knows, or those whose it does not."""
    everything = view.threat == "states+noise"
    return [i for i in view.network.neighbours(target) if (everything or i in view.coalition) == known]


@dataclass(frozen=True, eq=False)
class Residuals:
    """An agent's gradients as far as a view can tell, and how what still hides them is distributed."""

    target: int
    rounds: Int[np.ndarray, " rounds"]
    """The rounds whose mix and whose next message were both heard."""
    at: Points
    """v_k, where the gradient was taken."""
    values: Points
    """The gradient, with what hidden noise is left in it."""
    fresh: Fresh
    kept: Float[np.ndarray, "rounds draws dim"]
    """What each hidden draw that was made once adds to each row, at one standard deviation."""
    hidden: tuple[tuple[int, int], ...]
    """The target's links whose noise is not known."""
    silence: Said | None
    """Why there are no rounds, if there are none."""
    assuming: tuple[Said, ...]
    """What an attacker has to take for granted."""

    @property
    def sd(self) -> Points:
        """The standard deviation that all hidden noise together gives each number."""
        return np.sqrt(self.fresh.sd[:, None] ** 2 + (self.kept**2).sum(axis=1))

    @property
    def behind(self) -> Said:
        """What hides the target."""
        if not self.hidden:
            return Said(Why.OWN_NOISE, who=(self.target,))
        return Said(Why.LINK_NOISE, count=len(self.hidden), links=self.hidden)


def residuals(view: View, target: int, **plan: Unpack[Plan]) -> Residuals:
    """An agent's gradients as they look to anybody who heard its whole neighbourhood, with known noise removed.
    For building attacks: those in this package start here. `step` and `algorithm` are for runs loaded from disk.
    """
    view, target = with_plan(view, **plan), check_target(view, target)
    assert view.step is not None
    v, w = mixed(view, target), own_message(view, target)
    usable = np.flatnonzero(np.isfinite(v[:-1]).all(axis=1) & np.isfinite(w[1:]).all(axis=1))
    alpha = view.step.table(1, view.rounds)
    moments = Moments(usable + 1, noise_ratio(view, alpha, usable + 1), v[usable])
    moved = (v[usable] - w[usable + 1]) / alpha[usable, None]
    return cleaned(view, target, moments, moved)


def noise_ratio(view: View, alpha: np.ndarray, rounds: np.ndarray) -> Float[np.ndarray, " rounds"]:
    """α_{k+1} / α_k, or one where noise is scaled as the gradient is that it hides."""
    return (
        np.ones(len(rounds))
        if profile(view.algorithm).scaled_with_gradient
        else alpha[rounds] / alpha[rounds - 1]
    )


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
        silence=None if len(moved) else _silence(view, target),
        assuming=_assumed(view),
    )


def _assumed(view: View) -> tuple[Said, ...]:
    """What nothing in a view would show to be otherwise."""
    of_algorithm = [Said(Assumed.OF_ALGORITHM, of=one) for one in profile(view.algorithm).assumes]
    return (NO_PROJECTION, *of_algorithm, *([Said(Assumed.LIKE_RANDOM)] if uses_own_noise(view) else []))


def _silence(view: View, target: int) -> Said:
    if view.rounds < 2:
        return Said(Why.ONE_ROUND)
    return not_received(view, target) or Said(Why.NEVER_ALL, who=(target,))
