"""Which coalition of f agents estimates best: leakage over all of them, or over as many as time allows."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.networks.network import Network, network_asked
from hocket.privacy.coalitions import Coalition, apart, overhears_most, stars, suspects, worst_of
from hocket.privacy.graph.connectivity import (
    agents_in,
    check_colluders,
    check_hiding,
    everybody,
    mask_of,
    neighbour_masks,
)
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import TAKEN, PlannedRun, joint_leakage, planned
from hocket.privacy.leakage.model_class import Model
from hocket.privacy.questions import Question

WORK = 10_000_000
"""Rounds times (agents + 50)² by default before a search ends: about a second."""
SCOUTED = 100
"""Rounds after which coalitions are compared; the worst is then followed to the end."""
BOUND_WORK = 5 * WORK
"""The same for a bound on coalitions that were not searched."""
Watch = Callable[[Sequence[Any]], Iterable[Any]]


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
    work: int = WORK,
    bound_work: int = BOUND_WORK,
    models: Iterable[Model] = (),
    active: bool = False,
    watch: Watch = iter,
    **plain: Any,
) -> WorstLeakage:
    """The leakage to the worst coalition of f agents; `plain` are fields of what else `leakage` takes.
    For sign-off against any f insiders. Where not all coalitions can be searched, there is a bound on the others.
    `watch` may show progress.

    >>> found = worst_leakage(Network.cycle(30), "rss-nb", 1, rounds=20, work=1)
    >>> print(f"{found.searched} of {found.total} searched, none knows a gradient better than ±{found.bound:.3f}")
    1 of 30 searched, none knows a gradient better than ±0.316
    """
    network = network_asked(network)
    asked = Question.of("worst_leakage", TAKEN - {"coalition"}, plain)
    run, who = planned(network, algorithm, asked, active=active), asked.adversary
    check_hiding({*range(check_colluders(colluders, network.n)), *run.leavers}, network.n)
    known: dict[str, Any] = {"threat": who.threat, "prior": who.prior, "start": who.start}
    found = worst_joint_leakage(
        [run], colluders, work=work, models=[[one] for one in models], watch=watch, **known
    )
    if found.complete:
        return found
    bound = least_std(run, found.colluders, work=bound_work, watch=watch, **known)
    return dataclasses.replace(found, bound=bound)


def worst_joint_leakage(
    runs: Sequence[PlannedRun],
    colluders: int,
    *,
    beside: Collection[int] = (),
    work: int = WORK,
    models: Sequence[Sequence[Model | None]] = (),
    watch: Watch = iter,
    **known: Any,
) -> WorstLeakage:
    """The leakage to the worst coalition of f agents of the last run, with those `beside` it, who took part before.
    For sign-off where data have served other runs; `known` is what else `joint_leakage` takes.

    Those who overhear most in any run are searched first, by what they know after 100 rounds of gradients that stay the
    same; `models` are asked about the worst of them and about who overhears most.
    """
    last = runs[-1]
    f = check_colluders(colluders, last.network.n)
    short = [dataclasses.replace(run, rounds=min(run.rounds, SCOUTED), leavers=_within(run)) for run in runs]
    price = sum(run.rounds * (run.network.n + 50) ** 2 for run in short)
    chosen = list(itertools.islice(_suspects(runs, f), max(1, work // price)))

    def better(one: Leakage, other: Leakage) -> bool:
        return known_best(one) < known_best(other)

    worst = worst_of(
        watch(chosen), lambda one: joint_leakage(short, coalition={*one, *beside}, **known), better
    )
    if models or any(run.rounds > SCOUTED for run in runs):
        likely = [worst.coalition, _ears(last, chosen)] if models else [worst.coalition]
        worst = worst_of(
            dict.fromkeys(likely),
            lambda one: joint_leakage(runs, coalition={*one, *beside}, models=models, **known),
            better,
        )
    return WorstLeakage(f, len(chosen), math.comb(last.network.n, f), worst.score)


def known_best(found: Leakage) -> tuple[float, float]:
    """Who knows one gradient best is worst; among equals, who knows all of them best.

    Rounded, so that of coalitions that are alike the first is taken, and not the one with the luckiest rounding.
    """
    sd = found.sd[list(found.honest)]
    return round(float(sd.min()), 6), round(float(np.mean(sd)), 6)


def least_std(run: PlannedRun, f: int, *, work: int, watch: Watch = iter, **known: Any) -> float | None:
    """A deviation below which no f agents know an honest gradient, no matter who they are, for gradients that stay the
    same. None where it would take more than `work`; `known` is what else `joint_leakage` takes."""
    network, gone = run.network, mask_of(run.leavers)  # who count as members, beside the f
    near = [others & ~gone for others in neighbour_masks(network.n, network.links)]
    staying = agents_in(everybody(network.n) & ~gone)
    if any(near[agent].bit_count() <= f for agent in staying):
        return 0.0
    groups = apart(near, (star for star in stars(near, f) if star.centre in staying))
    if sum(run.rounds * (mask.bit_count() + 50) ** 2 for mask, _ in groups) > work:
        return None
    least = math.inf
    for mask, centres in watch(groups):
        others = agents_in(everybody(network.n) & ~mask)
        found = joint_leakage([run], coalition=others, **known)
        least = min(least, *(float(found.constant[centre]) for centre in centres))
    return least


def _ears(run: PlannedRun, chosen: Sequence[Coalition]) -> Coalition:
    """Of some coalitions the one that overhears most in this run."""
    agent = {who: place for place, who in enumerate(run.people)}
    here = {tuple(agent[who] for who in one): one for one in chosen}
    return here[overhears_most(run.network, here)]


def _within(run: PlannedRun) -> dict[int, int]:
    return {agent: min(k, SCOUTED) for agent, k in run.leavers.items()}


def _suspects(runs: Sequence[PlannedRun], f: int) -> Iterator[Coalition]:
    """Coalitions of the last run's agents, in turns those who overhear most in each of the networks."""
    able, seen = {*runs[-1].people}, set[Coalition]()

    def of_one(run: PlannedRun) -> Iterator[Coalition]:
        for one in suspects(run.network, f):
            yield tuple(sorted(run.people[agent] for agent in one))

    by_run = [of_one(run) for run in reversed(runs) if run.network.n > f]
    for one in itertools.chain.from_iterable(itertools.zip_longest(*by_run)):
        if one is not None and one not in seen and able.issuperset(one):
            seen.add(one)
            yield one
