"""How long an audit takes, and how that grows: with agents for P1 and P2, with rounds for leakage.

    python benchmarks/auditing.py            a minute or two, prints two tables
    python benchmarks/auditing.py --large    another minute: 1,000 agents, and any 3 of 200

P1 and P2 against three colluders, with the smallest cut, on four kinds of network. Floor: every link is looked at, so
time cannot grow slower than links; whether k paths lead from one agent to another takes up to k walks over all links,
and on sparse networks most agents have to be asked, so the square of the agents is what to expect at worst.

Leakage to a coalition of three among a hundred agents, for every algorithm that has a prediction. Floor: each round
adds the same work, an n × n system to solve, so time grows with rounds; what grows faster keeps too much of the past.

The worst three of 200, with a bound on the 1,313,399 that are not searched: wanted within 10 s. Leakage to three of
1,000 over 100 rounds: within a minute.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.progress import track

import hocket as hk
from hocket.privacy import guarantees, worst_leakage
from hocket.privacy.leakage.levels import NAMES

T = TypeVar("T")
AGENTS = (250, 500, 1000)
ROUNDS = (250, 500, 1000)
TURNS = 3
NETWORKS: dict[str, Callable[[int], hk.Network]] = {
    "random, 4-regular": lambda n: hk.Network.random_regular(4, n),
    "cycle": hk.Network.cycle,
    "harary, k = 4": lambda n: hk.Network.harary(4, n),
    "random, p = 0.1": lambda n: hk.Network.erdos_renyi(n, 0.1),
}


def large() -> None:
    """Print seconds of what a large network takes."""
    few, many = hk.Network.random_regular(4, 200), hk.Network.random_regular(6, 1000)
    certify = partial(
        hk.certify,
        algorithm="certified-rss-nb",
        sigma=0.6,
        independent=0.2,
        sensitivity=1 / 32,
        step=hk.Constant(0.1),
    )

    def worst() -> str:
        found = worst_leakage(few, "rss-nb", 3, rounds=100)
        best = found.leakage.sd[list(found.leakage.honest)].min()
        return f"{found.searched:,} of {found.total:,} searched, ±{best:.3f}; none better than ±{found.bound:.3f}"

    def leaked() -> str:
        found = hk.leakage(many, "rss-nb", coalition={0, 1, 2}, rounds=100)
        return f"±{found.sd[list(found.honest)].min():.3f}"

    def certified(network: hk.Network, colluders: int, rounds: int) -> str:
        found = certify(network, colluders=colluders, rounds=rounds)
        return f"μ {found.mu:.3g}, {found.searched}"

    tasks: dict[str, Callable[[], str]] = {
        "worst 3 of 200, 4-regular, 100 rounds": worst,
        "certificate, any 3 of 200, 100 rounds": partial(certified, few, 3, 100),
        "certificate, any 2 of 1,000, 320 rounds": partial(certified, many, 2, 320),
        "leakage to 3 of 1,000, 6-regular, 100 rounds": leaked,
    }
    print("seconds of processor time, once")
    for name, work in _watched(tasks.items(), "Large networks"):
        began = time.process_time()
        found = work()
        print(f"  {name:46}{time.process_time() - began:8.2f}  {found}", flush=True)


def main() -> None:
    """Print seconds and exponents."""
    if "--large" in sys.argv[1:]:
        return large()
    proved = {
        name: [_seconds(partial(guarantees, build(n), 3)) for n in AGENTS]
        for name, build in _watched(NETWORKS.items(), "P1 and P2")
    }
    _show("P1, P2 and the smallest cut, three colluders", "agents", AGENTS, proved)
    network = hk.Network.random_regular(4, 100, seed=0)
    estimate = partial(hk.leakage, network, coalition={0, 1, 2}, step=hk.Power(1, 20, 0.75))
    estimated = {
        name: [_seconds(partial(estimate, name, rounds=rounds)) for rounds in ROUNDS]
        for name in _watched(NAMES, "Leakage")
    }
    _show("Leakage to three of a hundred agents, 4-regular", "rounds", ROUNDS, estimated)


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(TURNS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _show(title: str, unit: str, sizes: Sequence[int], found: dict[str, list[float]]) -> None:
    print(f"\n{title}: seconds, and the power of {unit} with which they grow")
    print(f"  {'':20}" + "".join(f"{size:>9,}" for size in sizes) + f"{'power':>9}")
    for name, seconds in found.items():
        power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"  {name:20}" + "".join(f"{one:9.3f}" for one in seconds) + f"{power:9.2f}")


def _watched(what: Collection[T], title: str) -> Iterable[T]:
    return track(what, title, console=Console(stderr=True), transient=True)


if __name__ == "__main__":
    main()
