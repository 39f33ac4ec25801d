"""A listener's belief over a whole run, round by round, and what it could tell apart in the end, by rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from hocket.privacy.belief import Belief, block_diagonal, compressed
from hocket.privacy.listening import Listening
from hocket.steps import Step

Release = Literal["nothing", "mixed", "raw"]
"""What is published at the end: nothing, what one more exchange without a gradient makes of the last words, or x."""
Scaling = Literal["previous", "current"]
"""Whether an anchor is scaled by α_{k−1}, like the gradient that it hides, or (wrongly) by α_k."""
CARRIED = 1e-3
"""Rounding that every round leaves in the states and later rounds carry along, as a part of the resolution."""
ALIKE = 1e-9
"""Explanations of a view that differ by less than this part of the largest difference cannot be told apart."""


class Words(NamedTuple):
    """What a real view adds to the plan in one round: numbers, a column per coordinate."""

    heard: Float[np.ndarray, "words coordinates"]
    """The words heard, less the noise in them that the listener knows."""
    known: Float[np.ndarray, "honest coordinates"]
    """What the listener knows to enter the honest states: members' words and noise it shares, weighted."""


class Turn(NamedTuple):
    """One round: the states afterwards and what was heard, as combinations of the unknowns and of fresh noise."""

    after: np.ndarray
    after_noise: np.ndarray
    heard: np.ndarray
    heard_noise: np.ndarray


@dataclass(frozen=True)
class Course:
    """A run as far as a listener's belief depends on it: K gradient steps, and K + 1 messages."""

    listening: Listening
    step: Step
    rounds: int
    scaling: Scaling = "previous"
    release: Release = "nothing"

    def alpha(self) -> Float[np.ndarray, " rounds_and_two"]:
        """α_0 = 0, α_1, …, α_{K+1}."""
        return np.concatenate([[0.0], self.step.table(1, self.rounds + 1)])

    def turn(self, unknowns: np.ndarray, alpha: np.ndarray, k: int) -> Turn:
        """Round k, for unknowns in rows: honest states, then gradients, then offsets."""
        listening, one = self.listening, self.listening.round(k)
        states, gradients, offsets = np.split(unknowns, [listening.n, 2 * listening.n])
        heard, mixed = one.heard @ states, one.mixed @ states
        if listening.levels.offset == "anchor" and k > 1:  # round 1 is unperturbed
            scale = alpha[k - 1] if self.scaling == "previous" else alpha[k]
            heard = heard + scale * (one.heard_offset @ offsets)
            mixed = mixed + scale * (one.mixed_offset @ offsets)
        if k <= self.rounds:
            if listening.levels.offset == "function":
                gradients = gradients + offsets
            return Turn(mixed - alpha[k] * gradients, one.mixed_noise, heard, one.heard_noise)
        silent = np.zeros_like(one.mixed_noise)
        if self.release == "mixed":
            heard, noise = np.vstack([heard, mixed]), np.vstack([one.heard_noise, one.mixed_noise])
            return Turn(states, silent, heard, noise)
        if self.release == "raw":
            return Turn(states, silent, np.vstack([heard, states]), np.vstack([one.heard_noise, silent]))
        return Turn(states, silent, heard, one.heard_noise)


def first_belief(course: Course, *, prior: float, start: float, coordinates: int = 0) -> Belief:
    """Before anything was said: honest states, gradients and offsets, in this order."""
    h, offsets = course.listening.n, course.listening.offset_factor
    factor = block_diagonal(start * np.eye(h), prior * np.eye(h), offsets)
    return Belief(np.zeros((len(factor), coordinates)), factor)


def begun_again(course: Course, belief: Belief, *, start: float, anchors_kept: bool) -> Belief:
    """Another run on the same data: new starting states, and new anchors unless they were kept."""
    h = course.listening.n
    kept = slice(h, None if anchors_kept else 2 * h)
    new = [] if anchors_kept else [course.listening.offset_factor]
    factor = block_diagonal(start * np.eye(h), belief.factor[kept], *new)
    return Belief(np.zeros_like(belief.mean), factor)


def watch(
    course: Course,
    belief: Belief,
    words: Callable[[int], Words] | None = None,
    *,
    first: Belief | None = None,
    earlier: int = 0,
) -> Iterator[tuple[int, Belief]]:
    """The belief after the message of each round 1 … K + 1; the last one knows of the release.

    Where this is not the first run, `first` is what was believed before anything was heard, and `earlier` says how
    many rounds were heard since.
    """
    alpha, h, wide = course.alpha(), course.listening.n, belief.mean.shape[1]
    # Sums of gradients that should cancel are off by rounding, more so with √k, and every step adds them to the states.
    before = belief if first is None else first
    drift = np.cumsum(alpha * np.sqrt(earlier + np.arange(len(alpha))))
    rounded = CARRIED * (before.sd[:h].max() + drift * before.sd[h:].max())
    for k in range(1, course.rounds + 2):
        rows = np.hstack([belief.mean, belief.factor])
        turn = course.turn(rows, alpha, k)
        told = words(k) if words is not None else None
        if told is not None and k <= course.rounds:
            turn.after[:, :wide] += told.known
        lasting = np.zeros((len(rows) - h, turn.after_noise.shape[1]))  # gradients and offsets gain no noise
        news = np.vstack([turn.after, rows[h:], turn.heard])
        noise = alpha[k] * np.vstack([turn.after_noise, lasting, turn.heard_noise])
        largest = max(belief.sd[:h].max(), alpha[k] * np.abs(turn.heard_noise).max(initial=0.0))
        belief = Belief(news[:, :wide], np.hstack([news[:, wide:], noise])).see(
            len(rows), values=None if told is None else told.heard, largest=largest + rounded[k]
        )
        yield k, belief


def averaged_out(course: Course, *, public_start: bool) -> Float[np.ndarray, "honest rank"]:
    """An orthonormal basis of the gradients' combinations in which patience averages all noise away, by rank.

    They are what the view's expectation determines. States count as unknown wherever fresh noise reaches them, and so
    do an unknown start and offsets drawn once; a combination that is told only together with one of those is hidden.
    """
    h, alpha, offsets = course.listening.n, course.alpha(), course.listening.offset_factor
    lost = course.listening.blurred if public_start else np.eye(h)
    unknowns = block_diagonal(alpha[1] * lost, np.eye(h), offsets)
    width = unknowns.shape[1]
    rows = [np.zeros((0, width))]
    for k in range(1, course.rounds + 2):
        turn = course.turn(unknowns, alpha, k)
        unknowns = np.vstack([turn.after, unknowns[h:]])
        rows.append(turn.heard)
        if sum(map(len, rows)) > 3 * width or k == course.rounds + 1:
            rows = [compressed(np.vstack(rows).T).T]
    (kept,) = rows
    hidden = _null_space(kept)[lost.shape[1] :][:h]  # changes of the gradients that some other change undoes
    return _null_space(hidden.T, np.sqrt(ALIKE))


def _null_space(matrix: np.ndarray, alike: float = ALIKE) -> np.ndarray:
    """An orthonormal basis of what the matrix maps to nothing, a column each."""
    _, size, directions = np.linalg.svd(matrix, full_matrices=True)
    return directions[np.count_nonzero(size > alike * size.max(initial=0.0)) :].T
