"""What a view says of several agents together: their residuals, and which noise they share.

Anybody who heard all of N[j] knows v_{j,k} to the last bit, so that the residual of round k,

    (v_{j,k} − w_{j,k+1}) / α_k = ∇f_j(v_{j,k}) − r_k d_{j,k+1} − C_j

holds noise that no other round's residual holds, but for what was drawn once. Between agents it does are connected:
what a link gives to one end it takes from the other. Both are read off the algorithm's own draws.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Unpack

import numpy as np
from jaxtyping import Bool, Float, Int

from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Draw, When
from hocket.privacy.attacks.attack import NO_PROJECTION, Why
from hocket.privacy.attacks.messages import Plan, check_target, dimension, planned_draws, with_plan
from hocket.privacy.attacks.residuals import Residuals, noise_ratio, residuals, slopes
from hocket.privacy.profile import profile
from hocket.privacy.wording import Said
from hocket.runs.view import View

Source = tuple[str, tuple[int, int], int]
"""Noise that was drawn once: its kind, the link (or the agent, twice) that it belongs to, and its term."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Residuals of several agents, round by round: gradients at known points, and noise of known distribution."""

    view: View
    agents: tuple[int, ...]
    rounds: Int[np.ndarray, " rounds"]
    alpha: Float[np.ndarray, " rounds"]
    at: Float[np.ndarray, "rounds agents dim"]
    """v_{j,k}, where each gradient was taken."""
    values: Float[np.ndarray, "rounds agents dim"]
    """The gradients, with what hidden noise is left in them."""
    fresh: Float[np.ndarray, "rounds agents sources"]
    """What each round's own hidden draws, of deviation one, add to the residuals; alike in every coordinate."""
    kept: Float[np.ndarray, "rounds agents draws dim"]
    """What hidden draws that were made once add, at deviation one; every coordinate has its own."""
    sources: tuple[Source, ...]
    """Which draws these are."""
    rounding: Float[np.ndarray, " rounds"]
    """How far rounding may have moved a residual."""
    silence: Said | None
    """Why there are no agents, if there are none."""
    assuming: tuple[Said, ...]

    @property
    def dim(self) -> int:
        """How many coordinates there are."""
        return self.values.shape[2]

    @property
    def inside(self) -> bool:
        """Whether noise is part of the gradient that is followed, and so is projected along with it."""
        return profile(self.view.algorithm).noise_in == "gradient"

    def where(self, keep: Bool[np.ndarray, " rounds"]) -> Equations:
        """Those of some rounds only."""
        by_round = ("rounds", "alpha", "at", "values", "fresh", "kept", "rounding")
        return replace(self, **{name: getattr(self, name)[keep] for name in by_round})


def equations(
    view: View,
    agents: Iterable[int] | None = None,
    *,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> Equations:
    """The equations of these honest agents, or of all whose whole neighbourhood was heard.
    Rounds to `skip` are left out, and those in which one of the agents was not heard.
    """
    view = with_plan(view, **plan)
    functions = functions_of(view.algorithm)
    if functions is not None and not functions.family.separable:
        raise BadInput(
            "objectives are fitted coordinate by coordinate, and this run's noise functions have cross terms, which no "
            "coordinate has for itself; use component_attack for sums, or averaging_attack"
        )
    wanted = view.honest if agents is None else [check_target(view, agent) for agent in agents]
    found = [residuals(view, agent) for agent in sorted(set(wanted))]
    silent = [one.silence for one in found if one.silence is not None]
    found = [one for one in found if len(one.rounds)]
    rounds = reduce(np.intersect1d, [one.rounds for one in found]) if found else np.zeros(0, dtype=int)
    return _together(view, found, np.setdiff1d(rounds, np.fromiter(skip, int)), silent)


def _together(view: View, found: list[Residuals], rounds: np.ndarray, silent: list[Said]) -> Equations:
    assert view.step is not None
    agents = tuple(one.target for one in found)
    shape = (len(rounds), 0, dimension(view))
    rows = [np.searchsorted(one.rounds, rounds) for one in found]
    at = [one.at[row] for one, row in zip(found, rows, strict=True)]
    values = [one.values[row] for one, row in zip(found, rows, strict=True)]
    points = np.stack(at, axis=1) if found else np.zeros(shape)
    alpha = view.step.table(1, view.rounds)
    kept, sources = _kept_noise(view, agents, rounds, points)
    return Equations(
        view=view,
        agents=agents,
        rounds=rounds,
        alpha=alpha[rounds - 1],
        at=points,
        values=np.stack(values, axis=1) if found else np.zeros(shape),
        fresh=_fresh_noise(view, agents, rounds, alpha),
        kept=kept,
        sources=sources,
        rounding=_rounding(view, rounds) / alpha[rounds - 1],
        silence=None if len(rounds) else next(iter(silent), Said(Why.NEVER_TOGETHER)),
        assuming=found[0].assuming if found else (NO_PROJECTION,),
    )


def _rounding(view: View, rounds: np.ndarray) -> Float[np.ndarray, " rounds"]:
    """How far rounding moves a mix or a word: a unit of the largest message in this round and the next."""
    words = np.abs(np.stack([table.astype(np.float64) for table in view.words[0].values()]))
    largest = np.nan_to_num(words).max(axis=(0, 2))
    dtype = next(iter(view.words[0].values())).dtype
    eps = np.finfo(dtype if np.issubdtype(dtype, np.floating) else np.float64).eps
    return eps * np.maximum(np.maximum(largest[rounds - 1], largest[rounds]), np.finfo(np.float64).tiny)


def _hidden(view: View, draw: Draw) -> np.ndarray:
    """Which links' draws the view does not know."""
    links = view.network.links
    if draw.private:
        return np.arange(1)
    if view.threat == "states+noise":
        return np.zeros(0, dtype=int)
    return np.flatnonzero(~np.isin(links, list(view.coalition)).any(axis=1))


def _shares(view: View, draw: Draw, agents: tuple[int, ...], k: int) -> Float[np.ndarray, "agents sources"]:
    """What the hidden draws of round k deal these agents, a column for each draw of deviation one."""
    when = When(np.array([k]), np.array([(k - 1) % view.network.period]))
    dealt = draw.spread(when, tabulate(view.network, slots_needed=True))[list(agents), 0]
    dealt = dealt[:, _hidden(view, draw)]
    return np.diag(dealt[:, 0]) if draw.private else dealt


def _by_phase(view: View, draw: Draw, agents: tuple[int, ...], rounds: np.ndarray) -> np.ndarray:
    """The shares of the word after each round, (rounds, agents, sources): they repeat with the network."""
    period = view.network.period
    table = {phase: _shares(view, draw, agents, 2 * period + phase + 1) for phase in range(period)}
    return np.stack([table[k % period] for k in rounds.tolist()])  # round k + 1 has phase k mod period


def _fresh_noise(view: View, agents: tuple[int, ...], rounds: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    parts = [np.zeros((len(rounds), len(agents), 0))]
    scale = noise_ratio(view, alpha, rounds)
    if (
        len(rounds) and not profile(view.algorithm).per_neighbour
    ):  # balanced messages give the state itself away
        for draw in planned_draws(view).values():
            if not draw.once:
                parts.append(-scale[:, None, None] * _by_phase(view, draw, agents, rounds))
    return np.concatenate(parts, axis=2)


def _kept_noise(
    view: View, agents: tuple[int, ...], rounds: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, tuple[Source, ...]]:
    parts, sources = [np.zeros((len(rounds), len(agents), 0, at.shape[2]))], []
    for name, draw in planned_draws(view).items():
        if draw.once and len(rounds):
            shares = _by_phase(view, draw, agents, rounds)
            touched = np.flatnonzero(shares.any(axis=(0, 1)))
            load = _load(view, at)  # (rounds, agents, terms, dim)
            dealt = np.einsum("kas,katd->kastd", shares[:, :, touched], load)
            parts.append(dealt.reshape(*dealt.shape[:2], -1, dealt.shape[-1]))
            if draw.private:
                links = [(agents[own], agents[own]) for own in touched]
            else:
                links = [tuple(view.network.links[link].tolist()) for link in _hidden(view, draw)[touched]]
            sources += [(name, link, term) for link in links for term in range(load.shape[2])]
    return np.concatenate(parts, axis=2), tuple(sources)


def _load(view: View, at: np.ndarray) -> Float[np.ndarray, "rounds agents terms dim"]:
    """What one agent's share of kept noise does to its residuals, by term."""
    if (functions := functions_of(view.algorithm)) is not None:
        basis = functions.family
        return np.stack([slopes(basis, at[:, a]) for a in range(at.shape[1])], axis=1)
    return -np.ones((*at.shape[:2], 1, at.shape[2]))
