"""The exact engine: the same generators on fractions, a handful of rounds, no rounding anywhere.

For proofs and witnesses: runs can be compared message by message for equality. The length of numbers grows by the
objectives' degree every round, so this is for small problems and few rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import numpy as np

from hocket.agent import Agent, Each
from hocket.algorithm import Broadcast, Outgoing, SecureSum, SendEach, opened, x_of
from hocket.networks.neighbour_tables import NeighbourTables, tabulate
from hocket.networks.weights import SUM_TOLERANCE
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw, Pair, When
from hocket.rationals import as_fractions
from hocket.runs.job import Job, describe, promised_remarks
from hocket.runs.remarks import remarks_of
from hocket.runs.run import Ending, Messages, Noise, Outcome, Run, Transcript
from hocket.runs.theorems import claim

SHARPEST = 10**9
"""Weights are read as the simplest fractions with denominators up to this."""


@dataclass(frozen=True)
class ExactMessages:
    """Messages of the neighbours with their exact weights."""

    own_weight: Fraction
    weights: list[Fraction]
    words: list[Any]

    def mixed_with(self, own: Any) -> Any:
        return jax.tree.map(self._mix, own, *self.words)

    def each(self) -> Each:
        return Each(
            np.array(self.weights, dtype=object), jax.tree.map(lambda *rows: np.stack(rows), *self.words)
        )

    def _mix(self, own: Any, *words: Any) -> Any:
        weighed = (weight * word for weight, word in zip(self.weights, words, strict=True))
        return sum(weighed, self.own_weight * own)


def play_exactly(job: Job) -> Run:
    """Run a job in rational arithmetic and keep everything."""
    tables = tabulate(job.own_network, slots_needed=True)
    draws = job.draws(job.algorithm)
    root = threefry.seed_key(job.seed)
    key = (root[0], root[1])
    kept = {
        name: _noise(draw, key, np.arange(tables.period), tables) for name, draw in draws.items() if draw.once
    }
    fresh = {
        name: _noise(draw, key, np.arange(1, job.rounds + 1), tables)
        for name, draw in draws.items()
        if not draw.once
    }
    states: list[Any] = [
        job.algorithm.init(_agent(job, j, {name: dealt[0][j] for name, (_, dealt) in kept.items()}), x)
        for j, x in enumerate(as_fractions(job.first_states))
    ]
    path, words = [np.stack([x_of(state) for state in states])], []
    exchanges = 0

    def carry(phase: int, outgoing: list[Any]) -> list[ExactMessages]:
        nonlocal exchanges
        exchanges += 1
        return _carry(tables, phase, outgoing)

    for k in range(1, job.rounds + 1):
        phase = (k - 1) % tables.period
        shares = [
            {name: dealt[phase][j] for name, (_, dealt) in kept.items()}
            | {name: dealt[k - 1][j] for name, (_, dealt) in fresh.items()}
            for j in range(tables.n)
        ]
        talks = [job.algorithm.round(_agent(job, j, shares[j]), states[j], k) for j in range(tables.n)]
        states, said = _all_rounds(talks, partial(carry, phase))
        words.append(said)
        path.append(np.stack([x_of(state) for state in states]))
    run = _report(job, np.stack(path), words, {**kept, **fresh})
    counted = Messages.all_received(job.own_network, job.rounds, exchanges // job.rounds)
    return replace(run, count_messages=lambda: counted)


def _simplest(weights: Any) -> np.ndarray:
    """Weights as the simplest fractions that they can stand for: 0.25 and 0.333… as 1/4 and 1/3."""
    array = as_fractions(weights)
    return np.array([w.limit_denominator(SHARPEST) for w in array.flat], dtype=object).reshape(array.shape)


def _agent(job: Job, j: int, shares: dict[str, Any]) -> Agent:
    return Agent(
        index=j,
        alpha=lambda k: job.step.exact(k) if k > 0 else Fraction(0),
        objective=lambda v: job.own_problem.gradient(j, v),
        feasible=job.own_problem.feasible,
        shares=shares,
        grad_at=job.grad_at,
        penalty=job.own_problem.penalty,
        members=job.own_network.n,
    )


def _noise(
    draw: Draw, key: tuple[Any, Any], rounds: np.ndarray, tables: NeighbourTables
) -> tuple[Any, np.ndarray]:
    """What was drawn and every agent's share of it, as fractions. For noise drawn once, `rounds` counts phases."""
    when = When(np.zeros_like(rounds), rounds) if draw.once else When(rounds, (rounds - 1) % tables.period)
    raw = draw.raw(threefry.derive(key, draw.label), when, tables, np.float64)
    raw = (
        Pair(as_fractions(raw.forward), as_fractions(raw.backward))
        if isinstance(raw, Pair)
        else as_fractions(raw)
    )
    if isinstance(draw, Balanced):  # balanced by the very weights that messages are mixed with
        draw = replace(draw, gamma=as_fractions(draw.gamma), towards=_simplest(draw.towards))
    dealt = draw.deal(draw.condense(raw), when, tables)
    return Pair(*(side[:1] for side in raw)) if draw.once and isinstance(raw, Pair) else raw, dealt


def _all_rounds(
    talks: list[Any], carry: Callable[[list[Any]], list[ExactMessages]]
) -> tuple[list[Any], list[Any]]:
    """Advance every agent's generator in step; returns the next states and all that was sent, in order."""
    if not isinstance(talks[0], Generator):  # an algorithm that sends nothing
        return talks, []
    said: list[Any] = []
    received: list[Any] = [None] * len(talks)
    while True:
        outgoing: list[Outgoing] = []
        ended: list[Any] = []
        for talk, words in zip(talks, received, strict=True):
            try:
                outgoing.append(talk.send(words))
            except StopIteration as end:
                ended.append(end.value)
        if ended:
            return ended, said
        if isinstance(outgoing[0], SecureSum):
            total = jax.tree.map(lambda *values: sum(values, 0 * values[0]), *(word[0] for word in outgoing))
            said += [np.stack([leaf] * len(talks)) for leaf in jax.tree.leaves(total)]
            received = [total] * len(talks)
            continue
        meant = (
            jax.tree.leaves(opened(word, word[0])) for word in outgoing if not isinstance(word, SecureSum)
        )
        said += [np.stack(arrays) for arrays in zip(*meant, strict=True)]
        received = carry(outgoing)


def _carry(tables: NeighbourTables, phase: int, outgoing: list[Broadcast | SendEach]) -> list[ExactMessages]:
    received = []
    for j in range(tables.n):
        slots = np.flatnonzero(tables.filled[j])
        weights = list(_simplest(tables.weight[phase, j, slots]))
        words = [_word(outgoing[tables.neighbour[j, s]], tables.back[j, s]) for s in slots]
        own = 1 - sum(weights, Fraction(0))
        if abs(float(own) - tables.own[phase, j]) > SUM_TOLERANCE:  # directed: rows need not sum to one
            own = _simplest(tables.own[phase, [j]])[0]
        received.append(ExactMessages(own, weights, words))
    return received


def _word(outgoing: Broadcast | SendEach, slot: int) -> Any:
    if isinstance(outgoing, Broadcast):
        return opened(outgoing, outgoing.message)
    return jax.tree.map(lambda words: words[slot], outgoing.messages)


def _report(
    job: Job, path: np.ndarray, words: list[list[Any]], noise: dict[str, tuple[Any, np.ndarray]]
) -> Run:
    x = path[-1]
    numbers = x.astype(np.float64)
    totals = np.array(
        [sum(float(job.problem.value(j, row)) for j in range(job.problem.n)) for row in numbers]
    )
    best = job.problem.best
    gap = float(totals.max() - best.value) if best is not None else float("nan")
    disagreement = float(np.linalg.norm(numbers - numbers.mean(axis=0), axis=1).max())
    nothing = np.array([float("nan")])
    return Run(
        x=x,
        gap=gap,
        disagreement=disagreement,
        time_average=None,
        infeasibility=0.0,
        noise=Noise(float("nan"), float("nan")),
        outcome=Outcome(Ending.OUT_OF_ROUNDS, job.rounds),
        claim=claim(job),
        history={
            "round": np.array([job.rounds]),
            "gap": np.array([gap]),
            "looked_at": np.array([len(numbers)]),
            "mean_gap": nothing,
            "loss": nothing,
            "disagreement": np.array([disagreement]),
            "noise_rms": nothing,
            "noise_max": nothing,
        },
        network=job.own_network,
        settings=describe(job),
        remarks=(*remarks_of(job), *promised_remarks(job)),
        path=path,
        transcript=Transcript(
            tuple(np.stack(tables) for tables in zip(*words, strict=True)),
            {
                name: np.stack([raw.forward, raw.backward], axis=2)
                for name, (raw, _) in noise.items()
                if isinstance(raw, Pair)
            },
        ),
        problem=job.problem,
        step=job.step,
        algorithm=job.algorithm,
    )
