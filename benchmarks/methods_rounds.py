"""Rounds to gaps of 1e-3, 1e-6 and 1e-10: every method, plain and inside function sharing, beside DGD.

    python benchmarks/methods_rounds.py            all problems and networks; a quarter of an hour
    python benchmarks/methods_rounds.py logistic   those of this name
    python benchmarks/methods_rounds.py --quick    five agents on a ring, three methods, a minute

For every method: with the step that it derives, and with the best of 1 to 32 times that; up to 4,096 times for the
paper's polynomials, which bend a thousand times more at the end of their set than at the optimum. Noise of function
sharing is linear, which bends nothing, or quadratic. Medians of 20 draws; `factor` is what a round multiplies the gap
by, fitted to the fall from a hundredth of the first gap to 1e-10 of it. DGD has the best of 45 schedules a/(k + b)^p
for each goal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from methods_cases import can_be_shared, classes, methods, shared, squares

import hocket as hk

GOALS = (1e-3, 1e-6, 1e-10)
LINEAR, QUADRATIC = (1.0, 10.0, 100.0), (0.03, 0.1, 0.3)
SCHEDULES = [
    hk.Power(a, b, p) for a in (0.1, 0.3, 1.0, 3.0, 10.0) for b in (0, 10, 100) for p in (0.5, 0.75, 1.0)
]
ROUNDS, DRAWS = 2000, 20


def cases(quick: bool) -> Iterator[tuple[str, Any, str, Any, Any]]:
    """Name, problem, network and start."""
    ring, whole = hk.Network.cycle(5), hk.Network.complete(5)
    yield "least squares", squares(5), "C5", ring, None
    if quick:
        return
    yield "least squares", squares(5), "K5", whole, None
    yield "logistic", classes(5), "C5", ring, None
    yield "logistic", classes(5), "K5", whole, None
    start = np.array([1.0, -0.5, 0.25, -0.75, 0.5])[:, None]
    yield "polynomials", hk.paper_polynomials(), "C5", ring, start
    for n in (20, 100):
        network = hk.Network.random_regular(4, n, seed=1)
        yield "least squares", squares(n), f"4-regular {n}", network, None
        yield "logistic", classes(n), f"4-regular {n}", network, None


def wearing(inner: Any) -> dict[str, Any]:
    """A method by what it is inside of."""
    found = {"plain": inner}
    if not can_be_shared(inner):
        return found
    for family, levels in (("linear", LINEAR), ("quadratic", QUADRATIC)):
        found |= {f"{family} {sd:g}": shared(inner, sd, family) for sd in levels}
    return found


def factors(problem: Any) -> tuple[int, ...]:
    """Of the derived step."""
    return tuple(2**i for i in range(13 if problem.dim == 1 else 6))


def study(problem: Any, network: Any, start: Any, chosen: dict[str, Any], rounds: int, draws: int) -> None:
    """Print a line per method and noise."""
    algorithms: dict[str, Any] = {}
    steps: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name, inner in chosen.items():
        for noise, algorithm in wearing(inner).items():
            try:
                base = float(algorithm.configure(problem, network, None)[1].a)
            except hk.HocketError as error:
                refused[f"{name}, {noise}"] = str(error)
                continue
            for factor in factors(problem):
                algorithms[f"{name}|{noise}|{factor}"] = algorithm
                steps[f"{name}|{noise}|{factor}"] = hk.Constant(factor * base)
    schedules = {f"DGD|plain|{i}": step for i, step in enumerate(SCHEDULES)}
    algorithms |= dict.fromkeys(schedules, hk.Dgd())
    found = hk.compare(
        {"problem": problem},
        {"network": network},
        algorithms,
        step=steps | schedules,
        seeds=draws,
        rounds=rounds,
        start=start,
        progress=True,
    )
    groups: dict[tuple[str, str], list[Any]] = {}
    for cell in found.cells:
        name, noise, _ = cell.algorithm.split("|")
        groups.setdefault((name, noise), []).append(cell)
    print(f"   {found!r}")
    print(f"   {'':40}{'derived step':>22}{'best step':>22}   factor  diverged")
    for (name, noise), cells in groups.items():
        own = [_rounds(cells[0], goal) for goal in GOALS]
        best = [min(_rounds(cell, goal) for cell in cells) for goal in GOALS]
        fastest = min(
            cells, key=lambda cell: (_rounds(cell, 1e-10), _rounds(cell, 1e-6), _rounds(cell, 1e-3))
        )
        lost = int((~cells[0].finite).sum())
        own_words = "" if name == "DGD" else _words(own)
        print(f"   {name + ', ' + noise:40}{own_words:>22}{_words(best):>22}   {_factor(fastest)}  {lost}")
    for who, why in (refused | {" ".join(key): why for key, why in found.refused.items()}).items():
        print(f"   not run: {who}: {why}")


def _rounds(cell: Any, goal: float) -> float:
    return float(np.median(cell.reached(goal, relative=False)))


def _words(rounds: list[float]) -> str:
    return " / ".join(f"{k:.0f}" if np.isfinite(k) else "–" for k in rounds)


def _factor(cell: Any) -> str:
    """By what a round multiplies the gap, where it falls evenly on a logarithmic axis."""
    gap = np.median(np.where(np.isfinite(cell.relative_gap), cell.relative_gap, np.inf), axis=0)
    falling = (gap < 1e-2) & (gap > 1e-10)
    if falling.sum() < 3:
        return "    –"
    slope = np.polyfit(cell.rounds[falling], np.log(gap[falling]), 1)[0]
    return f"{np.exp(slope):.3f}"


def main(quick: bool, only: list[str]) -> None:
    chosen = dict(list(methods().items())[:3]) if quick else methods()
    for name, problem, where, network, start in cases(quick):
        if only and name not in only:
            continue
        print(f"\n{name} on {where}: rounds to {' / '.join(f'{goal:g}' for goal in GOALS)}, medians")
        study(problem, network, start, chosen, ROUNDS // 2 if quick else ROUNDS, 5 if quick else DRAWS)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:], [name for name in sys.argv[1:] if not name.startswith("-")])
