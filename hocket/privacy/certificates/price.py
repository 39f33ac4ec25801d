"""What a certificate costs, beside a trusted server and beside everybody for itself."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """What a certificate costs, beside a trusted server (central) and beside everybody for itself (local).

    Deviations of the noise on the sum over all agents, of one coefficient, in one look: of one round where noise is
    drawn afresh in every round.
    """

    on_sum: float
    central: float
    local: float
    at_agent: float
    """The deviation of what neighbours deal the agent that gets most of it: it cancels in the sum, and costs rounds."""
    gap: float
    """1 − λ of the network's weights: rounds to agree go with its inverse."""

    @property
    def over_central(self) -> float:
        """Noise on the sum, or on the average, over that of a trusted server; 1 where neither has any."""
        return self.on_sum / self.central if self.central else 1.0

    @property
    def slowed(self) -> float:
        """What topologies are compared by: noise at an agent over how fast a network mixes it away."""
        return self.at_agent / self.gap if self.gap > 0 else math.inf

    def smoothness(self, curvature: float, *, dim: int, agents: int, failure: float = 1e-6) -> float:
        """L̂: no agent's noisy quadratic bends more strongly, save with this probability, if none did so before by more
        than `curvature`. Steps are to be small beside its inverse, and rounds go with it."""
        noise = math.hypot(self.at_agent, self.on_sum / math.sqrt(agents))
        return curvature + noise * 2 * (math.sqrt(dim) + math.sqrt(math.log(2 * agents / failure)))

    def excess(self, curvature: float, dim: int = 1) -> float:
        """By how much Σf at the answer exceeds its least, on average, where Σf is quadratic with this curvature in each
        of `dim` directions and noise is on slopes."""
        return dim * self.on_sum**2 / (2 * curvature)
