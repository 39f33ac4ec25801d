"""Coalitions of one size: one search for the worst of them, whatever they are scored by.

A score says how bad one coalition is. How it cuts the graph is scored here; what it can estimate in `leakage.worst`,
what it can tell apart in `dp.certify`. Where not all can be scored, those come first that surround, cut and overhear
most, and `stars` bound what the others can know.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from hocket.networks.network import Network
from hocket.privacy.graph.connectivity import (
    agents_in,
    around,
    check_colluders,
    everybody,
    mask_of,
    neighbour_lists,
    neighbour_masks,
    split,
    vertex_connectivity,
)
from hocket.privacy.graph.guarantees import Exposure
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import counted, named

WORK = 3_000_000
"""Agents visited by default before a search of cuts ends: a few seconds."""
RANKED = 20_000
"""Coalitions that are ranked by what they overhear before any is scored."""
STARS = 4_000
"""Stars up to which all of an agent's honest neighbours count; beyond, one of them by itself, which is never better."""
Coalition = tuple[int, ...]
Score = TypeVar("Score")


@dataclass(frozen=True)
class Worst(Generic[Score]):
    """The coalition with the worst score, and how many were scored."""

    coalition: Coalition
    score: Score
    searched: int


def every(agents: Iterable[int], size: int, beside: Collection[int] = ()) -> Iterator[Coalition]:
    """All coalitions of so many of these agents, each with those `beside` them, who belong to all."""
    for some in itertools.combinations(agents, size):
        yield tuple(sorted({*some, *beside})) if beside else some


def worst_of(
    coalitions: Iterable[Coalition],
    score: Callable[[Coalition], Score],
    worse: Callable[[Any, Any], bool] = operator.gt,
    *,
    enough: Callable[[Score], bool] = lambda _: False,
) -> Worst[Score]:
    """The first coalition than which no later one is worse; the search ends where a score is bad `enough`."""
    remaining = iter(coalitions)
    worst = next(remaining)
    found, searched = score(worst), 1
    for one in () if enough(found) else remaining:
        value, searched = score(one), searched + 1
        if worse(value, found):
            worst, found = one, value
            if enough(found):
                break
    return Worst(worst, found, searched)


def cut(near: Sequence[int], coalition: Coalition) -> tuple[int, int]:
    """How many agents a coalition surrounds, and into how many parts it cuts the others; `near` are neighbours' masks.

    >>> cut(neighbour_masks(6, Network.cycle(6).links), (0, 2))
    (1, 2)
    """
    parts = split(near, everybody(len(near)) & ~mask_of(coalition))
    return sum(1 for part in parts if part & (part - 1) == 0), len(parts)


def overheard(near: Sequence[int], coalition: Coalition) -> tuple[int, int]:
    """Of how many agents a coalition receives the whole neighbourhood, and how many messages it knows in a round."""
    members = mask_of(coalition)
    received = around(near, members) | members
    closed = [j for j in agents_in(received & ~members) if near[j] & ~received == 0]
    return len(closed), received.bit_count()


def suspects(network: Network, f: int, seed: int = 0) -> Iterator[Coalition]:
    """Coalitions of f agents, all of them or many, from those that surround, cut off and overhear most."""
    n, near = network.n, neighbour_masks(network.n, network.links)
    chosen: Iterable[Coalition] = itertools.combinations(range(n), f)
    if math.comb(n, f) > RANKED:
        around_each = [(agents_in(near[j])[:f], {j}) for j in range(n)]
        chosen = {*itertools.islice(drawn(n, f, around_each, seed), max(RANKED // 10, n))}
    return iter(sorted(chosen, key=lambda one: (*cut(near, one), *overheard(near, one)), reverse=True))


def overhears_most(network: Network, coalitions: Iterable[Coalition]) -> Coalition:
    """A coalition that receives most need not know a constant gradient best, but reads most from a public form."""
    near = neighbour_masks(network.n, network.links)
    return max(coalitions, key=lambda one: overheard(near, one))


def drawn(
    n: int, f: int, groups: Iterable[tuple[Coalition, Collection[int]]], seed: int
) -> Iterator[Coalition]:
    """Different coalitions of f agents, for ever: first those that hold a group but nobody whom it leaves out, then
    any."""
    rng = random.Random(seed)
    known: set[Coalition] = set()
    for group, left_out in itertools.chain(groups, itertools.repeat(((), ()))):
        others = [agent for agent in range(n) if agent not in group and agent not in left_out]
        coalition = tuple(sorted([*group, *rng.sample(others, f - len(group))]))
        if coalition not in known:
            known.add(coalition)
            yield coalition


@dataclass(frozen=True)
class CoalitionSearch:
    """What coalitions of f agents can single out under function sharing, as far as they were searched."""

    colluders: int
    searched: int
    total: int
    proved: bool
    """Whether nothing had to be searched, since the vertex connectivity rules every cut out."""
    surrounding: int
    """How many of those searched surround somebody (P1 fails)."""
    cutting: int
    """How many of those searched cut the honest agents apart (P2 fails)."""
    surrounded_by: dict[int, Coalition]
    """For each agent that f others can surround, the neighbours who do: complete, however little was searched."""
    worst: Exposure | None
    """The coalition found that surrounds most, and among these cuts the others into most parts."""

    @property
    def complete(self) -> bool:
        """Whether the answer is about all coalitions."""
        return self.proved or self.searched == self.total

    def __str__(self) -> str:
        size = counted(self.colluders, "agent")
        if self.proved:
            return f"none of the {counted(self.total, 'coalition')} of {size} cuts the others apart: P2 holds"
        lines = [
            f"searched {self.searched:,} of {counted(self.total, 'coalition')} of {size}"
            + ("" if self.complete else "; what was not searched may be worse"),
            f"{self.surrounding:,} surround somebody, {self.cutting:,} cut the others apart",
        ]
        if self.surrounded_by:
            lines.append(f"can be surrounded: {named(self.surrounded_by)}")
        if self.worst is not None:
            lines.append(f"worst: {self.worst}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers."""
        search = plain_values(self, "colluders", "searched", "total", "complete", "proved")
        found = plain_values(self, "surrounding", "cutting", "worst")
        by = {str(agent): list(coalition) for agent, coalition in self.surrounded_by.items()}
        return search | found | {"surrounded_by": by}


def search_coalitions(
    network: Network, colluders: int, *, work: int = WORK, seed: int = 0
) -> CoalitionSearch:
    """Look at all coalitions of `colluders` agents, or at as many as `work` visits of an agent allow.
    For how common and how bad breaches are; whether there is one at all, `guarantees` says exactly.

    Where not all can be looked at, the neighbours of weak agents and a smallest cut come first, then coalitions
    drawn at random from `seed`.

    >>> from hocket import Network
    >>> print(search_coalitions(Network.cycle(6), 2))
    searched 15 of 15 coalitions of 2 agents
    6 surround somebody, 9 cut the others apart
    can be surrounded: agents 0, 1, 2, 3, 4 and 5
    worst: coalition {0, 2}: P2 fails and so does P1; exposed are the objectives of agent 1 and the sum over {3, 4, 5}
    """
    f = check_colluders(colluders, network.both_ways("a search of coalitions").n)
    n, near = network.n, neighbour_masks(network.n, network.links)
    total = math.comb(n, f)
    lists = neighbour_lists(n, network.links)
    surrounded_by = {j: tuple(others.tolist()) for j, others in enumerate(lists) if len(others) <= f}
    found = vertex_connectivity(n, network.links, at_most=f + 1)
    if found.value > f:
        return CoalitionSearch(f, 0, total, True, 0, 0, {}, None)
    weak = [*surrounded_by.values(), *([found.cut] if found.cut else [])]
    affordable, breaches = max(work // n, 1), Counter[str]()

    def score(coalition: Coalition) -> tuple[int, int]:
        alone, parts = cut(near, coalition)
        breaches.update(surrounding=alone > 0, cutting=parts > 1)
        return alone, parts

    chosen = every(range(n), f) if total <= affordable else drawn(n, f, [(one, ()) for one in weak], seed)
    worst = worst_of(itertools.islice(chosen, affordable), score)
    exposed = None
    if worst.score > (0, 1):
        parts = split(near, everybody(n) & ~mask_of(worst.coalition))
        exposed = Exposure(worst.coalition, tuple(map(agents_in, parts)))
    surrounding, cutting = breaches["surrounding"], breaches["cutting"]
    return CoalitionSearch(f, worst.searched, total, False, surrounding, cutting, surrounded_by, exposed)


class Star(NamedTuple):
    """An agent and some of its neighbours: all that is honest.

    No matter who the f colluders are, all but f of an agent's neighbours stay honest. An adversary that knows
    everything of everybody but the agent and those neighbours knows what the f know, and more; and to know more only
    sharpens a Gaussian posterior. So no coalition of f knows a gradient better than the best of such adversaries does.
    """

    centre: int
    agents: int
    """All of them as a mask."""


def stars(near: Sequence[int], f: int) -> Iterator[Star]:
    """Every agent with each choice of neighbours that f colluders may leave it; with one of them, if those are many."""
    many = sum(math.comb(others.bit_count(), f) for others in near) > STARS
    for centre, others in enumerate(near):
        leaves = 1 if many else others.bit_count() - f
        for chosen in itertools.combinations(agents_in(others), leaves):
            yield Star(centre, mask_of((centre, *chosen)))


def apart(near: Sequence[int], stars: Iterable[Star]) -> list[tuple[int, set[int]]]:
    """Stars in groups in which no two touch: a group's agents, and who stands in the middle of one.

    Stars without a link between them are independent to an adversary that knows all the rest: many are estimated at
    once.
    """
    centres: dict[int, set[int]] = {}
    for star in stars:
        centres.setdefault(star.agents, set()).add(star.centre)
    groups: list[tuple[int, int, set[int]]] = []
    for agents, middle in centres.items():
        whole = agents | around(near, agents)
        for place, (taken, closed, others) in enumerate(groups):
            if not (taken & whole or closed & agents):
                groups[place] = taken | agents, closed | whole, others | middle
                break
        else:
            groups.append((agents, whole, middle))
    return [(taken, middle) for taken, _, middle in groups]
