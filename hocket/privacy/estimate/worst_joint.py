"""Which coalition of f agents estimates best from several runs together, each with the plan that it really had."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from hocket.privacy.estimate.joint import PlannedRun, joint_leakage
from hocket.privacy.estimate.model_class import Model
from hocket.privacy.estimate.worst_case import (
    SCOUTED,
    WORK,
    Coalition,
    WorstLeakage,
    hears_most,
    known_best,
    suspects,
)
from hocket.privacy.topology.connectivity import check_colluders


def worst_joint_leakage(
    runs: Sequence[PlannedRun],
    colluders: int,
    *,
    beside: Collection[int] = (),
    work: int = WORK,
    seed: int = 0,
    models: Sequence[Sequence[Model | None]] = (),
    **known: Any,
) -> WorstLeakage:
    """The leakage to the worst coalition of f agents of the last run, with those `beside` it, who took part before.
    For sign-off where data have served other runs. Those who hear most in any run are searched first, by gradients that
    stay the same; `models` are asked about the worst of them and about whoever hears most.
    """
    last = runs[-1]
    f = check_colluders(colluders, last.network.n)
    short = [dataclasses.replace(run, rounds=min(run.rounds, SCOUTED), leavers=_within(run)) for run in runs]
    price = sum(run.rounds * (run.network.n + 50) ** 2 for run in short)
    chosen = list(itertools.islice(_suspects(runs, f, seed), max(1, work // price)))
    found = [joint_leakage(short, coalition={*one, *beside}, **known) for one in chosen]
    place = min(range(len(chosen)), key=lambda one: known_best(found[one]))
    worst = found[place]
    if models or any(run.rounds > SCOUTED for run in runs):
        likely = [chosen[place], _ears(last, chosen)] if models else [chosen[place]]
        asked = dict.fromkeys(likely)
        every = (joint_leakage(runs, coalition={*one, *beside}, models=models, **known) for one in asked)
        worst = min(every, key=known_best)
    return WorstLeakage(f, len(chosen), math.comb(last.network.n, f), worst)


def _ears(run: PlannedRun, chosen: Sequence[Coalition]) -> Coalition:
    """Of some coalitions the one that hears most in this run."""
    agent = {who: place for place, who in enumerate(run.people)}
    here = {tuple(agent[who] for who in one): one for one in chosen}
    return here[hears_most(run.network, here)]


def _within(run: PlannedRun) -> dict[int, int]:
    return {agent: min(k, SCOUTED) for agent, k in run.leavers.items()}


def _suspects(runs: Sequence[PlannedRun], f: int, seed: int) -> Iterator[Coalition]:
    """Coalitions of the last run's agents, in turns those who hear most in each of the networks."""
    able = {*runs[-1].people}
    by_run = [_in_one(run, f, seed) for run in reversed(runs) if run.network.n > f]
    seen: set[Coalition] = set()
    for row in itertools.zip_longest(*by_run):
        for one in row:
            if one is not None and one not in seen and able.issuperset(one):
                seen.add(one)
                yield one


def _in_one(run: PlannedRun, f: int, seed: int) -> Iterator[Coalition]:
    for one in suspects(run.network, f, seed):
        yield tuple(sorted(run.people[agent] for agent in one))
