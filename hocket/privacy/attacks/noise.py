"""The noise in an agent's words, parted into what a view knows and what it can only suppose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hocket.noise.draws import Gaussian, Own, Paired
from hocket.noise.functions import Family
from hocket.privacy.attacks.public_plan import planned_draws
from hocket.privacy.attacks.words import place_of_link
from hocket.runs.view import View

Points = Float[np.ndarray, "rounds dim"]


@dataclass(frozen=True, eq=False)
class Moments:
    """The rounds in which an agent's gradient is looked for."""

    rounds: Int[np.ndarray, " rounds"]
    """k, counted from 1; the noise is that of the next word."""
    ratio: Float[np.ndarray, " rounds"]
    """r_k = α_{k+1} / α_k."""
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
                load = _load(view, draw, name, target, i, moments)
                total = total + (load * drawn.reshape(len(drawn), *load.shape[1:])).sum(axis=1)
    return total


def kept_noise(view: View, target: int, moments: Moments) -> Float[np.ndarray, "rounds draws dim"]:
    """What each hidden draw that was made once adds to the residuals, at one standard deviation of a link's net."""
    parts = [np.zeros((*moments.at.shape[:1], 0, *moments.at.shape[1:]))]
    for name, draw in planned_draws(view).items():
        if isinstance(draw, Paired) and draw.once:
            for i in _neighbours(view, target, known=False):
                net_sd = np.sqrt(2) * draw.sd[0, place_of_link(view, target, i)]
                parts.append(net_sd * _load(view, draw, name, target, i, moments))
    return np.concatenate(parts, axis=1)


def fresh_noise(view: View, target: int, moments: Moments) -> Fresh:
    """How hidden noise of single rounds is distributed."""
    period = view.network.period
    boxes, normal, scale = [np.zeros((period, 0))], np.zeros(period), moments.ratio
    for draw in planned_draws(view).values():
        if isinstance(draw, Paired) and not draw.once:
            hidden = [place_of_link(view, target, i) for i in _neighbours(view, target, known=False)]
            both = np.repeat(np.broadcast_to(draw.scale, (period, draw.scale.shape[1]))[:, hidden], 2, axis=1)
            if draw.normal:
                normal = np.sqrt((both**2).sum(axis=1))
            else:
                boxes.append(both)  # two directed draws on every link
        elif isinstance(draw, Own):
            boxes.append(np.full((period, 1), float(draw.bound)))
        elif isinstance(draw, Gaussian):
            normal, scale = (
                np.full(period, draw.sigma),
                np.ones_like(scale),
            )  # in the gradient, not in the word
    return Fresh(scale, moments.rounds % period, np.concatenate(boxes, axis=1), normal)


def slopes(basis: Family, at: Points) -> Float[np.ndarray, "rounds terms dim"]:
    """φ'_m(x_c) for every basis function of a family of noise functions, at every point."""
    terms = basis.width(1)
    # Coordinates are alike and apart: all points together serve as one long point.
    flat = at.reshape(-1)
    rows = [basis.gradient(flat, np.repeat(np.eye(terms)[m], at.size)) for m in range(terms)]
    return np.stack([row.reshape(at.shape) for row in rows], axis=1)


def _load(view: View, draw: Paired, name: str, target: int, neighbour: int, moments: Moments) -> Any:
    """What the net noise of a link is multiplied by in each residual: (rounds, terms of one coordinate, dim)."""
    if name == "function":
        return slopes(view.algorithm.functions.family, moments.at)
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
