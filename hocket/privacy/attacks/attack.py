"""What an attack comes back with: an estimate, how far off it should be, and whether the target could be had at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import named

NO_PROJECTION = "no state was moved back into X in the rounds used"
SAME_GRADIENT = "the gradient hardly changed over the rounds used"


@dataclass(frozen=True, eq=False)
class Attack:
    """The outcome of one attack on one agent, or on the sum over several."""

    name: str
    target: tuple[int, ...]
    what: str
    """What is estimated, in words."""
    identifiable: bool
    """Whether what was seen pins it down: exactly, or ever more closely as rounds go by."""
    why: str
    """What gave it away, or what still hides it."""
    estimate: Float[np.ndarray, "rows dim"] | None = None
    """A row per round, or per power of a polynomial; None where too little was heard to estimate anything."""
    predicted_sd: Float[np.ndarray, "rows dim"] | None = None
    """The standard deviation of each number's error; zero where only rounding is left."""
    rows: tuple[int, ...] = ()
    """The rounds, or the powers of x, that the rows belong to; empty where one row serves all rounds."""
    at: Float[np.ndarray, "rows dim"] | None = None
    """Where each row's gradient was taken."""
    supposing: tuple[str, ...] = ()
    """What the attacker has to take for granted, since nothing it sees would show otherwise."""

    @property
    def typical_sd(self) -> float:
        """The predicted error as one number, the root mean square over the estimate; infinite without one."""
        if self.predicted_sd is None or not self.predicted_sd.size:
            return float("inf")
        return float(np.sqrt(np.mean(self.predicted_sd**2)))

    @property
    def exact(self) -> bool:
        """Whether the estimate is right up to rounding."""
        return self.identifiable and self.typical_sd == 0

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        if self.estimate is None:
            return f"{self.what}: too little was heard to estimate it"
        if self.exact:
            return f"{self.what}, exactly"
        outcome = "" if self.identifiable else ", which patience does not pin down"
        return f"{self.what}{outcome}, up to an error with standard deviation {self.typical_sd:.3g}"

    def __str__(self) -> str:
        lines = [f"{self.name} attack on {named(self.target)}: {self.verdict}", f"because {self.why}"]
        if self.supposing and self.estimate is not None:
            lines.append(f"supposing that {' and '.join(self.supposing)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The outcome in numbers."""
        about = plain_values(self, "name", "target", "what", "identifiable", "exact", "why")
        numbers = plain_values(self, "estimate", "predicted_sd", "rows", "at", "supposing")
        return about | numbers | {"typical_sd": None if self.estimate is None else self.typical_sd}
