"""What a certificate costs, beside a trusted server and beside everybody for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.networks.network import Network
from hocket.privacy.certificates.certificate import Certificate


@dataclass(frozen=True)
class Price:
    """What a certificate costs, beside a trusted server (central) and everybody for itself (local), in this order.

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

    def bends(self, dim: int, agents: int, failure: float = 1e-6) -> list[float]:
        """How much more noise bends a quadratic that is descended, save with this probability; steps shrink with it."""
        most, own = 2 * (math.sqrt(dim) + math.sqrt(math.log(2 * agents / failure))), 1 / math.sqrt(agents)
        noise = math.hypot(self.at_agent, self.on_sum * own), self.central / agents, self.local * own
        return [most * one for one in noise]

    def rounds(self, bends: Sequence[float] = (0.0, 0.0, 0.0)) -> list[float]:
        """Rounds that make the gap ten times smaller, where noise bends an agent's quadratic by so much more, as parts
        of what it does by itself: by steps of min{1, 1.5 (1 − λ)}/L̂, with a server 1/L̂."""
        mixing = min(1.0, 1.5 * self.gap)
        return [
            math.log(10) / 2 * (1 + one) / mix for one, mix in zip(bends, (mixing, 1.0, mixing), strict=True)
        ]

    def gaps(self, curvature: float, dim: int = 1) -> list[float]:
        """By how much Σf at the answer exceeds its least, on average, where Σf is quadratic with this curvature in each
        of `dim` directions and noise is on slopes, of one look."""
        return [one**2 * dim / 2 / curvature for one in (self.on_sum, self.central, self.local)]

    def in_words(self, dim: int, agents: int, *, curved: bool) -> list[str]:
        """The price on the sum, in the gap and in rounds, whatever curvatures are; noise may be `curved` itself."""
        rounds = [f"{one:.3g}" for one in self.rounds()]
        if curved:
            rounds = [
                f"{one} (1 + {bend:.3g}/L)" for one, bend in zip(rounds, self.bends(dim, agents), strict=True)
            ]
        where = (
            "; where a member's objective bends by L" if curved else "; averaging noise of rounds takes more"
        )
        return [
            f"On the sum: noise of deviation {self.on_sum:.4g}; central {self.central:.4g}, local {self.local:.4g}",
            "Gap: {:.4g}/c, with a server {:.4g}/c, everybody for itself {:.4g}/c; on average, from one look at "
            "slopes in dimension {}, where the sum of all objectives bends by c".format(
                *self.gaps(1.0, dim), dim
            ),
            "Rounds to a tenth of the gap: about {}, with a server {}, everybody for itself {}".format(
                *rounds
            )
            + where,
        ]


def noise_at_worst(network: Network, sigma: Any) -> float:
    """The deviation of what neighbours deal the agent that gets most: two directed draws on each of its links."""
    at_agent, variance = np.zeros(network.n), 2 * np.square(np.asarray(sigma, dtype=float))
    np.add.at(at_agent, network.links, np.broadcast_to(variance, len(network.links))[:, None])
    return float(np.sqrt(at_agent.max()))


def price_of(network: Network, sigma: Any, own: float, found: Certificate, *, moved: float | None) -> Price:
    """The price of noise with which a certificate holds, for records, or for what is `moved`, of a norm."""
    n = network.n
    if moved is not None:  # a server would publish the sum as it is: nothing moves there
        central, local = 0.0, math.sqrt(2 * n) * moved / found.mu
    else:  # of one look, as κ is: a server composes as many
        assert found.kappa is not None
        central = 1 / math.sqrt(found.kappa)
        local = math.sqrt(n) * central
    return Price(own * math.sqrt(n), central, local, noise_at_worst(network, sigma), 1 - network.lam)
