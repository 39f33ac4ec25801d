"""A researcher adds momentum to RSS-NB and asks whether it helps, over twenty seeds and three noise levels.

    python examples/new-algorithm/run.py [--quick] [--out FOLDER]

The algorithm is one file, `heavy_ball.py`, written for one agent. Sweeps, measurements and views are there for it as
for the others.
"""

import argparse
import sys
from pathlib import Path

import matplotlib
import numpy as np

import hocket as hk

sys.path.insert(0, str(Path(__file__).parent))
from heavy_ball import HeavyBall

AGENTS, SAMPLES, DIM = 10, 30, 5
LEVELS = [0.0, 50.0, 500.0]
STEP = hk.Power(0.5, 10, 0.75)


def valley(rng: np.random.Generator) -> hk.Problem:
    """Least squares whose coordinates are measured on very different scales, so that plain descent crawls."""
    scales = np.geomspace(1, 0.1, DIM)
    A = rng.normal(size=(AGENTS, SAMPLES, DIM)) * scales
    b = A @ rng.normal(size=DIM) + 0.1 * rng.normal(size=(AGENTS, SAMPLES))
    return hk.least_squares(A, b, feasible=hk.Ball(20.0), reduction="mean")


def draw(path: Path, sweeps: dict[str, hk.Sweep]) -> None:
    """Medians over the seeds, a panel per noise level."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(LEVELS), figsize=(11, 3.8), layout="constrained", sharey=True)
    for level, (panel, delta) in enumerate(zip(panels, LEVELS, strict=True)):
        for name, many in sweeps.items():
            panel.loglog(many.history["round"], np.median(many.history["gap"][level], axis=0), label=name)
        panel.set(title=f"Δ = {delta:g}", xlabel="round")
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="median gap of the worst agent")
    panels[0].legend()
    figure.savefig(path)
    plt.close(figure)


def main(quick: bool, out: Path) -> dict[str, hk.Sweep]:
    """Run both on the same seeds and levels, print medians, and draw them."""
    problem, network = valley(np.random.default_rng(0)), hk.Network.harary(4, AGENTS)
    rounds, seeds = (200, range(3)) if quick else (5000, range(20))
    algorithms = {"RSS-NB": hk.RssNb(1.0), "heavy ball": HeavyBall(1.0, momentum=0.8)}
    sweeps = {
        name: hk.sweep(
            problem, network, one, seeds=seeds, delta=LEVELS, step=STEP, rounds=rounds, progress=False
        )
        for name, one in algorithms.items()
    }
    print(f"median gap over {len(seeds)} seeds after {rounds:,} rounds")
    print("algorithm  " + "".join(f"{f'Δ = {delta:g}':>12}" for delta in LEVELS))
    for name, many in sweeps.items():
        print(f"{name:11}" + "".join(f"{np.median(gaps):12.1e}" for gaps in many.gap))
    one = hk.solve(problem, network, HeavyBall(50.0, momentum=0.8), step=STEP, rounds=50, progress=False)
    print(f"Its claim: {one.claim}")
    out.mkdir(parents=True, exist_ok=True)
    draw(out / "figure.svg", sweeps)
    print(f"Figure: {out / 'figure.svg'}")
    return sweeps


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds and seeds, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("runs/new-algorithm"), help="folder for the figure")
    main(**vars(parser.parse_args()))
