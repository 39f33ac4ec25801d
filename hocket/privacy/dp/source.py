"""Where a certificate's noise comes from: an algorithm that knows it, or its key and deviations that were given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import BY_KEY, in_a_sentence
from hocket.claims import NOISE_ON, mechanism, named
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism
from hocket.privacy.stand_ins import TYPICAL
from hocket.steps import Constant, Step

SHORTEST = 3
"""Rounds of a setting where nobody said how many: enough for noise that does not depend on them."""

COUNTLESS = 10**15
"""More than anybody counts: beyond it doubles do not either."""


@dataclass(frozen=True, eq=False)
class Source:
    """An algorithm as a certificate needs it."""

    algorithm: str | Algorithm
    title: str
    mechanism: Mechanism | str
    """Its noise, or why no certificate stands on it."""
    step: Step | None
    rounds: int | None
    setting: Setting | None
    """What is agreed before a run, where the algorithm itself was given."""
    sigma: float | None = None
    persistent_sigma: float = 0.0
    own: float = 0.0
    """As they were given with a key: one number each, for those that take no others."""


def source_of(
    network: Network,
    algorithm: str | Algorithm,
    *,
    sigma: float | Iterable[float] | None,
    own: float,
    persistent_sigma: float | Iterable[float],
    step: Step | None,
    rounds: int | None,
    dim: int | None,
) -> Source:
    """The noise of an algorithm on a network."""
    rounds = None if rounds is None else whole("rounds", rounds)
    if isinstance(algorithm, Algorithm):
        if sigma is not None or own or _deviations("persistent_sigma", persistent_sigma).any():
            raise BadInput(
                f"{algorithm.title} knows its own noise; leave sigma, own and persistent_sigma away, or give its key"
            )
        setting = Setting(network, dim or 1, step or Constant(1.0), rounds or SHORTEST)
        algorithm.validate(setting)  # a grid too coarse, or an agent without company, is refused here too
        return Source(algorithm, algorithm.title, mechanism(algorithm, setting), step, rounds, setting)
    if algorithm not in BY_KEY:
        raise BadInput(
            f"unknown algorithm {algorithm!r}; choose one of {', '.join(BY_KEY)}, or pass the algorithm itself"
        )
    return _by_key(network, algorithm, sigma, own, persistent_sigma, step, rounds)


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number, checked."""
    is_number = isinstance(value, int | float | np.integer) and not isinstance(value, bool)
    if not is_number or not least <= value <= COUNTLESS or value != int(value):
        raise BadInput(f"{name} = {value!r}; give a whole number, {least} or more, and {COUNTLESS:g} at most")
    return int(value)


def _by_key(
    network: Network,
    key: str,
    sigma: Any,
    own: Any,
    persistent_sigma: Any,
    step: Step | None,
    rounds: int | None,
) -> Source:
    kind = named(key)
    if kind is None:
        name = BY_KEY[key].__name__
        why = f"{key} stands for {name} here, and not for hocket's own code"
        return Source(key, name, why, step, rounds, None, None if sigma is None else _one(sigma))
    title = in_a_sentence(kind)
    if key not in NOISE_ON:
        why = f"{title} has no noise that a certificate could stand on"
        if type(TYPICAL.get(key)) is kind:
            found = mechanism(TYPICAL[key], Setting(network, 1, step or Constant(1.0), rounds or SHORTEST))
            why = found if isinstance(found, str) else why
        return Source(key, title, why, step, rounds, None, None if sigma is None else _one(sigma))
    if sigma is None:
        raise BadInput(
            f"{key} by its key needs sigma=, the deviation of one draw; or pass the algorithm itself"
        )
    fresh = _by_link("sigma", sigma, network)
    kept = _by_link("persistent_sigma", persistent_sigma, network)
    if NOISE_ON[key] == "objective" and kept.any():
        raise BadInput(f"persistent_sigma: all pairwise noise of {key} is kept over rounds; give sigma alone")
    found = Mechanism(
        NOISE_ON[key],
        fresh[None],
        _one_number("own", own),
        kept if kept.any() else None,
        projects="before the step" if NOISE_ON[key] == "gradients" else "nowhere",
    )
    return Source(key, title, found, step, rounds, None, _one(sigma), _one(persistent_sigma), found.own_sd)


def _one_number(name: str, given: Any) -> float:
    values = _deviations(name, given)
    if values.size != 1:
        raise BadInput(f"{name} has {values.size} numbers; all agents draw noise of one deviation: give one")
    return float(values[0])


def _one(given: Any) -> float:
    values = np.atleast_1d(np.asarray(given, dtype=float))
    return float(values[0]) if np.ptp(values) == 0 else float("nan")


def _by_link(name: str, given: Any, network: Network) -> np.ndarray:
    links = len(network.links)
    values = _deviations(name, given)
    if values.size not in (1, links):
        raise BadInput(
            f"{name} has {values.size} numbers for {links} links; give one, or one for each of net.links in order"
        )
    return np.broadcast_to(values, links).copy()


def _deviations(name: str, given: Any) -> np.ndarray:
    values = np.atleast_1d(
        np.asarray(given if np.isscalar(given) else np.array([*np.ravel(given)]), dtype=float)
    )
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise BadInput(f"{name} = {given!r}; a standard deviation is a finite number, zero or more")
    return values
