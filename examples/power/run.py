"""Eight power stations share a demand so that the total cost is least, and none tells the others its costs.

    python examples/power/run.py [--quick] [--out FOLDER]

The state is everybody's share of the demand: eight numbers that are not negative and sum to one, a simplex. Station j
alone knows what its own share costs. At the optimum all stations that run have the same marginal cost.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import hocket as hk

STATIONS = 8
DEMAND = 10.0
"""In units of 100 MW."""
STEP = hk.Power(0.02, 10, 0.75)


def costs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """a·p²/2 + b·p for producing p: a rising marginal cost a·p + b, and which share is whose."""
    return {
        "a": rng.uniform(0.5, 2.0, STATIONS),
        "b": rng.uniform(1.0, 6.0, STATIONS),
        "own": np.eye(STATIONS),
    }


def cost(shares, mine):
    """What station j pays; of all shares it looks at its own alone."""
    power = DEMAND * (mine["own"] @ shares)
    return mine["a"] * power**2 / 2 + mine["b"] * power


def draw(path: Path, data: dict[str, np.ndarray], runs: dict[str, hk.Run], best: np.ndarray) -> None:
    """Who produces what at which marginal cost, and how the gap fell."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    stations = np.arange(STATIONS)
    left.bar(stations - 0.2, DEMAND * best, 0.4, label="optimum", color="#8a94a2")
    left.bar(stations + 0.2, DEMAND * runs["RSS-NB"].mean, 0.4, label="found under noise", color="#0b5cad")
    left.plot(stations, data["a"] * DEMAND * best + data["b"], "o", color="#a83c06", label="marginal cost")
    left.set(
        title="Power of each station, and its marginal cost", xlabel="station", xticks=stations, ylim=(0, 7.5)
    )
    left.legend(loc="upper left", ncols=3, fontsize="small")
    for name, run in runs.items():
        right.loglog(run.history["round"], abs(run.history["gap"]), label=name)
    right.set(title="Gap of the worst station", xlabel="round", ylabel="total cost above the least")
    right.legend()
    right.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(quick: bool, out: Path) -> dict[str, hk.Run]:
    """Solve with and without noise, say who produces what, and draw it."""
    data = costs(np.random.default_rng(3))
    problem = hk.Problem(cost, data, feasible=hk.Simplex(1.0), dim=STATIONS, convex=True)
    network = hk.Network.harary(3, STATIONS)
    rounds = 500 if quick else 20_000
    runs = {}
    for name, algorithm in {"DGD": hk.Dgd(), "RSS-NB": hk.RssNb(delta=500.0, persistent=0.5)}.items():
        run = runs[name] = hk.solve(
            problem, network, algorithm, step=STEP, rounds=rounds, seed=0, progress=False
        )
        print(
            f"{name:7} gap {run.gap:.1e}, disagreement {run.disagreement:.1e}, noise {run.noise.rms:.2f} rms"
        )
    best = problem.best.x
    found = DEMAND * runs["RSS-NB"].mean
    print("station   power   optimum   marginal cost")
    for j in range(STATIONS):
        marginal = data["a"][j] * found[j] + data["b"][j]
        print(f"{j:7} {found[j]:7.2f} {DEMAND * best[j]:9.2f} {marginal:15.2f}")
    out.mkdir(parents=True, exist_ok=True)
    draw(out / "figure.svg", data, runs, best)
    print(f"Figure: {out / 'figure.svg'}")
    return runs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("runs/power"), help="folder for the figure")
    main(**vars(parser.parse_args()))
