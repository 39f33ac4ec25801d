"""The averaging attack in full: the best linear estimate from everything a coalition heard, wherever it sits.

Where all of N[j] is heard this is the weighted mean over rounds. Elsewhere states that nobody heard are estimated
along with the gradients, by the same recursion that predicts leakage from a plan.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from hocket.algorithm import Setting
from hocket.algorithms.function_sharing import functions_of
from hocket.noise.draws import Draw, Pair, Paired, When
from hocket.privacy.attacks.attack import NO_PROJECTION, SAME_GRADIENT, Attack, What, Why
from hocket.privacy.attacks.messages import Plan, check_target, dimension, with_plan
from hocket.privacy.leakage.estimate import EXACT
from hocket.privacy.leakage.leakage import Part, told_apart
from hocket.privacy.leakage.levels import planned_levels
from hocket.privacy.leakage.listener import Drive, Listener
from hocket.privacy.leakage.posterior import block_diagonal
from hocket.privacy.leakage.recursion import Course, ReceivedMessages, from_start, watch
from hocket.privacy.profile import profile
from hocket.privacy.wording import Said
from hocket.runs.view import View

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
    **plan: Unpack[Plan],
) -> dict[int, Attack]:
    """Every honest agent's gradient from one pass over the view.

    `start` is the public start, a vector or a row per agent; None if it is unknown. `prior` is the standard deviation
    of gradients, and of an unknown start, before anything was received.
    """
    view = _in_floats(with_plan(view, any_messages=True, **plan))
    assert view.step is not None
    if view.rounds < 2:
        return _nothing(view, Why.ONE_ROUND)
    dim = dimension(view)
    levels = planned_levels(view.network, view.algorithm, dim=dim, step=view.step, rounds=view.rounds)
    listener = Listener(
        view.network, levels, view.step, view.rounds, coalition=view.coalition, threat=view.threat
    ).alone()
    if why := _out_of_reach(view, listener):
        return _nothing(view, why)
    course, words = Course(listener, view.rounds - 1), _Overheard(view, listener)
    starts = np.broadcast_to(np.asarray(0.0 if start is None else start, np.float64), (view.network.n, dim))
    before = block_diagonal(prior * np.eye(listener.h), listener.offset_size * np.eye(listener.offsets))
    posterior = from_start(course, starts[listener.honest], prior if start is None else 0.0, before)
    posterior.mean[: listener.states] += words.driven(0).reshape(-1, dim)
    with threadpool_limits(1, user_api="blas"):
        for _, posterior in watch(course, posterior, words):  # noqa: B007, B020 - the last one is wanted
            pass
        gradients = slice(listener.states, listener.states + listener.h)
        known = posterior.factor[gradients]
        told = told_apart([Part.alone(course)], known, prior=prior, public=start is not None)
        told = np.linalg.norm(told, axis=1)
    sd = np.where(posterior.sd[gradients] < EXACT * prior, 0.0, posterior.sd[gradients])
    return {
        j: Attack(
            NAME,
            (j,),
            Said(What.MEAN, who=(j,)),
            bool(told[row] > 1 - 1e-6),
            Said(_why(told[row], sd[row])),
            estimate=posterior.mean[gradients][row][None],
            predicted_sd=np.full((1, dim), sd[row]),
            assuming=(NO_PROJECTION, SAME_GRADIENT),
        )
        for row, j in enumerate(listener.honest.tolist())
    }


def _nothing(view: View, why: Why) -> dict[int, Attack]:
    return {j: Attack(NAME, (j,), Said(What.MEAN, who=(j,)), False, Said(why)) for j in view.honest}


def _out_of_reach(view: View, listener: Listener) -> Why | None:
    """Why nothing can be estimated; None where something can."""
    functions = functions_of(view.algorithm)
    if profile(view.algorithm).compresses:
        return Why.COMPRESSED
    if any(one.summed for one in listener.rule.said):
        return Why.SUMS_SHOWN
    if functions is not None and functions.bend and not profile(view.algorithm).plain:
        return Why.CURVED
    return None if len(view.words) == sum(one.numbers for one in listener.rule.said) else Why.MORE_SENT


def _why(row: float, sd: float) -> Why:
    if sd == 0:
        return Why.ONE_EXPLANATION
    return Why.IN_SPACE if row > 1 - 1e-6 else Why.OUTSIDE


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


class _Overheard:
    """A view as numbers for the recursion: words, members' messages and the noise that the coalition shares."""

    def __init__(self, view: View, listener: Listener):
        self.view, self.listener, self.dim = view, listener, dimension(view)
        self.phases = np.arange(view.rounds) % view.network.period
        assert view.step is not None
        plan = Setting(view.network, self.dim, view.step, view.rounds)
        draws = view.algorithm.noise(plan)
        self.shares = {
            name: self._known(name, draw)
            for name, draw in draws.items()
            if isinstance(draw, Paired) and name in listener.rule.shares
        }
        self.said = [
            {j: _said(table, j, (view.rounds, self.dim)) for j in listener.honest.tolist()}
            for table in view.words
        ]
        self.members = [self._members_words(table) for table in view.words]
        self.drives = [self.driven(k) for k in range(1, view.rounds + 1)]

    def __call__(self, k: int) -> ReceivedMessages:
        rows = [
            self.said[number][j][k - 1] if i is None else self.view.words[number][j, i][k - 1]
            for number, j, i in self.listener.received(k)
        ]
        members = [table[k - 1] for table in self.members]
        return ReceivedMessages(np.array(rows).reshape(len(rows), -1), Drive(self.drives[k - 1], members))

    def driven(self, k: int) -> Float[np.ndarray, "outputs honest dim"]:
        """What known noise brings into round k; of noise functions, the slope where their agent said that it was."""
        rule = self.listener.rule
        at = np.array([self.said[0][j][max(k, 1) - 1] for j in self.listener.honest.tolist()])
        dealt = {
            name: self._by_coordinate(table[min(max(k, 1), len(table)) - 1], at)
            for name, table in self.shares.items()
        }
        return rule.driven(k, dealt, np.nan_to_num(at), self.listener.honest)

    def _by_coordinate(
        self, table: Float[np.ndarray, "honest width"], at: Float[np.ndarray, "honest dim"]
    ) -> Float[np.ndarray, "numbers honest dim"]:
        """Shares as the rule takes them: where coordinates are not apart, a function by its slope at one point."""
        functions = functions_of(self.view.algorithm)
        if functions is None or functions.family.separable:
            return table.reshape(len(table), -1, self.dim).swapaxes(0, 1)
        slope = [functions.family.gradient(*one) for one in zip(np.nan_to_num(at), table, strict=True)]
        return np.stack([np.zeros_like(at), slope])

    def _known(self, name: str, draw: Draw) -> Float[np.ndarray, "rounds honest width"]:
        """The honest agents' shares, as far as the coalition knows what was drawn."""
        view, tables = self.view, self.listener.tables
        rounds = 1 if draw.once else view.rounds
        drawn = Pair(*np.zeros((2, rounds, len(tables.links), draw.width)))
        for link, (low, high) in enumerate(tables.links.tolist()):
            for side, pair in zip(drawn, [(low, high), (high, low)], strict=True):
                side[:, link] = view.noise.get(name, {}).get(pair, 0.0)
        when = When(np.arange(1, view.rounds + 1), self.phases)
        return draw.deal(draw.condense(drawn), when, tables)[:, self.listener.honest]

    def _members_words(self, table: dict[Any, np.ndarray]) -> Float[np.ndarray, "rounds honest dim"]:
        """What members' messages bring into what the honest agents mix."""
        view, honest = self.view, self.listener.honest.tolist()
        total = np.zeros((view.rounds, len(honest), self.dim))
        for link, (low, high) in enumerate(view.network.links.tolist()):
            for direction, (i, j) in enumerate([(low, high), (high, low)]):
                if i in view.coalition and j in honest:
                    weight = view.network.weight[self.phases, link, direction, None]
                    total[:, honest.index(j)] += weight * np.nan_to_num(table[i, j])
        return total


def _said(
    table: dict[Any, np.ndarray], agent: int, shape: tuple[int, int]
) -> Float[np.ndarray, "rounds dim"]:
    """What an agent said to whomever was overheard; NaN where nobody was."""
    received = np.full(shape, np.nan)
    for (sender, _), rows in table.items():
        if sender == agent:
            received = np.where(np.isnan(received), rows, received)
    return received
