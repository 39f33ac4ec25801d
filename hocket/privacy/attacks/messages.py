"""What a view holds of one agent, given the public plan: its messages, and from them what it mixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypedDict, Unpack

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Setting
from hocket.errors import BadInput, NotRecorded
from hocket.noise.draws import Draw
from hocket.privacy.attacks.attack import Why
from hocket.privacy.profile import profile
from hocket.privacy.stand_ins import TYPICAL
from hocket.privacy.wording import Said
from hocket.runs.view import View, check_honest
from hocket.steps import Step, as_step

AnyStep = Step | float | Callable[[int], float]


class Plan(TypedDict, total=False):
    """What a run loaded from disk lacks, as every attack takes it by name: public, so that every attacker has it."""

    step: AnyStep | None
    algorithm: Algorithm | None


def with_plan(view: View, *, any_messages: bool = False, **plan: Unpack[Plan]) -> View:
    """The view with step and algorithm filled in. An algorithm whose noise is switched off becomes what it then is.

    Most attacks take messages for x and noise; one that does not says `any_messages`.
    """
    step, algorithm = plan.get("step"), plan.get("algorithm") or view.algorithm
    planned = view.step if step is None else as_step(step)
    if planned is None or algorithm is None:
        name = "step" if planned is None else "algorithm"
        raise NotRecorded(
            f"this view does not know the {name}, since its run was loaded from disk; pass {name}="
        )
    if not (profile(algorithm).plain or any_messages):
        known = ", ".join(type(one).__name__ for one in TYPICAL.values() if profile(one).plain)
        raise BadInput(
            f"messages of {type(algorithm).__name__} do not stand for a state, and this attack reads those of {known} "
            "alone; take averaging_attack, which is linear and reads the rounds of any affine algorithm"
        )
    return dataclasses.replace(view, step=planned, algorithm=algorithm)


def check_target(view: View, target: int) -> int:
    """A target is an honest agent of the network."""
    return check_honest(target, view.coalition, view.network.n)


def planned_draws(view: View) -> Mapping[str, Draw]:
    """How the plan's noise is distributed: public, unlike the draws themselves."""
    algorithm = view.algorithm
    if uses_own_noise(view):
        # A user's noise is the run's secret; all that an attacker can assume is that it looks like random draws.
        algorithm = dataclasses.replace(algorithm, given=None)
    assert view.step is not None
    return algorithm.noise(Setting(view.network, dimension(view), view.step, view.rounds))


def uses_own_noise(view: View) -> bool:
    """Whether the user brought noise along, of whose distribution nothing is known."""
    return getattr(view.algorithm, "given", None) is not None


def dimension(view: View) -> int:
    """How many numbers a message has."""
    if not view.words or not view.words[0]:
        raise BadInput("nothing was sent in what this coalition sees; there is nothing to attack")
    return next(iter(view.words[0].values())).shape[1]


Messages = Float[np.ndarray, "rounds dim"]
"""A row per round; NaN where nothing was received."""


def own_message(view: View, agent: int) -> Messages:
    """What an agent sends to itself: the message to all or, where it sends each neighbour its own, its bare state."""
    if profile(view.algorithm).per_neighbour:
        return _state_behind(view, agent)
    received = np.full((view.rounds, dimension(view)), np.nan)
    for i in view.network.neighbours(agent):
        if (agent, i) in view.words[0] and np.isnan(received).any():
            received = np.where(np.isnan(received), view.words[0][agent, i].astype(np.float64), received)
    return received


def mixed(view: View, agent: int) -> Messages:
    """v_j = Σ_i B[j,i] w_i, wherever all of N[j] was received."""
    network, phases = view.network, _phases(view)
    total = network.own[phases, agent, None] * own_message(view, agent)
    for i in network.neighbours(agent):
        total = total + _weighed(_message_to(view, i, agent), _weight(view, i, agent))
    return total


def not_received(view: View, agent: int) -> Said | None:
    """Whose messages were missing for v_j; None if none was."""
    neighbours = view.network.neighbours(agent)
    if profile(view.algorithm).per_neighbour:
        missing = [i for i in neighbours if (agent, i) not in view.words[0]]
        if missing:
            return Said(Why.NOT_ALL_OUT, who=(agent,), missing=missing)
    silent = [i for i in neighbours if np.isnan(_message_to(view, i, agent)).all()]
    if np.isnan(own_message(view, agent)).all():
        silent.append(agent)
    if not silent:
        return None
    return Said(Why.NOT_RECEIVED if view.coalition else Why.NOT_TAPPED, silent=silent, who=(agent,))


def place_of_link(view: View, one: int, other: int) -> int:
    """Which of the network's links two neighbours share."""
    return int(np.flatnonzero((view.network.links == sorted((one, other))).all(axis=1))[0])


def _state_behind(view: View, agent: int) -> Messages:
    """x_j = Σ_i B[i,j] w_{j,i} / Σ_i B[i,j]: balance gives the state away to all neighbours together."""
    total, weight = np.zeros((view.rounds, dimension(view))), np.zeros((view.rounds, 1))
    for i in view.network.neighbours(agent):
        b = _weight(view, agent, i)
        total = total + _weighed(_message_to(view, agent, i), b)
        weight = weight + b
    return np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)


def _message_to(view: View, sender: int, receiver: int) -> Messages:
    if not profile(view.algorithm).per_neighbour:
        return own_message(view, sender)
    words = view.words[0].get((sender, receiver))
    silence = np.full((view.rounds, dimension(view)), np.nan)
    return silence if words is None else words.astype(np.float64)


def _weighed(words: Messages, weight: Float[np.ndarray, "rounds 1"]) -> Messages:
    """A silent link weighs nothing, and so does what was not received on it."""
    return np.where(weight > 0, weight * words, 0.0)


def _weight(view: View, sender: int, receiver: int) -> Float[np.ndarray, "rounds 1"]:
    """B_k[receiver, sender] in every round."""
    link = place_of_link(view, sender, receiver)
    return view.network.weight[_phases(view), link, int(sender > receiver), None]


def _phases(view: View) -> np.ndarray:
    return np.arange(view.rounds) % view.network.period
