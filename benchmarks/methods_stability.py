"""Bold steps under a safeguard: 2,000 random graphs and noise draws, and the counterexample.

    python benchmarks/methods_stability.py            200 graphs of eight agents, ten draws each
    python benchmarks/methods_stability.py --quick    ten graphs, three draws

Objectives are least squares with quadratic noise of function sharing, so that many of them bend down. Every method
takes its rule of thumb for the step, and ten times that, once alone and once under the safeguard. Counted: runs that
diverged, runs that end above where they began, runs that arrive at 1e-6 of the first gap, and runs in which the
safeguard acted: those that part from the run without it. The counterexample is a path of four agents with curvatures
−1, −0.996, 1 and 1 and step 0.2197, with which AugDGM alone diverges.
"""

from __future__ import annotations

import sys
from typing import Any

import networkx as nx
import numpy as np
from methods_cases import methods, shared, squares

import hocket as hk
from hocket.problems import Quadratic

AGENTS, ROUNDS, SD = 8, 2000, 0.5
WIDTH = 10
FACTORS = (1.0, 10.0)
"""Of the rule of thumb: as it is, and far too much, so that there is something to guard against."""
SAME = 1e-6
"""Relative difference of two gaps above which runs have parted: what safeguards say beside messages rounds nothing."""


def graphs(count: int) -> dict[str, Any]:
    """Connected random graphs, from sparse to dense."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    while len(found) < count:
        p = rng.uniform(0.25, 0.8)
        graph = nx.gnp_random_graph(AGENTS, p, seed=int(rng.integers(1 << 31)))
        if nx.is_connected(graph):
            found[f"graph {len(found)}"] = hk.Network(list(graph.edges), n=AGENTS, weights="metropolis")
    return found


def bold(method: Any, factor: float) -> Any:
    """A method whose rule of thumb is so many times its own, and which takes that step by itself."""

    def bold_step(self: Any, shape: Any) -> float:
        return factor * method.bold_step(shape)

    def step_for(self: Any, shape: Any) -> Any:
        return hk.Derived(self.bold_step(shape), why="a rule of thumb")

    return type(type(method).__name__, (type(method),), {"step_for": step_for, "bold_step": bold_step})()


def random_draws(count: int, draws: int, rounds: int, factor: float) -> None:
    many = f"{count} graphs × {draws} draws = {count * draws:,} runs of {rounds} rounds, noise σ = {SD:g}"
    print(f"\n{many}, {factor:g} times the rule of thumb")
    print(f"{'':20}{'alone':^32}{'under the safeguard':^44}")
    head = "".join(f"{word:>{WIDTH}}" for word in ("diverged", "grew", "arrived") * 2)
    print(f"{'':20}{head}{'acted':>{WIDTH}}")
    networks = graphs(count)
    for name, method in methods().items():
        try:
            bolder = bold(method, factor)
            found = hk.compare(
                squares(AGENTS),
                networks,
                {
                    "alone": shared(bolder, SD, "quadratic"),
                    "guarded": shared(hk.Safeguard(bolder), SD, "quadratic"),
                },
                seeds=draws,
                rounds=rounds,
            )
        except hk.HocketError as error:
            print(f"{name:20}  not run: {error}")
            continue
        share = counted(found) / (count * draws)
        print(f"{name:20}" + "".join(f"{value:>{WIDTH}.1%}" for value in share), flush=True)


def counted(found: Any) -> np.ndarray:
    """How many runs diverged, grew and arrived, alone and guarded; and in how many a guard acted."""
    counts: list[float] = []
    for name in ("alone", "guarded"):
        cells = [cell for cell in found.cells if cell.algorithm == name]
        finite = np.concatenate([cell.finite for cell in cells])
        last = np.where(finite, np.concatenate([cell.relative_gap[:, -1] for cell in cells]), np.inf)
        counts += [float((~finite).sum()), float((last > 1).sum()), float((last <= 1e-6).sum())]
    parted = 0
    for place in found.places:
        alone, guarded = (found.cell(*place, name) for name in ("alone", "guarded"))
        if alone is not None and guarded is not None:
            with np.errstate(invalid="ignore"):
                same = np.isclose(alone.gap, guarded.gap, rtol=SAME, atol=1e-9)
            parted += int((~same.all(axis=1)).sum())
    return np.array([*counts, float(parted)])


def counterexample(rounds: int) -> None:
    curvatures = np.array([-1.0, -0.996, 1.0, 1.0])
    slopes = 0.3 * np.arange(4)
    problem = hk.Problem(
        Quadratic(), np.column_stack([slopes, curvatures / 2]), feasible=hk.Everywhere(), dim=1, convex=None
    )
    found = hk.compare(
        problem,
        hk.Network.path(4),
        {"AugDGM": hk.AugDgm(), "guarded AugDGM": hk.Safeguard(hk.AugDgm())},
        step=0.2197,
        seeds=1,
        rounds=rounds,
        start=1.0,
    )
    print("\npath of four, curvatures −1, −0.996, 1, 1, step 0.2197:")
    for cell in found.cells:
        fell = f"gap {cell.gap[0, 0]:.2g} falls to {cell.gap[0, -1]:.2g} in {rounds:,} rounds"
        print(f"  {cell.algorithm:16} {fell if cell.finite.all() else 'diverged'}")


def main(quick: bool) -> None:
    for factor in FACTORS:
        random_draws(10 if quick else 200, 3 if quick else 10, 300 if quick else ROUNDS, factor)
    counterexample(300_000)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
