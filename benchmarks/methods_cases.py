"""Methods, problems and networks that the studies of methods share: whatever of them hocket has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import hocket as hk

NAMES = (
    "AugDgm",
    "GradientTracking",
    "Extra",
    "Nids",
    "ExactDiffusion",
    "Admm",
    "AcceleratedTracking",
    "LocalTracking",
)


def methods() -> dict[str, Any]:
    """Exact methods by their titles, those that track first."""
    found = [getattr(hk, name)() for name in NAMES if hasattr(hk, name)]
    return {one.title: one for one in found}


def guarded() -> dict[str, Any]:
    """Methods under a safeguard, with steps that nobody has proved."""
    return {f"guarded {name}": one for name, one in _guarded()}


def _guarded() -> Iterator[tuple[str, Any]]:
    for name, one in methods().items():
        try:
            yield name, hk.Safeguard(one)
        except hk.HocketError:
            continue


def can_be_shared(inner: Any) -> bool:
    """Whether function sharing takes a method inside."""
    try:
        shared(inner, 1.0)
    except hk.HocketError:
        return False
    return True


def shared(inner: Any, sd: float, family: str = "linear") -> Any:
    """A method inside function sharing."""
    return hk.FunctionSharing(1 if family == "linear" else 2, sd=sd, family=family, inner=inner)


def squares(n: int, dim: int = 3, rows: int = 10, seed: int = 0) -> Any:
    """Least squares of n agents."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, rows, dim))
    b = a @ rng.normal(size=dim) + rng.normal(size=(n, rows))
    return hk.least_squares(a, b, feasible=hk.Everywhere(), reduction="mean")


def classes(n: int, dim: int = 3, rows: int = 20, seed: int = 0) -> Any:
    """Logistic regression of n agents."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, rows, dim))
    labels = (a @ rng.normal(size=dim) + rng.normal(size=(n, rows)) > 0) * 1.0
    return hk.logistic(a, labels, l2=0.1, feasible=hk.Everywhere())


def printed(table: Any) -> str:
    """A table in columns."""
    rows = [table.head, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
