"""Exact methods beside decent-bench's, and tvopt's where it is installed: the same curves, and how long they take.

    python benchmarks/beside_decent_bench.py [--agents 100] [--compared 100] [--turns 3]

decent-bench's own problems (classification, regression, quadratics) on a random regular graph, costs taken over by
`hk.problems.from_decent_bench`, weights by the Metropolis rule in all libraries, start at zero, the same step. First
states of every agent after every round are compared. Then both take turns, hocket with a thousand rounds and the others
with as many as last about as long: their rounds all cost the same. hocket's time is that of a whole `hk.solve`, with
what it prepares and measures; its first call compiles, and how long that takes is said beside it. decent-bench keeps
every state of every round by default, and is timed keeping the last alone.

Where definitions agree, and where not:

  EXTRA, AugDGM, exact diffusion   the same recursion, first step included
  NIDS                             the same; its first step is an agent's own, without an exchange, in both
  ADMM                             decent-bench's DLM is `hk.Admm` on graphs in which all have as many neighbours, a
                                   weight w on each link and one start for all: μ = α/(1 + 2θ), ρ = θw/α; its first
                                   iteration only talks, so that its round k + 1 is ours k. As it stands in 0.3.0 it
                                   diverges, since agents change their neighbours' states where they add them up; that
                                   line is repaired here, and it then follows its own formula. Its ADMM proper minimises
                                   in every round (a proximal map of each cost), which hocket's does not: not compared
  SimpleGT                         has no twin here: x⁺ = (I + W)x − x⁻ − α(∇f(x) − ∇f(x⁻)), EXTRA with I in W̃'s place
  DIGing (`hk.GradientTracking`)   has no twin there: its ATC_DIGing is AugDGM
  DGD                              decent-bench takes the gradient at x, the paper and hocket at the mixed v

decent-bench needs Python 3.13 or later, and is installed by name: `make bench` tries.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import networkx as nx
import numpy as np
from outcome import Claim, Section, rows
from racing import Contestant, race
from rivals.installed import has, left_out

import hocket as hk

AGREE = 1e-6
"""Largest difference of any number of any agent's state in any round, over the largest number."""
FASTER = 20.0
PLAYED, THEIRS = 1000, 100
"""Rounds of a turn."""
DEGREE = 4
THETA = 1.0


@dataclass(frozen=True)
class Pair:
    """A method in both libraries."""

    name: str
    ours: Any
    theirs: Callable[[float, Any], Any]
    """(step, network) -> decent-bench's algorithm."""
    behind: int = 0
    """By how many rounds theirs comes later."""


def pairs(degree: int) -> list[Pair]:
    """Every method that both have in the same form."""
    from decent_bench.algorithms import p2p

    found = [
        Pair("EXTRA", hk.Extra(), lambda step, _: p2p.EXTRA(step_size=step)),
        Pair("NIDS", hk.Nids(), lambda step, _: p2p.NIDS(step_size=step)),
        Pair("AugDGM", hk.AugDgm(), lambda step, _: p2p.AugDGM(step_size=step)),
        Pair("exact diffusion", hk.ExactDiffusion(), lambda step, _: p2p.ED(step_size=step)),
    ]
    if hasattr(hk, "Admm"):
        weight = 1 / (1 + degree)

        class Mended(p2p.DLM):
            """Without adding, in place, to the first message received, which is its sender's own state."""

            def _sum_messages(self, i: Any) -> Any:
                first, *others = i.messages().values()
                return sum(others, start=first)

        def linearised(step: float, _: Any) -> Any:
            return Mended(step_size=step / (1 + 2 * THETA), penalty=THETA * weight / step)

        found.append(Pair("ADMM, linearised", hk.Admm(penalty=THETA), linearised, behind=1))
    return found


def problems(agents: int) -> Iterator[tuple[str, Any]]:
    """decent-bench's own, by name."""
    from decent_bench import benchmark

    yield "classification", classification(agents)
    yield "regression", benchmark.create_regression_problem(n_agents=agents, compute_x_optimal=False)[0]
    yield "quadratics", benchmark.create_quadratic_problem(n_agents=agents)[0]


def classification(agents: int) -> Any:
    """Its classification problem from the first seed that deals every agent both classes: it refuses the others."""
    from decent_array import interoperability
    from decent_bench.benchmark import create_classification_problem

    for seed in range(100):
        interoperability.set_seed(seed)
        try:
            return create_classification_problem(n_agents=agents, compute_x_optimal=False)[0]
        except ValueError:
            continue
    raise SystemExit(f"no seed below 100 deals {agents} agents both classes; ask for fewer --agents")


def graph_of(agents: int) -> Any:
    """A random regular graph whose nodes come in order, as both libraries number them."""
    drawn = nx.random_regular_graph(DEGREE, agents, seed=0)
    return nx.convert_node_labels_to_integers(drawn, ordering="sorted")


def states_of(algorithm: Any, costs: Any, graph: Any, rounds: int, *, keep: int = 1) -> np.ndarray:
    """decent-bench's states after every `keep`-th round: (rounds + 1, agents, dim)."""
    from decent_bench.agents import Agent
    from decent_bench.networks import P2PNetwork

    network = P2PNetwork(graph, [Agent(cost, state_snapshot_period=keep) for cost in costs])
    algorithm.run(network, rounds)
    kept = [[np.asarray(x.value) for x in agent._x_history.values()] for agent in network.agents()]
    return np.array(kept).transpose(1, 0, 2)


def compared(pair: Pair, costs: Any, graph: Any, rounds: int) -> tuple[float, float, Any, Any]:
    """How far states are apart, the first call's seconds, and both contestants' turns of so many rounds."""
    problem = hk.problems.from_decent_bench(costs)
    network = hk.Network(graph, weights="metropolis")
    step = 0.5 / problem.constants().N

    def ours(rounds: int, **more: Any) -> Any:
        played = {"step": step, "rounds": rounds, "time_average": False, "progress": False}
        return hk.solve(problem, network, pair.ours, **played, **more)

    def theirs(rounds: int, keep: int | None = None) -> np.ndarray:
        return states_of(pair.theirs(step, network), costs, graph, rounds, keep=keep or rounds)

    path, other = np.asarray(ours(rounds, keep="path").path), theirs(rounds + pair.behind, 1)
    other = other[len(other) - len(path) :]
    apart = float(np.abs(path - other).max() / max(1.0, np.abs(path).max()))
    began = time.perf_counter()
    ours(PLAYED)
    return apart, time.perf_counter() - began, ours, theirs


def sections(agents: int, rounds: int, turns: int) -> list[Section]:
    """A section for each problem."""
    graph, found = graph_of(agents), []
    for title, costs in problems(agents):
        for pair in pairs(DEGREE):
            apart, first, ours, theirs = compared(pair, costs, graph, rounds)
            mine = f"hocket, {pair.name}"
            paces = race(
                [
                    Contestant(mine, lambda ours=ours: ours(PLAYED).x, PLAYED),
                    Contestant(f"decent-bench, {pair.name}", lambda theirs=theirs: theirs(THEIRS), THEIRS),
                ],
                turns=turns,
                about=f"{title}, {pair.name}",
            )
            ratio = paces[mine].rate / paces[f"decent-bench, {pair.name}"].rate
            found.append(
                Section(
                    f"{title}, {agents} agents: {pair.name}; apart by {apart:.1e}, first call {first:.1f} s",
                    "rounds/s",
                    rows(paces, yardstick=mine),
                    [
                        Claim(f"{title}, {pair.name}: states apart", apart, AGREE, at_least=False),
                        Claim(f"{title}, {pair.name}: over decent-bench", ratio, FASTER),
                    ],
                )
            )
    return found


def beside_tvopt(agents: int, rounds: int, turns: int) -> list[Section]:
    """The same on quadratics of our own with tvopt, which returns its last states alone: some rounds are compared."""
    from tvopt import costs, distributed_solvers, networks

    rng = np.random.default_rng(0)
    half = rng.normal(size=(agents, 3, 3))
    bends, slopes = half @ half.transpose(0, 2, 1) + np.eye(3), rng.normal(size=(agents, 3))
    p, q = np.triu_indices(3)
    data = np.hstack([slopes, np.where(p == q, 0.5, 1.0) * bends[:, p, q]])
    problem = hk.Problem(hk.problems.Quadratic(), data, feasible=hk.Everywhere(), dim=3)
    network = hk.Network(graph_of(agents), weights="metropolis")
    linked = (network.B > 0) & ~np.eye(agents, dtype=bool)
    given = {
        "f": costs.SeparableCost(
            [costs.Quadratic(A, b[:, None]) for A, b in zip(bends, slopes, strict=True)]
        ),
        "network": networks.Network(linked.astype(float), network.B),
    }
    step, found = 0.5 / problem.constants().N, []
    for name, method, solver in (
        ("EXTRA", hk.Extra(), distributed_solvers.pg_extra),
        ("NIDS", hk.Nids(), distributed_solvers.nids),
        ("AugDGM", hk.AugDgm(), distributed_solvers.aug_dgm),
    ):

        def ours(rounds: int, method: Any = method, **more: Any) -> Any:
            played = {"step": step, "rounds": rounds, "time_average": False, "progress": False}
            return hk.solve(problem, network, method, **played, **more)

        path = np.asarray(ours(rounds, keep="path").path)
        looked = sorted({k for k in (1, 2, 3, 5, 10, 50, rounds) if k <= rounds})
        apart = max(float(np.abs(path[k] - solver(given, step, 0, k)[:, 0].T).max()) for k in looked)
        mine, other = f"hocket, {name}", f"tvopt, {name}"
        paces = race(
            [
                Contestant(mine, lambda ours=ours: ours(PLAYED).x, PLAYED),
                Contestant(other, lambda solver=solver: solver(given, step, 0, THEIRS), THEIRS),
            ],
            turns=turns,
            about=f"tvopt, {name}",
        )
        found.append(
            Section(
                f"quadratics, {agents} agents, beside tvopt: {name}; apart by {apart:.1e} in rounds {looked}",
                "rounds/s",
                rows(paces, yardstick=mine),
                [
                    Claim(f"tvopt, {name}: states apart", apart, AGREE, at_least=False),
                    Claim(f"tvopt, {name}: over tvopt", paces[mine].rate / paces[other].rate, FASTER),
                ],
            )
        )
    return found


def main() -> None:
    reading = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reading.add_argument("--agents", type=int, default=100)
    reading.add_argument("--compared", type=int, default=100)
    reading.add_argument("--turns", type=int, default=3)
    asked = reading.parse_args()
    jax.config.update("jax_platforms", "cpu")
    found: list[Section] = []
    if has("decent_bench"):
        from decent_array import interoperability

        logging.disable(logging.INFO)  # it tells of every problem that it makes
        interoperability.set_backend("numpy")
        interoperability.set_seed(0)
        found += sections(asked.agents, asked.compared, asked.turns)
    if has("tvopt"):
        found += beside_tvopt(asked.agents, asked.compared, asked.turns)
    missing = {name: why for name, why in left_out().items() if name in ("decent_bench", "tvopt", "nda")}
    print("\n".join(f"not measured: {name}: {why}" for name, why in missing.items()))
    if not found:
        sys.exit("neither decent-bench nor tvopt is installed here; make bench tries to")
    from reporting import show

    show(found)


if __name__ == "__main__":
    main()
