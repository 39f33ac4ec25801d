"""The averaging attack in full: the best linear estimate from everything a coalition heard, wherever it sits.

Where all of N[j] is heard this is the weighted mean over rounds. Elsewhere states that nobody heard are estimated
along with the gradients, by the same recursion that predicts leakage from a plan.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from hocket.algorithm import Algorithm
from hocket.algorithms import FunctionSharing, RssLb
from hocket.privacy.attacks.attack import NO_PROJECTION, SAME_GRADIENT, Attack
from hocket.privacy.attacks.hearing import own_word
from hocket.privacy.attacks.hiding import slopes
from hocket.privacy.attacks.plan import AnyStep, check_target, dimension, with_plan
from hocket.privacy.leakage import EXACT, told_apart
from hocket.privacy.levels import planned_levels
from hocket.privacy.listening import Listening
from hocket.privacy.watching import Course, Words, first_belief, watch
from hocket.view import View

NAME = "averaging"


def averaging_attack(view: View, target: int, **known: Any) -> Attack:
    """An agent's gradient by generalised least squares on the whole view; says by rank if it can be had at all.
    The attack whose error `leakage` predicts; `known` is as for `averaging_attacks`, which attacks everybody at once.
    """
    return averaging_attacks(view, **known)[check_target(view, target)]


def averaging_attacks(
    view: View,
    *,
    start: Any = None,
    prior: float = 1e3,
    step: AnyStep | None = None,
    algorithm: Algorithm | None = None,
) -> dict[int, Attack]:
    """Every honest agent's gradient from one pass over the view.

    `start` is the public start, a vector or a row per agent; None if it is unknown. `prior` is the standard deviation
    of gradients, and of an unknown start, before anything was heard.
    """
    view = _in_floats(with_plan(view, step, algorithm))
    assert view.step is not None
    if view.rounds < 2:
        why = "a single round was seen, and a gradient shows in the next word"
        return {j: Attack(NAME, (j,), _what(j), False, why) for j in view.honest}
    dim = dimension(view)
    levels = planned_levels(view.network, view.algorithm, dim=dim, step=view.step, rounds=view.rounds)
    listening = Listening(view.network, levels, coalition=view.coalition, threat=view.threat)
    course = Course(listening, view.step, view.rounds - 1)
    belief = first_belief(course, prior=prior, start=prior if start is None else 0.0, coordinates=dim)
    h = listening.n
    if start is not None:
        starts = np.broadcast_to(np.asarray(start, np.float64), (view.network.n, dim))
        belief.mean[:h] = starts[listening.honest]
    with threadpool_limits(1, user_api="blas"):
        for _, belief in watch(course, belief, _Heard(view, course)):  # noqa: B007, B020 - the last one is wanted
            pass
        told = np.linalg.norm(told_apart(course, belief, prior=prior, public_start=start is not None), axis=1)
    sd = np.where(belief.sd[h : 2 * h] < EXACT * prior, 0.0, belief.sd[h : 2 * h])
    return {
        j: Attack(
            NAME,
            (j,),
            _what(j),
            bool(told[row] > 1 - 1e-6),
            _why(told[row], sd[row]),
            estimate=belief.mean[h + row][None],
            predicted_sd=np.full((1, dim), sd[row]),
            supposing=(NO_PROJECTION, SAME_GRADIENT),
        )
        for row, j in enumerate(listening.honest.tolist())
    }


def _what(target: int) -> str:
    return f"the mean gradient of agent {target}"


def _why(row: float, sd: float) -> str:
    if sd == 0:
        return "what was heard has one explanation only"
    if row > 1 - 1e-6:
        return "its gradient is in the row space of what was heard: all noise in it averages out, if slowly"
    return "its gradient is outside the row space of what was heard: unheard noise or states explain that as well"


def _in_floats(view: View) -> View:
    """The view of a run on fractions, as the recursion can use it."""

    def rounded(table: dict[Any, np.ndarray]) -> dict[Any, np.ndarray]:
        return {key: rows.astype(np.float64) for key, rows in table.items()}

    return dataclasses.replace(
        view,
        words=tuple(map(rounded, view.words)),
        noise={kind: rounded(table) for kind, table in view.noise.items()},
        states=rounded(view.states),
    )


class _Heard:
    """A view as numbers for the recursion: words less the noise that the coalition shares, round by round."""

    def __init__(self, view: View, course: Course):
        self.view = view
        self.listening = course.listening
        self.alpha = course.alpha()
        self.place = {j: row for row, j in enumerate(self.listening.honest.tolist())}
        self.said = {j: own_word(view, j) for j in self.place}
        self.shared = self._shared_noise()
        self.members = self._members_words()
        self.slopes = self._known_slopes()

    def __call__(self, k: int) -> Words:
        one, shared = self.listening.round(k), self.shared[k - 1]
        rows = [
            self.said[j][k - 1] - shared[self.place[j]] if i is None else self.view.words[0][j, i][k - 1]
            for j, i in one.words
        ]
        known = self.members[k - 1] + one.mixed @ shared - self.alpha[k] * self.slopes[k - 1]
        return Words(np.array(rows).reshape(len(rows), -1), known)

    def _shared_noise(self) -> Float[np.ndarray, "rounds honest dim"]:
        """What is added to the honest words by noise that the coalition knows."""
        rounds = self.view.rounds
        total = np.zeros((rounds, self.listening.n, dimension(self.view)))
        alpha = self.alpha[: rounds + 1]
        scales = {"paired": alpha[1:], "anchor": alpha[:-1]}
        for kind, scale in scales.items():
            for (i, j), drawn in self.view.noise.get(kind, {}).items():
                link = int(np.flatnonzero((self.view.network.links == sorted((i, j))).all(axis=1))[0])
                active = self.view.network.active[np.arange(rounds) % self.view.network.period, link]
                dealt = (scale * active)[:, None] * drawn
                for agent, sign in ((j, 1.0), (i, -1.0)):
                    if agent in self.place:
                        total[:, self.place[agent]] += sign * dealt
        return total

    def _members_words(self) -> Float[np.ndarray, "rounds honest dim"]:
        """What members' words, and noise read off words that were all overheard, bring into the honest states."""
        view, phases = self.view, np.arange(self.view.rounds) % self.view.network.period
        total = np.zeros((view.rounds, self.listening.n, dimension(view)))
        overheard = isinstance(view.algorithm, RssLb) and view.threat != "coalition"
        for link, (low, high) in enumerate(view.network.links.tolist()):
            for direction, (i, j) in enumerate([(low, high), (high, low)]):
                if j not in self.place or not (i in view.coalition or overheard):
                    continue
                word = view.words[0][i, j]
                brought = word if i in view.coalition else word - self.said[i]
                total[:, self.place[j]] += view.network.weight[phases, link, direction, None] * np.nan_to_num(
                    brought
                )
        return total

    def _known_slopes(self) -> Float[np.ndarray, "rounds honest dim"]:
        """Gradients of the noise functions that members share with honest agents, where the members are."""
        view = self.view
        total = np.zeros((view.rounds, self.listening.n, dimension(view)))
        if not isinstance(view.algorithm, FunctionSharing):
            return total
        for (i, j), drawn in view.noise["function"].items():
            member = i if i in view.coalition else j
            at = view.states[member][: view.rounds] if member in view.coalition else self.said[i]
            basis = slopes(view.algorithm.basis, at)
            slope = (basis * drawn.reshape(1, basis.shape[1], -1)).sum(axis=1)
            for agent, sign in ((j, 1.0), (i, -1.0)):
                if agent in self.place:
                    total[:, self.place[agent]] += sign * slope
        return total
