"""The picture of a round's time against GPUs: the model of `benchmarks/sizing.py`, drawn."""

from __future__ import annotations

from math import log

from benchmarks.sizing import GPU_SECONDS, GPUS, LINKS, predicted
from docs.making.drawing import Point, Role, Sheet

LEFT, RIGHT, TOP, BOTTOM = 80.0, 530.0, 50.0, 300.0
LEAST, MOST = 0.5, 200.0
"""Milliseconds at the ends of the axis."""


def gpu_times() -> Sheet:
    """DGD, solid, and RSS-NB, dashed: on a random graph, and where one link in ten crosses, over both connections."""
    sheet = Sheet(
        800,
        350,
        "Model of a round's time with 1 to 64 GPUs: what crosses and over which connection decides, not privacy.",
    )
    sheet.box((LEFT, TOP), (RIGHT - LEFT, BOTTOM - TOP))
    for gpus in GPUS:
        sheet.words((place(gpus, 1)[0], BOTTOM + 18), str(gpus), role="muted", size=12)
    for ms in (1, 10, 100):
        at = place(1, ms)[1]
        sheet.link((LEFT, at), (RIGHT, at), dashed=True)
        sheet.words((LEFT - 8, at + 4), f"{ms} ms", role="muted", size=12, anchor="end")
    sheet.words(((LEFT + RIGHT) / 2, BOTTOM + 38), "GPUs, 1,024 agents on each", size=13)
    sheet.words((LEFT, TOP - 16), "A round, by the model", bold=True, anchor="start")
    nvlink, ethernet = LINKS.values()
    lines: list[tuple[str, tuple[float, float], float | None, Role]] = [
        ("Ethernet, random graph", ethernet, None, "bad"),
        ("NVLink, random graph", nvlink, None, "noise"),
        ("Ethernet, 1 link in 10 crosses", ethernet, 0.1, "said"),
        ("NVLink, 1 link in 10 crosses", nvlink, 0.1, "good"),
    ]
    for row, (name, (bandwidth, latency), crossing, role) in enumerate(lines):
        for algorithm, compute in GPU_SECONDS.items():
            points = [
                place(gpus, 1e3 * predicted(compute, gpus, bandwidth, latency, crossing)[0]) for gpus in GPUS
            ]
            sheet.curve(points, role=role, dashed=algorithm != "DGD")
        sheet.words((RIGHT + 16, 90 + 26 * row), name, role=role, size=13, anchor="start")
    sheet.words((RIGHT + 16, 220), "solid: DGD, dashed: RSS-NB", role="muted", size=13, anchor="start")
    sheet.words((RIGHT + 16, 246), "measured: one GPU alone", role="muted", size=13, anchor="start")
    sheet.words((RIGHT + 16, 266), "all else is the model", role="muted", size=13, anchor="start")
    return sheet


def place(gpus: int, ms: float) -> Point:
    """Where a point of the picture lies; both axes are logarithmic."""
    across = 0.06 + 0.9 * log(gpus) / log(GPUS[-1])
    up = log(ms / LEAST) / log(MOST / LEAST)
    return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)
