"""Verdicts and estimates as JSON has them."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain_values(thing: object, *names: str) -> dict[str, Any]:
    """Some attributes under their own names: arrays and tuples as lists, and what has a `to_json` by that.

    >>> from types import SimpleNamespace
    >>> plain_values(SimpleNamespace(agents=(2, 5), sd=np.ones(2), why="heard"), "agents", "sd", "why")
    {'agents': [2, 5], 'sd': [1.0, 1.0], 'why': 'heard'}
    """
    return {name: _plain(getattr(thing, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value
