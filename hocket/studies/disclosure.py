"""What is too little to be shown: rules in the study, that every member holds its own rows against."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float

from hocket.errors import BadStudy
from hocket.studies.study import DisclosureSection


def refuse_few_rows(rules: DisclosureSection, rows: int, who: str) -> None:
    """A member with too few rows would show them in the difference that it makes."""
    if rows < rules.fewest_rows:
        raise BadStudy(
            f"{who}: {rows} rows are left for the analysis, where [disclosure] fewest_rows = {rules.fewest_rows}; "
            "bring more rows, or stay out of this study"
        )


def refuse_site(members: int) -> None:
    """Refuse sums over members of squares of each member's own sums, however many members there are.

    They are Σ_j S_j S_jᵀ / n_j, over members with n_j rows and sums S_j, both whole numbers for columns of yes and no.
    With more columns than members, the whole vectors in its column space form a lattice that (n_j, S_j) span, at right
    angles in the metric that the sum itself gives: lattice reduction finds them all. With fewer columns, the entries
    are fractions of one denominator, the least common multiple of all n_j, which simultaneous approximation finds; each
    prime that divides one n_j alone then gives that member's S_j up to a factor.
    """
    if members > 1:
        raise BadStudy(
            f"[study] site = true among {members} members: an own intercept is taken out by squares of each member's "
            "own sums, and from their sum one member computes the others' own numbers of rows and of every yes. More "
            "members do not hide them. Leave site out, or put into the formula columns that say how members differ"
        )


def refuse_saturated(rules: DisclosureSection, *, parameters: int, rows: int) -> None:
    """A model with a parameter for every few rows would tell the rows themselves."""
    if parameters > rules.parameters_per_row * rows or parameters >= rows:
        raise BadStudy(
            f"{parameters} parameters for {rows} joint rows, where [disclosure] parameters_per_row = "
            f"{rules.parameters_per_row:g} allows {int(rules.parameters_per_row * rows)}; leave columns out"
        )


def refuse_rare(
    rules: DisclosureSection,
    names: Sequence[str],
    present: Float[np.ndarray, " columns"],
    rows: int,
    binary: Bool[np.ndarray, " columns"],
) -> None:
    """A level of a few rows would show them: sums of other columns over that level are sums over these rows."""
    for name, count, only in zip(names, present, binary, strict=True):
        fewest = min(count, rows - count) if only and count < rows else count
        if 0 < fewest < rules.smallest_cell:
            raise BadStudy(
                f"{name} sets fewer than {rules.smallest_cell} joint rows apart, where [disclosure] smallest_cell = "
                f"{rules.smallest_cell}; join its level with another, or leave it out"
            )


def shown(counts: Float[np.ndarray, "..."], rules: DisclosureSection) -> Bool[np.ndarray, "..."]:
    """Which counts are large enough to be shown; none at all counts too, as it is about nobody."""
    return (counts == 0) | (counts >= rules.smallest_cell)


def suppressed(
    counts: Float[np.ndarray, "rows columns"], rules: DisclosureSection, *, sums: int = 1
) -> list[list[int | None]]:
    """A table without its small cells, and without those that would give them away by the sums of rows and columns.

    `sums` is how many sums of a line are known: 3 where its mean and standard deviation are shown too, by which bars of
    a histogram follow whose rows have one number each.
    """
    hidden = ~shown(counts, rules)
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
