"""Which coalition of f agents estimates best: leakage over all of them, or over as many as time allows."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.networks.network import Network, network_asked
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.estimate.model_class import Model
from hocket.privacy.estimate.unsearched import least_deviation
from hocket.privacy.topology.connectivity import (
    agents_in,
    around,
    check_colluders,
    everybody,
    mask_of,
    neighbour_masks,
    split,
)
from hocket.rationals import whole

WORK = 10_000_000
"""Rounds times (agents + 50)² by default before a search ends: about a second."""
SCOUTED = 100
"""Rounds after which coalitions are compared; the worst is then followed to the end."""
RANKED = 20_000
"""Coalitions that are ranked by what they hear before any is estimated."""
BOUND_WORK = 5 * WORK
"""The same for a bound on coalitions that were not searched."""

Coalition = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WorstLeakage:
    """The coalitions that estimate best, among those searched."""

    colluders: int
    searched: int
    total: int
    leakage: Leakage
    """Of the coalition that knows some honest gradient best."""
    bound: float | None = None
    """No coalition of that size, searched or not, knows an honest gradient better than to this deviation, as long as
    gradients stay the same. None where all were searched, or where a bound takes too long."""

    @property
    def complete(self) -> bool:
        """Whether all coalitions of that size were searched."""
        return self.searched == self.total


def worst_leakage(
    network: Network,
    algorithm: str | Algorithm,
    colluders: int,
    *,
    rounds: int,
    work: int = WORK,
    bound_work: int = BOUND_WORK,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    **plan: Any,
) -> WorstLeakage:
    """The leakage to the worst coalition of f agents; `plan` is what else `leakage` takes.
    For sign-off against any f insiders. Those who hear most are searched first, by what they know after 100 rounds of
    gradients that stay the same; `models` are asked about the worst of them and about whoever hears most. Where not all
    can be searched, there is a bound on the others. `watch` may show progress.

    >>> found = worst_leakage(Network.cycle(30), "rss-nb", 1, rounds=20, work=1)
    >>> print(f"{found.searched} of {found.total} searched, none knows a gradient better than ±{found.bound:.3f}")
    1 of 30 searched, none knows a gradient better than ±0.316
    """
    network, rounds = network_asked(network), whole("rounds", rounds)
    found = worst_searched(network, algorithm, colluders, rounds=rounds, work=work, watch=watch, **plan)
    if found.complete:
        return found
    plan = {name: value for name, value in plan.items() if name not in ("models", "seed")}
    bound = least_deviation(
        network, algorithm, found.colluders, rounds=rounds, work=bound_work, watch=watch, **plan
    )
    return replace(found, bound=bound)


def worst_searched(
    network: Network,
    algorithm: str | Algorithm,
    colluders: int,
    *,
    rounds: int,
    work: int = WORK,
    seed: int = 0,
    models: Iterable[Model] = (),
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    **plan: Any,
) -> WorstLeakage:
    """The same without a word on coalitions that were not searched."""
    f = check_colluders(colluders, network.n)
    scouted = min(rounds, SCOUTED)
    affordable = max(1, work // (max(1, scouted) * (network.n + 50) ** 2))
    chosen = list(itertools.islice(suspects(network, f, seed), affordable))
    worst = min(
        (leakage(network, algorithm, coalition=one, rounds=scouted, **plan) for one in watch(chosen)),
        key=known_best,
    )
    if rounds > scouted or models:
        asked = dict.fromkeys([worst.coalition, hears_most(network, chosen)] if models else [worst.coalition])
        worst = min(
            (
                leakage(network, algorithm, coalition=one, rounds=rounds, models=models, **plan)
                for one in asked
            ),
            key=known_best,
        )
    return WorstLeakage(f, len(chosen), math.comb(network.n, f), worst)


def known_best(found: Leakage) -> tuple[float, float]:
    """Whoever knows one gradient best is worst; among equals, whoever knows all of them best.

    Rounded, so that of coalitions that are alike the first is taken, and not the one with the luckiest rounding.
    """
    sd = found.sd[list(found.honest)]
    return round(float(sd.min()), 6), round(float(np.mean(sd)), 6)


def hears_most(network: Network, coalitions: Iterable[Coalition]) -> Coalition:
    """Whoever hears most need not know a constant gradient best, but reads most from a form."""
    near = neighbour_masks(network.n, network.links)
    return max(coalitions, key=lambda one: _reach(near, network.n, one)[2:])


def suspects(network: Network, f: int, seed: int) -> Iterator[Coalition]:
    """Coalitions of f agents, all of them or many, from those that surround, cut off and overhear most."""
    near, total = neighbour_masks(network.n, network.links), math.comb(network.n, f)
    if total <= RANKED:
        chosen: Iterable[Coalition] = itertools.combinations(range(network.n), f)
    else:
        chosen = _some(network.n, f, near, seed)
    return iter(sorted(chosen, key=lambda coalition: _reach(near, network.n, coalition), reverse=True))


def _reach(near: list[int], n: int, coalition: Coalition) -> tuple[int, int, int, int]:
    """How many a coalition surrounds, into how many parts it cuts the rest, and whose whole neighbourhood it hears."""
    members = mask_of(coalition)
    honest = everybody(n) & ~members
    parts = split(near, honest)
    heard = around(near, members) | members
    closed = sum(1 for j in agents_in(honest & heard) if near[j] & ~heard == 0)
    return sum(1 for part in parts if part & (part - 1) == 0), len(parts), closed, heard.bit_count()


def _some(n: int, f: int, near: list[int], seed: int) -> set[Coalition]:
    """Neighbours of every agent, completed at random, and random coalitions."""
    draw = random.Random(seed)
    found = set()
    for j in range(n):
        others = list(agents_in(near[j]))[:f]
        rest = [i for i in range(n) if i != j and i not in others]
        found.add(tuple(sorted([*others, *draw.sample(rest, f - len(others))])))
    while len(found) < RANKED // 10:
        found.add(tuple(sorted(draw.sample(range(n), f))))
    return found
