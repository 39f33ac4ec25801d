"""What a coalition hears of a plan, round by round: the agents' own rule, carried over the network.

Unknown to it are the honest agents' states, their gradients, what was drawn once, and each round's fresh noise. All
that members know themselves is struck out: their states and gradients, the noise that they share, and their words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Setting
from hocket.networks.neighbour_tables import tabulate
from hocket.networks.network import Network
from hocket.privacy.estimate.heard_network import Wired, wired
from hocket.privacy.estimate.levels import Levels
from hocket.privacy.estimate.posterior import compressed
from hocket.privacy.estimate.rule import Coefficients, Rule, Said
from hocket.privacy.estimate.unknown_noise import Key, UnknownNoise
from hocket.runs.view import Threat
from hocket.steps import Step

Scaling = Literal["previous", "current"]
"""Whether an anchor is scaled by α_{k−1}, like the gradient that it hides, or (wrongly) by α_k."""
SAME = 1e-13
"""Coefficients of two rounds that differ by less than this part are the same: a few roundings."""
Rows = Float[np.ndarray, "honest columns"]
"""One number of every honest agent."""


class Followed(NamedTuple):
    """What a round makes of some unknowns, a column each."""

    after: Float[np.ndarray, "states columns"]
    heard: Float[np.ndarray, "words columns"]
    mixed: Rows
    """What came of the first number that was mixed: v, where words stand for x."""


class Drive(NamedTuple):
    """What a real view adds to the plan in one round, a column per coordinate."""

    outputs: Float[np.ndarray, "outputs honest coordinates"]
    """What noise that the listener knows brings into the outputs of the rule."""
    members: list[Float[np.ndarray, "honest coordinates"]]
    """What members' words bring into what is mixed, for each number that is said."""


class Listener:
    """A coalition, or a tap, and what it hears of every round of a plan.
    The one description of a view that leakage, identifiability and the averaging attack share.
    """

    def __init__(
        self,
        network: Network,
        levels: Levels,
        step: Step,
        rounds: int,
        *,
        coalition: frozenset[int] = frozenset(),
        threat: Threat = "coalition",
        leavers: Mapping[int, int] | None = None,
        scaling: Scaling = "previous",
    ):
        self.network, self.levels = network, levels
        self.threat: Threat = threat
        self.leavers = dict(leavers or {})
        self.coalition = coalition | set(self.leavers)
        self.honest = np.array(sorted(set(range(network.n)) - self.coalition), dtype=int)
        self.h = len(self.honest)
        self._place = np.full(network.n, -1)
        self._place[self.honest] = np.arange(self.h)
        self.tables = tabulate(network, slots_needed=True)
        self.rule = Rule(levels.algorithm, Setting(network, 1, step, rounds), levels.draws, self.tables.slots)
        if scaling == "current":
            self._rescale_anchors(step)
        self.alpha = np.concatenate([[0.0], step.table(1, rounds)])
        """α_0 = 0, α_1, …"""
        self.states = self.rule.states * self.h
        """How many numbers the honest states have."""
        self.unknown = UnknownNoise(network, self.tables, levels.draws, self.rule, self.honest, threat)
        self.keys = [self._key(k) for k in range(rounds + 1)]
        every = list(dict.fromkeys(self.keys[1:]))
        self.wired = {
            (phase, gone): wired(
                network, self.tables, phase, self.unknown.silenced(gone), self.honest, threat
            )
            for phase, gone in every
        }
        self.offset_size, self.offsets, self._kept = self.unknown.kept(every)
        self._tables = list(map(self._of_honest, self.rule.rounds))
        self._noise_sizes, self._kinds = self._compared()
        self._worked_out: dict[tuple, Followed] = {}

    def _rescale_anchors(self, step: Step) -> None:
        """As if anchors were scaled by α_k, where the algorithm scales them by α_{k−1}."""
        anchors = self.rule.shares.get("anchor", slice(0, 0))
        first = self.rule.given.start + 1
        for k, coefficients in enumerate(self.rule.rounds[1:], start=2):
            coefficients[:, :, first + anchors.start : first + anchors.stop] *= step(k) / step(k - 1)

    def _key(self, k: int) -> Key:
        return (k - 1) % self.network.period, frozenset(one for one, last in self.leavers.items() if k > last)

    def _compared(self) -> tuple[np.ndarray, np.ndarray]:
        """How large fresh noise is in every round, and which rounds are the first one with noise but for that.

        In most algorithms rounds differ by their step size alone, which scales all noise: then all are of kind 0.
        """
        shapes = self.rule.rounds.copy()
        sizes = np.abs(shapes[..., self.unknown.fresh]).max(axis=(1, 2, 3), initial=0.0)
        shapes[..., self.unknown.fresh] /= np.where(sizes > 0, sizes, 1.0)[:, None, None, None]
        shapes[..., : self.rule.given.start + 1] = shapes[..., self.unknown.once] = (
            0.0  # they play no part in it
        )
        same = np.abs(shapes - shapes[np.argmax(sizes > 0)]).max(axis=(1, 2, 3)) <= SAME
        return sizes, np.where(same, 0, np.arange(1, len(shapes) + 1))

    def begin(self, start: Rows, gradients: Rows, offsets: np.ndarray) -> np.ndarray:
        """The first states, from rows of starts, gradients and offsets."""
        shares = self._shares(1, offsets)
        places = range(self.rule.given.start + 1, self.rule.given.stop)
        inputs = [start, gradients, *(shares.get(place) for place in places)]
        coefficients = self._of_honest(self.rule.setup)
        return np.vstack([_combined(row, inputs, start.shape) for row in coefficients])

    def follow(self, k: int, unknowns: np.ndarray, drive: Drive | None = None) -> Followed:
        """Round k for unknowns in rows: honest states, number by number, then gradients, then offsets."""
        numbers = self.rule.states + 1
        inputs = {place: unknowns[place * self.h : (place + 1) * self.h] for place in range(numbers)}
        inputs |= self._shares(k, unknowns[numbers * self.h :])
        return self._followed(k, inputs, unknowns.shape[1], drive)

    def noise(self, k: int, *, last: bool = False) -> Followed:
        """What round k's fresh noise does, a column for each independent part of it, all of deviation one.

        Of the last round nobody's next state matters, and of the others not what was mixed.
        """
        size, started = self._noise_sizes[k - 1], tuple(k >= first for first in self.unknown.firsts)
        what = (self.keys[k], self._kinds[k - 1], started, last)
        if what not in self._worked_out:
            self._worked_out[what] = self._effect(k, size, last)
        return Followed(*(size * part for part in self._worked_out[what]))

    def heard(self, k: int) -> list[tuple[int, int, int | None]]:
        """Each row that is heard in round k: which number, its speaker, and to whom alone it was told."""
        wired, rows, number = self.wired[self.keys[k]], [], 0
        for one in self.rule.said:
            places, slots = wired.told if one.told else (wired.reached, None)
            speakers = self.honest[places].tolist()
            receivers = (
                [None] * len(places) if slots is None else self.tables.neighbour[speakers, slots].tolist()
            )
            for _ in range(one.numbers):
                rows += [(number, *pair) for pair in zip(speakers, receivers, strict=True)]
                number += 1
        return rows

    def _effect(self, k: int, size: float, last: bool) -> Followed:
        silence = self._followed(k, {}, 0)
        parts = (
            []
            if size == 0
            else [
                self._followed(k, shares, next(iter(shares.values())).shape[1])
                for shares in self.unknown.dealt_afresh(self.keys[k], k)
            ]
        )
        after, heard, mixed = (np.hstack(part) / (size or 1.0) for part in zip(silence, *parts, strict=True))
        # Only what is asked for has to be told apart: the fewer rows, the fewer columns.
        kept = compressed(np.vstack([heard, mixed] if last else [heard, after]))
        kept = kept[:, kept.any(axis=0)]  # none before the first round with noise
        heard, other = np.split(kept, [len(heard)])
        silent = np.zeros((len(after) if last else len(mixed), kept.shape[1]))
        return Followed(silent, heard, other) if last else Followed(other, heard, silent)

    def _shares(self, k: int, offsets: np.ndarray) -> dict[int, Rows]:
        return {place: table @ offsets for place, table in self._kept[self.keys[k]].items()}

    def _of_honest(self, coefficients: Coefficients) -> list[list[Float[np.ndarray, "honest 1"] | float]]:
        """For every output its coefficients: numbers where all agents share them, else columns."""
        if len(coefficients) == 1:
            return coefficients[0].tolist()
        return [[column[:, None] for column in row.T] for row in coefficients[self.honest].swapaxes(0, 1)]

    def _followed(
        self, k: int, inputs: dict[int, Rows], columns: int, drive: Drive | None = None
    ) -> Followed:
        """The round's rule for all honest agents at once, from the inputs that are not zero."""
        wired, rule, shape = self.wired[self.keys[k]], self.rule, (self.h, columns)
        table = self._tables[k - 1]
        values: list[Rows | None] = [inputs.get(place) for place in range(rule.heard.stop)]
        heard: list[np.ndarray] = []
        carried: list[list[Rows]] = []
        numbers = 0

        def output(row: int) -> Rows:
            total = _combined(table[row], values, shape)
            if drive is not None:
                total[:, : drive.outputs.shape[2]] += drive.outputs[row]
            return total

        for one in rule.order:
            if isinstance(one, Said):
                arriving = []
                for number in range(one.numbers):
                    words = [output(row) for row in _different(one.rows(number), table, values, drive)]
                    heard.append(_overheard(wired, words, one.told))
                    total = self._carry(wired, words)
                    if drive is not None:
                        total[:, : drive.outputs.shape[2]] += drive.members[numbers]
                    arriving.append(total)
                    numbers += 1
                carried.append(arriving)
                continue
            for number, row in enumerate(range(one.outputs.start, one.outputs.stop)):
                values[rule.heard.start + one.inputs.start + number] = (
                    wired.own * output(row) + carried[one.exchange][number]
                )
        after = np.concatenate([output(row) for row in range(rule.after.start, rule.after.stop)])
        mixed = values[rule.heard.start] if rule.order else None
        return Followed(
            after,
            np.concatenate([np.zeros((0, columns)), *heard]),
            np.zeros(shape) if mixed is None else mixed,
        )

    def _carry(self, wired: Wired, words: list[Rows]) -> Rows:
        """Σ_i B[j,i] w_i over honest neighbours i, from a word to all or a word for each slot."""
        if len(words) == 1:
            return wired.others @ words[0]
        total = np.zeros_like(words[0])
        for slot in range(self.tables.slots):
            here = self.tables.filled[self.honest, slot]
            sender = self._place[self.tables.neighbour[self.honest, slot]]
            here &= sender >= 0
            weight = wired.others[np.flatnonzero(here), sender[here]]
            at = self.tables.back[self.honest, slot][here]
            for back in np.unique(at):
                some = np.flatnonzero(here)[at == back]
                total[some] += weight[at == back, None] * words[back][sender[some]]
        return total


def _overheard(wired: Wired, words: list[Rows], told: bool) -> np.ndarray:
    """The rows of a word that a listener hears."""
    if not told:
        return words[0][wired.reached]
    places, slots = wired.told
    if len(words) == 1:
        return words[0][places]
    return np.stack(words)[slots, places]


def _different(rows: range, table: list, values: list[Rows | None], drive: Drive | None) -> range:
    """The words of all slots, or the first alone where all are the same: a state is told to everybody alike."""
    alike = len(rows) > 1 and all(
        np.array_equal(table[row][place], table[rows[0]][place])
        for place, value in enumerate(values)
        if value is not None
        for row in rows[1:]
    )
    return rows[:1] if alike and (drive is None or not np.ptp(drive.outputs[rows], axis=0).any()) else rows


def _combined(coefficients: list, values: list[Rows | None], shape: tuple[int, int]) -> Rows:
    """A combination of inputs; what is zero is left out."""
    total = None
    for factor, value in zip(coefficients, values, strict=False):
        if value is None or (isinstance(factor, float) and factor == 0.0):
            continue
        part = factor * value
        total = part if total is None else np.add(total, part, out=total)
    return np.zeros(shape) if total is None else total
