"""Algorithms and graphs on which certificates are tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import hypothesis.strategies as st
import networkx as nx
import numpy as np

import hocket as hk
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.noise.draws import Draw, Gaussian, Paired


class Clipped(Algorithm):
    """Pairwise noise and noise of each agent's own, both scaled like the gradient that they hide."""

    sigma: float
    tau: float = 0.0
    clean: bool = eqx.field(static=True, default=False)
    """Mix the state itself, and not the message that was sent."""

    def round(self, agent: Any, state: Any, k: Any) -> Round:
        w = state + agent.step(k - 1) * (agent.noise("paired") + agent.noise("own"))
        received = yield Broadcast(w)
        return agent.descend(agent.mix(state if self.clean else w, received), k)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        links = np.full((1, len(setting.network.links)), self.sigma)
        return {
            "paired": Paired(links, width=setting.dim, label=1, first=2, normal=True),
            "own": Gaussian(np.asarray(self.tau), width=setting.dim, label=4),
        }


class Heavy(NamedTuple):
    """A state with momentum."""

    x: Any
    m: Any


class Momentum(Clipped):
    """The same with momentum inside."""

    beta: float = 0.9

    def init(self, agent: Any, x: Any) -> Any:
        return Heavy(x, 0 * x)

    def round(self, agent: Any, state: Any, k: Any) -> Round:
        w = state.x + agent.step(k - 1) * (agent.noise("paired") + agent.noise("own"))
        received = yield Broadcast(w)
        v = agent.mix(w, received)
        m = self.beta * state.m + agent.gradient(v)
        return Heavy(v - agent.step(k) * m, m)


@st.composite
def graphs(draw: st.DrawFn, least: int = 4, most: int = 8) -> hk.Network:
    """A connected graph: a random tree and some more links."""
    n = draw(st.integers(least, most))
    tree = [(draw(st.integers(0, j - 1)), j) for j in range(1, n)]
    every = [(i, j) for i in range(n) for j in range(i + 1, n)]
    more = draw(st.lists(st.sampled_from(every), max_size=n))
    return hk.Network(sorted({*tree, *more}), n=n)


def dense(network: hk.Network, coalition: set[int], sigma: Any, tau: float) -> tuple[list[int], np.ndarray]:
    """The covariance of what honest agents add to their rows, link by link and not by a Laplacian."""
    honest = [j for j in range(network.n) if j not in coalition]
    columns = []
    for (i, j), sd in zip(network.links.tolist(), np.broadcast_to(sigma, len(network.links)), strict=True):
        for sign in (1, -1):  # s^{ij} and s^{ji}
            column = np.zeros(network.n)
            column[i], column[j] = -sign * sd, sign * sd
            if i not in coalition and j not in coalition:
                columns.append(column)
    columns += [tau * np.eye(network.n)[j] for j in honest]
    drawn = np.array(columns).reshape(-1, network.n).T[honest]
    return honest, drawn @ drawn.T


def torus(side: int) -> hk.Network:
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side, periodic=True))
    return hk.Network(graph, name=f"torus:{side}x{side}")
