"""How an algorithm behaves between two messages, read off its own generator: what noise on gradients stands on.

A certificate for noise on gradients holds only if all that an agent does next follows from messages and from its newest
gradient: it mixes the message that it sent and not its clean state, takes its gradient at what was mixed, and carries
nothing else from round to round. The generator is run as it stands and its coefficients are looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.errors import NoTheorem
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.draws import Balanced
from hocket.privacy.dp.reasons import Refusal
from hocket.privacy.leakage.levels import planned_levels
from hocket.privacy.leakage.rule import Mixed, Reader, Rule, Share
from hocket.privacy.wording import Said

ROUNDS = 3
"""Rounds that are looked at: the first may be special, and two others show whether anything is carried over."""
SAME = 1e-9


class Watched:
    """Stands for a set: changes nothing, and notes what is projected onto it."""

    def __init__(self, seen: list[tuple[Any, Any]]):
        self.seen = seen

    def project(self, x: Any) -> Any:
        found = np.array(x)  # another array, by which it is known again
        self.seen.append((x, found))
        return found


class GradientPoints(Rule):
    """The rule of one agent, which also notes where it takes its gradient, as coefficients of all inputs, and what it
    projects."""

    def _agent(self, index: int, given: Any, at: Any = None) -> Reader:
        agent = super()._agent(index, given, at)
        follow, projected = agent.objective, self.__dict__.setdefault("projected", [])

        def noted(v: Any) -> Any:
            self.__dict__.setdefault("points", []).append(np.asarray(v, dtype=float))
            self.__dict__.setdefault("inside", []).append(any(v is one for _, one in projected))
            return follow(v)

        object.__setattr__(agent, "objective", noted)
        object.__setattr__(agent, "feasible", Watched(projected))
        return agent

    def point(self, k: int) -> np.ndarray:
        """Where round k takes its gradient: a row per time it asks, a column per input."""
        self._noting(k)
        return self._as_coefficients(self.__dict__["points"])

    def takes_inside(self, k: int) -> bool:
        """Whether every gradient of round k is taken at a projection, and so at a point of X."""
        self._noting(k)
        return all(self.__dict__["inside"])

    def projects_gradient(self, k: int) -> bool:
        """Whether round k projects what its gradient is already part of."""
        self._noting(k)
        found = self._as_coefficients([one for one, _ in self.__dict__["projected"]])
        return bool(np.abs(found[:, self.given.start]).max(initial=0.0) > SAME)

    def _noting(self, k: int) -> None:
        self.__dict__.update(points=[], inside=[])
        self.__dict__.setdefault("projected", []).clear()
        worlds = np.hstack([np.zeros((self.received.stop, 1)), np.eye(self.received.stop)])
        self._play(k, worlds, 0)

    def _as_coefficients(self, points: list[Any]) -> np.ndarray:
        found = np.array([np.broadcast_to(one, self.received.stop + 1) for one in points])
        return (found[:, 1:] - found[:, :1]) if len(found) else np.zeros((0, self.received.stop))


def points_of(algorithm: Algorithm, setting: Setting, *, rounds: int = ROUNDS) -> GradientPoints:
    """The rule of an algorithm over a few rounds."""
    levels = planned_levels(
        setting.network, algorithm, dim=setting.dim, step=setting.step, rounds=max(rounds, setting.rounds)
    )
    slots = tabulate(setting.network, slots_needed=True).slots
    shares = tuple(
        Share(name, (slots,) if isinstance(draw, Balanced) else (), draw.width)
        for name, draw in levels.draws.items()
    )
    return GradientPoints(levels.algorithm, setting.network.n, setting.step, rounds, shares)


def unfit(
    algorithm: Algorithm, setting: Setting, *, carries: bool = False, rounds: int = ROUNDS
) -> tuple[Said, ...]:
    """What in an algorithm's rounds takes a certificate for noise on gradients away; empty if nothing.

    With `carries`, what is carried over rounds is accounted for by the caller.
    """
    try:
        rule = points_of(algorithm, setting, rounds=rounds)
    except NoTheorem as error:
        return (Said(Refusal.STATED, why=str(error)),)
    found = [] if clean_mix(rule) else [Said(Refusal.MIXES_CLEAN)]
    if not follows_messages(rule, rounds):
        found.append(Said(Refusal.NOT_LED))
    if rule.states > 1 and not carries:
        found.append(Said(Refusal.CARRIES, states=rule.states))
    return tuple(found)


def gradients_inside(algorithm: Algorithm, setting: Setting) -> bool:
    """Whether all gradients are taken at points of X, wherever messages lead; read off the algorithm's own rounds."""
    try:
        rule = points_of(algorithm, setting)
        return all(rule.takes_inside(k) for k in range(1, ROUNDS + 1))
    except NoTheorem:
        return False


def projects_gradients(algorithm: Algorithm, setting: Setting) -> bool:
    """Whether what a gradient is part of is projected, whatever the algorithm states; read off its own rounds."""
    try:
        rule = points_of(algorithm, setting)
        return any(rule.projects_gradient(k) for k in range(1, ROUNDS + 1))
    except NoTheorem:
        return True


def projects_received(algorithm: Algorithm, setting: Setting) -> bool:
    """Whether a state is all that is carried, and is projected before the step: then messages alone decide where."""
    try:
        return points_of(algorithm, setting).states == 1 and not projects_gradients(algorithm, setting)
    except NoTheorem:
        return False


def masks_last(algorithm: Algorithm, setting: Setting) -> bool:
    """Whether the message after the last step has noise in it like those before."""
    rule = points_of(algorithm, replace(setting, rounds=ROUNDS - 1))
    noise = slice(rule.given.start + 1, rule.given.stop)
    last = rule.rounds[ROUNDS - 1, :, [said.outputs.start for said in rule.said]]
    return bool(np.abs(last[..., noise]).any())


def clean_mix(rule: Rule) -> bool:
    """Whether everything that an agent mixes with what it receives is what it sent."""
    exchange = -1
    for one in rule.order:
        if not isinstance(one, Mixed):
            exchange += 1
            continue
        said = rule.said[one.exchange]
        for number, row in enumerate(range(one.outputs.start, one.outputs.stop)):
            words = rule.rounds[:, :, list(said.rows(number))]
            if np.abs(words - rule.rounds[:, :, [row]]).max(initial=0.0) > SAME:
                return False
    return True


def follows_messages(rule: GradientPoints, rounds: int = ROUNDS) -> bool:
    """Whether gradients are taken at a point that what was mixed alone decides."""
    outside = np.ones(rule.received.stop, dtype=bool)
    outside[rule.received] = False
    return all(np.abs(rule.point(k)[:, outside]).max(initial=0.0) <= SAME for k in range(1, rounds + 1))
