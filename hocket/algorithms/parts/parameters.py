"""Noise that a user brings along in place of random draws, and checks of the numbers an algorithm is given.

Uniform draws keep their bound for certain, but have edges, which give a patient listener more than their variance
does. Normal draws have none. Their bound may be broken somewhere in a run with probability `failure` at most: each of
the events that would break it gets an equal share of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]

from hocket.algorithm import Setting
from hocket.errors import BadAlgorithm

Distribution = Literal["uniform", "gaussian"]
LONGEST_RUN = 1 << 30
"""Rounds that a promise about a whole run is made for: more than any run may have, so that a run that is taken up
again for more rounds goes on with the same noise. Beside a million rounds that costs a tenth of the noise at most."""
Given = Callable[[int, int, int], Any] | np.ndarray | None
"""(sender, receiver, k) -> vector, or a table of all draws: (rounds, links, 2, width), lower-numbered sender first."""


def tabulated(
    noise: Given, setting: Setting, *, first: int, width: int | None = None, once: bool = False
) -> np.ndarray | None:
    """The user's noise as one table, a row per round; rounds before `first` are silent.

    A callable is asked on the host, before the run, once per round and directed link that is active then.
    """
    if noise is None:
        return None
    links, width = setting.network.links, width or setting.dim
    shape = (1 if once else setting.rounds, len(links), 2, width)
    active = setting.network.active[np.arange(shape[0]) % setting.network.period] | once
    if not callable(noise):
        table = np.asarray(noise)
        if table.shape != shape:
            raise BadAlgorithm(
                f"noise has shape {table.shape}; this plan needs {shape}: rounds, links, 2, width"
            )
        for row, link in np.argwhere(~active & (table != 0).any(axis=(2, 3)))[:1]:
            low, high = links[link]
            raise BadAlgorithm(
                f"noise is given for the link of agents {low} and {high} in round {row + 1}, in which it is silent; "
                "leave it zero there"
            )
        return _finite(table)
    table = np.zeros(shape, dtype=object)
    for row in range(first - 1, shape[0]) if not once else [0]:
        for link, (low, high) in enumerate(links.tolist()):
            if not active[row, link]:
                continue
            for direction, (sender, receiver) in enumerate([(low, high), (high, low)]):
                table[row, link, direction] = _vector(
                    noise(sender, receiver, 0 if once else row + 1), width, sender, receiver
                )
    return _finite(table)


def _vector(value: Any, width: int, sender: int, receiver: int) -> np.ndarray:
    vector = np.atleast_1d(np.asarray(value)).reshape(-1)
    if len(vector) != width:
        raise BadAlgorithm(
            f"noise({sender}, {receiver}, k) has {len(vector)} entries; this plan needs {width}"
        )
    return vector


def _finite(table: np.ndarray) -> np.ndarray:
    numbers = table.astype(np.float64)
    if not np.isfinite(numbers).all():
        row, link = np.argwhere(~np.isfinite(numbers))[0][:2]
        raise BadAlgorithm(f"noise is not finite in round {row + 1} on link {link}; return finite numbers")
    # Fractions stay as they are: the exact engine needs them.
    floats = table.dtype != object or all(isinstance(value, float | np.floating) for value in table.flat)
    return numbers if floats else table


SLACK = 1e-6
"""The part by which given noise may be off balance, or over its bound, by rounding."""


def check_added(table: np.ndarray | None, setting: Setting, delta: Any) -> None:
    """Pairwise noise of one's own adds up to Δ at most at every agent, in every round; Δ = 0 states no bound."""
    if table is None or not is_positive(delta):
        return
    network = setting.network
    net = (table[:, :, 0] - table[:, :, 1]).astype(np.float64)
    added = np.zeros((len(table), network.n, table.shape[3]))
    for link, (low, high) in enumerate(network.links.tolist()):
        added[:, high] += net[:, link]
        added[:, low] -= net[:, link]
    size = np.linalg.norm(added, axis=2)
    for row, agent in np.argwhere(size > delta * (1 + SLACK))[:1]:
        raise BadAlgorithm(
            f"your own noise adds {size[row, agent]:.4g} in norm to agent {agent} in round {row + 1}, and delta = "
            f"{delta:g} bounds it; give smaller noise, delta={size.max():.4g} or more, or delta=0 to state no bound"
        )


def check_each(table: np.ndarray | None, setting: Setting, name: str, most: Any, *, width: int = 0) -> None:
    """No draw of one's own is larger than stated: its norm, or with a `width` any number in it."""
    if table is None or not is_positive(most):
        return
    numbers = np.abs(table.astype(np.float64))
    size = numbers.max(axis=3, initial=0.0) if width else np.linalg.norm(numbers, axis=3)
    for row, link, direction in np.argwhere(size > most * (1 + SLACK))[:1]:
        sender, receiver = setting.network.links[link][:: -1 if direction else 1].tolist()
        raise BadAlgorithm(
            f"your own noise from agent {sender} to agent {receiver} is {size[row, link, direction]:.4g} in round "
            f"{row + 1}, and {name} = {most:g} bounds it; give smaller noise, {name}={size.max():.4g} or more, or "
            f"{name}=0 to state no bound"
        )


def check_balance(table: np.ndarray | None, setting: Setting) -> None:
    """What an agent tells its neighbours is balanced: Σ_i B[i, j] d_{j,i} = 0 in every round [paper, eq. (4)]."""
    if table is None:
        return
    network = setting.network
    weight = network.weight[np.arange(len(table)) % network.period]
    told = weight[..., None] * table.astype(np.float64)
    total, size = (np.zeros((len(table), network.n, table.shape[3])) for _ in range(2))
    for link, ends in enumerate(network.links.tolist()):
        for direction, sender in enumerate(ends):
            total[:, sender] += told[:, link, direction]
            size[:, sender] += np.abs(told[:, link, direction])
    for row, agent, _ in np.argwhere(np.abs(total) > SLACK * size)[:1]:
        raise BadAlgorithm(
            f"your own noise of agent {agent} in round {row + 1} does not balance: by the weights of those who "
            f"hear it, it sums to {np.abs(total[row, agent]).max():.4g} and must sum to zero; "
            "subtract its share along the weights"
        )


def check_company(setting: Setting) -> None:
    """Noise that cancels needs somebody to cancel it with."""
    if setting.network.n == 1:
        raise BadAlgorithm("a single agent has nobody to share noise with; use Dgd or Centralised")


def check_size(name: str, value: Any) -> None:
    """A noise bound is a finite number, not negative."""
    if isinstance(value, float | int) and not (math.isfinite(value) and value >= 0):
        raise BadAlgorithm(
            f"{name} = {value}; it bounds the size of the noise and must be zero or more, and finite"
        )


def check_share(name: str, value: Any) -> None:
    """A share lies between nothing and everything."""
    if isinstance(value, float | int) and not 0 <= value <= 1:
        raise BadAlgorithm(f"{name} = {value}; it is a share of the noise and must lie between 0 and 1")


def check_positive(name: str, value: Any, why: str, *, most: float = math.inf) -> None:
    """Refuse a number that is not finite, not above zero, or too large."""
    if isinstance(value, float | int) and not (math.isfinite(value) and 0 < value <= most):
        limit = "" if most == math.inf else f", up to {most:g}"
        raise BadAlgorithm(f"{name} = {value}; {why}: give a number above 0{limit}")


def check_choice(name: str, value: Any, *plain: str, **explained: str) -> None:
    """Refuse what is none of the choices, some of which explain themselves."""
    if value not in (*plain, *explained):
        choices = [repr(one) for one in plain] + [f"{one!r}, {why}" for one, why in explained.items()]
        raise BadAlgorithm(f"{name} = {value!r}; choose {', or '.join(choices)}")


def is_zero(value: Any) -> bool:
    """Whether a number is there and zero; of one that is being compiled nobody can tell."""
    return isinstance(value, float | int) and value == 0


def is_positive(value: Any) -> bool:
    """Whether a number is there and above zero; of one that is being compiled nobody can tell."""
    return isinstance(value, float | int) and value > 0


def check_distribution(distribution: str, failure: Any) -> None:
    """Refuse an unknown distribution, or a probability that is none."""
    if distribution not in ("uniform", "gaussian"):
        raise BadAlgorithm(
            f"distribution = {distribution!r}; choose 'uniform', bounded for certain, or 'gaussian', without edges"
        )
    if isinstance(failure, float | int) and not 0 < failure < 1:
        raise BadAlgorithm(
            f"failure = {failure}; it is the probability that noise exceeds its bound: choose it above 0, far below 1"
        )


def sd_within_norm(dim: int, *, events: int, failure: float) -> float:
    """The deviation per coordinate with which none of `events` normal vectors is longer than 1, save with `failure`."""
    return float(1 / np.sqrt(2 * scipy.special.gammainccinv(dim / 2, failure / events)))


def sd_within_bound(*, events: int, failure: float) -> float:
    """The deviation with which none of `events` normal numbers exceeds 1 in magnitude, save with `failure`."""
    return float(-1 / scipy.special.ndtri(failure / events / 2))
