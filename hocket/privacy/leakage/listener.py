"""What a coalition hears of a plan, round by round: the agents' own rule, carried over the network.

Unknown to it are the honest agents' states, their gradients, what was drawn once, and each round's fresh noise. All
that members know themselves is struck out: their states and gradients, the noise that they share, and their words.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Setting
from hocket.networks.neighbour_tables import tabulate
from hocket.networks.network import Network
from hocket.privacy.leakage.levels import Levels
from hocket.privacy.leakage.posterior import RESOLUTION, Posterior
from hocket.privacy.leakage.rule import Sent, rule_of
from hocket.privacy.leakage.unknown_noise import KeptOffsets, Key, UnknownNoise, as_few_numbers
from hocket.privacy.leakage.wiring import Wired, wired
from hocket.runs.view import Threat
from hocket.steps import Step

SAME = 1e-13
"""Coefficients of two rounds that differ by less than this part are the same: a few roundings."""
SMALL = 64
"""Unknowns up to which whole rounds are kept as matrices: among so few, calls cost more than numbers do."""
BLOCK = 256
"""Rounds whose matrices are worked out at once."""
Rows = Float[np.ndarray, "*rounds honest columns"]
"""One number of every honest agent, in one round or in several."""


class Followed(NamedTuple):
    """What a round makes of some unknowns, a column each."""

    after: Float[np.ndarray, "*rounds states columns"]
    received: Float[np.ndarray, "*rounds words columns"]
    mixed: Rows
    """What came of the first number that was mixed: v, where words stand for x."""


class Drive(NamedTuple):
    """What a real view adds to the plan in one round, a column per coordinate."""

    outputs: Float[np.ndarray, "outputs honest coordinates"]
    """What noise that the listener knows brings into the outputs of the rule."""
    members: list[Float[np.ndarray, "honest coordinates"]]
    """What members' messages bring into what is mixed, for each number that is said."""


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
    ):
        self.network, self.levels = network.both_ways("an estimate of what is learnt"), levels
        self.threat: Threat = threat
        self.leavers = dict(leavers or {})
        self.coalition = coalition | set(self.leavers)
        self.honest = np.array(sorted(set(range(network.n)) - self.coalition), dtype=int)
        self.h = len(self.honest)
        self._place = np.full(network.n, -1)
        self._place[self.honest] = np.arange(self.h)
        self.tables = tabulate(network, slots_needed=True)
        self.rule = rule_of(
            levels.algorithm, Setting(network, 1, step, rounds), levels.draws, self.tables.slots
        )
        self.alpha = np.concatenate([[0.0], step.table(1, rounds)])
        """α_0 = 0, α_1, …"""
        self.states = self.rule.states * self.h
        """How many numbers the honest states have."""
        self.unknown = UnknownNoise(network, self.tables, levels.draws, self.rule, self.honest, threat)
        self.keys = [self._key(k) for k in range(rounds + 1)]
        every = list(dict.fromkeys(self.keys[1:]))
        self.kept_noise = self.unknown.kept_shares(every)
        """What outlives the run, for anybody who listens to several."""
        self.wired = {
            (phase, gone): wired(
                network, self.tables, phase, self.unknown.silenced(gone), self.honest, threat
            )
            for phase, gone in every
        }
        self.offset_size, self.offsets = 1.0, 0
        self._kept: dict[Key, dict[int, np.ndarray]] = {}
        self._matrices: dict[Key, dict[int, np.ndarray]] = {}
        self._coefficients = self._of_honest(self.rule.rounds)
        self._used = [np.flatnonzero(row).tolist() for row in np.any(self.rule.rounds, axis=(0, 1))]
        self._alike = self._same_to_all()
        self._noise_sizes, self._kinds = self._compared()
        self._worked_out: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}

    def _key(self, k: int) -> Key:
        return (k - 1) % self.network.period, frozenset(one for one, last in self.leavers.items() if k > last)

    def _same_to_all(self) -> list[bool]:
        """Of each number that is said, whether all neighbours hear the same but for fresh noise."""
        table = np.delete(self.rule.rounds, self.unknown.fresh, axis=3)
        return [
            not np.ptp(table[:, :, one.rows(number)], axis=2).any()
            for one in self.rule.said
            for number in range(one.numbers)
        ]

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

    def alone(self) -> Listener:
        """The same adversary of one run by itself."""
        return self.among_runs(as_few_numbers([self.kept_noise])[0], beside=0)

    def among_runs(self, kept: KeptOffsets, beside: int) -> Listener:
        """The same adversary where what was drawn once is told in numbers that several runs share.

        `beside` counts further unknowns that outlive runs and play no part in this one; they come last.
        """
        other = copy(self)
        other.offset_size, other.offsets = kept.size, kept.number + beside
        other._kept = {
            key: {place: np.pad(table, ((0, 0), (0, beside))) for place, table in shares.items()}
            for key, shares in kept.shares.items()
        }
        other._matrices = {}
        return other

    def begin(self, start: Rows, gradients: Rows, offsets: np.ndarray) -> np.ndarray:
        """The first states, from rows of starts, gradients and offsets."""
        shares = self._shares(1, offsets)
        places = range(self.rule.given.start + 1, self.rule.given.stop)
        inputs = [start, gradients, *(shares.get(place, np.zeros_like(start)) for place in places)]
        first = np.einsum("joi,ijc->ojc", self._of_honest(self.rule.setup), inputs)
        return first.reshape(self.states, -1)

    def follow(self, k: int, unknowns: np.ndarray, drive: Drive | None = None) -> Followed:
        """Round k for unknowns in rows: honest states, number by number, then gradients, then offsets.

        Messages that are the same but for noise are heard once from each speaker; all of them beside a real view's.
        """
        if drive is None and len(unknowns) <= SMALL:
            found = self._matrix(k, len(unknowns)) @ unknowns
            mixed = len(found) - self.h
            return Followed(found[: self.states], found[self.states : mixed], found[mixed:])
        found = self._followed([k], self._inputs(k, unknowns), drive)
        return Followed(*(part[0] for part in found))

    def noise(
        self, k: int, *, last: bool = False, every_message: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """What round k's fresh noise does to the next states, or of the last round to what is mixed, and to words.

        A column for each independent part of it, all of deviation one.
        """
        size, started = self._noise_sizes[k - 1], tuple(k >= first for first in self.unknown.firsts)
        what = (self.keys[k], self._kinds[k - 1], started, last, every_message)
        if what not in self._worked_out:
            self._worked_out[what] = self._effect(k, size, last, every_message)
        other, received = self._worked_out[what]
        return size * other, size * received

    def received(self, k: int) -> list[tuple[int, int, int | None]]:
        """Each row that is heard in round k: which number, its speaker, and to whom alone it was told."""
        wired, rows, number = self.wired[self.keys[k]], [], 0
        for one in self.rule.said:
            if one.summed:
                first = self.honest[np.argmax(wired.summed, axis=1)].tolist()
                rows += [(number + more, j, None) for more in range(one.numbers) for j in first]
                number += one.numbers
                continue
            places, slots = wired.told if one.told else (wired.reached, None)
            senders = self.honest[places].tolist()
            receivers = (
                [None] * len(places) if slots is None else self.tables.neighbour[senders, slots].tolist()
            )
            for _ in range(one.numbers):
                rows += [(number, *pair) for pair in zip(senders, receivers, strict=True)]
                number += 1
        return rows

    def _effect(self, k: int, size: float, last: bool, every_message: bool) -> tuple[np.ndarray, np.ndarray]:
        dealt = self.unknown.dealt_afresh(self.keys[k], k) if size > 0 else ()
        parts = [self._followed([k], shares, noisy=True) for shares in ({0: np.zeros((self.h, 0))}, *dealt)]
        after, received, mixed = (np.concatenate(part, axis=2)[0] for part in zip(*parts, strict=True))
        # Only what is asked for has to be told apart: the fewer rows, the fewer columns.
        other = mixed if last else after
        received, differing = (received, received[:0]) if every_message else self._once_each(k, received)
        rows = np.concatenate([other, received, differing]) / (size or 1.0)
        largest = np.abs(rows).max(initial=0.0)
        kept = Posterior(rows[:, :0], rows).see(len(other) + len(received), largest=largest).factor
        kept[np.linalg.norm(kept, axis=1) <= RESOLUTION * largest] = 0.0  # how words differ has told it
        kept = kept[:, kept.any(axis=0)]  # none before the first round with noise
        return kept[: len(other)], kept[len(other) :]

    def _once_each(self, k: int, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of words that are the same but for noise their mean, and how each differs from it: by noise alone."""
        said = [(number, one, None if self._alike[number] else to) for number, one, to in self.received(k)]
        place = {one: row for row, one in enumerate(dict.fromkeys(said))}
        rows = np.array([place[one] for one in said], dtype=int)
        mean = np.zeros((len(place), words.shape[1]))
        np.add.at(mean, rows, words / np.bincount(rows)[rows, None])
        return mean, words - mean[rows]

    def _matrix(self, k: int, unknowns: int) -> Float[np.ndarray, "rows unknowns"]:
        """What round k makes of unknowns: honest states afterwards, messages received, and what was mixed."""
        key, first = self.keys[k], k - k % BLOCK
        if k not in self._matrices.get(key, {}):
            block = range(max(1, first), min(first + BLOCK, len(self.keys)))
            some = [one for one in block if self.keys[one] == key]
            found = self._followed(some, self._inputs(k, np.eye(unknowns)))
            self._matrices[key] = dict(zip(some, np.concatenate(found, axis=1), strict=True))
        return self._matrices[key][k]

    def _inputs(self, k: int, unknowns: np.ndarray) -> dict[int, Rows]:
        numbers = self.rule.states + 1
        inputs = {place: unknowns[place * self.h : (place + 1) * self.h] for place in range(numbers)}
        return inputs | self._shares(k, unknowns[numbers * self.h :])

    def _shares(self, k: int, offsets: np.ndarray) -> dict[int, Rows]:
        return {place: table @ offsets for place, table in self._kept[self.keys[k]].items()}

    def _of_honest(self, coefficients: Float[np.ndarray, "*rounds agents outputs inputs"]) -> np.ndarray:
        """The honest agents' coefficients, or everybody's where all share them."""
        return coefficients if coefficients.shape[-3] == 1 else coefficients[..., self.honest, :, :]

    def _followed(
        self, rounds: list[int], inputs: dict[int, Rows], drive: Drive | None = None, *, noisy: bool = False
    ) -> Followed:
        """Some rounds' rule, over the same links, for all honest agents at once, from the inputs that are not zero.

        With fresh noise among the inputs, or beside a real view, every message is heard, else one of all that are
        alike."""
        wired, rule = self.wired[self.keys[rounds[0]]], self.rule
        shape = (len(rounds), *next(iter(inputs.values())).shape)
        table = self._coefficients[np.array(rounds) - 1]
        values: list[Rows | None] = [inputs.get(place) for place in range(rule.received.stop)]
        received: list[np.ndarray] = [np.zeros(shape)[:, :0]]
        carried: list[list[Rows]] = []
        numbers = 0

        def output(row: int) -> Rows:
            used = [(place, value) for place in self._used[row] if (value := values[place]) is not None]
            parts = [table[:, :, row, place, None] * value for place, value in used]
            total = sum(parts[1:], parts[0]) if parts else np.zeros(shape)
            if drive is not None:
                total[..., : drive.outputs.shape[2]] += drive.outputs[row]
            return total

        for one in rule.order:
            if isinstance(one, Sent):
                arriving = []
                for number in range(one.numbers):
                    rows, alike = one.rows(number), self._alike[numbers] and not noisy
                    if alike and (drive is None or not np.ptp(drive.outputs[rows], axis=0).any()):
                        rows = rows[:1]
                    words = [output(row) for row in rows]
                    if one.summed:
                        received.append(wired.summed @ words[0])
                        total = np.broadcast_to(words[0].sum(axis=1, keepdims=True), shape).copy()
                    else:
                        received.append(_overheard(wired, words, one.told, once=drive is None))
                        total = self._carry(wired, words)
                    if drive is not None:
                        total[..., : drive.outputs.shape[2]] += drive.members[numbers]
                    arriving.append(total)
                    numbers += 1
                carried.append(arriving)
                continue
            for number, row in enumerate(range(one.outputs.start, one.outputs.stop)):
                arrived = carried[one.exchange][number]
                values[rule.received.start + one.inputs.start + number] = (
                    arrived if one.summed else wired.own * output(row) + arrived
                )
        after = [output(row) for row in range(rule.after.start, rule.after.stop)]
        mixed = values[rule.received.start] if rule.order else None
        return Followed(
            np.concatenate(after, axis=1),
            np.concatenate(received, axis=1),
            np.zeros(shape) if mixed is None else mixed,
        )

    def _carry(self, wired: Wired, words: list[Rows]) -> Rows:
        """Σ_i B[j,i] w_i over honest neighbours i, from a word to all or a word for each slot."""
        if len(words) == 1:
            return wired.carried(words[0])
        total = np.zeros_like(words[0])
        for slot in range(self.tables.slots):
            here = self.tables.filled[self.honest, slot]
            sender = self._place[self.tables.neighbour[self.honest, slot]]
            here &= sender >= 0
            weight = wired.others[np.flatnonzero(here), sender[here]]
            at = self.tables.back[self.honest, slot][here]
            for back in np.unique(at):
                some = np.flatnonzero(here)[at == back]
                total[:, some] += weight[at == back, None] * words[back][:, sender[some]]
        return total


def _overheard(wired: Wired, words: list[Rows], told: bool, *, once: bool) -> np.ndarray:
    """The rows of a word that a listener hears; of a word that all neighbours are told alike, all or one."""
    if not told:
        return words[0][:, wired.reached]
    places, slots = wired.told
    if len(words) == 1:
        return words[0][:, np.unique(places) if once else places]
    return np.stack(words, axis=1)[:, slots, places]
