"""The first part of the demonstration's page: the fit, what one curious clinic saw, and what it cannot learn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

import numpy as np
from scipy.special import chdtrc

from hocket.experiments.clinics.figure import bytes_of, masked_and_bare
from hocket.experiments.clinics.overheard import MaskedRoom, Part
from hocket.experiments.clinics.study import Clinics
from hocket.noise.group import FixedPoint, Words, add
from hocket.privacy.topology.connectivity import honest_components
from hocket.privacy.wording import counted, listed
from hocket.report.page import Card, Chapter, Figure, Section
from hocket.report.tables import Table, plain
from hocket.studies.figures import forest
from hocket.studies.results_tables import labels, number
from hocket.studies.seen import ALL_BUT_ONE, THEOREM, released_table

SHOWN = "rows of rows"
"""The number of the first total that is looked at: how many tumours a clinic has."""
UNIFORM = 1e-3
"""A p-value below which bytes are not called uniform."""


def chapter(found: Clinics) -> Chapter:
    """Everything about the four clinics."""
    results, room = found.results, found.room
    heard = room.heard()
    words = sum(part.sent.shape[1] for part in heard)
    p = uniformity(heard)
    return Chapter(
        title="Four clinics, one regression, and no row leaves its clinic",
        facts=[
            counted(len(room.members), "clinic"),
            counted(results.data["rows"], "tumour"),
            "logistic regression",
            counted(results.totals, "total"),
        ],
        summary=[
            f"Four clinics with {results.data['rows']} tumours in four tables fit one logistic regression by "
            f"{results.totals} totals of {results.numbers} numbers in all: no coefficient is off the fit of the pooled "
            f"rows by more than {plain(found.farthest)} of it. A curious clinic saw {words} masked words, the totals, "
            "and its own rows (Theorem T).",
        ],
        cards=[
            Card(
                "Is it the fit of the pooled rows?",
                f"yes, to {plain(found.farthest)} of a coefficient",
                "holds" if found.farthest < 1e-9 else "exposed",
                [
                    "Sums are exact in fixed point. No step, no number of rounds and no noise had to be chosen."
                ],
            ),
            Card(
                "What did a curious clinic see?",
                f"{words} words that look like chance"
                if p > UNIFORM
                else f"{words} words that are not uniform",
                "holds" if p > UNIFORM else "exposed",
                [
                    f"{room.listener} passes sums on, so it is sent every number of the other three, masked: "
                    f"{16 * words:,} bytes. Are all 256 values of a byte alike? χ² says p = {p:.2f}."
                ],
            ),
            Card(
                "What can it not learn?",
                "anything of the others but their sum",
                "holds",
                [
                    "Theorem T: what it believed before about one clinic, given the sum over the other three, it "
                    "believes after. Patience does not help: every total has masks of its own."
                ],
            ),
        ],
        sections=[_fit(found), _saw(found, heard), _cannot(found)],
    )


def _fit(found: Clinics) -> Section:
    results, fit = found.results, found.results.findings.fit
    drawing = None if fit is None else forest(fit, labels(results.study, fit.names))
    return Section(
        title="The same fit",
        tables=[found.table],
        notes=[
            "By totals: from four tables that stay where they are. Pooled: Newton's method on all rows in one place. "
            "The data come with scikit-learn (breast cancer, Wisconsin), dealt to the clinics 4 to 3 to 2 to 1."
        ],
        figures=[]
        if drawing is None
        else [
            Figure.of(
                drawing,
                "How the odds that a tumour is malignant change with each measure, with 95% intervals; at the line "
                "there is no difference.",
            )
        ],
    )


def _saw(found: Clinics, heard: Sequence[Part]) -> Section:
    room = found.room
    shown = next(part for part in heard if part.total == 2)
    drawing = masked_and_bare(shown, heard)
    return Section(
        title="What one curious clinic saw",
        words=[
            "For every total each clinic writes its numbers as whole ones of 128 bits and adds a mask for each other "
            "clinic, which the two derive from a key that only they have; one adds it, the other takes it off. In the "
            "sum over all four every mask has met its opposite. Below is one number of the first total, how many "
            "tumours a clinic has, as it went over the line."
        ],
        tables=[one_number(room, SHOWN)],
        notes=[
            "The first column is known at each clinic only; this page has it since the demonstration plays all four. "
            f"“Fits as well” are other numbers with the same sum, under which {room.listener} would have been sent the "
            "same words with the same probability: masks that make it so exist for any numbers with this sum."
        ],
        figures=[
            Figure.of(
                drawing,
                f"Left, the {shown.own.shape[1]} numbers that {shown.sender} gave in the second total, bit by bit: "
                f"score and curvature of its tumours. Middle, the words that {room.listener} was sent in their place. "
                "Right, all numbers of all totals: what begins with 0 or f at home begins with any digit on the line.",
            )
        ],
    )


def _cannot(found: Clinics) -> Section:
    room = found.room
    return Section(
        title="What it cannot learn, and by which theorem",
        words=[
            THEOREM,
            "The masks here come from ChaCha20, as over links: uniform for whoever cannot break it. "
            f"{ALL_BUT_ONE} And the fit itself tells what any fit of these rows would tell.",
        ],
        tables=[coalitions(room)],
        details=[released_table(found.results)],
    )


def uniformity(parts: Sequence[Part]) -> float:
    """The chance that uniform bytes differ as much from equal counts as these do (a χ² test)."""
    counts = np.bincount(bytes_of(parts), minlength=256)
    expected = counts.sum() / 256
    return float(chdtrc(255, ((counts - expected) ** 2 / expected).sum()))


def one_number(room: MaskedRoom, name: str) -> Table:
    """One number of the first total: everybody's own, the words that were sent, and others that fit them as well."""
    parts = [part for part in room.parts if part.total == 1]
    place = next(place for place, title in enumerate(parts[0].names) if title.endswith(name))
    point = FixedPoint(parts[0].bits)
    words = [part.sent[:, [place]] for part in parts]
    whole = reduce(add, words)
    others = [part.values[place] for part in parts if part.sender != room.listener]
    turned = iter([*others[1:], others[0]])  # the same numbers, each at another clinic
    rows = [
        (
            part.sender,
            f"{part.values[place]:.0f}",
            "its own" if part.sender == room.listener else f"{next(turned):.0f}",
            hexadecimal(word),
            number(float(point.decode(word)[0])).replace("-", "−", 1),
        )
        for part, word in zip(parts, words, strict=True)
    ]
    total = f"{list(accumulate(part.values[place] for part in parts))[-1]:.0f}"
    last = ("sum of the words", total, total, hexadecimal(whole), f"{point.decode(whole)[0]:.0f}")
    head = ("", "tumours", "fits as well", "the word that is sent", "read as a number")
    return Table(
        head, (*rows, last), "How many tumours each clinic has", frozenset({1, 2, 3, 4}), frozenset({3})
    )


def hexadecimal(word: Words) -> str:
    """A number of 128 bits in four groups of eight digits."""
    digits = f"{int(word[1, 0]) << 64 | int(word[0, 0]):032x}"
    return " ".join(digits[at : at + 8] for at in range(0, 32, 8))


def coalitions(room: MaskedRoom) -> Table:
    """What is known to one curious clinic, and to more of them together, by the parts that stay connected."""
    rows = []
    for size in range(1, len(room.members)):
        parts = honest_components(room.network, frozenset(range(size)))
        known = [
            f"the numbers of {listed(part, room.members)}"
            if len(part) == 1
            else f"the sum over {listed(part, room.members)}, and nothing else of them"
            for part in parts
        ]
        rows.append((listed(range(size), room.members), "; ".join(known)))
    return Table(
        ("who is curious, together", "what they know of the others"), tuple(rows), "Who could learn what"
    )
