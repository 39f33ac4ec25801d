"""Ten algorithms on six networks with four levels of noise and fifty seeds: one call.

    python benchmarks/methods_study.py            12,000 runs; prints a table, writes runs/methods-study
    python benchmarks/methods_study.py --quick    a few of each, under a minute

Every algorithm is inside function sharing with linear noise, so that all of them hide slopes. What is printed: seconds,
how many of them went into compilation, how many programs were compiled, and a table; in the folder lie a row for each
run, the figure and the page.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from methods_cases import can_be_shared, guarded, methods, printed, shared, squares

import hocket as hk

AGENTS, ROUNDS = 16, 400
LEVELS = (0.1, 1.0, 10.0, 100.0)
FOLDER = Path("runs/methods-study")


def main(quick: bool) -> None:
    networks = {
        "cycle": hk.Network.cycle(AGENTS),
        "grid": hk.Network.grid(4, 4),
        "star": hk.Network.star(AGENTS),
        "3-regular": hk.Network.random_regular(3, AGENTS, seed=1),
        "harary 4": hk.Network.harary(4, AGENTS),
        "complete": hk.Network.complete(AGENTS),
    }
    known = {"DGD": hk.Dgd()} | methods() | guarded()
    inner = dict([(name, one) for name, one in known.items() if can_be_shared(one)][: 3 if quick else 10])
    levels = LEVELS[:2] if quick else LEVELS
    if quick:
        networks = {name: networks[name] for name in ("cycle", "complete")}
    algorithms = {f"{name}, σ {sd:g}": shared(one, sd) for name, one in inner.items() for sd in levels}
    began = time.monotonic()
    found = hk.compare(
        {"least squares": squares(AGENTS, dim=10, rows=20)},
        networks,
        algorithms,
        seeds=3 if quick else 50,
        rounds=100 if quick else ROUNDS,
    )
    seconds = time.monotonic() - began
    print(
        f"{len(inner)} algorithms × {len(networks)} networks × {len(levels)} levels × {len(found.seeds)} seeds = "
        f"{found.runs:,} runs of {int(found.cells[0].rounds[-1])} rounds"
    )
    print(
        f"{seconds:.1f} s, of which {found.compiling:.1f} s until programs were compiled; {found.programs} programs; "
        f"{len(found.refused)} combinations refused\n"
    )
    print(printed(found.table()), "\n")
    print(found.ranking("rounds").method)
    FOLDER.mkdir(parents=True, exist_ok=True)
    found.save(FOLDER / "results.csv", last=True)
    middle = found.only(algorithms=[name for name in found.algorithms if name.endswith(f"σ {levels[1]:g}")])
    middle.figure(FOLDER / "figure.png")
    middle.figure(FOLDER / "figure.svg")
    found.page(FOLDER / "report.html", title=f"{len(inner)} algorithms under {len(levels)} levels of noise")
    print(f"\nfigure (σ = {levels[1]:g}), page and a row per run: {FOLDER}")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
