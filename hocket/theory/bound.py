"""What a bound is: a number, what it says, and everything it was computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Bound:
    """A number that a lemma or theorem guarantees, with the constants on the way to it."""

    value: float
    kind: str
    """`lemma 1`, `lemma 2`, or the kind of finite-time bound: `literal`, `corrected`, `spectral`."""
    statement: str
    """What is at most `value`."""
    constants: Mapping[str, float]
    """What lies on the way, by the paper's names: `beta`, `theta`, `C0` … `C12`, `F_k`, `H_k`."""
    quantities: Mapping[str, float]
    """The numbers that went in: `n`, `L`, `N`, `delta` and so on."""
    provided: tuple[str, ...] = ()
    """Assumptions that nobody could derive: the bound holds provided that they do."""
    trivial: float | None = None
    """What any point of X satisfies: n·L·diameter. A bound above it says nothing."""

    def __post_init__(self) -> None:
        for name in ("constants", "quantities"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def vacuous(self) -> bool:
        """Whether any point of X satisfies the bound, so that it says nothing about the run."""
        return self.trivial is not None and self.value >= self.trivial

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        condition = f", provided that {' and '.join(self.provided)}" if self.provided else ""
        empty = f"; vacuous, since any point of X lies within {self.trivial:.6g}" if self.vacuous else ""
        return f"{self.statement} ≤ {self.value:.6g}{condition}{empty}"
