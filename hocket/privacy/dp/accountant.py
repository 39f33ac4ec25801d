"""The general accountant: a view as V = M g + N z, whatever the algorithm, as far as its words are affine.

g are gradients, one for every agent and round, z independent standard normal numbers that the coalition does not know.
Telling g from g + δ is a matter of X = Mᵀ (N Nᵀ)⁺ M: the squared μ is δᵀ X δ, infinite where M δ leaves the range of N.
M and N are never written down. A Kalman filter goes through the rounds with the noise, and what it does not expect,
the innovations, is white; how innovations answer to a change of one round's gradient, whitened, is a column of a square
root of X. Memory is what the filter still remembers of a change, which under fresh noise is one round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.privacy.leakage.posterior import block_diagonal, compressed, pivoted_qr
from hocket.privacy.leakage.recursion import Course, Turn, from_start

RANK = 1e-10
"""Noise in words below this part of the largest is rounding, and counts as none."""
OUTSIDE = 1e-7
"""A change of words that noise does not cover, as a part of the whole change: above, it shows for certain."""
FORGOTTEN = 1e-13
"""A change that the filter remembers to less than this part of what it was is forgotten."""
WORK = 2_000_000_000_000
"""Multiplications before an account is refused: some minutes."""


@dataclass(frozen=True, eq=False)
class Account:
    """X for some directions of change."""

    information: Float[np.ndarray, "directions rounds rounds"]
    """Of each direction by itself, between all pairs of rounds."""
    exposed: tuple[int, ...]
    """Directions in which a change leaves the range of the noise."""


@dataclass(frozen=True, eq=False)
class Innovation:
    """What is new in one round's messages: a factor of its covariance, by which changes are whitened."""

    q: np.ndarray
    r: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, received: Float[np.ndarray, "words sources"], largest: float) -> Innovation:
        q, r, order = pivoted_qr(received.T)
        rank = int(np.count_nonzero(np.abs(np.diagonal(r)) > RANK * largest))
        return cls(q[:, :rank], np.triu(r[:rank]), order)

    def whitened(self, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A change of the words in units of their noise, and what of it no noise covers."""
        rank, change = len(self.r), change[self.order]
        white = scipy.linalg.solve_triangular(self.r[:, :rank], change[:rank], trans=1, check_finite=False)
        return white, change[rank:] - self.r[:, rank:].T @ white


def account(
    course: Course, directions: Float[np.ndarray, "honest directions"], *, constant: bool = False
) -> Account:
    """X for changes of all honest gradients along each direction, round by round; or the same change in all rounds.

    A constant change is one column: its information is a single number.
    """
    kinds, rounds = directions.shape[1], course.rounds
    _check_work(course, kinds, rounds, constant)
    information = np.zeros((kinds, 1, 1) if constant else (kinds, rounds, rounds))
    exposed: set[int] = set()
    size = 0.0
    memory = Memory(course, directions, constant=constant)
    for k, innovation, gain in innovations(course):
        changed = memory.turn(k)
        white, bare = innovation.whitened(changed.received)
        size = max(size, float(np.abs(changed.received).max(initial=0.0)))
        outside = np.flatnonzero(np.abs(bare).max(axis=0, initial=0.0) > OUTSIDE * size)
        exposed |= {*(outside % kinds).tolist()}  # the directions that these columns stand for
        each = white.reshape(len(white), len(memory.since), kinds)
        place = np.ix_(range(kinds), memory.since, memory.since)
        information[place] += np.einsum("wld,wmd->dlm", each, each, optimize=True)
        memory.correct(changed.after - gain @ white)
    return Account(information, tuple(sorted(exposed)))


def innovations(course: Course) -> Iterator[tuple[int, Innovation, np.ndarray]]:
    """Each round's innovation, and how the filter corrects states and offsets by it, whitened."""
    listener = course.listener
    h, states = listener.h, listener.states
    offsets = listener.offset_size * np.eye(listener.offsets)
    first = from_start(course, None, 0.0, block_diagonal(np.zeros((h, 0)), offsets))
    factor, largest = first.factor, 0.0
    for k in range(1, course.rounds + 2):
        turn, noise = course.turn(factor, k), course.noise(k)
        lasting = np.hstack([factor[states:], np.zeros((len(factor) - states, noise.after.shape[1]))])
        news = np.vstack([np.hstack([turn.after, noise.after]), lasting])
        received = np.hstack([turn.received, noise.received])
        # The largest so far: what was received once leaves rounding behind, which is not noise.
        largest = max(
            largest,
            np.linalg.norm(factor[:states], axis=1).max(initial=0.0),
            np.abs(noise.received).max(initial=0.0),
        )
        innovation = Innovation.of(received, largest or 1.0)
        gain = news @ innovation.q
        yield k, innovation, gain
        factor = news - gain @ innovation.q.T
        # Of words that tell all, most columns are nothing but rounding.
        factor = compressed(factor[:, np.abs(factor).max(axis=0, initial=0.0) > FORGOTTEN * largest])


class Memory:
    """How the filter's belief about states and offsets is off, for every change that it has not forgotten."""

    def __init__(self, course: Course, directions: np.ndarray, *, constant: bool):
        self.course, self.directions, self.constant = course, directions, constant
        self.rows = course.listener.states + course.listener.h + course.listener.offsets
        self.kinds = directions.shape[1]
        self.since: list[int] = []
        self.off = np.zeros((self.rows, 0))
        if constant:  # a first state may hold a gradient
            listener, nothing = course.listener, np.zeros_like(directions)
            first = listener.begin(nothing, directions, np.zeros((listener.offsets, self.kinds)))
            self.since = [0]
            self.off = np.vstack([first, np.zeros((self.rows - len(first), self.kinds))])

    def turn(self, k: int) -> Turn:
        """What all changes make of round k, after the newest of them came in."""
        listener = self.course.listener
        gradients = slice(listener.states, listener.states + listener.h)
        if k <= self.course.rounds and not self.constant:
            self.since.append(k - 1)
            self.off = np.hstack([self.off, np.zeros((self.rows, self.kinds))])
        if k <= self.course.rounds:
            self.off[gradients, -self.kinds :] = self.directions
        turn = self.course.turn(self.off, k)
        lasting = self.off[listener.states :].copy()
        lasting[: listener.h] = 0.0
        self.off[gradients] = 0.0
        return Turn(np.vstack([turn.after, lasting]), turn.received)

    def correct(self, off: np.ndarray) -> None:
        """What is left of each once the filter has heard the words; what is forgotten is dropped."""
        self.off = off
        if self.constant:
            return
        alpha = self.course.listener.alpha
        each = (
            np.abs(off).max(axis=0, initial=0.0).reshape(len(self.since), self.kinds).max(axis=1, initial=0.0)
        )
        kept = each > FORGOTTEN * max(each.max(initial=0.0), alpha[alpha > 0].min())
        self.since = [one for one, stays in zip(self.since, kept, strict=True) if stays]
        self.off = off[:, np.repeat(kept, self.kinds)]


def _check_work(course: Course, kinds: int, rounds: int, constant: bool) -> None:
    """Refuse what would take hours: noise that is kept makes every change be remembered."""
    rows = course.listener.states + course.listener.h + course.listener.offsets
    remembered = 1 if constant or not course.listener.offsets else rounds / 2
    if rounds * rows**2 * kinds * remembered > WORK:
        raise BadInput(
            f"{rounds} rounds of {course.listener.h} honest agents, with noise that is kept over rounds, are too many "
            f"for {kinds} agents' records at once; name some, records={{agent: 1}}"
        )
