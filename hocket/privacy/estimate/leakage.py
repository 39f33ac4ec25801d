"""What a plan leaks, before any run: how well a listener can estimate each honest agent's gradient.

No theorem covers RSS. What can be said is this: while no projection is active and gradients stay the same, everything
a listener hears is linear in starts, gradients and noise, so its best estimate and its error are linear algebra. For
normal noise that is exact. Bounded draws have edges, of which a non-linear estimate makes more: for them the number is
a lower bound on the error of every estimator (`edges`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.machine import one_thread
from hocket.networks.network import Network, network_asked
from hocket.privacy.estimate.levels import Levels, named_levels, planned_levels
from hocket.privacy.estimate.listener import Listener, Scaling
from hocket.privacy.estimate.model_class import KnownModel, Model, known_model
from hocket.privacy.estimate.posterior import Posterior
from hocket.privacy.estimate.recursion import (
    Course,
    Release,
    averaged_out,
    begun_again,
    first_posterior,
    watch,
)
from hocket.privacy.plain_values import plain_values
from hocket.privacy.topology.connectivity import check_hiding
from hocket.privacy.wording import SUPPOSED, braced, counted, grouped, judged, listed
from hocket.rationals import whole
from hocket.runs.view import Threat, check_watchers, named_agents
from hocket.steps import Constant, Number, Step, as_step

EXACT = 1e-9
"""A standard deviation below this part of the prior's is zero: what is left is rounding."""
SHOWN = 60
"""Rounds at which the history is kept."""


@dataclass(frozen=True, eq=False)
class Leakage:
    """What a listener can estimate, per coordinate of the gradients."""

    algorithm: str
    coalition: tuple[int, ...]
    threat: Threat
    rounds: int
    runs: int
    prior: float
    """τ: the standard deviation of a gradient before anything was heard."""
    sd: Float[np.ndarray, " agents"]
    """The posterior standard deviation of each agent's gradient; zero for members and where it is known exactly."""
    covariance: Float[np.ndarray, "agents agents"] = field(repr=False)
    subspace: Float[np.ndarray, "agents rank"] = field(repr=False)
    """An orthonormal basis of the honest gradients' combinations that the view gives away: known exactly, or in which
    patience averages all noise away."""
    history: dict[str, np.ndarray] = field(repr=False)
    """`round` and `sd` (a row per round shown) over the last run, for gradients that stay the same."""
    constant: Float[np.ndarray, " agents"] = field(repr=False)
    """The same as `sd`, for gradients that stay the same; `sd` is smaller where a public form gives away more."""
    bounded: bool = False
    """Whether draws are bounded: then `sd` is a lower bound, which no estimator gets below, and else the best error."""
    models: tuple[KnownModel, ...] = ()
    """What is known of objectives of a public form, for each form that was asked about."""

    @property
    def honest(self) -> tuple[int, ...]:
        """Everybody who is listened to."""
        return tuple(j for j in range(len(self.sd)) if j not in self.coalition)

    @property
    def least(self) -> float:
        """How well the honest gradient is known that is known best."""
        return float(self.sd[list(self.honest)].min())

    @property
    def exact(self) -> tuple[int, ...]:
        """Honest agents whose gradients are known without error."""
        return tuple(j for j in self.honest if self.sd[j] == 0)

    @property
    def identifiable(self) -> tuple[int, ...]:
        """Honest agents whose gradients are exposed to averaging: e_j lies in the row space of the view."""
        inside = np.linalg.norm(self.subspace, axis=1)
        return tuple(j for j in self.honest if inside[j] > 1 - 1e-6)

    def sharpened(self, known: tuple[KnownModel, ...]) -> Leakage:
        """The same where public forms give more away: the smaller of the numbers."""
        return replace(self.no_better_than(*(one.sd for one in known)), models=known)

    def beside(self, other: Leakage) -> Leakage:
        """The same for whoever knows the better of the two, of the same agents."""
        return replace(self.no_better_than(other.sd), models=other.models)

    def no_better_than(self, *others: Float[np.ndarray, " agents"]) -> Leakage:
        """The same with the smallest of these deviations for every agent."""
        least = np.min([self.sd, *others], axis=0)
        shrunk = np.divide(least, self.sd, out=np.ones_like(least), where=self.sd > 0)
        return replace(self, sd=in_digits(least), covariance=shrunk[:, None] * self.covariance * shrunk)

    def divergence(self, giver: int, taker: int, amount: float) -> float:
        """The Kullback-Leibler divergence of two views: as it is, and with `amount` of gradient moved between two.

        Zero: nobody could ever tell. Infinite: the view tells for certain.
        """
        for agent in (giver, taker):
            if agent not in self.honest:
                raise BadInput(f"agent {agent} is not an honest one; choose two of {braced(self.honest)}")
        moved = np.zeros(len(self.sd))
        moved[taker] += amount
        moved[giver] -= amount
        # The information in the view is what the posterior knows beyond the prior: Σ⁻¹ − I/τ².
        size, axes = np.linalg.eigh(self.covariance[np.ix_(self.honest, self.honest)])
        along = axes.T @ moved[list(self.honest)]
        known = size <= (EXACT * self.prior) ** 2
        if np.any(np.abs(along[known]) > 1e-6 * abs(amount)):
            return math.inf
        information = 1 / size[~known] - 1 / self.prior**2
        return float(0.5 * np.sum(along[~known] ** 2 * np.maximum(information, 0.0)))

    def __str__(self) -> str:
        return "\n".join(self.in_words())

    def in_words(self, gradient_size: float = SUPPOSED, labels: Sequence[object] | None = None) -> list[str]:
        """What is known of whom, for gradients whose coordinates are of this size; agents by name if they have one."""
        who = f"coalition {grouped(self.coalition, labels)}" if self.coalition else "nobody inside"
        tap = {
            "coalition": "",
            "states": " and a tap on all words",
            "states+noise": " and a tap on words and noise",
        }
        over = f"{counted(self.rounds, 'round')}, gradients of size {gradient_size:g}"
        over += ", bounded noise (± is what no estimator gets below)" if self.bounded else ""
        lines = [f"{self.algorithm} against {who}{tap[self.threat]}, {over}:"]
        if self.exact:
            lines.append(f"known exactly: the gradients of {listed(self.exact, labels)}")
        averaged = [j for j in self.identifiable if j not in self.exact]
        if averaged:
            lines.append(
                f"known ever better: {listed(averaged, labels)}; {self._best(averaged, gradient_size, labels)}"
            )
        lines += [one.in_words(labels) for one in self.models if one.exact]
        rest = [j for j in self.honest if j not in {*self.exact, *averaged}]
        if rest:
            best, whose = self._best(rest, gradient_size, labels), listed(rest, labels)
            lines.append(f"in time only in sums with others: {whose}; {best} (before: ±{self.prior:g})")
        return lines

    def _best(self, agents: list[int], size: float, labels: Sequence[object] | None) -> str:
        best = min(agents, key=lambda j: self.sd[j])
        return f"best so far {listed([best], labels)}: {judged(self.sd[best], size)}"

    def to_json(self) -> dict[str, Any]:
        """The estimate in numbers."""
        plan = plain_values(self, "algorithm", "coalition", "threat", "rounds", "runs", "prior", "bounded")
        return plan | plain_values(self, "sd", "exact", "identifiable", "models")


def leakage(
    network: Network,
    algorithm: str | Algorithm,
    *,
    rounds: int,
    coalition: Iterable[int] = (),
    threat: Threat = "coalition",
    sigma: float = 1.0,
    anchor_sigma: float = 0.0,
    prior: float = 100.0,
    start: float = 0.0,
    step: Step | Number = Constant(0.1),  # noqa: B008 - frozen
    runs: int = 1,
    anchors_kept: bool = True,
    anchor_scaling: Scaling = "previous",
    leavers: Mapping[int, int] | None = None,
    release: Release = "nothing",
    dim: int = 1,
    models: Iterable[Model] = (),
    active: bool = False,
) -> Leakage:
    """How well a coalition, or a wiretap, can estimate each honest agent's gradient after K rounds.
    Ask it before a run: everything in it is part of the plan.

    `algorithm` is a name, with `sigma` the standard deviation of one directed normal draw per coordinate (of the raw
    draw before balancing for "rss-lb"), or an algorithm with its own Δ, for gradients of `dim` coordinates: if its
    draws are bounded, `sd` is a lower bound that holds for every estimator, linear or not. `start` is the
    prior standard deviation of the starting states, zero if they are public. With several `runs` on the same data,
    `anchors_kept` says whether anchors, or noise functions, are the same in all of them. `leavers` maps an agent to
    its last round; it counts as a member, since what it knows leaves with it. `release` is what is published at the
    end: nothing, what one more exchange makes of the last words, or the states themselves.

    All this is about gradients that stay the same. `models` are forms of the objectives that are public, with the
    points where gradients are taken: where a form gives away more, `sd` is the smaller number. `active` says that
    states may be moved back into a feasible set: then they are known, and with them whatever is drawn once and carried
    by words.

    >>> from hocket import Network
    >>> print(leakage(Network.cycle(5), "rss-nb", rounds=20, threat="states", start=1000))
    rss-nb against nobody inside and a tap on all words, 20 rounds, gradients of size 1:
    known ever better: agents 0, 1, 2, 3 and 4; best so far agent 0: ±0.447, known to 45 %
    """
    step = as_step(step)
    network = network_asked(network)
    rounds, runs, dim = whole("rounds", rounds), whole("runs", runs), whole("dim", dim)
    _check(prior=prior, start=start)
    leavers = _check_leavers(leavers or {}, network.n, rounds)
    members = check_watchers({*named_agents(coalition), *leavers}, threat, network.n)
    if members:
        check_hiding(members, network.n)
    scaling, release = (
        one_of("anchor_scaling", anchor_scaling, Scaling),
        one_of("release", release, Release),
    )
    levels = levels_of(
        network, algorithm, sigma, anchor_sigma, dim, step, rounds, runs=runs, kept=anchors_kept
    )
    if active:
        levels = levels.exposed()
    listener = Listener(
        network, levels, step, rounds + 1, coalition=members, threat=threat, leavers=leavers, scaling=scaling
    )
    course = Course(listener, rounds, release)
    how: dict[str, Any] = {"prior": prior, "start": start, "runs": runs, "anchors_kept": anchors_kept}
    with one_thread():
        known = tuple(known_model(course, model, **how) for model in models)
        return _foreseen(course, **how).sharpened(known)


def _foreseen(course: Course, *, prior: float, start: float, runs: int, anchors_kept: bool) -> Leakage:
    """Follow the listener's posterior through all runs."""
    listener = course.listener
    rounds = course.rounds
    first, shown = first_posterior(course, prior=prior, start=start), _thinned(rounds)
    posterior = first
    history: list[tuple[int, np.ndarray]] = []
    gradients = slice(listener.states, listener.states + listener.h)
    for number in range(runs):
        if number:
            posterior = begun_again(course, posterior, start=start, anchors_kept=anchors_kept)
        history = []
        heard = watch(course, posterior, first=first, earlier=number * (rounds + 1))
        for k, posterior in heard:  # the next run goes on from the last posterior
            if k - 1 in shown:
                history.append((k - 1, in_digits(posterior.sd[gradients])))
    return read_off(
        posterior.factor[gradients],
        told_apart(course, posterior, prior=prior, public_start=start == 0),
        listener.honest,
        listener.network.n,
        history,
        algorithm=listener.levels.algorithm.name,
        bounded=listener.levels.bounded,
        coalition=tuple(sorted(listener.coalition)),
        threat=listener.threat,
        rounds=rounds,
        runs=runs,
        prior=prior,
    )


def read_off(
    known: Float[np.ndarray, "honest sources"],
    told: Float[np.ndarray, "honest rank"],
    people: Sequence[int] | np.ndarray,
    n: int,
    history: Sequence[tuple[int, np.ndarray]],
    *,
    prior: float,
    **about: Any,
) -> Leakage:
    """What is known of the honest `people` among n: the factor of their gradients' covariance, the combinations that
    are told apart, and a deviation each after some rounds."""
    factor, subspace = np.zeros((n, known.shape[1])), np.zeros((n, told.shape[1]))
    factor[people], subspace[people] = known, told
    factor[np.linalg.norm(factor, axis=1) < EXACT * prior] = 0.0
    sd, course = in_digits(np.linalg.norm(factor, axis=1)), np.zeros((len(history), n))
    for row, (_, found) in enumerate(history):
        course[row, people] = found
    return Leakage(
        sd=sd,
        constant=sd,
        covariance=factor @ factor.T,
        subspace=subspace,
        history={"round": np.array([k for k, _ in history]), "sd": course},
        prior=prior,
        **about,
    )


def in_digits(sd: np.ndarray) -> np.ndarray:
    """Twelve digits: what is below is rounding, which must not say who of those known equally well is known best."""
    return np.array([float(f"{one:.12g}") for one in sd])


def told_apart(
    course: Course, posterior: Posterior, *, prior: float, public_start: bool
) -> Float[np.ndarray, "honest rank"]:
    """A basis of the gradients' combinations that are known exactly in the end, or in which all noise averages out."""
    states, h = course.listener.states, course.listener.h
    axes, size, _ = np.linalg.svd(posterior.factor[states : states + h])
    exact = axes[:, np.count_nonzero(size > EXACT * prior) :]
    return scipy.linalg.orth(np.hstack([exact, averaged_out(course, public_start=public_start)]), rcond=1e-6)


def levels_of(
    network: Network,
    algorithm: str | Algorithm,
    sigma: float,
    anchor_sigma: float,
    dim: int,
    step: Step,
    rounds: int,
    *,
    runs: int = 1,
    kept: bool = True,
) -> Levels:
    """The noise of a plan, bounded draws as small as normal ones that hide no more."""
    if isinstance(algorithm, Algorithm):
        levels = planned_levels(network, algorithm, dim=dim, step=step, rounds=rounds)
        return levels.as_normal(network, rounds + 1, runs=runs, kept=kept)
    return named_levels(network, algorithm, sigma=sigma, anchor_sigma=anchor_sigma)


def _thinned(rounds: int) -> set[int]:
    """Rounds 1 … K, evenly spaced on a logarithmic scale."""
    return {int(k) for k in np.unique(np.geomspace(1, rounds, min(SHOWN, rounds)).round())}


def _check(*, prior: float, start: float) -> None:
    if not (np.isfinite(prior) and prior > 0):
        raise BadInput(
            f"prior = {prior!r}; what is believed before has a positive, finite standard deviation"
        )
    if not (np.isfinite(start) and start >= 0):
        raise BadInput(f"start = {start!r}; give a standard deviation, zero if the start is public")


def _check_leavers(leavers: Mapping[int, int], n: int, rounds: int) -> dict[int, int]:
    for agent, last in leavers.items():
        if not 0 <= agent < n:
            raise BadInput(f"agent {agent} leaves but is unknown: this network has agents 0 to {n - 1}")
        if not 0 <= last <= rounds:
            raise BadInput(f"agent {agent} leaves after round {last}; the rounds are 1 to {rounds}")
    return dict(leavers)


def one_of(name: str, value: Any, choices: Any) -> Any:
    if value not in get_args(choices):
        raise BadInput(f"{name} = {value!r}; choose one of {', '.join(get_args(choices))}")
    return value
