"""Events and leavers between times of a grid, counted from coarse to fine: no interval is cut where few would be left.

The first secure sum counts over the whole time. A stretch that holds twice as many as may be shown is cut in two: in
the middle, or else nearer to the half that holds more, until both parts hold no row or enough, of every group. So each
stretch that comes out holds none or enough, whatever grid the study asked for, and neighbours are together only where
no cut between them was found that leaves enough on either side. Events and leavers are cut apart from each other, since
few who leave should not hide when events come: events share their intervals over all groups, leavers have blocks of
their own in each group. Members' programs see the counts of cuts that were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from hocket.algorithm import SecureSum
from hocket.errors import BadStudy
from hocket.studies.spec.study import DisclosureSection
from hocket.studies.together import Analysis, together

Counts = Float[np.ndarray, " groups"]
"""Rows of each group."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Places of the grid from `first` to before `last`, and how many joint rows of each group fall into them."""

    first: int
    last: int
    counts: Counts
    low: int
    """Cuts are tried after this place."""
    high: int
    """And before this one."""

    @staticmethod
    def of(first: int, last: int, counts: Counts) -> Stretch:
        """A stretch in which no cut was tried yet."""
        return Stretch(first, last, counts, first, last)

    @property
    def middle(self) -> int:
        """Where a cut is tried."""
        return (self.low + self.high) // 2

    def wide(self, least: int) -> bool:
        """Whether there may be a cut that leaves enough on either side, of every group that has any."""
        enough = 2 * least if least > 1 else 1  # where any count may be shown, every cut is good
        counts = self.counts[self.counts > 0]
        return self.low < self.middle and bool(len(counts)) and bool((counts >= enough).all())

    def tried(self, left: Counts, least: int) -> list[Stretch]:
        """Both parts of a cut with so many left of it, if they hold enough; else where to look for another."""
        right = self.counts - left
        few_left, few_right = (bool(((some > 0) & (some < least)).any()) for some in (left, right))
        if not few_left and not few_right:
            return [Stretch.of(self.first, self.middle, left), Stretch.of(self.middle, self.last, right)]
        low = self.middle if few_left else self.low
        high = (
            self.middle if few_right else self.high
        )  # where groups disagree, nothing is left between the two
        return [replace(self, low=low, high=high)]


@dataclass(frozen=True)
class Block:
    """Rows of one group that leave without the event at places from `first` to before `last`."""

    first: int
    last: int
    leavers: int | None
    """None where they are too few to be shown: from 1 to `most`."""
    most: int
    """How many leave before the grid ends, at most."""


@dataclass(frozen=True)
class Intervals:
    """What may be shown of joint rows: the same at every member."""

    sizes: Counts
    events: tuple[Stretch, ...]
    """In order; a place is the time from one time of the grid, which does not belong to it, to the next, which does."""
    blocks: tuple[tuple[Block, ...], ...]
    """Those who leave, of each group, in order. A place is the time from one time of the grid, which belongs to it, to
    the next, which does not; the last place is whatever comes after the grid."""
    on_time: Bool[np.ndarray, " groups"]
    """Whether all events of a group come at times of the grid, none between them."""


@dataclass(frozen=True)
class FollowUp:
    """One member's rows: how long, whether the event came, and in which group."""

    time: Float[np.ndarray, " rows"] = field(repr=False)
    event: Float[np.ndarray, " rows"] = field(repr=False)
    group: Float[np.ndarray, " rows"] = field(repr=False)
    groups: int

    def counted(self, which: Bool[np.ndarray, " rows"]) -> Counts:
        """How many of some rows are in each group."""
        found = np.bincount(self.group[which].astype(int), minlength=self.groups)
        return found.astype(np.float64)

    def up_to(self, where: Float[np.ndarray, " rows"], places: int) -> Float[np.ndarray, "places groups"]:
        """How many rows of each group are before each place, and before the end."""
        there = ~np.isnan(where)
        counts = np.zeros((places + 1, self.groups))
        np.add.at(counts, (where[there].astype(int) + 1, self.group[there].astype(int)), 1)
        return np.cumsum(counts, axis=0)

    def places(self, grid: Sequence[float]) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
        """The place at which each row has its event, and that at which it leaves; not a number where it does not.

        Who leaves at a time of the grid was at risk at it, and leaves at the place after. An event after the grid is
        none: the row leaves after it.
        """
        happened = (self.event == 1) & (self.time <= grid[-1])
        event = np.where(happened, np.searchsorted(grid, self.time, side="left"), np.nan)
        leaves = np.minimum(np.searchsorted(grid, self.time, side="right"), len(grid))
        return event, np.where(happened, np.nan, leaves)


def fewest_shown(rules: DisclosureSection) -> int:
    """The smallest count of a curve. 2 counts as 3: where 1 alone is hidden, it would follow from what was merged."""
    return max(3, rules.smallest_cell) if rules.smallest_cell > 1 else 1


def joint_intervals(
    rows: FollowUp, grid: Sequence[float], labels: Sequence[str], rules: DisclosureSection
) -> Analysis[Intervals]:
    """Intervals of events and blocks of leavers that may be shown, over all members' rows."""
    events, leaves = rows.places(grid)
    happened = ~np.isnan(events)
    between = rows.counted(happened & ~np.isin(rows.time, grid)) > 0
    sizes = rows.counted(np.ones(len(rows.time), dtype=bool))
    total = yield SecureSum(
        {
            "rows": sizes,
            "events": rows.counted(happened),
            "members with events between": between.astype(float),
        },
        names={"rows": tuple(labels)},
    )
    sizes, came = total["rows"], total["events"]
    least = fewest_shown(rules)
    _refuse_few(sizes, came, labels, least)

    jobs: dict[str, Analysis[list[Stretch]]] = {
        "events": coarse_to_fine(rows.up_to(events, len(grid)), Stretch.of(0, len(grid), came), least)
    }
    leavers = rows.up_to(leaves, len(grid) + 1)
    for g, label in enumerate(labels):
        whole = Stretch.of(0, len(grid) + 1, (sizes - came)[g : g + 1])
        jobs[f"leavers of {label}"] = coarse_to_fine(leavers[:, g : g + 1], whole, least)
    found: dict[str, list[Stretch]] = yield from together(jobs)
    return Intervals(
        sizes,
        tuple(part for one in found["events"] for part in _parts(one)),
        tuple(_blocks(found[f"leavers of {label}"], len(grid), least) for label in labels),
        total["members with events between"] == 0,
    )


def coarse_to_fine(
    up_to: Float[np.ndarray, "places groups"], whole: Stretch, least: int
) -> Analysis[list[Stretch]]:
    """Cut the whole until no stretch can be cut any more; `up_to` are this member's rows before each place."""
    done, left = list[Stretch](), [whole]
    while True:
        done += [one for one in left if not one.wide(least)]
        if not (left := [one for one in left if one.wide(least)]):
            return sorted(done, key=lambda one: one.first)
        total = yield SecureSum(
            {"between times": np.stack([up_to[one.middle] - up_to[one.first] for one in left])}
        )
        left = [
            part
            for one, counts in zip(left, total["between times"], strict=True)
            for part in one.tried(counts, least)
        ]


def _parts(one: Stretch) -> list[Stretch]:
    """A stretch in which nothing came, place by place: nothing came in any of them."""
    if one.counts.any():
        return [one]
    return [Stretch.of(place, place + 1, one.counts) for place in range(one.first, one.last)]


def _blocks(parts: Sequence[Stretch], end: int, least: int) -> tuple[Block, ...]:
    """Blocks of one group's leavers. Too few before the end count as if they went on, together with those who do."""
    found = list[Block]()
    for one in parts:
        leavers = round(float(one.counts[0]))
        few = one.first < end == one.low  # a cut before those who go on was tried, and left too few
        found.append(Block(one.first, one.last, None if few else leavers, least - 1 if few else leavers))
    return tuple(found)


def _refuse_few(sizes: Counts, events: Counts, labels: Sequence[str], least: int) -> None:
    for label, size, came in zip(labels, sizes, events, strict=True):
        for count, what in (
            (size, "joint rows"),
            (came, "events"),
            (size - came, "joint rows without the event by the last time"),
        ):
            if 0 < count < least:
                raise BadStudy(
                    f"[survival] {label} has fewer than {least} {what}, where [disclosure] smallest_cell = {least}: a "
                    "curve would show them; join levels, leave some out, or take a grid that ends earlier or later"
                )
