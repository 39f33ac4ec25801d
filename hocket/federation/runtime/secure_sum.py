"""A sum over all members of which nobody sees the parts: masks in a finite group, up and down a tree.

Every member adds to its numbers one uniform mask per link, the lower-numbered end adding what the higher one takes
off. Given what a coalition knows by itself, the masked messages of honest members that are connected are uniform but
for their sum, whatever goes over which link; the tree only saves traffic. So masks are on all links of the plan, not on
those of the tree: a parent would know its leaf's only one.

    mask = ChaCha20(HMAC-SHA256(this round's key of the link, MASK_LABEL ‖ exchange u32 ‖ point)), counter 0, nonce 0

The point is a digest of all sums of the run so far. Anybody who shows members different sums makes them ask at
different points; their masks then no longer cancel and the next sum is noise, and neighbours, who compare the point
once in every sum, over every link, stop before they have it.

Numbers go over each link of the tree once up and once down, with the point; over each other link the point goes once in
both directions, in the first exchange. That is all: 2 (n − 1) messages of the numbers' size, the fewest that there can
be, and two short ones for every link beyond a tree. Silence tells nothing, as the plan alone says who speaks when; and
the numbers that travel are sums of masked messages, which Theorem T has uniform but for the sums over honest
components: anybody who hears more of them than the tree shows would learn nothing more. No third message is said over a
link before one was heard that was said after the first was read, see conversation.py: a parent's next one needs its
child's next numbers, a child's next its parent's, and over other links both need the other's point."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import jax
import networkx as nx
import numpy as np

from hocket.algorithm import SecureSum
from hocket.errors import BadPlan, LinkError
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.role import MemberRole
from hocket.federation.workloads.needs import needs
from hocket.links.wire import Part
from hocket.networks.network import Network
from hocket.secagg.group import Words, add, negate
from hocket.secagg.noise_share import with_noise
from hocket.secagg.summands import decoded, encoded

NOISE_LABEL = 1 << 16
"""Of what a member draws for itself in a sum's first exchange; algorithms' own labels are far below."""
BEGINNING = bytes(32)
"""The point before the first sum."""


@dataclass(frozen=True)
class Tree:
    """Who passes sums to whom, as all work it out from the plan alone."""

    parent: tuple[int | None, ...]
    depth: tuple[int, ...]

    @property
    def height(self) -> int:
        return max(self.depth)

    def children(self, member: int) -> list[int]:
        """Who passes to this member."""
        return [child for child, parent in enumerate(self.parent) if parent == member]

    def carriers(self, *members: int) -> list[int]:
        """By whose hands sums come to these members."""
        found, above = set[int](), [self.parent[member] for member in members]
        while above:
            if (one := above.pop()) is not None:
                found.add(one)
                above.append(self.parent[one])
        return sorted(found)


def tree_of(network: Network) -> Tree:
    """A shortest-path tree from a centre of the network: no tree has fewer levels."""
    if not network.constant_support:
        raise BadPlan(
            "sums over all members need links that are there in every round, and this network's links take turns; "
            "plan a network that stays the same"
        )
    graph = nx.Graph(network.links.tolist())
    graph.add_nodes_from(range(network.n))
    root = min(nx.center(graph)) if network.n > 1 else 0
    depth: Mapping[int, int] = nx.single_source_shortest_path_length(graph, root)
    parent = [
        min((other for other in graph[member] if depth[other] < depth[member]), default=None)
        for member in range(network.n)
    ]
    return Tree(tuple(parent), tuple(depth[member] for member in range(network.n)))


@dataclass
class MaskedSum:
    """One sum as one member carries it out: what it says in each exchange, and what it makes of what it hears."""

    role: MemberRole
    tree: Tree
    point: bytes
    asked: SecureSum
    partial: Words
    """This member's masked numbers, and those of all below it so far; in the end the sum."""
    names: Sequence[str] = field(default=())

    @classmethod
    def of(
        cls,
        role: MemberRole,
        tree: Tree,
        streams: ChainStreams,
        asked: SecureSum,
        k: int,
        exchange: int,
        point: bytes,
        names: Sequence[str],
    ) -> MaskedSum:
        """The sum that begins with this exchange."""
        own = encoded(asked.values, bits=asked.bits, members=role.plan.network.n, names=asked.names)
        if asked.noise is not None:
            draw = streams.own_bits(NOISE_LABEL + exchange, k)
            own = with_noise(own, asked.values, asked.noise, asked.bits, draw)
        masked = reduce(add, link_masks(role, streams, own.shape[1], k, exchange, point), own)
        return cls(role, tree, point, asked, masked, names)

    @property
    def exchanges(self) -> int:
        """In how many exchanges everybody has the sum."""
        return max(2 * self.tree.height, 1)

    def said(self, step: int) -> dict[int | None, list[Part]]:
        """What goes to whom: numbers along one level of the tree, up and then down, with the point; at first the point
        alone to those beside the tree."""
        receivers = self._receivers(self.role.index, step)
        words = self.partial.astype("<u8").tobytes() if receivers else b""
        said: dict[int | None, list[Part]] = {other: [self.point] for other in self._beside(step)}
        said.update({other: [self.point, words] for other in receivers})
        return said

    def due(self, step: int) -> list[int]:
        """Who speaks to this member."""
        beside, me = self._beside(step), self.role.index
        return [j for j in self.role.neighbours if j in beside or me in self._receivers(j, step)]

    def _beside(self, step: int) -> list[int]:
        """Neighbours with whom points alone are compared: those over no link of the tree, at first."""
        me, parent = self.role.index, self.tree.parent
        return [j for j in self.role.neighbours if not step and parent[j] != me and parent[me] != j]

    def received(self, step: int, parts: Mapping[int, Sequence[Part]]) -> None:
        """Take in what the neighbours said; refuses what does not belong to this sum."""
        for other, said in parts.items():
            self.check_point(other, said)
            due = self.role.index in self._receivers(other, step)
            words = self._numbers(other, said[1:], due)
            if words is not None:
                self.partial = add(self.partial, words) if step < self.tree.height else words

    def check_point(self, other: int, said: Sequence[Part]) -> None:
        """Refuse to go on with a neighbour that was shown other sums."""
        check_point(self.role, self.tree, self.names, other, said, self.point)

    @property
    def result(self) -> Any:
        """The sum of what all gave, in the form in which it was asked for."""
        total = decoded(self.partial, self.asked.values, bits=self.asked.bits)
        return jax.tree.map(_of_type, total, self.asked.values)

    @property
    def next_point(self) -> bytes:
        """The point from which the next sum is asked for."""
        return hashlib.sha256(self.point + self.partial.astype("<u8").tobytes()).digest()

    def _receivers(self, member: int, step: int) -> list[int]:
        """To whom a member passes numbers in a step."""
        tree = self.tree
        if step < tree.height:
            parent = tree.parent[member]
            return [parent] if parent is not None and tree.depth[member] == tree.height - step else []
        return tree.children(member) if tree.depth[member] == step - tree.height else []

    def _numbers(self, other: int, said: Sequence[Part], due: bool) -> Words | None:
        size = self.partial.nbytes
        if [len(part) for part in said if isinstance(part, bytes)] != [size] * due or len(said) != due:
            raise LinkError(
                f"{self.names[other]} said {len(said)} parts to a sum where {int(due)} of {size} bytes is due; its "
                "task or study is another one: compare them"
            )
        return np.frombuffer(bytes(said[0]), "<u8").reshape(2, -1).astype(np.uint64) if due else None


def _of_type(total: Any, given: Any) -> np.ndarray:
    """A sum in the precision of what was given."""
    return np.asarray(total).astype(np.result_type(given, np.float32))


def check_point(
    role: MemberRole, tree: Tree, names: Sequence[str], other: int, said: Sequence[Part], point: bytes
) -> None:
    """Refuse to go on with a neighbour that was shown other sums; anybody who passed them on may have changed them."""
    if said and isinstance(said[0], bytes) and said[0] == point:
        return
    hands = {other, *tree.carriers(role.index, other)} - {role.index}
    raise LinkError(
        f"{names[other]} was shown other sums than this member: {' or '.join(names[one] for one in sorted(hands))} "
        "sends members different ones, or they run different software. Nothing more was said; compare the runs, and "
        "begin a new plan together"
    )


def check_mean(role: MemberRole, names: Sequence[str], total: Any, k: int) -> None:
    """Refuse a sum of points that lie in the feasible set if their mean does not: some were none, or it was changed."""
    if not needs(role.algorithm).averages:
        return
    for leaf in map(np.asarray, jax.tree.leaves(total)):
        mean = leaf.astype(np.float64) / role.plan.network.n
        rounding = 64 * np.finfo(leaf.dtype).eps * (1 + float(np.linalg.norm(mean)))
        inside = not role.feasible.bounded or _outside(role, mean) <= rounding
        if not inside or not float(np.abs(mean).max(initial=0.0)) <= role.reach:
            others = " or ".join(name for j, name in enumerate(names) if j != role.index)
            raise LinkError(
                f"the average of all members in round {k} lies where no average of allowed points can be: {others} "
                "gave numbers that are none, or passed on another sum. Masks hide which; nothing more was said. "
                "Settle it together, and begin a new plan"
            )


def _outside(role: MemberRole, mean: np.ndarray) -> float:
    return float(np.linalg.norm(mean - np.asarray(role.plain_set.project(mean), dtype=np.float64)))


def link_masks(
    role: MemberRole, streams: ChainStreams, count: int, k: int, exchange: int, point: bytes
) -> list[Words]:
    """One mask per link, as this end adds it."""
    drawn = {other: streams.mask(other, k, exchange, point, count) for other in role.present}
    return [mask if role.index < other else negate(mask) for other, mask in drawn.items()]
