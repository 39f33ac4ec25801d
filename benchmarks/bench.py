"""hocket beside what one would pick instead, measured in one run on this machine.

    make bench                                    sets up an environment of its own, then runs this
    python benchmarks/bench.py --check            leaves with 1 if a ratio fell since the committed results
    python benchmarks/bench.py --only learning    one part: optimising, learning, private_exchange or scale
    python benchmarks/bench.py --keep             also keeps the results as benchmarks/results.json and .svg
    python benchmarks/bench.py --turns 2 --threads 1    rough figures, or on a busy machine

Contestants of a section take turns doing the same work; speeds are medians, "hocket is" the ratio of medians, "spread"
half the distance between quartiles. Traffic is what an agent sends and receives in an exchange.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import time
from pathlib import Path

import jax
import machine
import regression
import reporting
import scale
from figure import draw
from outcome import Claim, Section
from racing import Effort
from rivals.installed import left_out

PARTS = ("optimising", "learning", "private_exchange", "scale")
FOLDER = Path("runs/bench")
LINEAR = 1.2
"""The largest exponent that still counts as linear: leaving the cache bends the line once."""


def main() -> None:
    asked = arguments()
    jax.config.update("jax_platforms", "cpu")
    usual = Effort.usual()
    effort = Effort(asked.turns or usual.turns, (asked.threads,) if asked.threads else usual.threads)
    about, began = machine.describe(), time.monotonic()
    sections: list[Section] = []
    for part in PARTS:
        if part in (asked.only or PARTS):
            tell(f"{part.replace('_', ' ')}, after {time.monotonic() - began:.0f} s")
            sections += growth() if part == "scale" else importlib.import_module(part).sections(effort)
    words = machine.in_words(about, os.getloadavg()[0])
    print(f"\n{words}\n{time.monotonic() - began:.0f} s, {effort.turns} turns of each\n")
    reporting.show(sections)
    missing = left_out()
    print("\nnot measured:\n" + "\n".join(f"  {name}: {reason}" for name, reason in missing.items()))
    results = reporting.as_json(sections, about | {"load_after": round(os.getloadavg()[0], 1)}, missing)
    written = save(results, sections, words)
    print(f"\nwritten: {', '.join(map(str, written))}")
    sound = regression.report(results, parts=asked.only is not None)
    if asked.keep:
        for path in written[:2]:  # numbers and SVG, which the documents show
            shutil.copy(path, regression.KEPT.parent)
    sys.exit(asked.check and not sound)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="leave with 1 if a ratio fell")
    parser.add_argument("--keep", action="store_true", help="make these the committed results")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    parser.add_argument("--turns", type=int, help="turns of each contestant (9)")
    parser.add_argument("--threads", type=int, help="threads for PyTorch (one, and all cores)")
    return parser.parse_args()


def growth() -> list[Section]:
    """Printed on its own, since sizes are no contestants; the exponents are promises like any other."""
    claims = []
    for found in scale.growths(tell):
        scale.show(found)
        for what, exponent in (("time", found.time), ("memory", found.memory)):
            name = f"growth: exponent of {what} against {found.against}"
            claims.append(Claim(name, exponent, LINEAR, at_least=False))
    return [Section("growth", "", [], claims)]


def save(results: dict, sections: list[Section], words: str) -> list[Path]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / regression.KEPT.name
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    drawn = [section for section in sections if section.rows]
    return [path, *(draw(drawn, FOLDER, words) if drawn else [])]


def tell(line: str) -> None:
    print(f"… {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
