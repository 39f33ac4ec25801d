"""Events and leavers between times of a grid, counted from coarse to fine: no interval is cut where few would be left.

The first total counts over the whole time. An interval is cut in two only while every group has, in it, no event or
at least twice as many as may be shown, and the same of rows that are no longer at risk after it; and the cut stays
only if both halves have none or enough of each. So an interval that comes out holds no event or enough, whatever grid
the study asked for. Members' programs see counts of halves that are put together again: a few rows out of an interval
that has twice as many as may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Total
from hocket.errors import BadStudy
from hocket.studies.study import DisclosureSection
from hocket.studies.together import Analysis

Counts = Float[np.ndarray, "groups 3"]
"""Of an interval (a, b]: events, rows that leave before b, and rows that leave at b."""


@dataclass(frozen=True, eq=False)
class Interval:
    """Times of the grid from `first` to before `last`, as places; and what all members counted in it."""

    first: int
    last: int
    counts: Counts

    @property
    def wide(self) -> bool:
        """Whether there is anything to cut."""
        return self.last - self.first > 1 and bool(self.counts.any())

    @property
    def middle(self) -> int:
        """Where it is cut."""
        return (self.first + self.last) // 2


@dataclass(frozen=True)
class Followed:
    """One member's rows: how long, whether the event came, and in which group."""

    time: Float[np.ndarray, " rows"]
    event: Float[np.ndarray, " rows"]
    group: Float[np.ndarray, " rows"]
    groups: int

    def counted(self, after: float, until: float) -> Counts:
        """What came after a time, until another."""
        inside = (self.time > after) & (self.time <= until)
        happened, ended = self.event == 1, self.time == until
        kinds = (inside & happened, inside & ~happened & ~ended, inside & ~happened & ended)
        return np.stack(
            [np.bincount(self.group[kind].astype(int), minlength=self.groups) for kind in kinds], 1
        )

    @property
    def sizes(self) -> Float[np.ndarray, " groups"]:
        """Rows of each group."""
        return np.bincount(self.group.astype(int), minlength=self.groups).astype(np.float64)


def joint_intervals(
    rows: Followed, grid: Sequence[float], labels: Sequence[str], rules: DisclosureSection
) -> Analysis[tuple[Float[np.ndarray, " groups"], list[Interval]]]:
    """The joint rows of each group, and the intervals that may be shown, in order."""

    def own(first: int, last: int) -> Counts:
        return rows.counted(-np.inf if first == 0 else grid[first - 1], grid[last - 1]).astype(np.float64)

    total = yield Total(
        {"rows": rows.sizes, "events and leavers": own(0, len(grid))}, names={"rows": tuple(labels)}
    )
    sizes: Float[np.ndarray, " groups"] = total["rows"]
    least = rules.smallest_cell
    worth_a_cut = 2 * least if least > 1 else 1  # where any count may be shown, none is put together again
    whole = Interval(0, len(grid), total["events and leavers"])
    _refuse_few(whole, sizes, labels, least)
    done, left = list[Interval](), [whole]
    while cut := [one for one in left if one.wide and _enough(one.counts, worth_a_cut)]:
        done += [one for one in left if one not in cut]
        asked = yield Total({"events and leavers": np.stack([own(one.first, one.middle) for one in cut])})
        left = []
        for one, counts in zip(cut, asked["events and leavers"], strict=True):
            halves = _halves(one, counts)
            stays = all(_enough(half.counts, least) for half in halves)
            (left if stays else done).extend(halves if stays else [one])
    return sizes, sorted([part for one in [*done, *left] for part in _parts(one)], key=lambda one: one.first)


def _enough(counts: Counts, least: int) -> bool:
    """Whether each group has no event or enough, and no row that goes or enough."""
    events, gone = counts[:, 0], counts.sum(axis=1)
    return all(((some == 0) | (some >= least)).all() for some in (events, gone))


def _halves(one: Interval, counts: Counts) -> list[Interval]:
    """Whoever left the whole before its end left the first half, at its end or before, or the second before its end."""
    events, before, ended = one.counts.T
    rest = np.stack([events - counts[:, 0], before - counts[:, 1] - counts[:, 2], ended], axis=1)
    return [Interval(one.first, one.middle, counts), Interval(one.middle, one.last, rest)]


def _parts(one: Interval) -> list[Interval]:
    """An interval in which nothing came, time by time: nothing came in any of them."""
    if one.counts.any():
        return [one]
    return [Interval(place, place + 1, one.counts) for place in range(one.first, one.last)]


def _refuse_few(
    whole: Interval, sizes: Float[np.ndarray, " groups"], labels: Sequence[str], least: int
) -> None:
    for label, size, events in zip(labels, sizes, whole.counts[:, 0], strict=True):
        for count, what in ((size, "joint rows"), (events, "events")):
            if 0 < count < least:
                raise BadStudy(
                    f"[survival] {label} has fewer than {least} {what}, where [disclosure] smallest_cell = {least}: a "
                    "curve would show them; join levels, leave some out, or follow for longer"
                )
