"""A sheet to draw on, written as SVG that is legible on light and on dark pages.

Choose it for pictures in the documents: shapes and words have roles (`said`, `secret`, `noise`, …) in place of colours,
and the sheet brings its own background, so that a page may be lit as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import hypot
from pathlib import Path
from typing import Literal

Role = Literal["ink", "muted", "said", "secret", "noise", "good", "bad"]
Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]

LIGHT = {
    "paper": "#fbfbfa",
    "ink": "#1d2430",
    "muted": "#5a6472",
    "said": "#0b5cad",
    "secret": "#1d2430",
    "noise": "#a83c06",
    "good": "#1a6b3a",
    "bad": "#b3261e",
    "line": "#8a94a2",
    "fill": "#eef1f5",
}
DARK = {
    "paper": "#14181f",
    "ink": "#e8ecf2",
    "muted": "#a4afbd",
    "said": "#7db9ff",
    "secret": "#e8ecf2",
    "noise": "#ffa66b",
    "good": "#7fd8a0",
    "bad": "#ff9a92",
    "line": "#6d7886",
    "fill": "#222934",
}


class Sheet:
    """Shapes and words, in the order in which they are drawn."""

    def __init__(self, width: int, height: int, describes: str):
        self.width, self.height, self.describes = width, height, describes
        self.parts: list[str] = []

    def words(
        self,
        at: Point,
        text: str,
        *,
        role: Role = "ink",
        size: float = 14,
        anchor: Anchor = "middle",
        bold: bool = False,
    ) -> None:
        """One line of words, centred at a point unless told otherwise."""
        x, y = at
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" class="{role}" font-size="{size:g}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>"
        )

    def agent(self, at: Point, name: str, *, role: Role = "ink", radius: float = 20) -> None:
        """An agent: a circle with its name."""
        x, y = at
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="body line-{role}" stroke-width="2"/>'
        )
        self.words((x, y + 5), name, role=role, bold=True)

    def box(self, at: Point, size: Point) -> None:
        """A rounded box by its upper left corner."""
        (x, y), (width, height) = at, size
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="body line" '
            'stroke-width="1.5"/>'
        )

    def link(self, a: Point, b: Point, *, role: Role | None = None, dashed: bool = False) -> None:
        """A plain line between two points."""
        look = f"line-{role}" if role else "line"
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<line x1="{a[0]:g}" y1="{a[1]:g}" x2="{b[0]:g}" y2="{b[1]:g}" class="{look}" stroke-width="1.8"{dash}/>'
        )

    def arrow(self, a: Point, b: Point, *, role: Role = "said", gap: float = 24) -> None:
        """An arrow between two agents, ending short of both."""
        length = hypot(b[0] - a[0], b[1] - a[1])
        dx, dy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
        start = (a[0] + gap * dx, a[1] + gap * dy)
        end = (b[0] - gap * dx, b[1] - gap * dy)
        self.link(start, end, role=role)
        left = (end[0] - 9 * dx - 4.5 * dy, end[1] - 9 * dy + 4.5 * dx)
        right = (end[0] - 9 * dx + 4.5 * dy, end[1] - 9 * dy - 4.5 * dx)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, left, right))
        self.parts.append(f'<polygon points="{corners}" class="fill-{role}"/>')

    def curve(self, points: Sequence[Point], *, role: Role, dashed: bool = False) -> None:
        """A line through many points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" class="line-{role}" fill="none" stroke-width="2.2"{dash}/>'
        )

    def text(self) -> str:
        """The sheet as SVG."""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-label="{escape(self.describes)}" '
            'font-family="system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif">\n'
            f"<title>{escape(self.describes)}</title>\n<style>\n{_style(LIGHT)}\n"
            f"@media (prefers-color-scheme: dark) {{\n{_style(DARK)}\n}}\n</style>\n"
            f'<rect class="paper" width="{self.width}" height="{self.height}" rx="10"/>\n{body}\n</svg>\n'
        )

    def write(self, path: Path) -> None:
        """Write the sheet to a file."""
        path.write_text(self.text(), encoding="utf-8")


def _style(colours: dict[str, str]) -> str:
    roles = ("ink", "muted", "said", "secret", "noise", "good", "bad")
    rules = [f".paper{{fill:{colours['paper']}}}", f".body{{fill:{colours['fill']}}}"]
    rules.append(f".line{{stroke:{colours['line']}}}")
    for role in roles:
        colour = colours[role]
        rules.append(f".{role},.fill-{role}{{fill:{colour}}}.line-{role}{{stroke:{colour}}}")
    return "\n".join(rules)
