"""Who talks to whom, and with which weights: a graph together with its B_k, which is doubly stochastic unless links are
directed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Bool, Float, Int

from hocket.errors import BadInput, BadNetwork
from hocket.networks import directed as one_way
from hocket.networks import topologies
from hocket.networks.adjacency import no_network, pairs_of
from hocket.networks.edge_weights import edge_weights, refuse_edge_weights
from hocket.networks.topologies import Edges, Labels
from hocket.networks.weights import SUM_TOLERANCE, Weights, norm_off_average, weigh

if TYPE_CHECKING:
    import networkx

    from hocket.networks.topologies import Graph


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """Agents 0 to n − 1, their links, and the weights with which they average what they receive.
    Build one from a name, `Network.cycle(5)`, or from your own links or networkx graph, `Network(links)`; nodes other
    than 0 to n − 1 are numbered in the graph's order and kept in `labels`. With `n` an agent that no link names is
    refused rather than overlooked.

    `weights` is the name of a rule, "paper" ("auto" means that), "metropolis" or "fastest", or a doubly stochastic
    matrix on the graph; "edges" takes what a networkx graph has on its edges, which no other rule leaves out in
    silence. Arrays that may vary lead with the phase: round k uses phase (k − 1) mod `period`.

    A networkx DiGraph, or pairs with `directed=True`, are links that go one way: (i, j) lets i send to j. Their
    weights are "push" ("auto"), 1/(1 + out-degree), or a matrix whose columns sum to one, and push methods work there.

    >>> Network([(0, 1), (1, 2), (0, 2)], name="triangle").B
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """

    n: int
    links: Int[np.ndarray, "links 2"]
    """Pairs (i, j), i < j, in lexicographic order; i sends in direction 0 of a link, j in direction 1."""
    own: Float[np.ndarray, "phases agents"]
    """B_k[j, j], what agent j gives to its own message."""
    weight: Float[np.ndarray, "phases links 2"]
    """What the receiver gives to the message sent in each direction, B_k[j, i] and B_k[i, j]; 0 if inactive."""
    name: str
    labels: Labels | None
    """The nodes of the networkx graph in agent order, where they are not simply 0 to n − 1."""

    def __init__(
        self,
        graph: Graph | Edges,
        *,
        weights: Weights = "auto",
        n: int | None = None,
        name: str | None = None,
        directed: bool | None = None,
    ):
        self._weigh(graph, weights, n, name or getattr(graph, "name", "") or "custom", directed)
        self._check_connected()

    @classmethod
    def cycle(cls, n: int, *, weights: Weights = "paper") -> Network:
        """A ring, each agent linked to the next.
        The cheapest graph that stays connected when any one agent leaves.
        """
        return cls(topologies.cycle(n), weights=weights, n=n, name=f"cycle:{n}")

    @classmethod
    def complete(cls, n: int, *, weights: Weights = "paper") -> Network:
        """Everybody linked to everybody.
        For small groups: the fastest mixing, and no coalition cuts the others apart.
        """
        return cls(topologies.complete(n), weights=weights, n=n, name=f"complete:{n}")

    @classmethod
    def path(cls, n: int, *, weights: Weights = "paper") -> Network:
        """A line, each agent linked to the next.
        The worst case: slowest mixing, and anybody who stands in the middle cuts it.
        """
        return cls(topologies.path(n), weights=weights, n=n, name=f"path:{n}")

    @classmethod
    def star(cls, n: int, *, weights: Weights = "paper") -> Network:
        """Agent 0 linked to each of the n − 1 others.
        For comparison with federated learning through a server, which sees everybody's messages.
        """
        return cls(topologies.star(n), weights=weights, n=n, name=f"star:{n}")

    @classmethod
    def grid(cls, rows: int, cols: int, *, weights: Weights = "paper") -> Network:
        """A rectangle numbered row by row, without wrap-around.
        For sensors and other agents that reach only who is near.
        """
        return cls(topologies.grid(rows, cols), weights=weights, n=rows * cols, name=f"grid:{rows}x{cols}")

    @classmethod
    def hypercube(cls, dim: int, *, weights: Weights = "paper") -> Network:
        """The 2^dim corners of a cube, linked where their numbers differ in one bit.
        For fast mixing with few links where the number of agents is a power of two.
        """
        return cls(topologies.hypercube(dim), weights=weights, n=2**dim, name=f"hypercube:{dim}")

    @classmethod
    def harary(cls, k: int, n: int, *, weights: Weights = "paper") -> Network:
        """The fewest links that keep n agents connected whichever k − 1 of them leave.
        Choose k = f + 1 to withstand f colluders at the least traffic.
        """
        return cls(topologies.harary(k, n), weights=weights, n=n, name=f"harary:k={k},n={n}")

    @classmethod
    def random_regular(cls, degree: int, n: int, seed: int = 0, *, weights: Weights = "paper") -> Network:
        """A connected random graph in which everybody has `degree` neighbours.
        For large populations: it mixes fast with a number of links that grows with n only.
        """
        links = topologies.random_regular(degree, n, seed)
        return cls(links, weights=weights, n=n, name=f"random-regular:d={degree},n={n},seed={seed}")

    @classmethod
    def erdos_renyi(cls, n: int, p: float, seed: int = 0, *, weights: Weights = "paper") -> Network:
        """A connected random graph in which each pair is linked with probability p.
        For studies over irregular graphs.
        """
        links = topologies.erdos_renyi(n, p, seed)
        return cls(links, weights=weights, n=n, name=f"erdos-renyi:n={n},p={p:g},seed={seed}")

    @classmethod
    def directed_cycle(cls, n: int, *, weights: Weights = "push") -> Network:
        """A ring in which each agent sends to the next only.
        The fewest links on which all hear of all; for push methods.
        """
        return cls(one_way.cycle(n), weights=weights, n=n, name=f"directed-cycle:{n}", directed=True)

    @classmethod
    def exponential(cls, n: int, *, weights: Weights = "push") -> Network:
        """Each agent sends to those 1, 2, 4, 8 … places further on.
        For push methods on many agents: a message reaches everybody in log₂ n rounds, over as many links each.
        """
        return cls(one_way.exponential(n), weights=weights, n=n, name=f"exponential:{n}", directed=True)

    @classmethod
    def random_directed(cls, n: int, p: float, seed: int = 0, *, weights: Weights = "push") -> Network:
        """A strongly connected random graph in which each agent sends to each other one with probability p.
        For studies of push methods over graphs whose weights do not balance.
        """
        pairs, name = one_way.erdos_renyi(n, p, seed), f"random-directed:n={n},p={p:g},seed={seed}"
        return cls(pairs, weights=weights, n=n, name=name, directed=True)

    @classmethod
    def from_adjacency(cls, matrix: Any, *, weights: Weights = "auto", name: str = "custom") -> Network:
        """A network from a table of 0 and 1, dense or sparse, with a row per agent.
        Agent i sends to agent j where [i, j] is 1; where the table is not symmetric, links go one way.

        >>> Network.from_adjacency(np.ones((3, 3))).links.tolist()
        [[0, 1], [0, 2], [1, 2]]
        """
        pairs, n, one_way = pairs_of(matrix)
        return cls(pairs, weights=weights, n=n, name=name, directed=one_way or None)

    def called(self, labels: Sequence[Hashable]) -> Network:
        """The same network, its agents known by these names as well.
        For verdicts and pages that people read who know each other.

        >>> Network.cycle(3).called(["Aalst", "Bruges", "Ghent"]).labels
        ('Aalst', 'Bruges', 'Ghent')
        """
        if len({*labels}) != self.n or len(labels) != self.n:
            raise BadNetwork(f"{len(labels)} names for {self.n} agents; give each one of its own")
        kept = self.n, self.links, self.own, self.weight, self.name
        return object.__new__(type(self))._fill(*kept, tuple(labels))

    def in_order_of(self, names: Sequence[str]) -> Network:
        """The same network with agent j the one called names[j], so that its data and its links belong together.

        >>> path = Network([(0, 1), (1, 2)]).called(["Aalst", "Bruges", "Ghent"])
        >>> path.in_order_of(["Bruges", "Ghent", "Aalst"]).neighbours(0)
        (1, 2)
        """
        if self.labels is None:
            return self
        labels = [str(label) for label in self.labels]
        strangers = [name for name in names if name not in labels]
        if strangers or len(names) != self.n:
            known = ", ".join(labels[:8]) + (", …" if self.n > 8 else "")
            raise BadNetwork(
                f"the problem has an agent {(strangers or names)[0]!r}, and the network's are called {known}; give "
                "both the same names, or one of them none"
            )
        number = np.array([names.index(label) for label in labels])
        ends = number[self.links]
        turned = ends[:, 0] > ends[:, 1]
        links, weight, own = np.sort(ends, axis=1), self.weight.copy(), np.empty_like(self.own)
        weight[:, turned] = weight[:, turned, ::-1]
        own[:, number] = self.own
        order = np.lexsort((links[:, 1], links[:, 0]))
        kept = tuple(self.labels[labels.index(name)] for name in names)
        return Network.restored(links[order], own, weight[:, order], self.name, kept)

    @classmethod
    def single(cls) -> Network:
        """One agent without links.
        For the centralised baseline, which has nobody to talk to.
        """
        no_links = np.empty((0, 2), dtype=np.int64)
        return object.__new__(cls)._fill(1, no_links, np.ones((1, 1)), np.empty((1, 0, 2)), "single", None)

    @classmethod
    def varying(
        cls,
        phases: Sequence[Network | Graph | Edges],
        *,
        weights: Weights = "auto",
        n: int | None = None,
        name: str = "varying",
        directed: bool | None = None,
    ) -> Network:
        """Networks on the same agents that take turns, one a round; together they must be connected.
        For links that are not always up; a phase given as links or a graph gets `weights` and may fall apart.

        >>> ring = Network.varying([[(0, 1), (2, 3)], [(1, 2), (0, 3)]])
        >>> ring.B_at(1)[0].round(3), ring.B_at(2)[0].round(3)
        (array([0.667, 0.333, 0.   , 0.   ]), array([0.667, 0.   , 0.   , 0.333]))
        """
        parts = [
            phase
            if isinstance(phase, Network)
            else object.__new__(cls)._weigh(phase, weights, n, "phase", directed)
            for phase in phases
        ]
        if not parts:
            raise BadNetwork("a varying network needs at least one phase, got none")
        first = parts[0]
        for at, part in enumerate(parts):
            if part.n != first.n:
                raise BadNetwork(
                    f"phase {at} has {part.n} agents, phase 0 has {first.n}, but all share the same agents; "
                    "pass n= where links do not name the last of them"
                )
            if part.labels != first.labels:
                raise BadNetwork(
                    f"phase {at} numbers its nodes unlike phase 0; add them to both graphs in one order"
                )
        # A link (i, j) as the one number i·n + j, so that phases can be merged and looked up by sorting.
        codes = [part.links @ [first.n, 1] for part in parts]
        union = np.unique(np.concatenate(codes))
        links = np.column_stack(np.divmod(union, first.n))
        own = np.concatenate([part.own for part in parts])
        weights_in = [np.zeros((part.period, len(links), 2)) for part in parts]
        for part, code, weight in zip(parts, codes, weights_in, strict=True):
            weight[:, np.searchsorted(union, code)] = part.weight
        whole = object.__new__(cls)._fill(first.n, links, own, np.concatenate(weights_in), name, first.labels)
        whole._check_connected()
        return whole

    @property
    def period(self) -> int:
        """Rounds after which the weights repeat; 1 for a network that does not vary."""
        return len(self.own)

    @cached_property
    def active(self) -> Bool[np.ndarray, "phases links"]:
        """Whether each link belongs to the phase's graph, in one direction at least."""
        return self.weight.max(axis=2) > 0

    @cached_property
    def directed(self) -> bool:
        """Whether links go one way, or senders share messages out in parts that do not balance: then only push methods
        reach the optimum, and nothing is audited.

        >>> Network.directed_cycle(5).directed, Network.cycle(5).directed, Network.star(5, weights="push").directed
        (True, False, True)
        """
        if ((self.weight[:, :, 0] > 0) != (self.weight[:, :, 1] > 0)).any():
            return True
        # Row sums without a matrix, which takes a tenth of a second to import.
        sums = (np.bincount(self.links[:, ::-1].ravel(), one.ravel(), self.n) for one in self.weight)
        return bool(np.abs(self.own + np.stack([*sums]) - 1).max() > SUM_TOLERANCE)

    def both_ways(self, what: str, fix: str = "take an undirected network") -> Network:
        """This network, or an error where its links go one way and something is meant for those that go both ways."""
        if self.directed:
            raise BadNetwork(
                f"{what} is for links that go both ways with weights that balance, and those of {self.name!r} are "
                f"directed; {fix}"
            )
        return self

    @property
    def constant_support(self) -> bool:
        """Whether every phase has all the links, without which no theorem is claimed."""
        return bool(self.active.all())

    @cached_property
    def degrees(self) -> Int[np.ndarray, "phases agents"]:
        """Active links of each agent."""
        return np.stack([np.bincount(self.links[on].ravel(), minlength=self.n) for on in self.active])

    @property
    def B(self) -> Float[np.ndarray, "agents agents"]:
        """The weights as a dense matrix, row j what agent j gives to each message; for small networks."""
        return self._only_phase("B", "B_at(k)").toarray()

    def B_at(self, k: int) -> Float[np.ndarray, "agents agents"]:
        """The weights of round k as a dense matrix; rounds count from 1."""
        if k < 1:
            raise BadNetwork(f"rounds count from 1, got k={k}")
        return self._sparse((k - 1) % self.period).toarray()

    @classmethod
    def restored(
        cls, links: np.ndarray, own: np.ndarray, weight: np.ndarray, name: str, labels: Labels | None
    ) -> Network:
        """A network from its own arrays, as a stored run holds them; they were checked when it was built."""
        return object.__new__(cls)._fill(own.shape[1], links, own, weight, name, labels)

    @cached_property
    def lam(self) -> float:
        """λ = ‖B − 11ᵀ/n‖₂, the factor by which one exchange at least shrinks disagreement."""
        self.both_ways("λ")
        return norm_off_average(self._only_phase("λ", "numpy.linalg.norm(B_at(k) - 1 / n, 2)"))

    @cached_property
    def rho(self) -> float:
        """ρ, the smallest non-zero weight over all phases."""
        return float(min(self.own.min(), self.weight.min(initial=1, where=self.weight > 0)))

    @cached_property
    def graph(self) -> networkx.Graph[int]:
        """The links of all phases as a networkx graph on 0 to n − 1, frozen because it is shared; a DiGraph where they
        are directed."""
        import networkx

        graph: networkx.Graph[int] = (networkx.DiGraph if self.directed else networkx.Graph)(name=self.name)
        graph.add_nodes_from(range(self.n))
        graph.add_edges_from(self.links.tolist() if not self.directed else self.outgoing.tolist())
        networkx.freeze(graph)  # pyright: ignore[reportUnknownMemberType]
        return graph

    @property
    def outgoing(self) -> Int[np.ndarray, "pairs 2"]:
        """Who ever sends to whom, as ordered pairs."""
        on = self.weight.max(axis=0) > 0
        return np.concatenate([self.links[on[:, 0]], self.links[on[:, 1]][:, ::-1]])

    def neighbours(self, j: int) -> tuple[int, ...]:
        """Who shares a link with agent j in any phase, in ascending order.

        >>> Network.cycle(5).neighbours(0)
        (1, 4)
        """
        if not 0 <= j < self.n:
            raise BadNetwork(f"there is no agent {j}; agents are numbered 0 to {self.n - 1}")
        first, others = self._sorted_ends
        return tuple(others[first[j] : first[j + 1]].tolist())

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        more = (f", period={self.period}" if self.period > 1 else "") + ", directed" * self.directed
        return f"Network({self.name!r}, agents={self.n}, links={len(self.links)}{more})"

    def _weigh(
        self, graph: Graph | Edges, weights: Weights, n: int | None, name: str, directed: bool | None
    ) -> Network:
        if directed or (directed is None and topologies.is_directed(graph)):
            refuse_edge_weights(graph)
            n, links, sends, labels = one_way.read(graph, n)
            own, weight = weigh(n, links, weights, sends)
        else:
            n, links, labels = topologies.read(graph, n)
            own, weight = weigh(n, links, edge_weights(graph, n, links, labels, weights))
        return self._fill(n, links, own[None], weight[None], name, labels)

    def _check_connected(self) -> None:
        sends = self.weight.max(axis=0) > 0
        topologies.check_connected(self.n, self.links, self.labels)
        if not sends.all():
            one_way.check_strongly_connected(self.n, self.links, sends, self.labels)

    def _fill(
        self, n: int, links: np.ndarray, own: np.ndarray, weight: np.ndarray, name: str, labels: Labels | None
    ) -> Network:
        for array in (links, own, weight):
            array.setflags(write=False)
        fields = {"n": n, "links": links, "own": own, "weight": weight, "name": name, "labels": labels}
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        return self

    @cached_property
    def _sorted_ends(self) -> tuple[np.ndarray, np.ndarray]:
        ends = np.concatenate([self.links, self.links[:, ::-1]])
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        return np.searchsorted(ends[:, 0], np.arange(self.n + 1)), ends[:, 1]

    def _only_phase(self, what: str, instead: str) -> Any:
        if self.period > 1:
            raise BadNetwork(f"{self.name!r} has {self.period} phases and no single {what}; use {instead}")
        return self._sparse(0)

    def _sparse(self, phase: int) -> Any:
        (low, high), agents = self.links.T, np.arange(self.n)
        values = np.concatenate([self.own[phase], self.weight[phase, :, 0], self.weight[phase, :, 1]])
        at = (np.concatenate([agents, high, low]), np.concatenate([agents, low, high]))
        return scipy.sparse.csr_array((values, at), shape=(self.n, self.n))


def network_asked(given: Any, n: int | None = None) -> Network:
    """A network where one, of `n` agents, is wanted: itself, or a networkx graph's."""
    if hasattr(given, "nodes") and hasattr(given, "edges"):
        return Network(given)
    if not isinstance(given, Network):
        raise BadInput(no_network(given, n))
    return given
