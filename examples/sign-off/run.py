"""Seven clinics want to know whether their network is private enough, and what would make it so.

    python examples/sign-off/run.py [--quick] [--out FOLDER]

Audits the links they have, adds the fewest that repair them, audits again, plans the noise, and leaves a page to file.
"""

import argparse
import io
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib
import networkx as nx
import numpy as np

import hocket as hk
from hocket.cli import main as hocket
from hocket.privacy import plan_noise, repair

CLINICS = ["Aalst", "Bruges", "Charleroi", "Dinant", "Eupen", "Florenville", "Ghent"]
LINKS = [
    ("Aalst", "Bruges"),
    ("Aalst", "Ghent"),
    ("Bruges", "Ghent"),
    ("Aalst", "Charleroi"),
    ("Charleroi", "Dinant"),
    ("Dinant", "Eupen"),
    ("Dinant", "Florenville"),
    ("Eupen", "Florenville"),
    ("Bruges", "Charleroi"),
]
COLLUDERS = 2
PAIR = ("Dinant", "Florenville")
"""The two neighbours that Eupen has."""
WANTED = 0.5
"""No gradient may be known with a smaller standard deviation than this, per coordinate."""
STEP = hk.Power(1.0, 20, 0.75)


def colluding() -> set[int]:
    """The pair by its numbers."""
    return {CLINICS.index(name) for name in PAIR}


def draw(path: Path, before: hk.Network, after: hk.Network, rounds: list[int]) -> None:
    """How closely Eupen's two neighbours know that gradient which they know best, over the rounds."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    honest = [agent for agent, name in enumerate(CLINICS) if name not in PAIR]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for network, when in ((before, "as it is"), (after, "with the new links")):
        for persistent in (0.0, 0.5):
            kept = {
                "sigma": 1 - persistent,
                "persistent": persistent,
            }  # of one draw, fresh and drawn once
            known = [
                hk.leakage(network, "rss-nb", coalition=colluding(), rounds=k, step=STEP, **kept)
                .sd[honest]
                .min()
                for k in rounds
            ]
            axes.plot(rounds, known, "o-" if persistent else "s--", label=f"{when}, anchor {persistent:g}")
    axes.set(
        xscale="log",
        title=f"How well {' and '.join(PAIR)} know the gradient they know best",
        xlabel="rounds",
        ylabel="standard deviation, in units of one draw",
        ylim=(0, None),
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


def main(quick: bool, out: Path) -> tuple[hk.Network, hk.Network]:
    """From a drawn network to one that can be signed."""
    out.mkdir(parents=True, exist_ok=True)
    graph = nx.Graph()
    graph.add_nodes_from(CLINICS)
    graph.add_edges_from(LINKS)
    network = hk.Network(graph)
    rounds = 20 if quick else 500

    print(f"As it is, against any {COLLUDERS}:")
    for line in hk.audit(network, colluders=COLLUDERS, algorithm="function-sharing", rounds=rounds).verdict:
        print(f"  {line}")

    mended = repair(network, COLLUDERS)
    added = [tuple(CLINICS[agent] for agent in link) for link in mended.added]
    print("\nNew links: " + ", ".join("–".join(link) for link in added))
    graph.add_edges_from(added)
    better = hk.Network(graph)

    print("\nWith them:")
    for line in hk.audit(better, colluders=COLLUDERS, algorithm="function-sharing", rounds=rounds).verdict:
        print(f"  {line}")
    print("\nIf RSS-NB is run in its place:")
    for line in str(plan_noise(better, WANTED, coalition=colluding(), rounds=rounds, step=STEP)).splitlines():
        print(f"  {line}")

    links, page = out / "links.txt", out / "audit.html"
    links.write_text("".join(f"{i} {j}\n" for i, j in better.links), encoding="utf-8")
    page.unlink(missing_ok=True)
    asked = ["--edges", str(links), "--colluders", str(COLLUDERS), "--rounds", str(rounds)]
    with redirect_stdout(io.StringIO()):  # the page says it all
        hocket(["audit", *asked, "--html", str(page)])
    print(f"\nPage: {page}")
    draw(out / "figure.svg", network, better, [int(k) for k in np.geomspace(5, rounds, 3 if quick else 8)])
    print(f"Figure: {out / 'figure.svg'}")
    return network, better


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/sign-off"), help="folder for the page and the figure"
    )
    main(**vars(parser.parse_args()))
