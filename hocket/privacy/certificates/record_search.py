"""κ of every agent against thousands of coalitions at once: links that a coalition knows are taken out of one inverse.

Without the links that touch A the covariance falls apart into that of the honest and single members, so that its
inverse holds the one that is wanted. It differs from the inverse with all links by a correction of as many ranks as
links were taken out [Woodbury].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.privacy.certificates.looks import Look

MOST_BESIDE_OWN = 1e4
"""Variance of a link beside own noise up to which corrections keep seven digits: they lose its square."""
LEAST_BESIDE_OWN = 1e-13
"""Variance of a link below which it is left out, which hides less."""
AT_ONCE = 4_000_000
"""Numbers that are worked with at once."""


class RecordSearch:
    """κ of all agents, for coalition after coalition; only where every agent adds noise of its own."""

    @staticmethod
    def fits(looks: Sequence[Look]) -> bool:
        """Whether own noise is large enough beside links for corrections not to be lost in rounding."""
        return all(
            look.own > 0 and look.conductance.max(initial=0.0) <= MOST_BESIDE_OWN * look.own for look in looks
        )

    def __init__(self, looks: Sequence[Look]):
        self.looks = [_Inverse(look) for look in looks]

    def work(self, coalitions: int, size: int) -> float:
        """Multiplications, about, for so many coalitions of a size."""
        return coalitions * sum(look.work(size) for look in self.looks)

    def costs(self, coalitions: Sequence[tuple[int, ...]]) -> Float[np.ndarray, "coalitions agents"]:
        """κ by coalition and agent, added up over looks; zero for members."""
        several = max(1, AT_ONCE // max(look.size(len(coalitions[0])) for look in self.looks))
        chunks = (coalitions[begin : begin + several] for begin in range(0, len(coalitions), several))
        found = np.concatenate([np.sum([look.without(one) for look in self.looks], axis=0) for one in chunks])
        for row, members in enumerate(coalitions):
            found[row, list(members)] = 0.0
        return found


class _Inverse:
    """The inverse covariance of one look, and its links."""

    def __init__(self, look: Look):
        self.n, self.times = look.n, look.times
        dealt = look.conductance > LEAST_BESIDE_OWN * look.own
        (i, j), g = look.links[dealt].T, look.conductance[dealt]
        matrix = look.honest(()).laplacian + look.own * np.eye(look.n)
        self.inverse: Float[np.ndarray, "agents agents"] = np.asarray(scipy.linalg.inv(matrix))
        """(L + τ²I)⁻¹ with all links."""
        # One more row, of a link that is none, fills up where coalitions have fewer links.
        self.across = np.vstack([self.inverse[i] - self.inverse[j], np.zeros((1, self.n))])
        self.between = np.pad(self.across[:-1, i] - self.across[:-1, j], (0, 1))
        self.resistance = np.append(1 / g, 1.0)
        self.touching = [set(np.flatnonzero((i == agent) | (j == agent)).tolist()) for agent in range(self.n)]
        self.busiest = max(map(len, self.touching))

    def size(self, members: int) -> int:
        return self.busiest * members * self.n + 1

    def work(self, members: int) -> float:
        return float(self.busiest * members) ** 2 * (self.n + self.busiest * members)

    def without(self, coalitions: Sequence[tuple[int, ...]]) -> Float[np.ndarray, "coalitions agents"]:
        known = [sorted(set[int]().union(*(self.touching[one] for one in members))) for members in coalitions]
        none, most = len(self.resistance) - 1, max(map(len, known), default=0)
        links = np.full((len(known), most), none)
        for row, some in enumerate(known):
            links[row, : len(some)] = some
        left = -self.between[links[:, :, None], links[:, None, :]]
        left[:, range(most), range(most)] += self.resistance[links]
        across = self.across[links]
        change = np.einsum("cln,cln->cn", across, np.linalg.solve(left, across))
        return self.times * (self.inverse.diagonal() + change)
