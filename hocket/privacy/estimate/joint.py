"""What several runs on the same data leak together, each with the plan that it really had.

Gradients are the same in all of them. Starts and fresh noise are new in each, and what was drawn once is the same
wherever it was kept: on the same link, dealt in the same way. Networks, algorithms, noise and rounds may all differ,
and so may the agents who take part. As for one run this is an estimate, for gradients that stay the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.machine import one_thread
from hocket.networks.network import Network
from hocket.privacy.estimate.joint_form import FormRun, known_over_runs
from hocket.privacy.estimate.leakage import EXACT, Leakage, in_digits, levels_of, read_off
from hocket.privacy.estimate.listener import Listener
from hocket.privacy.estimate.model_class import Model
from hocket.privacy.estimate.posterior import block_diagonal
from hocket.privacy.estimate.recursion import Course, Release, determined, expected, from_start, watch
from hocket.privacy.estimate.unknown_noise import KeptNumber, as_few_numbers
from hocket.rationals import whole
from hocket.runs.view import Threat, check_watchers
from hocket.steps import Constant, Number, Step, as_step

Link = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run on the data, as it was planned.
    Give `agents` where not everybody takes part: whose gradients the network's agents 0, 1, … have.
    """

    network: Network
    algorithm: str | Algorithm
    """With its own noise; or a name, with `sigma` and `anchor_sigma` as `leakage` takes them."""
    rounds: int
    step: Step | Number = field(default_factory=lambda: Constant(0.1))
    dim: int = 1
    release: Release = "nothing"
    kept: bool | Collection[Link] = True
    """Whether anchors and noise functions are those of earlier runs, wherever such were dealt on the same link in the
    same way; or the links on which they are, as pairs of agents. Everywhere else they are drawn afresh."""
    agents: tuple[int, ...] | None = None
    leavers: Mapping[int, int] = field(default_factory=dict[int, int])
    """By agent its last round; it counts as a member of the coalition, in all runs."""
    sigma: float = 1.0
    anchor_sigma: float = 0.0
    active: bool = False
    """Whether states may be moved back into a feasible set: that shows whatever is drawn once and carried by words."""

    def __post_init__(self) -> None:
        if self.agents is not None and not (len({*self.agents}) == len(self.agents) == self.network.n):
            raise BadInput(
                f"agents = {self.agents}: the network has {self.network.n}; name as many, each of them once"
            )
        object.__setattr__(self, "rounds", whole("rounds", self.rounds))

    @property
    def people(self) -> tuple[int, ...]:
        """Whose gradients they are, by agent of the network."""
        return tuple(range(self.network.n)) if self.agents is None else self.agents

    def keeps(self, ends: tuple[int, ...]) -> bool:
        """Whether noise that is drawn once on this link, or by this agent, is that of an earlier run."""
        if isinstance(self.kept, bool):
            return self.kept
        return {*ends} in [{*link} for link in self.kept]


def joint_leakage(
    runs: Sequence[PlannedRun],
    *,
    coalition: Iterable[int] = (),
    threat: Threat = "coalition",
    prior: float = 100.0,
    start: float = 0.0,
    models: Iterable[Sequence[Model | None]] = (),
) -> Leakage:
    """How well a coalition, or a wiretap, can estimate each honest agent's gradient after all these runs together.
    Ask it where data serve more than one run: the plan that hides least may decide what the others are worth.

    `prior` is the standard deviation of a gradient before the first run, `start` that of each run's starting states,
    zero if they are public. The answer is the last run's `Leakage`, with what was known before. `models` are public
    forms of the objectives, each with a `Model` for every run, or None for a run that it says nothing of: what runs
    tell of the same parameters adds up, and where that is more, `sd` is the smaller number.

    >>> from hocket import Network
    >>> ring = Network.cycle(5)
    >>> plain = PlannedRun(ring, "rss-nb", rounds=500)
    >>> anchored = PlannedRun(ring, "rss-nb", rounds=50, anchor_sigma=1.0)
    >>> for sequence in ([anchored], [anchored, anchored], [plain, anchored]):
    ...     print(round(joint_leakage(sequence, coalition={0}).sd[1], 3))
    1.692
    1.559
    0.689
    """
    if not runs:
        raise BadInput("no run was given; give one at least")
    n = 1 + max(agent for run in runs for agent in run.people)
    left = {run.people[agent] for run in runs for agent in run.leavers}
    members = check_watchers({*coalition, *left}, threat, n)
    people = sorted({agent for run in runs for agent in run.people} - members)
    if not people:
        raise BadInput(
            f"the coalition is all {n} agents, nobody is left to hide anything; leave two or more out"
        )
    with one_thread():
        parts = _parts(runs, members, threat, people)
        found = _followed(parts, runs, members, threat, people, n, prior=prior, start=start)
        forms = [_of_form(runs, form, members, threat, people) for form in models]
        known = [known_over_runs(form, people, n, prior=prior, start=start) for form in forms if form]
        return found.sharpened(tuple(known))


class Part(NamedTuple):
    """One run as a listener to all of them hears it."""

    course: Course
    order: np.ndarray
    """Where this run's lasting unknowns are among those of all: its gradients, all offsets, gradients of others."""
    size: float
    """Of an offset."""


def _of_form(
    runs: Sequence[PlannedRun],
    models: Sequence[Model | None],
    members: frozenset[int],
    threat: Threat,
    people: list[int],
) -> list[FormRun]:
    """The runs of which a form says something, and in which somebody honest takes part."""
    if len(models) != len(runs):
        raise BadInput(f"a form has {len(models)} models for {len(runs)} runs; give one for each, or None")
    told = [
        (run, model, _listener(run, members, threat, len(runs)))
        for run, model in zip(runs, models, strict=True)
        if model is not None and {*run.people} & {*people}
    ]
    heard = [(run, listener) for run, _, listener in told]
    shared = as_few_numbers([listener.kept_noise for _, listener in heard], _columns(heard)) if heard else []
    return [
        FormRun(
            Course(listener.among_runs(kept, beside=0), run.rounds, run.release), run.people, model, kept.size
        )
        for (run, model, listener), kept in zip(told, shared, strict=True)
    ]


def _parts(
    runs: Sequence[PlannedRun], members: frozenset[int], threat: Threat, people: list[int]
) -> list[Part]:
    """The runs in which somebody honest takes part, over offsets that they share."""
    heard = [(run, _listener(run, members, threat, len(runs))) for run in runs if {*run.people} & {*people}]
    columns = _columns(heard)
    shared = as_few_numbers([listener.kept_noise for _, listener in heard], columns)
    place, parts = {agent: row for row, agent in enumerate(people)}, []
    for (run, listener), kept in zip(heard, shared, strict=True):
        here = [place[run.people[agent]] for agent in listener.honest.tolist()]
        others = sorted({*range(len(people))} - {*here})
        offsets = range(len(people), len(people) + kept.number)
        told = listener.among_runs(kept, beside=len(others))
        order = np.array([*here, *offsets, *others], dtype=int)
        parts.append(Part(Course(told, run.rounds, run.release), order, kept.size))
    return parts


def _listener(run: PlannedRun, members: frozenset[int], threat: Threat, runs: int) -> Listener:
    step = as_step(run.step)
    plan = (run.network, run.algorithm, run.sigma, run.anchor_sigma, run.dim, step, run.rounds)
    levels = levels_of(*plan, runs=runs, kept=run.kept is True)
    levels = levels.exposed() if run.active else levels
    inside = frozenset(agent for agent, who in enumerate(run.people) if who in members)
    return Listener(
        run.network, levels, step, run.rounds + 1, coalition=inside, threat=threat, leavers=run.leavers
    )


def _columns(heard: list[tuple[PlannedRun, Listener]]) -> list[np.ndarray]:
    """Of every number that some run drew once, which of all such numbers it is."""
    latest: dict[tuple[KeptNumber, int], int] = {}
    columns, count = [], 0
    for run, listener in heard:
        found = []
        for label in listener.kept_noise.labels:
            # Both ends know a link by its lower-numbered one; in another order the noise would change its sign.
            what = (label._replace(ends=tuple(run.people[end] for end in label.ends)), run.dim)
            if what not in latest or not run.keeps(label.ends):
                latest[what], count = count, count + 1
            found.append(latest[what])
        columns.append(np.array(found, dtype=int))
    return columns


def _followed(
    parts: list[Part],
    runs: Sequence[PlannedRun],
    members: frozenset[int],
    threat: Threat,
    people: list[int],
    n: int,
    *,
    prior: float,
    start: float,
) -> Leakage:
    """Follow the listener's posterior through all runs."""
    h, offsets = len(people), len(parts[0].order) - len(people)
    before = block_diagonal(prior * np.eye(h), parts[0].size * np.eye(offsets))
    lasting, earlier, shown = before, 0, [np.zeros((0, h))]
    for part in parts:
        course, back = part.course, np.argsort(part.order)
        first, posterior = (from_start(course, None, start, rows[part.order]) for rows in (before, lasting))
        shown = []
        heard = watch(course, posterior, first=first, earlier=earlier)
        for _, posterior in heard:  # the next run goes on from the last posterior
            shown.append(posterior.sd[course.listener.states :][back][:h])
        lasting = posterior.factor[course.listener.states :][back]
        earlier += course.rounds + 1
    return read_off(
        lasting[:h],
        _told_apart(parts, lasting[:h], prior=prior, public=start == 0),
        people,
        n,
        list(enumerate(map(in_digits, shown), start=1)),
        algorithm=parts[-1].course.listener.levels.algorithm.name,
        bounded=any(part.course.listener.levels.bounded for part in parts),
        coalition=tuple(sorted(members | ({*range(n)} - {*people}))),
        threat=threat,
        rounds=runs[-1].rounds,
        runs=len(runs),
        prior=prior,
    )


def _told_apart(
    parts: list[Part], factor: np.ndarray, *, prior: float, public: bool
) -> Float[np.ndarray, "honest rank"]:
    """Combinations of gradients that are known exactly in the end, or in which all fresh noise averages out."""
    h, count = len(factor), len(parts[0].order)
    axes, size, _ = np.linalg.svd(factor)
    exact = axes[:, np.count_nonzero(size > EXACT * prior) :]
    found = [expected(part.course, public_start=public) for part in parts]
    total, rows, at = sum(one.lost for one in found), [], 0
    for part, one in zip(parts, found, strict=True):
        # Every run's equations count alike, however small its steps.
        scaled = one.rows / (np.linalg.norm(one.rows, 2) or 1.0) if one.rows.size else one.rows
        block = np.zeros((len(scaled), total + count))
        block[:, at : at + one.lost] = scaled[:, : one.lost]
        block[:, total + part.order] = scaled[:, one.lost :]
        rows.append(block)
        at += one.lost
    averaged = determined(np.vstack(rows), slice(total, total + h))
    return scipy.linalg.orth(np.hstack([exact, averaged]), rcond=1e-6)
