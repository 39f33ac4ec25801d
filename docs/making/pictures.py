"""The pictures of the documents, drawn anew into docs/pictures: `python -m docs.making.pictures`.

Every picture is one function that fills one sheet; the numbers in them are worked out here, not typed in.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path

from docs.making.code_map import code_map
from docs.making.drawing import Point, Role, Sheet
from docs.making.gpu_times import gpu_times

FOLDER = Path(__file__).parents[1] / "pictures"


def around(centre: Point, radius: float, count: int, turn: float = -pi / 2) -> list[Point]:
    """Places on a circle, the first at the top."""
    return [
        (
            centre[0] + radius * cos(turn + 2 * pi * k / count),
            centre[1] + radius * sin(turn + 2 * pi * k / count),
        )
        for k in range(count)
    ]


def between(a: Point, b: Point, share: float, aside: float = 0.0) -> Point:
    """A point on the way from a to b, moved a little to the side."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = (dx * dx + dy * dy) ** 0.5
    return a[0] + share * dx - aside * dy / length, a[1] + share * dy + aside * dx / length


def signed(number: int) -> str:
    """A number with its sign, as noise is written."""
    return f"+{number}" if number >= 0 else f"−{-number}"


def plain(number: int) -> str:
    """A number as it is written in words."""
    return str(number) if number >= 0 else f"−{-number}"


def idea() -> Sheet:
    """Three agents deal noise in pairs; everything that is said is changed, the sum is not."""
    sheet = Sheet(
        760,
        300,
        "Three agents hold 4, 7 and 1. Noise dealt in pairs changes what each says; the sum stays 12.",
    )
    holds = {"A": 4, "B": 7, "C": 1}
    dealt = {("A", "B"): 3, ("B", "C"): 6, ("C", "A"): 2}  # the first adds it, the second takes it off
    place = dict(zip("ACB", [(190, 62), (310, 236), (70, 236)], strict=True))
    for (plus, minus), noise in dealt.items():
        a, b = place[plus], place[minus]
        sheet.link(a, b)
        outside = 16 if (plus, minus) != ("B", "C") else -18
        for share, amount in ((0.27, noise), (0.73, -noise)):
            x, y = between(a, b, share, -outside)
            sheet.words((x, y + 5), signed(amount), role="noise", bold=True)
    for name, at in place.items():
        sheet.agent(at, name)
        above = at[1] < 100
        sheet.words((at[0], at[1] + (-30 if above else 42)), f"holds {holds[name]}", role="muted")
    noise_of = {name: sum(s * ((name == a) - (name == b)) for (a, b), s in dealt.items()) for name in holds}
    columns = {"holds": 480, "noise": 570, "says": 660}
    sheet.words((420, 60), "agent", role="muted")
    for title, x in columns.items():
        role: Role = {"holds": "secret", "noise": "noise", "says": "said"}[title]
        sheet.words((x, 60), title, role=role, bold=True)
    sheet.link((395, 74), (710, 74))
    for row, name in enumerate(holds):
        y = 106 + 38 * row
        numbers = (plain(holds[name]), signed(noise_of[name]), plain(holds[name] + noise_of[name]))
        sheet.words((420, y), name, size=17, bold=True)
        for x, number, role in zip(columns.values(), numbers, ("secret", "noise", "said"), strict=True):
            sheet.words((x, y), number, role=role, size=17)
    sheet.link((395, 200), (710, 200))
    sheet.words((420, 230), "sum", role="muted")
    total = sum(holds.values())
    assert sum(noise_of.values()) == 0
    for x, number in zip(columns.values(), (total, 0, total), strict=True):
        sheet.words((x, 230), str(number), role="good", size=18, bold=True)
    sheet.words(
        (552, 270), "Of each pair, one adds the noise and the other takes it off.", role="muted", size=13
    )
    return sheet


def star(sheet: Sheet, words: list[str], *, received: list[Role]) -> list[Point]:
    """Agent j in the middle of three neighbours, and what it says to each."""
    centre = (190.0, 150.0)
    places = [(190.0, 40.0), (70.0, 240.0), (310.0, 240.0)]
    for place, text, role, name in zip(places, words, received, "abc", strict=True):
        sheet.arrow(centre, place, role=role)
        sheet.agent(place, name)
        x, y = between(centre, place, 0.5)
        if place[0] == centre[0]:
            sheet.words((x - 12, y + 5), text, role=role, anchor="end", bold=True)
        else:
            side = -1 if place[0] < centre[0] else 1
            sheet.words(
                (x + side * 16, y - 4), text, role=role, anchor="end" if side < 0 else "start", bold=True
            )
    sheet.agent(centre, "j")
    return places


def beside(sheet: Sheet, lines: list[tuple[str, Role]], *, top: float = 78) -> None:
    """Lines of words to the right of a drawing."""
    for row, (text, role) in enumerate(lines):
        sheet.words((430, top + 32 * row), text, role=role, anchor="start", size=15)


def dgd() -> Sheet:
    """Plain descent: neighbours hear the state itself."""
    sheet = Sheet(760, 290, "DGD: agent j says its state x to every neighbour, without any noise.")
    star(sheet, ["x", "x", "x"], received=["said"] * 3)
    beside(
        sheet,
        [
            ("Everybody hears the state itself.", "ink"),
            ("Mix:  v = Σ B x", "said"),
            ("Step: x ← P(v − α ∇f(v))", "ink"),
            ("Neighbours can solve two rounds", "bad"),
            ("for the gradient in between.", "bad"),
        ],
    )
    return sheet


def rss_nb() -> Sheet:
    """Noise dealt in pairs: one word for all, and the noise is zero over the network."""
    sheet = Sheet(
        760, 290, "RSS-NB: on every link noise is dealt in a pair; agent j says one word, x plus its sum."
    )
    places = star(sheet, ["w", "w", "w"], received=["said"] * 3)
    for place, (near, far) in zip(places, [("+s", "−s"), ("+t", "−t"), ("−u", "+u")], strict=True):
        for share, text in ((0.3, near), (0.7, far)):
            x, y = between((190, 150), place, share, 17 if place[0] >= 190 else -17)
            sheet.words((x, y + 5), text, role="noise", bold=True)
    beside(
        sheet,
        [
            ("d = s + t − u: this agent's share", "noise"),
            ("w = x + α d: one word for all", "said"),
            ("Σ d = 0 over the whole network", "good"),
            ("Both ends of a link agree on its noise,", "muted"),
            ("which never travels.", "muted"),
        ],
    )
    return sheet


def rss_lb() -> Sheet:
    """Noise balanced by one agent: another word for every neighbour."""
    sheet = Sheet(
        760, 290, "RSS-LB: agent j tells each neighbour another word; its noise balances over them."
    )
    star(sheet, ["x + α d₁", "x + α d₂", "x + α d₃"], received=["said", "noise", "good"])
    beside(
        sheet,
        [
            ("Every neighbour hears another word.", "ink"),
            ("B₁ d₁ + B₂ d₂ + B₃ d₃ = 0", "good"),
            ("Nobody has to agree with anybody.", "muted"),
            ("All neighbours together", "bad"),
            ("can take the noise off again.", "bad"),
        ],
    )
    return sheet


def function_sharing() -> Sheet:
    """Noise functions: every agent's objective is changed, their sum is not."""
    sheet = Sheet(
        760, 290, "FS: every agent's objective gets a noise function; the noise functions sum to zero."
    )

    def f(c: float) -> Callable[[float], float]:
        return lambda x: 0.9 * (x - c) ** 2

    def p(x: float) -> float:
        return 0.55 * x**3 - 0.9 * x + 0.4

    panels: list[tuple[str, Callable[[float], float], Callable[[float], float]]] = [
        ("agent 1", f(-0.6), lambda x: f(-0.6)(x) + p(x)),
        ("agent 2", f(0.5), lambda x: f(0.5)(x) - p(x)),
        ("the sum", lambda x: 0.7 * (f(-0.6)(x) + f(0.5)(x)), lambda x: 0.7 * (f(-0.6)(x) + f(0.5)(x))),
    ]
    for place, (title, true, shown) in enumerate(panels):
        left = 30 + 240 * place
        sheet.box((left, 50), (220, 170))
        sheet.words((left + 110, 36), title, bold=True)
        for function, role, dashed in (
            (true, "muted", True),
            (shown, "good" if place == 2 else "said", False),
        ):
            points = [
                (left + 110 + 62 * x, 190 - 42 * function(x)) for x in (k / 20 - 1.35 for k in range(55))
            ]
            sheet.curve([at for at in points if 54 < at[1] < 216], role=role, dashed=dashed)  # type: ignore[arg-type]
    sheet.words((260, 140), "+", size=22)
    sheet.words((500, 140), "=", size=22)
    sheet.words(
        (260, 252),
        "dashed: its own objective f     solid: f + p, on which it descends",
        role="muted",
        size=13,
    )
    sheet.words((620, 252), "p₁ + p₂ = 0: unchanged", role="good", bold=True)
    return sheet


def surrounded() -> Sheet:
    """Privacy is a matter of topology: who is left to hide among."""
    sheet = Sheet(
        760,
        300,
        "On a ring of seven two colluders cut one agent off; with three links each nobody can be cut off.",
    )
    ring = [(k, (k + 1) % 7) for k in range(7)]
    more = [(0, 3), (1, 4), (2, 5), (3, 6)]
    for left, links, title, verdict, role in (
        (190, ring, "cycle:7", "agent 0 has nobody to share noise with", "bad"),
        (570, ring + more, "harary:k=3,n=7", "every honest agent shares noise with another", "good"),
    ):
        places = around((left, 148), 92, 7)
        for a, b in links:
            hidden = {a, b}.isdisjoint({1, 6})
            sheet.link(places[a], places[b], role="good" if hidden else None, dashed=not hidden)
        for k, place in enumerate(places):
            exposed = k == 0 and role == "bad"
            sheet.agent(
                place, str(k), role="noise" if k in (1, 6) else "bad" if exposed else "ink", radius=17
            )
        sheet.words((left, 24), title, bold=True)
        sheet.words((left, 276), verdict, role=role, bold=True)  # type: ignore[arg-type]
    sheet.words((380, 140), "1 and 6 collude:", role="noise", bold=True)
    sheet.words((380, 160), "what they share", role="muted", size=13)
    sheet.words((380, 177), "(dashed) hides nothing", role="muted", size=13)
    return sheet


PICTURES: dict[str, Callable[[], Sheet]] = {
    "idea": idea,
    "dgd": dgd,
    "rss-nb": rss_nb,
    "rss-lb": rss_lb,
    "function-sharing": function_sharing,
    "surrounded": surrounded,
    "code-map": code_map,
    "gpu-times": gpu_times,
}


def main() -> None:
    """Draw them all."""
    for name, draw in PICTURES.items():
        draw().write(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
