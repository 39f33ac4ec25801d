"""Forty sensors estimate one field from readings that none of them shows to anybody.

    python examples/sensors/run.py [--quick] [--out FOLDER]

Each sensor has a few noisy readings near its own place and talks to those in reach. Together they fit nine bumps by
least squares: once in the open (DGD), once under noise that cancels (RSS-NB), once under noise of their own.
"""

import argparse
from pathlib import Path

import matplotlib
import networkx as nx
import numpy as np

import hocket as hk

SENSORS, READINGS, REACH = 40, 12, 0.3
CENTRES = np.stack(np.meshgrid([0.15, 0.5, 0.85], [0.15, 0.5, 0.85]), axis=-1).reshape(-1, 2)
WIDTH = 0.25
NOISE_OF_A_READING = 0.1
STEP = hk.Power(5.0, 20, 0.75)


def bumps(places: np.ndarray) -> np.ndarray:
    """The nine basis functions at some places, a row per place."""
    distance = np.linalg.norm(places[:, None] - CENTRES, axis=-1)
    return np.exp(-((distance / WIDTH) ** 2))


def sensor_network(rng: np.random.Generator) -> tuple[hk.Network, np.ndarray]:
    """Sensors at random places, linked where they are in reach; a shortest tree sees to it that nobody is left out."""
    places = rng.uniform(size=(SENSORS, 2))
    graph = nx.random_geometric_graph(SENSORS, REACH, pos=dict(enumerate(places)))
    lengths = np.linalg.norm(places[:, None] - places, axis=-1)
    graph.add_edges_from(nx.minimum_spanning_tree(nx.from_numpy_array(lengths)).edges)
    return hk.Network(graph, weights="metropolis"), places


def readings(places: np.ndarray, rng: np.random.Generator) -> tuple[hk.Problem, np.ndarray]:
    """Every sensor's least squares, and the field behind the readings."""
    truth = rng.normal(size=len(CENTRES))
    near = np.clip(places[:, None] + rng.normal(scale=0.08, size=(SENSORS, READINGS, 2)), 0, 1)
    A = np.stack([bumps(spots) for spots in near])
    b = A @ truth + NOISE_OF_A_READING * rng.normal(size=(SENSORS, READINGS))
    return hk.least_squares(A, b, feasible=hk.Ball(10.0), reduction="mean"), truth


def draw(
    path: Path, network: hk.Network, places: np.ndarray, runs: dict[str, hk.Run], truth: np.ndarray
) -> None:
    """The field that the sensors found under noise, and how the gap fell."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    axis = np.linspace(0, 1, 80)
    spots = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    found = bumps(spots) @ runs["RSS-NB"].mean
    shown = left.pcolormesh(
        axis, axis, found.reshape(80, 80), cmap="viridis", shading="auto", rasterized=True
    )
    figure.colorbar(shown, ax=left, label="field")
    for i, j in network.links:
        left.plot(*places[[i, j]].T, color="white", linewidth=0.4, alpha=0.7)
    left.plot(*places.T, "o", color="white", markeredgecolor="black", markersize=4)
    worst = abs(found - bumps(spots) @ truth).max()
    left.set(title=f"The field found under noise (off by {worst:.2f} at most)", xticks=[], yticks=[])
    for name, run in runs.items():
        right.loglog(run.history["round"], run.history["gap"], label=name)
    right.set(title="Gap of the worst sensor", xlabel="round", ylabel="gap")
    right.legend()
    right.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(quick: bool, out: Path) -> dict[str, hk.Run]:
    """Solve three times, say how close each came, and draw it."""
    rng = np.random.default_rng(0)
    network, places = sensor_network(rng)
    problem, truth = readings(places, rng)
    rounds = 300 if quick else 20_000
    algorithms = {
        "DGD": hk.Dgd(),
        "RSS-NB": hk.RssNb(delta=30.0, persistent=0.5),
        "noise of one's own": hk.IndependentNoise(sd=4.75 / 3**0.5),
    }
    print(f"{SENSORS} sensors, {len(network.links)} links, λ = {network.lam:.2f}; {rounds:,} rounds")
    runs = {}
    for name, algorithm in algorithms.items():
        run = runs[name] = hk.solve(
            problem, network, algorithm, step=STEP, rounds=rounds, seed=1, progress=False
        )
        print(
            f"{name:19} gap {run.gap:.1e}, disagreement {run.disagreement:.1e}, noise {run.noise.rms:.2f} rms"
        )
    out.mkdir(parents=True, exist_ok=True)
    draw(out / "figure.svg", network, places, runs, truth)
    print(f"Figure: {out / 'figure.svg'}")
    return runs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--out", type=Path, default=Path("runs/sensors"), help="folder for the figure")
    main(**vars(parser.parse_args()))
