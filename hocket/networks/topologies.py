"""Graphs as arrays of links: the named ones, the user's own, and the texts that name one on the command line.

Links are pairs of agents; nothing here knows of weights, which `hocket.networks.network.Network` adds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from hocket.errors import BadConfig, BadNetwork, nearest
from hocket.networks.adjacency import is_matrix

if TYPE_CHECKING:
    import networkx

    from hocket.networks.network import Network
    from hocket.networks.weights import Weights

    Graph = networkx.Graph[Any]
    """Nodes may be anything that can be hashed."""

Links = Int[np.ndarray, "links 2"]
Edges = Iterable[tuple[int, int]] | np.ndarray
Labels = tuple[Hashable, ...]

MOST_LINKS = 20_000_000
"""Of a named topology: 300 MB of agent numbers, before weights are given to any."""

DRAWS = 100
"""Random graphs drawn before giving up on a connected one."""

FORMS: dict[str, tuple[str, dict[str, type]]] = {
    "cycle": ("cycle:5", {"n": int}),
    "complete": ("complete:5", {"n": int}),
    "path": ("path:4", {"n": int}),
    "star": ("star:6", {"n": int}),
    "grid": ("grid:3x4", {"rows": int, "cols": int}),
    "hypercube": ("hypercube:3", {"dim": int}),
    "harary": ("harary:k=3,n=7", {"k": int, "n": int}),
    "random-regular": ("random-regular:d=4,n=20,seed=0", {"d": int, "n": int, "seed": int}),
    "erdos-renyi": ("erdos-renyi:n=20,p=0.3,seed=0", {"n": int, "p": float, "seed": int}),
    "directed-cycle": ("directed-cycle:5", {"n": int}),
    "exponential": ("exponential:8", {"n": int}),
    "random-directed": ("random-directed:n=20,p=0.3,seed=0", {"n": int, "p": float, "seed": int}),
}
"""What can be named in a text: an example, and the parameters in the order in which `Network` takes them."""

DIRECTED = ("directed-cycle", "exponential", "random-directed")
"""Those of them whose links go one way."""


def parse(text: str, *, weights: Weights = "auto") -> Network:
    """The network that a short text names, with "auto" by the weights that it has by default.
    For command lines and configuration files; in Python call `Network.cycle(5)` and its like.

    >>> parse("grid:3x4"), parse("harary:k=3,n=7")
    (Network('grid:3x4', agents=12, links=17), Network('harary:k=3,n=7', agents=7, links=11))
    """
    from hocket.networks.network import Network

    name, _, rest = text.strip().lower().replace("_", "-").partition(":")
    if name not in FORMS:
        raise BadConfig(f"unknown topology {name!r}{nearest(name, FORMS)}; known are {', '.join(FORMS)}")
    example, kinds = FORMS[name]
    values: dict[str, Any] = {"seed": 0} if "seed" in kinds else {}
    given: set[str] = set()
    fields = rest.replace("x", ",").split(",") if name == "grid" and "=" not in rest else rest.split(",")
    for position, field in enumerate(fields if rest else []):
        key, equals, value = (part.strip() for part in field.partition("="))
        if not equals:
            if position >= len(kinds):
                raise BadConfig(
                    f"{text!r} has more values than {name} has parameters; an example is {example}"
                )
            key, value = list(kinds)[position], key
        if key not in kinds:
            raise BadConfig(f"{name} has no parameter {key!r}{nearest(key, kinds)}; an example is {example}")
        if key in given:
            raise BadConfig(f"{text!r} gives {key} twice; an example is {example}")
        given.add(key)
        try:
            values[key] = kinds[key](value)
        except ValueError:
            kind = "whole number" if kinds[key] is int else "number"
            raise BadConfig(f"{key}={value} in {text!r} is not a {kind}; an example is {example}") from None
    missing = [key for key in kinds if key not in values]
    if missing:
        raise BadConfig(f"{text!r} does not say {' and '.join(missing)}; an example is {example}")
    build = getattr(Network, name.replace("-", "_"))
    chosen = {} if isinstance(weights, str) and weights == "auto" else {"weights": weights}
    return build(*(values[key] for key in kinds), **chosen)


def is_directed(graph: Any) -> bool:
    """Whether a networkx graph says so; pairs of numbers say nothing."""
    return hasattr(graph, "is_directed") and bool(graph.is_directed())


def read(graph: Graph | Edges, n: int | None = None) -> tuple[int, Links, Labels | None]:
    """Number of agents, links and labels of a networkx graph or of pairs of agent numbers.
    Refuses links that are no links; whether they hold the graph together is for `check_connected`.
    """
    if is_directed(graph):
        raise BadNetwork(
            "the graph is directed, but links go both ways here; leave directed=False out, or pass "
            "graph.to_undirected()"
        )
    n, pairs, labels = read_pairs(graph, n)
    name = labels.__getitem__ if labels else int
    low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
    links = np.column_stack(np.divmod(np.sort(low * n + high), n))
    for i, j in links[1:][(links[1:] == links[:-1]).all(axis=1)]:
        raise BadNetwork(
            f"link ({name(i)!r}, {name(j)!r}) is given twice; a link goes both ways, give it once"
        )
    return n, links, labels


def read_pairs(graph: Graph | Edges, n: int | None = None) -> tuple[int, Links, Labels | None]:
    """Number of agents, pairs as they were given, and labels; refuses pairs that join no two agents."""
    labels = None
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        n, pairs, labels = _number_nodes(graph, n)
    else:
        pairs = _as_pairs(graph)
        n = int(pairs.max(initial=-1)) + 1 if n is None else n
    name = labels.__getitem__ if labels else int
    if n < 2:
        raise BadNetwork(
            f"a network needs at least 2 agents, got {n}; Network.single() is the one-agent baseline"
        )
    for i, j in pairs[((pairs < 0) | (pairs >= n)).any(axis=1)]:
        stranger = j if 0 <= i < n else i
        raise BadNetwork(
            f"link ({i}, {j}) names agent {stranger}, but agents are numbered 0 to {n - 1}; "
            f"mend the link or n={n}"
        )
    for i, _ in pairs[pairs[:, 0] == pairs[:, 1]]:
        who = repr(name(i))
        raise BadNetwork(
            f"link ({who}, {who}) joins agent {who} to itself; leave it out, B has a diagonal without it"
        )
    return n, pairs, labels


def components(n: int, links: Links) -> list[np.ndarray]:
    """The parts of a graph that no link joins, each as its agents in ascending order."""
    # Every part goes by its lowest agent. Not by SciPy: to import its graphs takes longer than most runs.
    part = np.arange(n)
    while ((ends := part[links])[:, 0] != ends[:, 1]).any():
        for end in ends.T:
            np.minimum.at(part, end, ends.min(axis=1))
        while (part[part] != part).any():
            part = part[part]
    agents = np.argsort(part, kind="stable")
    return np.split(agents, np.flatnonzero(np.diff(part[agents])) + 1)


def check_connected(n: int, links: Links, labels: Labels | None = None) -> None:
    """Refuse a graph whose agents cannot all reach each other: they would never agree."""
    parts = components(n, links)
    if len(parts) == 1:
        return
    shown = [abbreviate(part, labels) for part in parts[:6]]
    if len(parts) > len(shown):
        shown.append(f"and {len(parts) - len(shown)} more")
    raise BadNetwork(
        f"the graph is not connected, it falls into {len(parts)} parts: {', '.join(shown)}; "
        "add links between them"
    )


def cycle(n: int) -> Links:
    """A ring: agent j is linked to j + 1, the last to the first."""
    _need(n >= 3, f"a cycle needs at least 3 agents, got {n}; path(2) links two")
    return harary(2, n)


def complete(n: int) -> Links:
    """Everybody linked to everybody."""
    _affordable(n * (n - 1) // 2, "random-regular, with as many agents and few links each")
    return np.column_stack(np.triu_indices(n, 1))


def path(n: int) -> Links:
    """A line: agent j is linked to j + 1."""
    _affordable(n - 1)
    later = np.arange(1, n)
    return np.column_stack([later - 1, later])


def star(n: int) -> Links:
    """Agent 0 in the middle, linked to each of the others."""
    _affordable(n - 1)
    others = np.arange(1, n)
    return np.column_stack([np.zeros_like(others), others])


def grid(rows: int, cols: int) -> Links:
    """A rectangle numbered row by row, without wrap-around."""
    _need(rows >= 1 and cols >= 1, f"a grid needs at least one row and one column, got {rows}x{cols}")
    _affordable(2 * rows * cols)
    agent = np.arange(rows * cols).reshape(rows, cols)
    along = np.column_stack([agent[:, :-1].ravel(), agent[:, 1:].ravel()])
    down = np.column_stack([agent[:-1].ravel(), agent[1:].ravel()])
    return np.concatenate([along, down])


def hypercube(dim: int) -> Links:
    """The corners of a cube, linked where their numbers differ in one bit."""
    _need(dim >= 1, f"a hypercube needs at least one dimension, got {dim}")
    _affordable(dim << (min(dim, 64) - 1))
    corner, bit = np.arange(1 << dim)[:, None], 2 ** np.arange(dim)
    low, axis = np.nonzero((corner & bit) == 0)
    return np.column_stack([low, low + bit[axis]])


def harary(k: int, n: int) -> Links:
    """The fewest links, ⌈kn/2⌉, that keep n agents connected whichever k − 1 of them leave."""
    _need(1 <= k < n, f"a Harary graph needs 1 ≤ k < n, got k={k} and n={n}")
    _affordable((k * n + 1) // 2)
    if k == 1:
        return path(n)
    agent = np.arange(n)
    links = [np.column_stack([agent, (agent + hop) % n]) for hop in range(1, k // 2 + 1)]
    if k % 2:
        # Everybody gets its opposite as well; among an odd number of agents the middle one gets two.
        near = np.arange((n + 1) // 2)
        links.append(np.column_stack([near, near + n // 2]))
    return np.concatenate(links)


def random_regular(degree: int, n: int, seed: int = 0) -> Links:
    """A connected random graph in which everybody has `degree` neighbours."""
    _need(1 <= degree < n, f"a regular graph needs 1 ≤ degree < n, got degree {degree} and n={n}")
    _need(
        degree * n % 2 == 0,
        f"no graph has {n} agents of degree {degree} each; make one of the two numbers even",
    )
    _affordable(degree * n // 2)
    return _until_connected(
        lambda rng: _networkx().random_regular_graph(degree, n, seed=rng),
        n,
        seed,
        fix=f"raise the degree from {degree}",
    )


def erdos_renyi(n: int, p: float, seed: int = 0) -> Links:
    """A connected random graph in which each pair of agents is linked with probability p."""
    _need(n >= 2 and 0 < p <= 1, f"an Erdős–Rényi graph needs n ≥ 2 and 0 < p ≤ 1, got n={n} and p={p}")
    _affordable(int(p * n * (n - 1) / 2))
    return _until_connected(
        lambda rng: _networkx().fast_gnp_random_graph(n, p, seed=rng),
        n,
        seed,
        fix=f"raise p from {p:g} to above ln(n)/n = {math.log(n) / n:.3g}",
    )


def _networkx() -> Any:
    """Imported only to draw a graph, as that is slow; not by its stubs, which leave its generators open."""
    import networkx

    return networkx


def _until_connected(draw: Callable[[random.Random], Graph], n: int, seed: int, *, fix: str) -> Links:
    # One generator for all draws: were each seeded with seed + 1, seeds 0 and 1 could give the same graph.
    rng = random.Random(seed)
    for _ in range(DRAWS):
        links = _as_pairs(draw(rng).edges)
        if len(components(n, links)) == 1:
            return links
    raise BadNetwork(f"none of {DRAWS} random graphs drawn from seed {seed} is connected; {fix}")


def _number_nodes(graph: Any, n: int | None) -> tuple[int, Links, Labels | None]:
    nodes = tuple(graph.nodes)
    _need(n in (None, len(nodes)), f"the graph has {len(nodes)} nodes, not n={n}; leave n out")
    if set(nodes) == set(range(len(nodes))):
        return len(nodes), _as_pairs(graph.edges()), None
    number = {node: agent for agent, node in enumerate(nodes)}
    return len(nodes), _as_pairs((number[u], number[v]) for u, v in graph.edges()), nodes


def _as_pairs(edges: Edges) -> Links:
    if isinstance(edges, list | tuple | np.ndarray) or hasattr(edges, "toarray"):
        _need(
            not is_matrix(edges), "these are no pairs but a matrix; make hk.Network.from_adjacency(A) of it"
        )
    try:
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError):  # not iterable, or rows of unequal length
        pairs = np.empty((1, 0))
    if pairs.size == 0 and len(pairs) == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise BadNetwork(
            "links must be pairs of agent numbers such as [(0, 1), (1, 2)]; "
            "for agents with names pass a networkx graph"
        )
    return pairs.astype(np.int64)


def abbreviate(part: np.ndarray, labels: Labels | None) -> str:
    """Some agents in braces, by their labels."""
    shown = [str(labels[agent] if labels else agent) for agent in part[:8]]
    return "{" + ", ".join(shown) + (f", … {len(part)} agents" if len(part) > len(shown) else "") + "}"


def _affordable(links: int, instead: str = "") -> None:
    """Refuse more links than a machine can hold, before any is made."""
    advice = f", or take {instead}" if instead else ""
    _need(
        links <= MOST_LINKS,
        f"it would have {links:,} links, and {MOST_LINKS:,} are the most; name fewer agents{advice}",
    )


def _need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise BadNetwork(otherwise)
