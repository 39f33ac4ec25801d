"""A snapshot of a run as a page that keeps itself true."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from hocket.federation.monitoring.watching.snapshot import MeasuredCourse, Snapshot
from hocket.federation.monitoring.watching.wording import lag_in_words
from hocket.report.page import Tone, document, render, together
from hocket.report.tables import Table, plain

HERE = "hocket.federation.monitoring.watching"
WIDTH, HEIGHT, MARGIN = 300, 80, 6
STEEP = 3.0
"""Powers of e between the least and the largest of positive values, from which on they are drawn by their logarithm."""


def watch_page(seen: Snapshot) -> str:
    """The whole page, as it is first shown."""
    style, script = together("watch.css", package=HERE), together("watch.js", package=HERE)
    return document("watch.html", HERE, style=style, script=script, **_parts(seen))


def watch_now(seen: Snapshot) -> str:
    """The part of the page that changes."""
    return render("now.html", package=HERE, **_parts(seen))


def title_of(seen: Snapshot) -> str:
    """What a browser's tab says."""
    return f"{seen.member}: {seen.progress}"


def _parts(seen: Snapshot) -> dict[str, Any]:
    links = tuple((one.name, lag_in_words(one.lag), one.link) for one in seen.neighbours)
    events = tuple((time.strftime("%H:%M:%S", time.localtime(one.time)), one.words) for one in seen.events)
    return {
        "seen": seen,
        "tone": _tone(seen),
        "links": Table(("neighbour", "its last message", "link"), links, "Links"),
        "events": Table(("when", "what"), events[::-1], "Lately"),
        "courses": [_course(one) for one in seen.measured],
    }


def _tone(seen: Snapshot) -> Tone:
    """Good news only where everybody's numbers say so, and it is over."""
    if seen.standing.kind == "diverging":
        return "exposed"
    return "holds" if seen.standing.kind == "converged" and seen.state == "finished" else "open"


def _course(one: MeasuredCourse) -> dict[str, str]:
    name = one.name.replace("_", " ")
    ends = [f"{plain(value)} in round {k:,.0f}" for k, value in (*one.course[:1], *one.course[-1:])]
    alt = f"from {' to '.join(ends)}" if ends else ""
    now = "not finite" if one.value is None else plain(one.value)
    return {"name": name, "now": now, "path": _path(one.course), "alt": alt}


def _path(course: Sequence[tuple[float, float]]) -> str:
    if len(course) < 2:
        return ""
    rounds, values = [k for k, _ in course], [value for _, value in course]
    if min(values) > 0 and math.log(max(values) / min(values)) > STEEP:
        values = [math.log(value) for value in values]
    across, up = _scaled(rounds, MARGIN, WIDTH - MARGIN), _scaled(values, HEIGHT - MARGIN, MARGIN)
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def _scaled(values: Sequence[float], low: float, high: float) -> list[float]:
    least, largest = min(values), max(values)
    if largest == least:
        return [(low + high) / 2] * len(values)
    return [low + (value - least) / (largest - least) * (high - low) for value in values]
