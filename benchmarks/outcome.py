"""What a race comes to: rows beside each other, and ratios that are compared with what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from racing import Pace


@dataclass(frozen=True)
class Row:
    """One contestant."""

    name: str
    rate: float
    """Work per second."""
    spread: float
    over: float
    """How many times as fast hocket was."""
    ours: bool
    traffic: float | None = None
    """Bytes that an agent sends and receives in an exchange."""
    accuracy: float | None = None


@dataclass(frozen=True)
class Claim:
    """A ratio with a promise: at least, or at most, so much."""

    name: str
    ratio: float
    target: float
    at_least: bool = True

    @property
    def kept(self) -> bool:
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target


@dataclass(frozen=True)
class Section:
    """Contestants who did the same work."""

    title: str
    unit: str
    rows: list[Row]
    claims: list[Claim] = field(default_factory=list)


def rows(
    paces: Mapping[str, Pace], *, yardstick: str, more: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Row]:
    """A row each, with what else is known about it; `yardstick` names what others are compared with."""
    ours = paces[yardstick].rate
    return [
        Row(
            name,
            one.rate,
            one.spread,
            ours / one.rate,
            name.startswith("hocket"),
            **(more or {}).get(name, {}),
        )
        for name, one in paces.items()
    ]


def fastest(paces: Mapping[str, Pace], *beginnings: str) -> float:
    """The highest rate among contestants whose names begin so."""
    return max(one.rate for name, one in paces.items() if name.startswith(beginnings))
