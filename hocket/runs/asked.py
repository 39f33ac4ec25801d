"""What a caller means by a network and by an algorithm: taken where it is plain, else refused with the cure."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY
from hocket.errors import BadInput, nearest
from hocket.networks.network import Network
from hocket.networks.reordered import in_order_of
from hocket.problems.problem import Problem


def problem_asked(problem: Any) -> Problem:
    """The problem, if it is one."""
    if isinstance(problem, Problem):
        return problem
    swapped = "; the problem comes first, then the network" if isinstance(problem, Network) else ""
    raise BadInput(
        f"the problem is a {type(problem).__name__}{swapped}; make one with hk.least_squares, hk.polynomials or "
        "hk.Problem"
    )


def network_asked(network: Any, problem: Problem) -> Network:
    """The network for a problem: its own, a networkx graph's, or several that take turns; agents by their names."""
    found: Any = network
    if isinstance(network, list | tuple):
        found = Network.varying(cast(Any, network))
    elif hasattr(network, "nodes") and hasattr(network, "edges"):
        found = Network.from_networkx(network)
    if not isinstance(found, Network):
        raise BadInput(
            f"the network is {_shown(network)}; pass hk.Network.cycle({problem.n}), say, or a networkx graph"
        )
    if problem.n != found.n:
        cure = (
            f"; where links miss the last agents, add theirs and pass n={problem.n}"
            if found.n < problem.n
            else ""
        )
        raise BadInput(
            f"the problem has {problem.n} agents and the network {found.n}; they must be the same agents{cure}"
        )
    return found if problem.names is None else in_order_of(found, problem.names)


def algorithm_asked(algorithm: Any) -> Algorithm:
    """The algorithm: itself, or by its key or class where it needs no parameter."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    kind = BY_KEY.get(algorithm) if isinstance(algorithm, str) else algorithm
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise BadInput(
            f"the algorithm is {_shown(algorithm)}{nearest(algorithm, BY_KEY)}; pass one such as hk.Dgd(), or a key: "
            f"{', '.join(BY_KEY)}"
        )
    needed = [
        one.name
        for one in dataclasses.fields(kind)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    ]
    if needed:
        wanted = ", ".join(f"{name}=…" for name in needed)
        raise BadInput(f"{kind.__name__} needs {' and '.join(needed)}; pass hk.{kind.__name__}({wanted})")
    return kind()


def _shown(given: Any) -> str:
    text = repr(given)
    return f"{text} (a {type(given).__name__})" if len(text) <= 60 else f"a {type(given).__name__}"
