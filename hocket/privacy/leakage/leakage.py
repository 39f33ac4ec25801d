"""What plans leak, before any run: how well an adversary can estimate each honest agent's gradient.

No theorem covers RSS. What can be said is this: while no projection is active and gradients stay the same, all messages
are linear in starts, gradients and noise, so the best estimate and its error are linear algebra. For normal noise that
is exact. Bounded draws have edges, of which a non-linear estimate makes more: for them the number is a lower bound on
the error of every estimator (`edges`).

Several runs on the same data add up, each under the plan that it really had. Gradients are the same in all of them.
Starts and fresh noise are new in each, and what was drawn once is the same where it was kept: on the same link, dealt
in the same way. Networks, algorithms, noise and rounds may differ, and so may the agents who take part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.machine import one_thread
from hocket.networks.network import Network, network_asked
from hocket.privacy.graph.connectivity import check_hiding
from hocket.privacy.leakage.estimate import EXACT, Leakage, in_digits
from hocket.privacy.leakage.levels import levels_of
from hocket.privacy.leakage.listener import Listener
from hocket.privacy.leakage.model_class import FormRun, Model, known_over_runs
from hocket.privacy.leakage.posterior import block_diagonal
from hocket.privacy.leakage.recursion import Course, determined, expected, from_start, watch
from hocket.privacy.leakage.unknown_noise import KeptNumber, as_few_numbers
from hocket.privacy.questions import Adversary, Horizon, NoiseSpec, Objectives, Question, Release
from hocket.rationals import whole
from hocket.runs.view import Threat, check_watchers
from hocket.steps import Constant, Number, Step, as_step

Link = tuple[int, int]
SHOWN = 60
"""Rounds at which the history is kept."""
TAKEN = frozenset(
    [
        "coalition",
        "leavers",
        "release",
        "threat",
        "prior",
        "start",
        "sigma",
        "persistent",
        "rounds",
        "step",
        "runs",
        "kept",
        "dim",
    ]
)
"""Fields of a question that an estimate has a use for."""


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run on the data, as it was planned.
    Give `agents` where not everybody takes part: whose gradients the network's agents 0, 1, … have.
    """

    network: Network
    algorithm: str | Algorithm
    """With its own noise; or a name, with `sigma` and `persistent` as `NoiseSpec` has them."""
    rounds: int
    step: Step | Number = field(default_factory=lambda: Constant(0.1))
    dim: int = 1
    release: Release = "nothing"
    kept: bool | Collection[Link] = True
    """Whether persistent noise and noise functions are those of earlier runs, wherever such were dealt on the same link
    in the same way; or the links on which they are, as pairs of agents. Everywhere else they are drawn afresh."""
    agents: tuple[int, ...] | None = None
    leavers: Mapping[int, int] = field(default_factory=dict[int, int])
    """By agent its last round; it counts as a member of the coalition, in all runs."""
    sigma: float = 1.0
    persistent: float = 0.0
    active: bool = False
    """Whether states may be moved back into a feasible set: that shows what is drawn once and carried by messages."""
    times: int = 1
    """How often it is played, one time after the other."""

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


def leakage(
    network: Network,
    algorithm: str | Algorithm,
    *,
    adversary: Adversary | None = None,
    noise: NoiseSpec | None = None,
    horizon: Horizon | None = None,
    objectives: Objectives | None = None,
    models: Iterable[Model] = (),
    active: bool = False,
    **plain: Any,
) -> Leakage:
    """How well a coalition, or a wiretap, can estimate each honest agent's gradient after K rounds.
    Ask it before a run: everything in it is part of the plan.

    `algorithm` is a name, with its `noise`, or an algorithm with its own Δ, for gradients of `dim` coordinates: if its
    draws are bounded, `sd` is a lower bound that holds for every estimator, linear or not. `plain` are fields of the
    other arguments by their own names: `coalition`, `threat`, `prior`, `rounds`, `step`, `sigma` and so on.

    All this is about gradients that stay the same. `models` are forms of the objectives that are public, with the
    points where gradients are taken: where a form gives away more, `sd` is the smaller number. `active` says that
    states may be moved back into a feasible set: then they are known, and with them what is drawn once and carried by
    messages.

    >>> from hocket import Network
    >>> print(leakage(Network.cycle(5), "rss-nb", rounds=20, threat="states", start=1000))
    rss-nb against nobody inside and an eavesdropper on all links, 20 rounds, gradients of size 1:
    known ever better: agents 0, 1, 2, 3 and 4; best so far agent 0: ±0.447, relative error 0.45
    """
    network = network_asked(network)
    parts = {"adversary": adversary, "noise": noise, "horizon": horizon, "objectives": objectives}
    asked = Question.of("leakage", TAKEN, plain, **parts)
    run, who = planned(network, algorithm, asked, active=active), asked.adversary
    members = check_watchers({*(who.coalition or ()), *run.leavers}, who.threat, network.n)
    if members:
        check_hiding(members, network.n)
    known: dict[str, Any] = {"threat": who.threat, "prior": who.prior, "start": who.start}
    return joint_leakage([run], coalition=members, models=[[one] for one in models], **known)


def planned(
    network: Network, algorithm: str | Algorithm, asked: Question, *, active: bool = False
) -> PlannedRun:
    """The run that a question is about."""
    horizon, noise = asked.horizon, asked.noise
    if horizon.rounds is None:
        raise BadInput("an estimate is after so many rounds; say how many: rounds=")
    return PlannedRun(
        network,
        algorithm,
        rounds=horizon.rounds,
        step=horizon.steps or Constant(0.1),
        dim=asked.objectives.dim or 1,
        release=asked.adversary.release,
        kept=horizon.kept is not False,
        leavers=asked.adversary.last_rounds(network, horizon.rounds),
        sigma=noise.alone(),
        persistent=noise.alone("persistent"),
        active=active,
        times=horizon.runs,
    )


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
    >>> persistent = PlannedRun(ring, "rss-nb", rounds=50, persistent=1.0)
    >>> for sequence in ([persistent], [persistent, persistent], [plain, persistent]):
    ...     print(round(joint_leakage(sequence, coalition={0}).sd[1], 3))
    1.692
    1.559
    0.689
    """
    if not runs:
        raise BadInput("no run was given; give one at least")
    for model in (models := [*models]):
        if len(model) != len(runs):
            raise BadInput(f"a form has {len(model)} models for {len(runs)} runs; give one for each, or None")
    n = 1 + max(agent for run in runs for agent in run.people)
    left = {run.people[agent] for run in runs for agent in run.leavers}
    members = check_watchers({*coalition, *left}, threat, n)
    people = sorted({agent for run in runs for agent in run.people} - members)
    if not people:
        raise BadInput(
            f"the coalition is all {n} agents, nobody is left to hide anything; leave two or more out"
        )
    played = [(place, run) for place, run in enumerate(runs) for _ in range(run.times)]
    with one_thread():
        received = [
            (place, run, _listener(run, members, threat, len(played)))
            for place, run in played
            if {*run.people} & {*people}
        ]
        parts = _parts([(run, listener) for _, run, listener in received], people)
        about: dict[str, Any] = {"threat": threat, "rounds": runs[-1].rounds, "runs": len(played)}
        about["coalition"] = tuple(sorted(members | ({*range(n)} - {*people})))
        estimate = _followed(parts, people, n, prior=prior, start=start, **about)
        known = []
        for form in models:
            told = [(run, listener, form[place]) for place, run, listener in received if form[place]]
            if told:
                known.append(known_over_runs(_of_form(told), people, n, prior=prior, start=start))
        return estimate.sharpened(tuple(known))


class Part(NamedTuple):
    """One run as an adversary of all of them receives it."""

    course: Course
    order: np.ndarray
    """Where this run's lasting unknowns are among those of all: its gradients, all offsets, gradients of others."""
    size: float
    """Of an offset."""

    @classmethod
    def alone(cls, course: Course) -> Part:
        """Of a run by itself."""
        listener = course.listener
        return cls(course, np.arange(listener.h + listener.offsets), listener.offset_size)


def _listener(run: PlannedRun, members: frozenset[int], threat: Threat, runs: int) -> Listener:
    step = as_step(run.step)
    plan = (run.network, run.algorithm, run.sigma, run.persistent, run.dim, step, run.rounds)
    levels = levels_of(*plan, runs=runs, kept=run.kept is True)
    levels = levels.exposed() if run.active else levels
    inside = frozenset(agent for agent, who in enumerate(run.people) if who in members)
    return Listener(
        run.network, levels, step, run.rounds + 1, coalition=inside, threat=threat, leavers=run.leavers
    )


def _shared(received: Sequence[tuple[PlannedRun, Listener]]) -> list[Any]:
    """What was drawn once, in the numbers that runs share."""
    return as_few_numbers([listener.kept_noise for _, listener in received], _columns(received))


def _of_form(told: Sequence[tuple[PlannedRun, Listener, Any]]) -> list[FormRun]:
    """The runs of which a form says something."""
    shared = _shared([(run, listener) for run, listener, _ in told])
    return [
        FormRun(
            Course(listener.among_runs(kept, beside=0), run.rounds, run.release), run.people, model, kept.size
        )
        for (run, listener, model), kept in zip(told, shared, strict=True)
    ]


def _parts(received: Sequence[tuple[PlannedRun, Listener]], people: list[int]) -> list[Part]:
    """The runs in which somebody honest takes part, over offsets that they share."""
    place, parts = {agent: row for row, agent in enumerate(people)}, []
    for (run, listener), kept in zip(received, _shared(received), strict=True):
        here = [place[run.people[agent]] for agent in listener.honest.tolist()]
        others = sorted({*range(len(people))} - {*here})
        offsets = range(len(people), len(people) + kept.number)
        told = listener.among_runs(kept, beside=len(others))
        order = np.array([*here, *offsets, *others], dtype=int)
        parts.append(Part(Course(told, run.rounds, run.release), order, kept.size))
    return parts


def _columns(received: Sequence[tuple[PlannedRun, Listener]]) -> list[np.ndarray]:
    """Of every number that some run drew once, which of all such numbers it is."""
    latest: dict[tuple[KeptNumber, int], int] = {}
    columns, count = [], 0
    for run, listener in received:
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
    parts: list[Part], people: list[int], n: int, *, prior: float, start: float, **about: Any
) -> Leakage:
    """Follow the posterior through all runs, and read off what is known of the honest `people` among n."""
    h, offsets = len(people), len(parts[0].order) - len(people)
    before = block_diagonal(prior * np.eye(h), parts[0].size * np.eye(offsets))
    lasting, earlier = before, 0
    history: list[tuple[int, np.ndarray]] = []
    for part in parts:
        course, back = part.course, np.argsort(part.order)
        first, posterior = (from_start(course, None, start, rows[part.order]) for rows in (before, lasting))
        shown, history = _thinned(course.rounds), []
        received = watch(course, posterior, first=first, earlier=earlier)
        for k, posterior in received:  # the next run goes on from the last posterior
            if k - 1 in shown:
                history.append((k - 1, in_digits(posterior.sd[course.listener.states :][back][:h])))
        lasting = posterior.factor[course.listener.states :][back]
        earlier += course.rounds + 1
    told = told_apart(parts, lasting[:h], prior=prior, public=start == 0)
    factor, subspace = np.zeros((n, lasting.shape[1])), np.zeros((n, told.shape[1]))
    factor[people], subspace[people] = lasting[:h], told
    factor[np.linalg.norm(factor, axis=1) < EXACT * prior] = 0.0
    sd, table = in_digits(np.linalg.norm(factor, axis=1)), np.zeros((len(history), n))
    for row, (_, known) in enumerate(history):
        table[row, people] = known
    return Leakage(
        algorithm=parts[-1].course.listener.levels.algorithm.name,
        bounded=any(part.course.listener.levels.bounded for part in parts),
        sd=sd,
        constant=sd,
        covariance=factor @ factor.T,
        subspace=subspace,
        history={"round": np.array([k for k, _ in history]), "sd": table},
        prior=prior,
        **about,
    )


def _thinned(rounds: int) -> set[int]:
    """Rounds 1 … K, evenly spaced on a logarithmic scale."""
    return {int(k) for k in np.unique(np.geomspace(1, rounds, min(SHOWN, rounds)).round())}


def told_apart(
    parts: Sequence[Part], factor: np.ndarray, *, prior: float, public: bool
) -> Float[np.ndarray, "honest rank"]:
    """Combinations of gradients that are known exactly in the end, or in which all fresh noise averages out; with a
    `public` start, or an unknown one."""
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
