"""How well f agents can know a gradient at best, whoever they are: a bound on coalitions that nobody searched.

Whoever the f are, all but f of an agent's neighbours stay honest. Somebody who knows everything of everybody but the
agent and those neighbours knows what the f know, and more; and to know more only sharpens a Gaussian posterior. So no
coalition of f knows a gradient better than the best known of such listeners does.

Such stars, where no link leads from one to another, are independent for whoever knows all the rest: many of them are
estimated at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from hocket.algorithm import Algorithm
from hocket.networks.network import Network
from hocket.privacy.estimate.leakage import leakage
from hocket.privacy.topology.connectivity import agents_in, around, everybody, mask_of, neighbour_masks

STARS = 4_000
"""Stars up to which all of an agent's honest neighbours count; beyond, one of them by itself, which is never better."""


class Star(NamedTuple):
    """An agent and some of its neighbours: all that is honest."""

    centre: int
    agents: int
    """All of them as a mask."""


def least_deviation(
    network: Network,
    algorithm: str | Algorithm,
    f: int,
    *,
    rounds: int,
    work: int,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    **plan: Any,
) -> float | None:
    """A deviation below which no f agents know an honest gradient, for gradients that stay the same.
    None where it would take more than `work`, counted as in `worst_leakage`; `plan` is what else `leakage` takes.
    """
    gone = mask_of(plan.get("leavers") or ())  # they count as members, beside the f
    near = [others & ~gone for others in neighbour_masks(network.n, network.links)]
    staying = agents_in(everybody(network.n) & ~gone)
    if any(near[agent].bit_count() <= f for agent in staying):
        return 0.0
    groups = apart(near, (star for star in stars(near, f) if star.centre in staying))
    if sum(rounds * (mask.bit_count() + 50) ** 2 for mask, _ in groups) > work:
        return None
    least = math.inf
    for mask, centres in watch(groups):
        others = agents_in(everybody(network.n) & ~mask)
        found = leakage(network, algorithm, coalition=others, rounds=rounds, **plan)
        least = min(least, *(float(found.constant[centre]) for centre in centres))
    return least


def stars(near: list[int], f: int) -> Iterator[Star]:
    """Every agent with each choice of neighbours that f colluders may leave it; with one of them, if those are many."""
    many = sum(math.comb(others.bit_count(), f) for others in near) > STARS
    for centre, others in enumerate(near):
        leaves = 1 if many else others.bit_count() - f
        for chosen in itertools.combinations(agents_in(others), leaves):
            yield Star(centre, mask_of((centre, *chosen)))


def apart(near: list[int], stars: Iterable[Star]) -> list[tuple[int, set[int]]]:
    """Stars in groups in which no two touch: a group's agents, and whoever is in the middle of one."""
    centres: dict[int, set[int]] = {}
    for star in stars:
        centres.setdefault(star.agents, set()).add(star.centre)
    groups: list[tuple[int, int, set[int]]] = []
    for agents, middle in centres.items():
        whole = agents | around(near, agents)
        for place, (taken, closed, others) in enumerate(groups):
            if not (taken & whole or closed & agents):
                groups[place] = taken | agents, closed | whole, others | middle
                break
        else:
            groups.append((agents, whole, middle))
    return [(taken, middle) for taken, _, middle in groups]
