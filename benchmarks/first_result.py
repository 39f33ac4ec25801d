"""How long a newcomer waits for a first result, each in a fresh process.

    python benchmarks/first_result.py        about a minute, prints a table

Floor: to start Python and import JAX. Once: with an empty folder for compiled programs (`docs/performance.md`), as the
first time ever. Again: the best of three that find them there. Processor time is what a busy machine shakes least; on
one that is quiet, seconds are shorter, since XLA compiles on several threads.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOLVE = """
import hocket as hk
hk.solve(hk.paper_polynomials(), hk.Network.cycle(5), hk.RssNb(delta=1.0), rounds=10_000, seed=0)
"""
TRAIN = """
import hocket as hk
from hocket import learning
digits = learning.digits()
shards, model = learning.equal_shards(digits.train, 5), learning.mlp((64, 32, 10))
noisy = hk.RssNb(delta=1.0)
hk.train(model, shards, hk.Network.cycle(5), noisy, test=digits.test, epochs=5, local_steps=10, batch=8)
"""
TASKS = {
    "floor: import jax": (["-c", "import jax"], None),
    "hk.solve, five polynomials": (["-c", SOLVE], 1.5),
    "hk.train, digits": (["-c", TRAIN], 4.0),
    "hocket demo": (["-m", "hocket", "demo"], 6.0),
}


def timed(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and processor seconds of one process of its own."""
    surroundings = os.environ | {"XDG_CACHE_HOME": str(folder), "JAX_PLATFORMS": "cpu"}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # a newcomer's Python keeps what it compiled
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=surroundings, cwd=folder, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.perf_counter() - began,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def main() -> None:
    """Time every task that is named, or all."""
    named = sys.argv[1:]
    print(f"{'':30}{'once':>18}{'again':>18}   wanted")
    print(f"{'':30}{'s':>9}{'CPU s':>9}{'s':>9}{'CPU s':>9}")
    for name, (arguments, wanted) in TASKS.items():
        if named and not any(word in name for word in named):
            continue
        with tempfile.TemporaryDirectory() as folder:
            once = timed(arguments, Path(folder))
            again = [timed(arguments, Path(folder)) for _ in range(3)]
        best = [min(column) for column in zip(*again, strict=True)]
        shown = "".join(f"{number:9.2f}" for number in (*once, *best))
        print(f"{name:30}{shown}" + ("" if wanted is None else f"   ≤ {wanted:g}"), flush=True)


if __name__ == "__main__":
    main()
