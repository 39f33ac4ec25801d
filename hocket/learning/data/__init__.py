"""Data to learn from: MNIST, Reuters and scikit-learn's digits, from your own folder or a checked download."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from hocket.errors import BadProblem, NoData
from hocket.learning.data.dataset import Dataset, Split, digits
from hocket.learning.data.mnist import mnist
from hocket.learning.data.reuters import reuters

__all__ = ["Dataset", "Split", "digits", "load", "mnist", "reuters"]

DATASETS = {"mnist": mnist, "reuters": reuters}


def load(
    name: Literal["mnist", "reuters", "digits"],
    data: str | Path | None = None,
    *,
    download: bool = False,
    **options: Any,
) -> Split:
    """Data by name: from your folder, from the variable HOCKET_DATA, from the cache, or downloaded if that is allowed.

    Without any of these, scikit-learn's digits stand in, and the remark says so. A folder that was named and lacks a
    file is an error, never a reason to take other data.
    """
    if name == "digits":
        return digits(**options)
    if name not in DATASETS:
        raise BadProblem(f"there are no data called {name!r}; choose one of mnist, reuters, digits")
    try:
        return DATASETS[name](data, download=download, **options)
    except NoData as missing:
        stand_in = digits()
        return stand_in._replace(
            remark=f"scikit-learn's digits stand in for {name}, so the numbers say little: {missing}"
        )
