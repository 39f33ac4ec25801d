"""The worst coalition of f agents: all of them one by one, or a bound over all without a search.

For those who stay honest each cost grows as others leave [Rayleigh's monotonicity law; inverses of principal
submatrices], so coalitions of exactly f agents suffice.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.certificates.bounds import bounded
from hocket.privacy.certificates.looks import Look
from hocket.privacy.certificates.protected import Cost, Protected, Record, Transfer, changed_sum
from hocket.privacy.certificates.record_search import RecordSearch
from hocket.privacy.topology.connectivity import vertex_connectivity
from hocket.privacy.wording import counted

WORK = 4_000_000_000
"""Multiplications, about, before a bound takes the place of a search: some seconds."""
WORK_AT_ONCE = 3_000_000_000
"""The same where coalitions are worked with at once."""
TOGETHER = 4096
"""Coalitions that are."""
EACH = 200_000
"""What one coalition costs however small the network is, in multiplications."""

Coalition = tuple[int, ...]


@dataclass(frozen=True)
class Worst:
    """The cost of the worst coalition, and how it is known."""

    cost: Cost
    coalition: Coalition | None
    """None where a bound over all of them was taken."""
    searched: str


def named(protected: Protected, looks: tuple[Look, ...], coalition: frozenset[int]) -> Worst:
    """The cost of one coalition by name."""
    inside = sorted(coalition & set(protected.agents))
    if inside:
        raise BadInput(
            f"agent {inside[0]} is in the coalition, and what it has itself is no secret from it; change what honest "
            "agents have, or name another coalition"
        )
    members = tuple(sorted(coalition))
    return Worst(protected.cost(looks, members), members, "the coalition named, exactly")


def worst(
    protected: Protected,
    looks: tuple[Look, ...],
    colluders: int,
    *,
    gone: frozenset[int] = frozenset(),
    search: bool | None = None,
) -> Worst:
    """The worst of all coalitions of f agents beside those who are `gone` and whose knowledge counts as theirs.

    `search` says whether all are computed, however long it takes, or none; by default some seconds are spent on it.
    """
    n = looks[0].n
    candidates = [j for j in range(n) if j not in gone and j not in protected.agents]
    size = min(colluders, len(candidates))
    total = math.comb(len(candidates), size)
    alone = tuple(sorted(gone))
    exposed = protected.cost(looks, alone)
    if exposed.squared == math.inf:  # to whoever hears all words, and so to every coalition
        return Worst(exposed, alone, "no search was needed: it shows to whoever hears all words")
    if search is False and size:
        return _by_bound(protected, looks, size + len(gone))
    if isinstance(protected, Record) and size and RecordSearch.fits(looks):
        inverses = RecordSearch(looks)
        if search or inverses.work(total, size) <= WORK_AT_ONCE:
            return _by_inverse(protected, looks, inverses, candidates, size, gone)
    if not search and total * (n**3 + EACH) * len(looks) > WORK:
        return _by_bound(protected, looks, size + len(gone))
    found, coalition = Cost(-1.0), ()
    for members in itertools.combinations(candidates, size):
        one = tuple(sorted({*members, *gone}))
        cost = protected.cost(looks, one)
        # Rounded, so that of coalitions that are alike the first is taken.
        if cost.squared > found.squared * (1 + 1e-9) or found.squared < 0:
            found, coalition = cost, one
        if found.squared == math.inf:
            break
    every = (
        f"the worst of all {counted(total, 'coalition')} of {counted(size, 'agent')}, each computed exactly"
    )
    return Worst(found, coalition, every if size else "nobody inside, exactly")


def _by_inverse(
    protected: Record,
    looks: tuple[Look, ...],
    inverses: RecordSearch,
    candidates: list[int],
    size: int,
    gone: frozenset[int],
) -> Worst:
    """All coalitions, some thousands at once; the worst of them is computed by itself too."""
    largest, worst_one = -1.0, ()
    every = itertools.combinations(candidates, size)
    while some := [tuple(sorted({*one, *gone})) for one in itertools.islice(every, TOGETHER)]:
        squared = protected.squared(inverses.costs(some))
        row = int(np.argmax(squared >= squared.max() * (1 - 1e-9)))  # of coalitions that are alike the first
        if squared[row] > largest * (1 + 1e-9):
            largest, worst_one = float(squared[row]), some[row]
    found = protected.cost(looks, worst_one)
    total = math.comb(len(candidates), size)
    said = (
        f"the worst of all {counted(total, 'coalition')} of {counted(size, 'agent')}, each computed exactly"
    )
    return Worst(Cost(max(found.squared, largest), found.agents), worst_one, said)


def _by_bound(protected: Protected, looks: tuple[Look, ...], colluders: int) -> Worst:
    found = bounded(protected, looks, colluders)
    if found.squared < math.inf:
        said = f"no coalition searched: a bound over all of {counted(colluders, 'agent')}, by {' and '.join(found.how)}"
        return Worst(Cost(found.squared, protected.agents), None, said)
    cut = next(
        (
            one.cut
            for look in looks
            if (one := vertex_connectivity(look.n, look.dealt)).cut is not None and one.value <= colluders
        ),
        None,
    )
    if cut is not None and isinstance(protected, Transfer):
        cost = protected.cost(looks, cut)
        if cost.squared == math.inf:
            return Worst(cost, tuple(cut), "a smallest cut, which decides it")
    reason = (
        "no bound without a search is finite here: some coalition of that size may cut honest agents apart; name a "
        "coalition, plan for fewer colluders, or add links"
    )
    if cut is not None:
        reason += f" ({changed_sum(_part(looks, cut), cut)})"
    return Worst(Cost(math.inf, protected.agents, reason), None, "no coalition searched")


def _part(looks: tuple[Look, ...], cut: Coalition) -> Coalition:
    """Some honest agents that a cut leaves by themselves."""
    honest = next(one for look in looks if len((one := look.honest(cut)).parts) > 1)
    return tuple(honest.agents[honest.parts[0]].tolist())
