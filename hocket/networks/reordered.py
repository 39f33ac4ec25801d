"""A network whose agents are numbered as a problem names them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hocket.errors import BadNetwork
from hocket.networks.network import Network


def in_order_of(network: Network, names: Sequence[str]) -> Network:
    """The same network with agent j the one called names[j], so that its data and its links belong together.

    >>> path = Network([(0, 1), (1, 2)]).called(["Aalst", "Bruges", "Ghent"])
    >>> in_order_of(path, ["Bruges", "Ghent", "Aalst"]).neighbours(0)
    (1, 2)
    """
    if network.labels is None:
        return network
    labels = [str(label) for label in network.labels]
    strangers = [name for name in names if name not in labels]
    if strangers or len(names) != network.n:
        nearest = ", ".join(labels[:8]) + (", …" if network.n > 8 else "")
        raise BadNetwork(
            f"the problem has an agent {(strangers or names)[0]!r}, and the network's are called {nearest}; give both "
            "the same names, or one of them none"
        )
    if labels == list(names):
        return network
    number = np.array([names.index(label) for label in labels])
    ends = number[network.links]
    turned = ends[:, 0] > ends[:, 1]
    links, weight = np.sort(ends, axis=1), network.weight.copy()
    weight[:, turned] = weight[:, turned, ::-1]
    order = np.lexsort((links[:, 1], links[:, 0]))
    own = np.empty_like(network.own)
    own[:, number] = network.own
    kept = tuple(network.labels[labels.index(name)] for name in names)
    return Network.restored(links[order], own, weight[:, order], network.name, kept)
