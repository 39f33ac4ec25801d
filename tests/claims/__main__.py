"""Sums up the matrix of claims: how many cells, refused, played, and the worst of what was achieved beside promised.

python -m tests.claims                          every option, two by two
python -m tests.claims --all                    every pair of options: many minutes
python -m tests.claims --base CertifiedRssNb    one mechanism
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections import Counter
from collections.abc import Iterator

from tests.claims.bases import BASES, BY_NAME, EXPECTED_TODAY
from tests.claims.cells import cells, evaluate
from tests.claims.test_claims import two_by_two


def lines(seed: int, whole: bool, only: str | None) -> Iterator[str]:
    """A line per mechanism, and one for all."""
    total, most = Counter[str](), 0.0
    for base in BASES:
        if only not in (None, base.name):
            continue
        began, counted, worst, where = time.monotonic(), Counter[str](), 0.0, ""
        for cell in cells(base) if whole else two_by_two(base, seed):
            result = evaluate(cell, seed=seed)
            counted[result.verdict] += 1
            if result.verdict == "played" and result.ratio > worst:
                worst, where = result.ratio, str(cell)
            if not result.holds:
                item = EXPECTED_TODAY.get(str(cell), "nobody's")
                yield f"  FALLS {cell}: {result.achieved:.4g} of {result.promised:.4g} promised ({item})"
        total += counted
        most = max(most, worst)
        yield (
            f"{base.name:22s} {counted['refused']:6d} refused {counted['played']:6d} played, worst "
            f"{worst:.6f} {'in ' + where if where else ''} ({time.monotonic() - began:.0f} s)"
        )
    yield (
        f"{total['refused'] + total['played']:,} cells: {total['refused']:,} refused, {total['played']:,} played, "
        f"worst achieved/promised {most:.9f}; {total['no such cell']:,} pairs contradict each other; seed {seed}"
    )


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every pair of options")
    parser.add_argument("--base", choices=[*BY_NAME], metavar="BASE", help="one mechanism by its name")
    parser.add_argument("--seed", type=int, default=None, help="drawn anew unless it is given")
    asked = parser.parse_args()
    seed = secrets.randbits(31) if asked.seed is None else asked.seed
    for line in lines(seed, asked.all, asked.base):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
