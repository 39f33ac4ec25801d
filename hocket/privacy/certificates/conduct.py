"""How an algorithm behaves between two words, read off its own generator: what noise on gradients stands on.

A certificate for noise on gradients holds only if whatever an agent does next follows from words and from its newest
gradient: it mixes the word that it said and not its clean state, takes its gradient at what was mixed, and carries
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
from hocket.privacy.estimate.levels import planned_levels
from hocket.privacy.estimate.rule import Mixed, Reader, Rule, Share

ROUNDS = 3
"""Rounds that are looked at: the first may be special, and two others show whether anything is carried over."""
SAME = 1e-9


class GradientPoints(Rule):
    """The rule of one agent, which also notes where it takes its gradient, as coefficients of all inputs."""

    def _agent(self, index: int, given: Any, at: Any = None) -> Reader:
        agent = super()._agent(index, given, at)
        follow = agent.objective

        def noted(v: Any) -> Any:
            self.__dict__.setdefault("points", []).append(np.asarray(v, dtype=float))
            return follow(v)

        object.__setattr__(agent, "objective", noted)
        return agent

    def point(self, k: int) -> np.ndarray:
        """Where round k takes its gradient: a row per time it asks, a column per input."""
        self.__dict__["points"] = []
        worlds = np.hstack([np.zeros((self.heard.stop, 1)), np.eye(self.heard.stop)])
        self._play(k, worlds, 0)
        found = np.array([np.broadcast_to(one, worlds.shape[1]) for one in self.__dict__["points"]])
        return (found[:, 1:] - found[:, :1]) if len(found) else np.zeros((0, self.heard.stop))


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
) -> tuple[str, ...]:
    """What in an algorithm's rounds takes a certificate for noise on gradients away; empty if nothing.

    With `carries`, what is carried over rounds is accounted for by whoever asks.
    """
    try:
        rule = points_of(algorithm, setting, rounds=rounds)
    except NoTheorem as error:
        return (str(error),)
    found = []
    if not clean_mix(rule):
        found.append(
            "an agent mixes something else than the word that it said: its clean state behind noisy words tells up "
            "to four times as much as the formula says"
        )
    if not follows_words(rule, rounds):
        found.append(
            "gradients are taken where words alone do not lead: what an agent sees is then no function of what is "
            "heard, and rounds do not compose"
        )
    if rule.states > 1 and not carries:
        found.append(
            f"{rule.states} numbers per coordinate are carried from round to round, and not its state alone: "
            "momentum and its like show one gradient in many words"
        )
    return tuple(found)


def masks_last(algorithm: Algorithm, setting: Setting) -> bool:
    """Whether the word after the last step has noise in it like those before."""
    rule = points_of(algorithm, replace(setting, rounds=ROUNDS - 1))
    noise = slice(rule.given.start + 1, rule.given.stop)
    last = rule.rounds[ROUNDS - 1, :, [said.outputs.start for said in rule.said]]
    return bool(np.abs(last[..., noise]).any())


def clean_mix(rule: Rule) -> bool:
    """Whether everything that an agent mixes with what it hears is what it said."""
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


def follows_words(rule: GradientPoints, rounds: int = ROUNDS) -> bool:
    """Whether gradients are taken at a point that what was mixed alone decides."""
    outside = np.ones(rule.heard.stop, dtype=bool)
    outside[rule.heard] = False
    return all(np.abs(rule.point(k)[:, outside]).max(initial=0.0) <= SAME for k in range(1, rounds + 1))
