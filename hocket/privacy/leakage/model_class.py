"""What a listener knows of gradients whose form is public: the numbers behind them, along the path of a run.

Gradients that change tell more than those that stay the same: each is another equation about the same few numbers. The
recursion is that of constant gradients; in place of a gradient stand what its parameters do to it at the points where
it is taken (the Fisher information of a Gaussian view, for noise that is Gaussian). Those points are taken to be known,
as they are to an eavesdropper on all links. A state that was moved back onto a side of X is known too, and with it
whatever noise the next message carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadInput
from hocket.privacy.families import Family, Parameters
from hocket.privacy.leakage.posterior import Posterior, block_diagonal
from hocket.privacy.leakage.recursion import Course, Turn, from_start, states_after
from hocket.privacy.wording import listed

EXACT = 1e-7
"""A parameter whose deviation fell below this part of the prior's is known: words have sixteen digits, and a rank that
is decided by rounding has lost half of them."""


@dataclass(frozen=True, eq=False)
class Model:
    """The form of every agent's objective, and where its gradients are taken."""

    families: Sequence[Family]
    """One for each agent."""
    theta: Sequence[Parameters]
    """The parameters around which the form is linearised: the true ones, or those of a rehearsal."""
    path: Float[np.ndarray, "rounds agents dim"]
    """Where the gradients of rounds 1 … K are taken."""
    projected: Bool[np.ndarray, "rounds agents dim"] | None = None
    """Which coordinates of the states after rounds 1 … K lie on a side of the feasible set."""

    @property
    def words(self) -> str:
        """The forms in words."""
        return " and ".join(dict.fromkeys(one.name for one in self.families))

    def first_rounds(self, rounds: int) -> Model:
        """The same for fewer rounds."""
        if rounds == len(self.path):
            return self  # with what it has worked out
        sides = None if self.projected is None else self.projected[:rounds]
        return replace(self, path=self.path[:rounds], projected=sides)

    @cached_property
    def jacobians(self) -> list[Float[np.ndarray, "rounds dim size"]]:
        """What every parameter does to its agent's gradients, round by round."""
        return [
            one.jacobians(self.path[:, j], theta)
            for j, (one, theta) in enumerate(zip(self.families, self.theta, strict=True))
        ]


@dataclass(frozen=True, eq=False)
class KnownModel:
    """What a listener knows of the honest agents' parameters, and so of their last gradients."""

    words: str
    """The forms of the objectives."""
    sd: Float[np.ndarray, " agents"]
    """Of each agent's last gradient, in the coordinate that is known best; zero where one is known, and for members."""
    exact: Mapping[str, tuple[int, ...]]
    """Parts of the parameters ("curvatures") that are known exactly, and of whom."""
    parameters: Sequence[Float[np.ndarray, " size"]] = field(repr=False)
    """The deviation of every parameter of every agent, as a part of what was believed before."""

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, labels: Sequence[object] | None = None) -> str:
        """What the form gives away exactly, agents by their names if they have some."""
        together: dict[tuple[int, ...], list[str]] = {}
        for part, agents in self.exact.items():
            together.setdefault(agents, []).append(part)
        known = [f"{' and '.join(parts)} of {listed(agents, labels)}" for agents, parts in together.items()]
        if not known:
            return f"if objectives are {self.words}, nothing of them is known exactly"
        return f"known exactly, if objectives are {self.words}: {'; '.join(known)}"

    def to_json(self) -> dict[str, Any]:
        """In numbers."""
        return {
            "objectives": self.words,
            "sd": self.sd.tolist(),
            "exact": {part: list(agents) for part, agents in self.exact.items()},
        }


class FormRun(NamedTuple):
    """One run as an adversary of several receives it, with the form that is public of it."""

    course: Course
    """Over what was drawn once in any of the runs."""
    people: tuple[int, ...]
    """Whose objectives the network's agents have."""
    model: Model
    """The form of each of its agents' objectives, and where its gradients are taken."""
    offset_size: float
    """The deviation of one number that was drawn once."""


def known_over_runs(
    runs: Sequence[FormRun], people: Sequence[int], n: int, *, prior: float, start: float
) -> KnownModel:
    """Follow the posterior through runs of objectives of one form; `people` are the honest ones, of n.

    The parameters are the same in all runs, so that the posterior of one is what the next begins from. What was drawn
    once and kept is unknown along with them; starts and fresh noise are new in each. `prior` is how far, before
    anything was received, each parameter by itself may move a gradient in any of the runs. Of every agent it is the
    gradient where a run ended that is most exposed, in the coordinate that is: one that is known is one too many.
    """
    families, scales = _of_everybody(runs, people)
    ends = dict(zip(people, np.cumsum([families[who].size for who in people]).tolist(), strict=True))
    rows = {who: np.arange(ends[who] - families[who].size, ends[who]) for who in people}
    first = runs[0]
    kept = first.course.listener.offsets * first.model.path.shape[2]
    believed = np.concatenate([np.zeros(0), *(prior * scales[who] for who in people)])
    lasting = block_diagonal(np.diag(believed), first.offset_size * np.eye(kept))
    for run in runs:
        followed = FollowedForm(run.course, run.model, prior)
        # This run's lasting unknowns among those of all: its parameters, what was drawn once, the others'.
        here = [run.people[agent] for agent in followed.honest]
        offsets = np.arange(len(believed), len(believed) + kept)
        others = [rows[who] for who in people if who not in here]
        order = np.concatenate([*(rows[who] for who in here), offsets, *others]).astype(int)
        posterior = followed.watched(followed.from_start(start, lasting[order]))
        lasting = posterior.factor[followed.ends[0] :][np.argsort(order)]
    sd, shares = np.zeros(n), [np.zeros(0)] * n
    for who, places in rows.items():
        last = [
            run.model.jacobians[run.people.index(who)][-1] @ lasting[places]
            for run in runs
            if who in run.people
        ]
        sd[who] = min(float(np.linalg.norm(one, axis=1).min()) for one in last)
        shares[who] = np.linalg.norm(lasting[places], axis=1) / (prior * scales[who])
    sd[sd < 1e-9 * prior] = 0.0
    words = " and ".join(dict.fromkeys(families[who].name for who in rows))
    return KnownModel(words, sd, _exact_parts({who: families[who] for who in rows}, shares), shares)


def _of_everybody(
    runs: Sequence[FormRun], people: Sequence[int]
) -> tuple[dict[int, Family], dict[int, np.ndarray]]:
    """Everybody's form, and how much of each parameter moves a gradient by one in some run."""
    families: dict[int, Family] = {}
    moved: dict[int, list[np.ndarray]] = {}
    for run in runs:
        for agent, who in enumerate(run.people):
            form = run.model.families[agent]
            if families.setdefault(who, form).size != form.size or families[who].dim != form.dim:
                raise BadInput(f"agent {who} has {families[who].name} in one run and {form.name} in another")
            moved.setdefault(who, []).append(run.model.jacobians[agent])
    return families, {who: _scale_of(np.concatenate(moved[who])) for who in people}


def _scale_of(jacobian: Float[np.ndarray, "rounds dim size"]) -> Float[np.ndarray, " size"]:
    """By how much each parameter must change to move a gradient by one, somewhere on the path."""
    most = np.sqrt((jacobian**2).sum(axis=1).max(axis=0, initial=0.0))
    return np.divide(1.0, most, out=np.ones_like(most), where=most > 0)


def _exact_parts(families: Mapping[int, Family], shares: Sequence[np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Parts of which every number is known, by name, and of whom."""
    found: dict[str, list[int]] = {}
    for j, family in families.items():
        for part, places in family.parts.items():
            if (shares[j][places.ravel()] < EXACT).all():
                found.setdefault(part, []).append(j)
    return {part: tuple(agents) for part, agents in found.items()}


class FollowedForm:
    """A course with parameters in place of gradients, in all coordinates at once.

    Unknowns are in rows: states and what was drawn once coordinate by coordinate, and each agent's parameters between.
    Further rows may follow that play no part in this run.
    """

    def __init__(self, course: Course, model: Model, prior: float):
        self.course, self.model, self.prior = course, model, prior
        listener = course.listener
        self.dim = model.path.shape[2]
        if model.path.shape[:2] != (course.rounds, listener.network.n):
            raise BadInput(
                f"the model's path has shape {model.path.shape}; a run of {course.rounds} rounds needs "
                f"({course.rounds}, {listener.network.n}, dim)"
            )
        self.honest = listener.honest.tolist()
        sizes = [model.families[j].size for j in self.honest]
        self.ends = np.cumsum([listener.states * self.dim, *sizes]).tolist()

    def jacobian(self, place: int, k: int) -> Float[np.ndarray, "dim size"]:
        """Of the honest agent in this place, in round k; what follows the last round has its last gradient."""
        return self.model.jacobians[self.honest[place]][min(k, self.course.rounds) - 1]

    def from_start(self, start: float, lasting: np.ndarray) -> Posterior:
        """Before the first message of a run, from what is believed of parameters and of what was drawn once."""
        listener = self.course.listener
        nothing = np.zeros((listener.h + listener.offsets, listener.h + listener.offsets))
        alone = from_start(self.course, None, start, nothing).factor
        states = alone[: listener.states, : listener.h]  # gradients play no part in a first state
        rows = block_diagonal(np.kron(states, np.eye(self.dim)), lasting)
        return Posterior(rows[:, :0], rows)

    def watched(self, posterior: Posterior) -> Posterior:
        """The posterior after the last message of a run."""
        states = self.ends[0]
        for k, rounded in states_after(self.course, posterior.sd[:states].max(), self.prior):
            rows = posterior.factor
            turn, noise = self._turn(rows, k), self._noise(k)
            lasting = np.zeros((len(rows) - states, noise.after.shape[1]))
            news = np.concatenate([turn.after, rows[states:], turn.received])
            factor = np.concatenate([news, np.concatenate([noise.after, lasting, noise.received])], axis=1)
            largest = max(posterior.sd[:states].max(), np.abs(noise.received).max(initial=0.0))
            posterior = Posterior(factor[:, :0], factor).see(len(rows), largest=largest + rounded)
        return posterior

    def _turn(self, rows: np.ndarray, k: int) -> Turn:
        dim, wide, states = self.dim, rows.shape[1], self.ends[0]
        slopes = [
            self.jacobian(place, k) @ rows[begin:end]
            for place, (begin, end) in enumerate(zip(self.ends, self.ends[1:], strict=False))
        ]
        kept = rows[self.ends[-1] :][: self.course.listener.offsets * dim]
        apart = np.concatenate([rows[:states], *slopes, kept]).reshape(-1, dim * wide)
        found = self.course.turn(apart, k)
        after, received = (part.reshape(-1, wide) for part in found)
        return Turn(self._clipped(after, k), received)

    def _noise(self, k: int) -> Turn:
        after, received = self.course.noise(k)
        if self.dim > 1:
            after, received = (np.kron(part, np.eye(self.dim)) for part in (after, received))
        return Turn(self._clipped(after, k), received)

    def _clipped(self, after: np.ndarray, k: int) -> np.ndarray:
        """States on a side of X are known: nothing uncertain is left in them."""
        if self.model.projected is None or k > self.course.rounds:
            return after
        there = self.model.projected[k - 1, self.course.listener.honest].ravel()
        after = after.copy()
        after[: len(there)][there] = 0.0
        return after
