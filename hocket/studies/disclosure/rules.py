"""What is too little to be shown: rules in the study, that every member holds its own rows against."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadStudy
from hocket.studies.spec.study import DisclosureSection


def few(count: float, least: float) -> bool:
    """Whether a count is about a few rows: of none it is about nobody, and of enough it may be shown."""
    return 0 < count < least


def few_rows(rules: DisclosureSection, rows: int) -> Iterator[str]:
    """A member with too few rows would show them in the difference that it makes."""
    if rows < rules.fewest_rows:
        yield (
            f"{rows} rows are left for the analysis, where [disclosure] fewest_rows = {rules.fewest_rows}; bring more "
            "rows, or stay out of this study"
        )


def refuse_saturated(rules: DisclosureSection, *, parameters: int, rows: int) -> None:
    """A model with a parameter for every few rows would tell the rows themselves."""
    if parameters > rules.parameters_per_row * rows or parameters >= rows:
        raise BadStudy(
            f"{parameters} parameters for {rows} joint rows, where [disclosure] parameters_per_row = "
            f"{rules.parameters_per_row:g} allows {int(rules.parameters_per_row * rows)}; leave columns out"
        )


def suppressed(
    counts: Float[np.ndarray, "rows columns"], rules: DisclosureSection, *, sums: int = 1
) -> list[list[int | None]]:
    """A table without its small cells, and without those that would give them away by the sums of rows and columns.

    `sums` is how many sums of a line are known: 3 where its mean and standard deviation are shown too, by which bars of
    a histogram follow whose rows have one number each.
    """
    hidden = (counts != 0) & (counts < rules.smallest_cell)
    while True:
        before = int(hidden.sum())
        for table, mask in ((counts, hidden), (counts.T, hidden.T)):
            for row, cover in zip(table, mask, strict=True):
                if cover.any() and (~cover).any() and _told(row[cover], rules, sums):
                    cover[int(np.argmin(np.where(cover, np.inf, _largest_last(row))))] = True
        if int(hidden.sum()) == before and not _covered_bridge(counts, hidden):
            break
    return [
        [None if cover else round(float(cell)) for cell, cover in zip(row, covers, strict=True)]
        for row, covers in zip(counts, hidden, strict=True)
    ]


def _told(hidden: Float[np.ndarray, " cells"], rules: DisclosureSection, sums: int) -> bool:
    """Whether the sums of a line, less what is shown of it, tell a small count: there are no more cells that are not 0
    than sums (beside a 0 a sum tells the other), or their sum is small itself (of two that come to 2 each is 1)."""
    return bool((hidden > 0).sum() <= sums or hidden.sum() < rules.smallest_cell)


def _largest_last(counts: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Cells in the order in which they are hidden for others: the smaller first, 0 where nothing else is left."""
    return np.where(counts > 0, counts, counts.sum() + 1)


def _covered_bridge(
    counts: Float[np.ndarray, "rows columns"], hidden: Bool[np.ndarray, "rows columns"]
) -> bool:
    """Hide a cell beside one that follows from the sums of rows and columns together; whether there was one.

    Take each row and column for a point, and each hidden cell for a line between two. A cell follows if it is a bridge:
    the sums on one side of it, with different signs for rows and columns, come to that cell alone.
    """
    if min(counts.shape) < 2:
        return False
    columns = len(counts) + np.arange(counts.shape[1])
    places: nx.Graph[int] = nx.Graph()
    places.add_edges_from(
        (row, int(columns[column])) for row, column in zip(*np.nonzero(hidden), strict=True)
    )
    for first, second in [*nx.bridges(places)]:  # pyright: ignore[reportGeneralTypeIssues]
        rest = places.copy()
        rest.remove_edge(first, second)
        side = np.isin(np.arange(sum(counts.shape)), [*nx.node_connected_component(rest, first)])
        across = (side[: len(counts), None] != side[None, columns]) & ~hidden
        linked = np.isin(np.arange(sum(counts.shape)), [*nx.node_connected_component(places, first)])
        across &= linked[: len(counts), None] & linked[None, columns]
        if across.any():
            order = np.where(across, _largest_last(counts), np.inf)
            hidden[np.unravel_index(int(np.argmin(order)), order.shape)] = True
            return True
    return False
