"""The first part of the demonstration's page: the fit, what one semi-honest clinic saw, and what it cannot learn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from scipy.special import chdtrc

from hocket.demo.clinics.figure import bits_of, masked_and_bare
from hocket.demo.clinics.overheard import Contribution, MaskedRoom
from hocket.demo.clinics.study import Clinics
from hocket.privacy.graph.connectivity import honest_components
from hocket.privacy.wording import counted, listed
from hocket.report.page import AnswerCard, Chapter, Figure, PageSection
from hocket.report.tables import Table, plain
from hocket.secagg.group import FixedPoint, Words, add
from hocket.studies.results.figures import forest
from hocket.studies.results.seen import ALL_BUT_ONE, THEOREM, released_table
from hocket.studies.results.tables import labels, number

SHOWN = "rows of rows"
"""The number of the first sum that is looked at: how many tumours a clinic has."""
UNIFORM = 1e-3
"""A p-value below which bytes are not called uniform."""


def chapter(found: Clinics) -> Chapter:
    """Everything about the four clinics."""
    results, room, received = found.results, found.room, found.room.received()
    masked = sum(one.sent.shape[1] for one in received)
    p = uniformity(received)
    return Chapter(
        title="Four clinics, one regression, and no row leaves its clinic",
        facts=[
            counted(len(room.members), "clinic"),
            counted(results.data["rows"], "tumour"),
            "logistic regression",
            counted(results.totals, "secure sum"),
        ],
        summary=[
            f"Four clinics with {results.data['rows']} tumours in four tables fit one logistic regression by "
            f"{results.totals} secure sums of {results.numbers} numbers in all. No coefficient differs from the fit of "
            f"the pooled rows by more than {plain(found.farthest)} of it. A semi-honest clinic saw {masked} masked "
            "numbers, the sums, and its own rows (Theorem T).",
        ],
        cards=[
            AnswerCard(
                "Is it the fit of the pooled rows?",
                f"yes, to {plain(found.farthest)} of a coefficient",
                "holds" if found.farthest < 1e-9 else "exposed",
                [
                    "Sums are exact in fixed point. No step, no number of rounds and no noise had to be chosen."
                ],
            ),
            AnswerCard(
                "What did a semi-honest clinic see?",
                f"{masked} {'uniformly random numbers' if p > UNIFORM else 'numbers that are not uniform'}",
                "holds" if p > UNIFORM else "exposed",
                [
                    f"{room.listener} adds up what the others send, so it receives every number of the other three, "
                    f"masked: {16 * masked:,} bytes. Are all 256 values of a byte alike? χ² says p = {p:.2f}."
                ],
            ),
            AnswerCard(
                "What can it not learn?",
                "anything of the others but their sum",
                "holds",
                [
                    "Theorem T: given the sum over the other three, its beliefs about one clinic are the same before "
                    "and after. Waiting does not help: every secure sum has fresh masks."
                ],
            ),
        ],
        sections=[_fit(found), _saw(room, received), _cannot(found)],
    )


def _fit(found: Clinics) -> PageSection:
    results, fit = found.results, found.results.findings.fit
    drawing = None if fit is None else forest(fit, labels(results.study, fit.names))
    caption = "How the odds that a tumour is malignant change with each measure, with 95% intervals."
    return PageSection(
        title="The same fit",
        tables=[found.table],
        notes=[
            "By secure sums: from four tables that stay where they are. Pooled: Newton's method on all rows in one "
            "place. The data come with scikit-learn (breast cancer, Wisconsin), dealt to the clinics 4 to 3 to 2 to 1."
        ],
        figures=[] if drawing is None else [Figure.of(drawing, caption)],
    )


def _saw(room: MaskedRoom, received: Sequence[Contribution]) -> PageSection:
    shown = next(one for one in received if one.total == 2)
    caption = (
        f"Left, the {shown.own.shape[1]} numbers that {shown.sender} gave in the second sum, bit by bit: score and "
        f"curvature of its tumours. Right, the numbers that {room.listener} received in their place."
    )
    return PageSection(
        title="What one semi-honest clinic saw",
        words=[
            "In every secure sum each clinic writes its numbers as integers of 128 bits and adds a mask for each other "
            "clinic. The two derive the mask from a key that only they have; one adds it, the other subtracts it, so "
            "that all masks cancel in the sum. Below is one number of the first sum, how many tumours a clinic has, "
            "as it was sent."
        ],
        tables=[one_number(room, SHOWN)],
        notes=[
            "The first column is known at each clinic only; this page has it since the demonstration plays all four. "
            f"“Fits as well” are other numbers with the same sum, under which {room.listener} would have received the "
            "same messages with the same probability: masks that make it so exist for any numbers with this sum."
        ],
        figures=[Figure.of(masked_and_bare(shown), caption)],
    )


def _cannot(found: Clinics) -> PageSection:
    return PageSection(
        title="What it cannot learn, and by which theorem",
        words=[
            THEOREM,
            "The masks here come from ChaCha20, as over links: uniform for all who cannot break it. "
            f"{ALL_BUT_ONE} And the fit itself tells what any fit of these rows would tell.",
        ],
        tables=[coalitions(found.room)],
        details=[released_table(found.results)],
    )


def uniformity(contributions: Sequence[Contribution]) -> float:
    """The chance that uniform bytes differ as much from equal counts as these do (a χ² test)."""
    sent = np.concatenate([np.packbits(bits_of(one.sent)) for one in contributions])
    expected = len(sent) / 256
    return float(chdtrc(255, ((np.bincount(sent, minlength=256) - expected) ** 2 / expected).sum()))


def one_number(room: MaskedRoom, name: str) -> Table:
    """One number of the first sum: everybody's own, the messages sent, and other numbers that fit them as well."""
    first = [one for one in room.contributions if one.total == 1]
    place = next(place for place, title in enumerate(first[0].names) if title.endswith(name))
    point = FixedPoint(first[0].bits)
    sent = [one.sent[:, [place]] for one in first]
    whole = reduce(add, sent)
    others = [one.values[place] for one in first if one.sender != room.listener]
    turned = iter([*others[1:], others[0]])  # the same numbers, each at another clinic
    rows = [
        (
            one.sender,
            f"{one.values[place]:.0f}",
            "its own" if one.sender == room.listener else f"{next(turned):.0f}",
            hexadecimal(message),
            number(float(point.decode(message)[0])).replace("-", "−", 1),
        )
        for one, message in zip(first, sent, strict=True)
    ]
    total = f"{sum(one.values[place] for one in first):.0f}"
    last = ("sum of the messages", total, total, hexadecimal(whole), f"{point.decode(whole)[0]:.0f}")
    head = ("", "tumours", "fits as well", "the message sent", "read as a number")
    caption = "How many tumours each clinic has"
    return Table(head, (*rows, last), caption, numeric=frozenset({1, 2, 3, 4}), literal=frozenset({3}))


def hexadecimal(message: Words) -> str:
    """A number of 128 bits in four groups of eight digits."""
    digits = f"{int(message[1, 0]) << 64 | int(message[0, 0]):032x}"
    return " ".join(digits[at : at + 8] for at in range(0, 32, 8))


def coalitions(room: MaskedRoom) -> Table:
    """What is known to one semi-honest clinic, and to more of them together, by the parts that stay connected."""
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
    return Table(("colluding clinics", "what they know of the others"), tuple(rows), "Who could learn what")
