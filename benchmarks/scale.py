"""How time and memory of a round grow, with the number of links and with the dimension.

    python benchmarks/scale.py               two minutes, prints a table
    python benchmarks/scale.py LINKS DIM     one size, as JSON

RSS-NB on the union of two random rings, about four neighbours each: 10³ to 10⁶ links with D = 10, and D = 10 to 10⁴
with 10³ links. Floor: every round must read and write each state and draw two numbers per link and coordinate, so
neither can grow slower than links times D; they must not grow faster either. Beyond the cache a number costs more than
within it, which bends the line of times upwards once. Each size runs in a process of its own, so that its peak memory
is its own; what a run of ten agents needs is taken off it, since that is the compiler's.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LINKS = (1_000, 10_000, 100_000, 1_000_000)
DIMS = (10, 100, 1_000, 10_000)
WORK = 1 << 23
"""Numbers drawn in a turn, at least: enough to be timed."""
LEAST_MEMORY = 40e6
"""Bytes below which peaks are noise."""
TURNS = 3


@dataclass(frozen=True)
class Size:
    """One size, and what a round of it costs."""

    links: int
    dim: int
    seconds: float
    """Of one round."""
    memory: float
    """Bytes at the peak, above that of ten agents."""

    @property
    def numbers(self) -> int:
        return self.links * self.dim


@dataclass(frozen=True)
class Growth:
    """Exponents of straight lines through all sizes on log-log scales: 1 is linear."""

    against: str
    sizes: list[Size]
    time: float
    memory: float


def growths(say: Callable[[str], None]) -> Iterator[Growth]:
    """Against links, then against D."""
    for against, sizes in {
        "links": [(links, DIMS[0]) for links in LINKS],
        "D": [(LINKS[0], dim) for dim in DIMS],
    }.items():
        found = []
        for links, dim in sizes:
            say(f"growth against {against}: {links:,} links, D = {dim:,}")
            command = [sys.executable, str(Path(__file__)), str(links), str(dim)]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found.append(Size(**json.loads(answer)))
        large = [size for size in found if size.memory > LEAST_MEMORY]
        yield Growth(
            against,
            found,
            _exponent([size.numbers for size in found], [size.seconds for size in found]),
            _exponent([size.numbers for size in large], [size.memory for size in large]),
        )


def one(links: int, dim: int) -> Size:
    """Measure one size, after ten agents were run to have everything loaded that any run needs."""
    _seconds(_rings(10), 2, 4)
    before = _peak()
    network = _rings(links // 2)
    rounds = max(4, min(2000, WORK // (2 * len(network.links) * dim)))
    seconds = _seconds(network, dim, rounds)
    return Size(len(network.links), dim, seconds, _peak() - before)


def show(growth: Growth) -> None:
    head = f"{'links':>12}{'D':>9}{'ms a round':>14}{'ns a number':>14}"
    print(f"{head}{'peak memory':>14}{'bytes a number':>17}")
    for size in growth.sizes:
        print(
            f"{size.links:>12,}{size.dim:>9,}{1e3 * size.seconds:>14.3f}{1e9 * size.seconds / size.numbers:>14.2f}"
            f"{size.memory / 1e6:>11,.0f} MB{size.memory / size.numbers:>17,.0f}"
        )
    print(
        f"  against {growth.against}: time grows to the power {growth.time:.2f}, memory to the power "
        f"{growth.memory:.2f}\n"
    )


def _rings(n: int) -> object:
    """Two rings through all agents in random orders: connected, and built in no time however large."""
    import hocket as hk

    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(2)]
    ends = np.concatenate([np.stack([order, np.roll(order, 1)], axis=1) for order in orders])
    return hk.Network(np.unique(np.sort(ends, axis=1), axis=0))


def _seconds(network: object, dim: int, rounds: int) -> float:
    """Seconds of one compiled round of RSS-NB, without measurements."""
    import jax
    from cases import Case, simulated

    import hocket as hk

    n = network.n  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    table = np.stack([np.zeros((n, dim)), rng.normal(size=(n, dim)), np.ones((n, dim))], axis=1)
    with jax.enable_x64(True):
        problem = hk.polynomials(table, box=(-5, 5), optimum=0.0)
        case = Case(
            "scale", problem, network, hk.Constant(0.01), rounds, np.zeros((n, dim)), _unused, _unused, {}
        )
        turn, _ = simulated(case, hk.RssNb(1.0))
        jax.block_until_ready(turn())
        taken = []
        for _ in range(TURNS):
            began = time.perf_counter()
            jax.block_until_ready(turn())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) / rounds


def _unused(v: object) -> object:
    return v


def _peak() -> float:
    """Bytes. Linux also counts the parent's peak in what getrusage says of a child, but not in its status file."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def _exponent(sizes: list[int], costs: list[float]) -> float:
    if len(sizes) < 2:
        return math.nan
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(vars(one(int(sys.argv[1]), int(sys.argv[2])))))
    else:
        for growth in growths(lambda line: print(f"\r{line:70}\r", end="", file=sys.stderr, flush=True)):
            show(growth)
