"""Colluders who vote all honest members out, and what they would then read off the words that are still said to them.

Were an honest member to believe them, it would drop its links with the other honest ones, and their noise. Nothing but
the colluders' own noise would be left on its words: they subtract it and have its states, and from two states and what
it heard its gradient, and from that its target.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from hocket.federation.runtime.payload import arrays_for
from hocket.links.wire import Kind, Limits, unpack

from .hostile import Deviation, Hand, Honest, Script, in_turn
from .hostile_control import Once, against_all
from .hostile_oracles import check, planned_talk
from .hostile_scripts import opened
from .hostile_stage import Stage, federation_of, play
from .quadratic import target

HIDDEN = 1e-6
"""Noise is of the order of 0.01 here; what is closer than this is known."""


class Guess(NamedTuple):
    """What a coalition makes of one word: the state, and the target if the next message is as bare."""

    round: int
    state: np.ndarray
    target: np.ndarray


class VotesAgain(Once):
    """Votes against all honest members, and remembers its own words: a coalition knows what it said."""

    async def says(self, hand: Hand, to: str, message: bytes) -> Iterable[bytes]:
        frame = opened(message)
        if frame.kind is Kind.MESSAGE:
            hand.memory["said", frame.round, to] = np.array(frame.parts[0])
        return await super().says(hand, to, message)


def voting() -> Script:
    return VotesAgain(against_all)


def guesses(stage: Stage, one: Honest) -> Iterator[Guess]:
    """The attack: take off what the coalition drew with the victim, as if nothing else were there."""
    plan, whole = stage.federation.plan, one.member.role()
    honest = {plan.agent(name) for name in stage.honest} & set(whole.neighbours)
    role = replace(whole, dropped=frozenset(honest))
    states = {
        said.round: _word(said.message) - _noise(stage, one, role, said.round, said.receiver)
        for said in one.said
        if said.receiver in stage.coalition
    }
    words = {said.round: _word(said.message) for said in one.said}
    for k in sorted(states):
        if k + 1 not in states:
            continue
        own, weights = role.weights(k)
        received = [
            stage.hostile[plan.names[other]].memory.get(("said", k, one.member.name)) for other in weights
        ]
        if all(word is not None for word in received):
            pairs = zip(weights.values(), received, strict=True)
            v = own * words[k] + sum(weight * word for weight, word in pairs)
            yield Guess(k, states[k], v - (v - states[k + 1]) / role.step(k))


def _word(message: bytes) -> np.ndarray:
    return np.array(unpack(message, Limits(len(message))).parts[0])


def _noise(stage: Stage, one: Honest, role, k: int, receiver: str) -> np.ndarray:
    """The word that would be said at zero, of the coalition's noise alone."""
    zero = np.zeros(stage.federation.plan.task.dimension)
    planned = arrays_for(role, next(planned_talk(stage, one, role, k, zero)))
    [array] = planned.get(None) or planned[stage.federation.plan.agent(receiver)]
    return array


def closest(stage: Stage) -> tuple[float, float]:
    """How well any state and any target of an honest member comes out, over all rounds under noise."""
    states, targets = [np.inf], [np.inf]
    for one in stage.honest.values():
        aim = target(stage.federation.plan.agent(one.member.name))
        for guess in guesses(stage, one):
            if guess.round > 1:
                states += [float(np.abs(guess.state - x).max()) for x in one.states.get(guess.round, [])]
                targets.append(float(np.abs(guess.target - aim).max()))
    return min(states), min(targets)


VOTED_OUT = (
    ("K5", 2, None),
    ("K4", 2, None),
    ("C5", 2, None),
    ("K4", 1, ("ash", 6)),
    ("K5", 1, ("ash", 6)),
    ("K5", 2, ("ash", 3)),
)
"""Where, by how many, and who of the victims is started again, with their votes in its journal."""


@pytest.mark.parametrize("algorithm", in_turn(["rss-nb", "persistent"]))
def test_votes_of_colluders_bring_no_secret_out(tmp_path, algorithm):
    stages = []
    for place, (topology, members, restart) in enumerate(VOTED_OUT):
        federation = federation_of(tmp_path / f"{place}", topology, algorithm, colluders=members, rounds=16)
        name = f"{members} of {topology}" + ("" if restart is None else ", later")
        voted = Deviation(name, "all honest members are voted out", voting, members, restart=restart)
        stages.append(Stage(federation, voted, tmp_path / f"stage-{place}"))
    known = {stage.deviation.name: closest(stage) for stage in play(stages)}
    exposed = {name: found for name, found in known.items() if min(found) < HIDDEN}
    assert not exposed, f"states and targets of honest members come out to {exposed}"
    check(stages)


def test_whoever_only_watches_learns_nothing(tmp_path):
    federation = federation_of(tmp_path / "plan", "K5", "rss-nb", colluders=2)
    watching = Deviation("watching", "two of five collude", lambda: VotesAgain(lambda hand: []), 2)
    [stage] = play([Stage(federation, watching, tmp_path / "stage")])
    assert min(closest(stage)) > HIDDEN
    check([stage])


def test_the_attack_wins_where_nobody_else_is_left(tmp_path):
    """Surrounded by colluders a member has no noise but theirs: the same attack reads everything."""
    federation = federation_of(tmp_path / "plan", "K4", "rss-nb", colluders=1)
    surrounded = Deviation("watching", "three of four collude", lambda: VotesAgain(lambda hand: []), 3)
    [stage] = play([Stage(federation, surrounded, tmp_path / "stage")])
    state, aim = closest(stage)
    assert state < 1e-12  # float64, a few sums
    assert aim < 1e-10
