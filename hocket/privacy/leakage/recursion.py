"""A listener's posterior over a whole run, round by round, and what it could tell apart in the end, by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.privacy.leakage.listener import Drive, Listener
from hocket.privacy.leakage.posterior import Posterior, block_diagonal, compressed
from hocket.privacy.questions import Release

CARRIED = 1e-3
"""Rounding that every round leaves in the states and later rounds carry along, as a part of the resolution."""
ALIKE = 1e-9
"""Explanations of a view that differ by less than this part of the largest difference cannot be told apart."""
SETTLED = 4
"""Periods of the network in which noise reaches no new direction of the states, after which it never will."""


class ReceivedMessages(NamedTuple):
    """What a real view adds to the plan in one round: numbers, a column per coordinate."""

    received: Float[np.ndarray, "words coordinates"]
    drive: Drive
    """What the listener knows to enter words and states: members' messages, and noise that it shares."""


class Turn(NamedTuple):
    """One round: the states afterwards and what was received, as combinations of unknowns."""

    after: np.ndarray
    received: np.ndarray


@dataclass(frozen=True)
class Course:
    """A run as far as a listener's posterior depends on it: K gradient steps, and K + 1 messages."""

    listener: Listener
    rounds: int
    release: Release = "nothing"

    def turn(self, unknowns: np.ndarray, k: int, drive: Drive | None = None) -> Turn:
        """Round k, for unknowns in rows: honest states, then gradients, then offsets."""
        found = self.listener.follow(k, unknowns, drive)
        states = unknowns[: self.listener.states]
        x = states[: self.listener.h]
        means = [self._parts(k) @ x] if self.release == "means" else []
        if k <= self.rounds:
            return Turn(found.after, np.concatenate([found.received, *means]))
        published = {"nothing": [], "raw": [x]}.get(self.release, [found.mixed])
        return Turn(states, np.concatenate([found.received, *published, *means]))

    def _parts(self, k: int) -> Float[np.ndarray, "parts honest"]:
        """Whose states' sum is known where states are added up under masks: of all who are connected (Theorem T)."""
        return self.listener.wired[self.listener.keys[k]].summed

    def noise(self, k: int, *, every_message: bool = False) -> Turn:
        """What round k's fresh noise adds to both."""
        last = k > self.rounds
        other, received = self.listener.noise(k, last=last, every_message=every_message)
        means = [np.zeros((len(self._parts(k)), other.shape[1]))] if self.release == "means" else []
        if not last:
            return Turn(other, np.concatenate([received, *means]))
        published = {"nothing": [], "raw": [np.zeros_like(other)]}.get(self.release, [other]) + means
        return Turn(np.zeros((self.listener.states, other.shape[1])), np.vstack([received, *published]))


def from_start(course: Course, starts: np.ndarray | None, start: float, lasting: np.ndarray) -> Posterior:
    """The posterior before a first round, from what is believed of gradients and offsets."""
    listener = course.listener
    h = listener.h
    known = np.zeros((h, 0)) if starts is None else starts
    rows = block_diagonal(start * np.eye(h), lasting)
    rows = np.hstack([np.vstack([known, np.zeros((len(lasting), known.shape[1]))]), rows])
    first = listener.begin(rows[:h], rows[h : 2 * h], rows[2 * h :])
    rows = np.vstack([first, rows[h:]])
    return Posterior(rows[:, : known.shape[1]], rows[:, known.shape[1] :])


def watch(
    course: Course,
    posterior: Posterior,
    words: Callable[[int], ReceivedMessages] | None = None,
    *,
    first: Posterior | None = None,
    earlier: int = 0,
) -> Iterator[tuple[int, Posterior]]:
    """The posterior after the message of each round 1 … K + 1; the last one knows of the release.

    Where this is not the first run, `first` is what was believed before anything was received, and `earlier` says how
    many rounds were heard since.
    """
    states, wide = course.listener.states, posterior.mean.shape[1]
    before = posterior if first is None else first
    for k, rounded in states_after(
        course, before.sd[:states].max(), before.sd[states:].max(), earlier=earlier
    ):
        rows = np.hstack([posterior.mean, posterior.factor])
        told = words(k) if words is not None else None
        turn = course.turn(rows, k, None if told is None else told.drive)
        noise = course.noise(k, every_message=told is not None)
        lasting = np.zeros((len(rows) - states, noise.after.shape[1]))  # gradients and offsets gain no noise
        news = np.concatenate([turn.after, rows[states:], turn.received])
        largest = max(posterior.sd[:states].max(), np.abs(noise.received).max(initial=0.0))
        posterior = Posterior(
            news[:, :wide],
            np.hstack([news[:, wide:], np.concatenate([noise.after, lasting, noise.received])]),
        ).see(
            len(rows),
            values=None if told is None else told.received,
            largest=largest + rounded,
            stirred=states,
        )
        yield k, posterior


def states_after(
    course: Course, start: float, gradients: float, *, earlier: int = 0
) -> Iterator[tuple[int, float]]:
    """The messages 1 … K + 1, and by how much rounding may blur the states behind each.

    `start` and `gradients` are the largest deviations before anything was received.
    """
    # Sums of gradients that should cancel are off by rounding, more so with √k, and every step adds them to the states.
    alpha = course.listener.alpha
    drift = np.cumsum(alpha * np.sqrt(earlier + np.arange(len(alpha))))
    rounded = CARRIED * (start + drift * gradients)
    for k in range(1, course.rounds + 2):
        yield k, float(rounded[k])


class Expected(NamedTuple):
    """What the expectation of a whole view is a function of, by rank."""

    rows: Float[np.ndarray, "rows columns"]
    """Over what noise reaches and an unknown start, then gradients, then offsets."""
    lost: int
    """How many columns stand for what noise reaches."""


def expected(course: Course, *, public_start: bool) -> Expected:
    """The combinations of unknowns that are told but for fresh noise, compressed.

    States count as unknown where fresh noise reaches them, and so do an unknown start and what was drawn once; what is
    told only together with one of those is hidden.
    """
    listener = course.listener
    h, states = listener.h, listener.states
    start = np.zeros((h, 0)) if public_start else np.eye(h)
    first = from_start(
        course, start, 0.0, block_diagonal(np.eye(h), listener.offset_size * np.eye(listener.offsets))
    )
    lost = scipy.linalg.orth(np.hstack([first.mean[:states], blurred(course)]), rcond=ALIKE)
    unknowns = np.hstack([np.zeros((len(first.factor), lost.shape[1])), first.factor[:, h:]])
    unknowns[:states, : lost.shape[1]] = listener.alpha[1] * lost
    width = unknowns.shape[1]
    rows = [np.zeros((0, width))]
    for k in range(1, course.rounds + 2):
        turn = course.turn(unknowns, k)
        unknowns = np.concatenate([turn.after, unknowns[states:]])
        rows.append(turn.received)
        if sum(map(len, rows)) > 3 * width or k == course.rounds + 1:
            rows = [compressed(np.vstack(rows).T).T]
    (kept,) = rows
    return Expected(kept, lost.shape[1])


def determined(rows: Float[np.ndarray, "rows columns"], wanted: slice) -> Float[np.ndarray, "gradients rank"]:
    """An orthonormal basis of the combinations of some columns that the rows determine, whatever the others are."""
    hidden = _null_space(rows)[wanted]  # changes of the gradients that some other change undoes
    # Parts of unit vectors: rounding is below that.
    return _null_space(hidden.T, size=1.0, alike=np.sqrt(ALIKE))


def blurred(course: Course) -> Float[np.ndarray, "states directions"]:
    """Directions of the honest states in which a public start is forgotten under fresh noise.

    What noise leaves alone, once all that was received is taken into account, is remembered for good: under noise that
    cancels, the sum over each honest component. All else is forgotten at once, or a few rounds later.
    """
    unheard, settled = _never_heard(course)
    if settled == 0:
        return unheard
    remembered = _null_space(unheard.T)
    period = course.listener.network.period
    for k in range(min(course.rounds, 2 * settled + SETTLED * period), 0, -1):
        # Of a state, what is remembered after round k is what was remembered of it before, and what was received.
        remembered = scipy.linalg.orth(_without_heard_noise(course, k).T @ remembered, rcond=ALIKE)
    return _null_space(remembered.T)


def _never_heard(course: Course) -> tuple[np.ndarray, int]:
    """The smallest space that holds what noise that nobody hears does to states, and such states in later rounds.

    Also the round after which it no longer grew; zero where there is no noise.
    """
    listener = course.listener
    space, settled = np.zeros((listener.states, 0)), 0
    for k in range(1, course.rounds + 1):
        noise = course.noise(k)
        if not noise.after.size:
            continue
        settled = settled or k
        turn = course.turn(_states_only(course, space), k)
        size = max(np.abs(part).max(initial=0.0) for part in noise)
        quiet = _null_space(np.hstack([turn.received, noise.received / size]))
        reached = np.hstack([turn.after, noise.after / size]) @ quiet
        reached = reached[
            :, np.linalg.norm(reached, axis=0) > ALIKE
        ]  # all else is rounding of what was received
        grown = scipy.linalg.orth(np.hstack([space, reached]), rcond=ALIKE)
        settled = k if grown.shape[1] > space.shape[1] else settled
        space = grown
        if k >= settled + SETTLED * listener.network.period:
            break
    return space, settled


def _without_heard_noise(course: Course, k: int) -> Float[np.ndarray, "states states"]:
    """What round k makes of states, less what is known of it: the least noise that explains what was received."""
    turn = course.turn(_states_only(course, np.eye(course.listener.states)), k)
    noise = course.noise(k)
    return turn.after - noise.after @ np.linalg.pinv(noise.received) @ turn.received


def _states_only(course: Course, states: np.ndarray) -> np.ndarray:
    """Rows of unknowns in which gradients and offsets are zero."""
    return np.vstack([states, np.zeros((course.listener.h + course.listener.offsets, states.shape[1]))])


def _null_space(matrix: np.ndarray, *, size: float = 0.0, alike: float = ALIKE) -> np.ndarray:
    """An orthonormal basis of what the matrix maps to nothing, beside its largest value or `size`; a column each."""
    _, values, directions = np.linalg.svd(matrix, full_matrices=True)
    return directions[np.count_nonzero(values > alike * max(size, values.max(initial=0.0))) :].T
