"""The picture of the code's layers."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

from docs.making.drawing import Sheet

ROOT = Path(__file__).parents[2]

HOLDS = {
    "cli": "commands",
    "demo": "demonstrations",
    "explore": "live page",
    "federation": "plans, members, runs",
    "studies": "statistics by secure sums",
    "bench": "compare, tune",
    "learning": "models, data",
    "config": "TOML",
    "report": "pages",
    "privacy": "verdicts",
    "theory": "bounds",
    "engines": "compiled, exact, cluster",
    "links": "TLS, keys, journal",
    "runs": "asked for, left behind, seen",
    "claims": "what may be certified",
    "algorithms": "a file each",
    "algorithm": "interface",
    "agent": "step, mix, descend",
    "secagg": "masks, group",
    "noise": "draws",
    "problems": "f, data, X, optimum",
    "networks": "links, B",
    "steps": "α",
}
"""In a word or three: what a part holds."""
SMALL = {"__main__", "errors", "facet", "machine", "files", "rationals"}
"""Modules that everything stands on, too small for the picture."""
ROWS = {
    "ask": ("cli", "demo", "explore"),
    "federate, study": ("federation", "studies", "learning", "bench"),
    "judge, show": ("privacy", "theory", "report", "config"),
    "carry messages": ("engines", "links"),
    "one run": ("runs", "claims"),
    "one agent": ("algorithms", "algorithm", "agent", "secagg", "noise"),
    "the problem": ("problems", "networks", "steps"),
}
"""From the top down: what a row does, and its parts. What is above imports what is below."""


def layers() -> list[str]:
    """The package's parts as the import contract in `pyproject.toml` has them, from the top down."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (one for one in tables["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [name for layer in contract["layers"] for name in re.findall(r"\w+", layer)]


def check_rows() -> None:
    """The picture has every part of the contract, and no part stands below one that it may not import."""
    drawn, known = [name for row in ROWS.values() for name in row], layers()
    assert {*drawn} | SMALL == {*known}, {*drawn} ^ {*known}
    place = {name: known.index(name) for name in drawn}
    for above, below in itertools.pairwise(ROWS.values()):
        assert max(place[name] for name in above) < min(place[name] for name in below), (above, below)


def code_map() -> Sheet:
    """The packages, with imports pointing down."""
    check_rows()
    sheet = Sheet(
        760, 420, "A map of the code in layers; what is above imports what is below, never the other way."
    )
    for row, (what, parts) in enumerate(ROWS.items()):
        y = 18 + 56 * row
        sheet.words((130, y + 27), what, role="muted", anchor="end", size=13)
        width = (600 - 10 * (len(parts) - 1)) / len(parts)
        for column, name in enumerate(parts):
            x = 142 + column * (width + 10)
            sheet.box((x, y), (width, 44))
            sheet.words((x + width / 2, y + 19), _label(name), bold=True, size=13.5)
            sheet.words((x + width / 2, y + 36), HOLDS[name], role="muted", size=12)
    sheet.arrow((16, 20), (16, 400), role="muted", gap=2)
    return sheet


def _label(name: str) -> str:
    return f"{name}/" if (ROOT / "hocket" / name).is_dir() else f"{name}.py"
