"""The worst coalition of f agents for a certificate: all of them one by one, or a bound over all without a search.

For those who stay honest each cost grows as others leave [Rayleigh's monotonicity law; inverses of principal
submatrices], so coalitions of exactly f agents suffice.

Of records, κ of every agent is found against thousands of coalitions at once: links that a coalition knows are taken
out of one inverse. Without the links that touch A the covariance falls apart into that of the honest and single
members, so that its inverse holds the one that is wanted. It differs from the inverse with all links by a correction of
as many ranks as links were taken out [Woodbury].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.privacy.coalitions import Coalition, every, worst_of
from hocket.privacy.dp.bounds import bounded
from hocket.privacy.dp.looks import Look
from hocket.privacy.dp.protected import Cost, Protected, Record, Transfer, changed_sum
from hocket.privacy.dp.reasons import Refusal
from hocket.privacy.graph.connectivity import vertex_connectivity
from hocket.privacy.wording import Said, counted

WORK = 4_000_000_000
"""Multiplications, about, before a bound takes the place of a search: some seconds."""
WORK_AT_ONCE = 3_000_000_000
"""The same where coalitions are worked with at once."""
TOGETHER = 4096
"""Coalitions that are."""
EACH = 200_000
"""What one coalition costs however small the network is, in multiplications."""
ALIKE = 1e-9
"""Part by which costs of coalitions that are alike may differ in rounding: of these the first is taken."""
MOST_BESIDE_OWN = 1e4
"""Variance of a link beside independent noise up to which corrections keep seven digits: they lose its square."""
LEAST_BESIDE_OWN = 1e-13
"""Variance of a link below which it is left out, which hides less."""
AT_ONCE = 4_000_000
"""Numbers that are worked with at once."""


@dataclass(frozen=True)
class WorstCost:
    """The cost of the worst coalition, and how it is known."""

    cost: Cost
    coalition: Coalition | None
    """None where a bound over all of them was taken."""
    searched: str


def named(protected: Protected, looks: tuple[Look, ...], coalition: frozenset[int]) -> WorstCost:
    """The cost of one coalition by name."""
    inside = sorted(coalition & set(protected.agents))
    if inside:
        raise BadInput(
            f"agent {inside[0]} is in the coalition, and what it has itself is no secret from it; change what honest "
            "agents have, or name another coalition"
        )
    members = tuple(sorted(coalition))
    return WorstCost(protected.cost(looks, members), members, "the coalition named, exactly")


def costlier(new: Cost, old: Cost) -> bool:
    """Whether a coalition is worse than another that it is not alike."""
    return new.squared > old.squared * (1 + ALIKE)


def worst(
    protected: Protected,
    looks: tuple[Look, ...],
    colluders: int,
    *,
    gone: frozenset[int] = frozenset(),
    search: bool | None = None,
) -> WorstCost:
    """The worst of all coalitions of f agents beside those who are `gone` and whose knowledge counts as theirs.

    `search` says whether all are computed, however long it takes, or none; by default some seconds are spent on it.
    """
    n = looks[0].n
    candidates = [j for j in range(n) if j not in gone and j not in protected.agents]
    size = min(colluders, len(candidates))
    total, alone = math.comb(len(candidates), size), tuple(sorted(gone))
    exposed = protected.cost(looks, alone)
    if exposed.squared == math.inf:  # to an eavesdropper, and so to every coalition
        return WorstCost(exposed, alone, "no search was needed: it shows to an eavesdropper on all links")
    if search is False and size:
        return _by_bound(protected, looks, size + len(gone))
    said = (
        f"the worst of all {counted(total, 'coalition')} of {counted(size, 'agent')}, each computed exactly"
    )
    coalitions = every(candidates, size, gone)
    if isinstance(protected, Record) and size and RecordSearch.fits(looks):
        inverses = RecordSearch(looks)
        if search or inverses.work(total, size) <= WORK_AT_ONCE:
            scores: dict[Coalition, float] = {}
            chosen = _worst_at_once(protected, inverses, coalitions, scores)
            found = worst_of(chosen, scores.__getitem__, lambda new, old: new > old * (1 + ALIKE))
            cost = protected.cost(looks, found.coalition)
            return WorstCost(Cost(max(cost.squared, found.score), cost.agents), found.coalition, said)
    if not search and total * (n**3 + EACH) * len(looks) > WORK:
        return _by_bound(protected, looks, size + len(gone))
    each = worst_of(
        coalitions,
        lambda one: protected.cost(looks, one),
        costlier,
        enough=lambda cost: cost.squared == math.inf,
    )
    return WorstCost(each.score, each.coalition, said if size else "nobody inside, exactly")


def _worst_at_once(
    protected: Record, inverses: RecordSearch, coalitions: Iterable[Coalition], scores: dict[Coalition, float]
) -> Iterator[Coalition]:
    """The worst of each few thousand coalitions, with its squared μ among the scores."""
    remaining = iter(coalitions)
    while some := list(itertools.islice(remaining, TOGETHER)):
        squared = protected.squared(inverses.costs(some))
        row = int(np.argmax(squared >= squared.max() * (1 - ALIKE)))
        scores[some[row]] = float(squared[row])
        yield some[row]


def _by_bound(protected: Protected, looks: tuple[Look, ...], colluders: int) -> WorstCost:
    found = bounded(protected, looks, colluders)
    if found.squared < math.inf:
        said = f"no coalition searched: a bound over all of {counted(colluders, 'agent')}, by {' and '.join(found.how)}"
        return WorstCost(Cost(found.squared, protected.agents), None, said)
    cuts = (vertex_connectivity(look.n, look.dealt) for look in looks)
    cut = next((one.cut for one in cuts if one.cut is not None and one.value <= colluders), None)
    if cut is None:
        return WorstCost(
            Cost(math.inf, protected.agents, (Said(Refusal.NO_BOUND),)), None, "no coalition searched"
        )
    if isinstance(protected, Transfer):
        cost = protected.cost(looks, cut)
        if cost.squared == math.inf:
            return WorstCost(cost, tuple(cut), "a smallest cut, which decides it")
    # Some honest agents that the cut leaves by themselves.
    honest = next(one for look in looks if len((one := look.honest(cut)).parts) > 1)
    part = tuple(honest.agents[honest.parts[0]].tolist())
    why = Said(Refusal.NO_BOUND_CUT, cut=changed_sum(part, cut))
    return WorstCost(Cost(math.inf, protected.agents, (why,)), None, "no coalition searched")


class RecordSearch:
    """κ of all agents, for coalition after coalition; only where every agent adds independent noise."""

    @staticmethod
    def fits(looks: Sequence[Look]) -> bool:
        """Whether independent noise is large enough beside links for corrections not to be lost in rounding."""
        return all(
            look.own > 0 and look.conductance.max(initial=0.0) <= MOST_BESIDE_OWN * look.own for look in looks
        )

    def __init__(self, looks: Sequence[Look]):
        self.looks = [_Inverse(look) for look in looks]

    def work(self, coalitions: int, size: int) -> float:
        """Multiplications, about, for so many coalitions of a size."""
        return coalitions * sum(look.work(size) for look in self.looks)

    def costs(self, coalitions: Sequence[Coalition]) -> Float[np.ndarray, "coalitions agents"]:
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
