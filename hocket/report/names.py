"""What algorithms are called in reports."""

from __future__ import annotations

from hocket.algorithms import BY_CLASS


def spoken(name: str) -> str:
    """The paper's name of an algorithm; a user's own class keeps its name."""
    return BY_CLASS[name].label if name in BY_CLASS else name
