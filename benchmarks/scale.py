"""How time and memory of a run grow with the number of links.

    python benchmarks/scale.py

RSS-NB on random 4-regular graphs, D = 10, 100 rounds, n = 10³, 10⁴, 10⁵. Floor: every round must read and write each
state and draw two numbers per link and coordinate, so time and memory cannot grow slower than the links; they must
not grow faster either. Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time

SIZES = (1_000, 10_000, 100_000)
ROUNDS, DIM, DEGREE = 100, 10, 4


def one(n: int) -> dict[str, float]:
    """Run one size; seconds are those of a second run, when everything is compiled."""
    import numpy as np

    import hocket as hk

    network = hk.Network.random_regular(DEGREE, n)
    rng = np.random.default_rng(0)
    problem = hk.polynomials(
        np.stack([np.zeros((n, DIM)), rng.normal(size=(n, DIM)), np.ones((n, DIM))], axis=1), box=(-5, 5)
    )
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        run = hk.solve(problem, network, hk.RssNb(1.0), rounds=ROUNDS)
        seconds.append(time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "n": n,
        "links": len(network.links),
        "seconds": min(seconds[1:]),
        "peak_bytes": peak,
        "gap": run.gap,
    }


def exponent(rows: list[dict[str, float]], name: str) -> float:
    """The slope of a straight line through all sizes on a log-log scale."""
    import numpy as np

    return float(
        np.polyfit([math.log(row["links"]) for row in rows], [math.log(row[name]) for row in rows], 1)[0]
    )


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
        return
    rows = [
        json.loads(subprocess.run([sys.executable, __file__, str(n)], check=True, capture_output=True).stdout)
        for n in SIZES
    ]
    print(f"{'agents':>8}{'links':>9}{'seconds':>10}{'peak memory':>14}   if n² numbers were kept")
    for row in rows:
        print(
            f"{row['n']:>8,}{row['links']:>9,}{row['seconds']:>10.3f}{row['peak_bytes'] / 1e6:>11,.0f} MB"
            f"{row['n'] ** 2 * 8 / 1e6:>15,.0f} MB"
        )
    print(f"time grows with links to the power {exponent(rows, 'seconds'):.2f}")


if __name__ == "__main__":
    main()
