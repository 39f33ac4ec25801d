"""The picture of the code's layers."""

from __future__ import annotations

from docs.making.drawing import Sheet

LAYERS = {
    "ask": {"cli/": "commands", "explore/": "live page", "experiments/": "the paper"},
    "federate, study": {
        "federation/": "plans, members, engine",
        "studies/": "statistics by totals",
        "learning/": "models, data",
        "bench/": "compare, tune",
    },
    "judge, tell": {"privacy/": "verdicts", "theory/": "bounds", "report/": "pages", "config/": "TOML"},
    "carry words": {"engines/": "simulator, exact, cluster", "links/": "TLS, keys, journal"},
    "one run": {"runs/": "asked for, left behind, seen by a coalition"},
    "one agent": {"algorithms/": "a file each", "agent.py": "step, mix, descend", "noise/": "draws"},
    "the problem": {"problems/": "f, data, X, optimum", "networks/": "links, B", "steps.py": "α"},
}
"""From the top down: what a layer does, and its parts. What is above imports what is below."""


def code_map() -> Sheet:
    """The packages, with imports pointing down."""
    sheet = Sheet(
        760, 420, "A map of the code in layers; what is above imports what is below, never the other way."
    )
    for row, (what, parts) in enumerate(LAYERS.items()):
        y = 18 + 56 * row
        sheet.words((130, y + 27), what, role="muted", anchor="end", size=13)
        width = (600 - 10 * (len(parts) - 1)) / len(parts)
        for column, (name, holds) in enumerate(parts.items()):
            x = 142 + column * (width + 10)
            sheet.box((x, y), (width, 44))
            sheet.words((x + width / 2, y + 19), name, bold=True, size=13.5)
            sheet.words((x + width / 2, y + 36), holds, role="muted", size=12)
    sheet.arrow((16, 20), (16, 400), role="muted", gap=2)
    return sheet
