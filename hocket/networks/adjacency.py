"""Adjacency matrices: links from one, and an error for one in place of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from hocket.errors import BadNetwork


def is_matrix(given: Any) -> bool:
    """Whether something is a square table of numbers, dense or sparse, and no list of pairs."""
    rows: Any = given if type(given) in (list, tuple) else ()
    if any(type(row) not in (list, tuple, np.ndarray) for row in rows):
        return False
    try:
        shape: tuple[int, ...] = given.shape if hasattr(given, "toarray") else np.asarray(given).shape
    except (TypeError, ValueError):  # rows of unequal length
        return False
    return len(shape) == 2 and shape[0] == shape[1] and shape[0] != 2


def pairs_of(matrix: Any) -> tuple[np.ndarray, int, bool]:
    """The pairs (i, j) with matrix[i, j] = 1, how many agents there are, and whether some links go one way."""
    table = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise BadNetwork(f"the adjacency matrix has shape {table.shape}; give a row and a column per agent")
    odd = np.argwhere((table != 0) & (table != 1))
    if len(odd):
        i, j = odd[0].tolist()
        raise BadNetwork(
            f"the adjacency matrix has {table[i, j]} at ({i}, {j}); give 0 and 1, and weights of averaging as weights="
        )
    table = table.astype(bool)
    one_way = bool((table != table.T).any())
    loops = np.diag(np.diag(table))
    found = np.argwhere((table & ~loops) if one_way else np.triu(table & ~loops))
    return found, len(table), one_way


def no_network(given: Any, n: int | None = None) -> str:
    """What to say where something is no network."""
    text = repr(given)
    shown = f"{text} (a {type(given).__name__})" if len(text) <= 60 else f"a {type(given).__name__}"
    if is_matrix(given):
        return (
            f"the network is {shown}; of an adjacency matrix A of 0 and 1 make hk.Network.from_adjacency(A)"
        )
    return f"the network is {shown}; pass hk.Network.cycle({n or 5}), say, or a networkx graph"
