"""How well a model tells yes from no on rows that it was not fitted to, from joint counts of binned predictions.

Counts come first: the confusion table, then how many rows of either kind are in each bin, of which there are no more
than leave as many rows to each as a cell may show, on average. A sum of predictions is asked for only of bins that were
joined until they hold enough, since that of a single row would show its columns. What is shown of ROC and calibration
is of joined bins too; members' own programs see the counts of single ones.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import xlogy

from hocket.algorithm import SecureSum
from hocket.errors import NotEstimable
from hocket.studies.disclosure.rules import suppressed
from hocket.studies.spec.study import DisclosureSection, EvaluateSection
from hocket.studies.together import Analysis

GROUPS = 10
"""Points of the calibration curve, with about as many rows each."""
LEAST_WITHIN = 1e-4
"""To which digit the area is given at most."""
CERTAIN = 2.0**-53
"""How near to 0 or 1 a prediction counts: nearer ones are rounding."""


@dataclass(frozen=True)
class Evaluation:
    """What predictions are worth on held-out rows."""

    rows: int
    auc: float
    auc_within: float
    """How far the AUC of unbinned predictions may be from it, at most."""
    brier: float
    log_loss: float
    roc: tuple[tuple[float, float], ...]
    """False and true positive rates, from 0, 0 to 1, 1; between two points no outcome has a few rows."""
    calibration: tuple[tuple[float, float, int], ...]
    """Mean prediction, share of yes, rows."""
    threshold: float
    confusion: dict[str, int | None]
    """None where too few to be shown, or where one would tell such a count."""
    accuracy: float | None
    """The share of rows told right at the threshold; None where a few are told wrong, or right."""


def held_out(fingerprint: str, rows: int, share: float) -> Bool[np.ndarray, " rows"]:
    """Which of a member's rows are held out: as the study's fingerprint has it, so the same ones in every run."""
    seed = int.from_bytes(hashlib.sha256(f"held out of {fingerprint}".encode()).digest()[:16], "big")
    return np.random.default_rng(seed).random(rows) < share


def evaluate(
    y: Float[np.ndarray, " rows"], predicted: Float[np.ndarray, " rows"], part: EvaluateSection, smallest: int
) -> Analysis[Evaluation]:
    """Counts of one member's held-out rows, and then sums over enough of them."""
    yes = predicted >= part.threshold
    table = np.array([[(yes * y).sum(), (yes * (1 - y)).sum()], [(~yes * y).sum(), (~yes * (1 - y)).sum()]])
    first = yield SecureSum({"confusion": table.astype(np.float64)})
    told: Float[np.ndarray, "2 2"] = first["confusion"]
    P, N = map(float, told.sum(axis=0))
    if min(P, N) < smallest:
        raise NotEstimable(
            f"held-out rows have fewer than {smallest} with or without the outcome; hold out more rows"
        )
    bins = min(part.bins, max(1, int((P + N) / smallest)))
    edges = np.unique([*np.linspace(0, 1, bins + 1)[1:-1], part.threshold])  # the threshold is one of them
    place = np.searchsorted(edges, predicted, side="right")
    binned = np.zeros((len(edges) + 1, 2))
    np.add.at(binned, place, np.stack([y, 1 - y], axis=1))
    second = yield SecureSum({"bins": binned})
    counts: Float[np.ndarray, "bins 2"] = second["bins"]
    cells = suppressed(told, DisclosureSection(smallest_cell=smallest))
    # Where the table is shown no group lies across the threshold: the difference would be about the rest of it.
    parts = [range(len(counts))]
    if all(cell is not None for row in cells for cell in row):
        cut = int(np.searchsorted(edges, part.threshold)) + 1
        parts = [range(cut), range(cut, len(counts))]
    groups = [one for some in parts for one in joined(counts, some, smallest)]
    points = _coarser(groups, counts, max(smallest, (P + N) / GROUPS))
    sure = np.clip(predicted, CERTAIN, 1 - CERTAIN)
    losses = np.array([((predicted - y) ** 2).sum(), -(xlogy(y, sure) + xlogy(1 - y, 1 - sure)).sum()])
    own = np.array([predicted[(place >= one.start) & (place < one.stop)].sum() for one in points])
    third = yield SecureSum({"predictions": own, "losses": losses})
    sums = np.array([counts[one.start : one.stop].sum(axis=0) for one in points])
    wrong = float(told[0, 1] + told[1, 0])
    names = ("true positive", "false positive", "false negative", "true negative")
    positive, negative = counts.T
    area = sum((f2 - f1) * (t1 + t2) / 2 for (f1, t1), (f2, t2) in pairwise(_curve(counts)))
    return Evaluation(
        round(P + N),
        *_rounded(area, float(positive @ negative) / (2 * P * N)),
        float(third["losses"][0]) / (P + N),
        float(third["losses"][1]) / (P + N),
        tuple(_curve(np.array([counts[one.start : one.stop].sum(axis=0) for one in groups]))),
        tuple(
            (float(s / n.sum()), float(n[0] / n.sum()), round(float(n.sum())))
            for s, n in zip(third["predictions"], sums, strict=True)
        ),
        part.threshold,
        dict(zip(names, (cell for row in cells for cell in row), strict=True)),
        None if 0 < min(wrong, P + N - wrong) < smallest else 1 - wrong / (P + N),
    )


def _rounded(area: float, within: float) -> tuple[float, float]:
    """An area and how far it may be off, to the first digit of the latter: all digits of both would tell, by how many
    pairs of rows they are made of, how single bins share out what joined ones show."""
    digits = -math.floor(math.log10(max(within, LEAST_WITHIN)))
    unit = 10.0**-digits
    return round(area, digits), round(math.ceil((within + unit / 2) / unit) * unit, digits)


def joined(counts: Float[np.ndarray, "bins 2"], among: range, smallest: int) -> list[range]:
    """Neighbouring bins put together until each outcome has no row in them, or enough; empty ones go along."""

    def enough(some: range) -> bool:
        held = counts[some.start : some.stop].sum(axis=0)
        return bool(held.any() and ((held == 0) | (held >= smallest)).all())

    found, first = list[range](), among.start
    for last in range(among.start + 1, among.stop + 1):
        if enough(range(first, last)):
            found.append(range(first, last))
            first = last
    while first < among.stop and found:  # what is left goes to the one before
        one = found.pop()
        if enough(range(one.start, among.stop)) or not found:
            found.append(range(one.start, among.stop))
            break
    return found or [among]


def _coarser(groups: Sequence[range], counts: Float[np.ndarray, "bins 2"], least: float) -> list[range]:
    """Groups joined until each has so many rows."""
    found, now = list[range](), list[range]()
    for one in groups:
        now.append(one)
        if counts[now[0].start : one.stop].sum() >= least:
            found.append(range(now[0].start, one.stop))
            now = []
    if now and found:
        found[-1] = range(found[-1].start, now[-1].stop)
    return found or [range(groups[0].start, groups[-1].stop)]


def _curve(counts: Float[np.ndarray, "bins 2"]) -> dict[tuple[float, float], None]:
    """Points of the ROC, from the highest predictions on, each once."""
    rising = np.concatenate([np.zeros((1, 2)), np.cumsum(counts[::-1], axis=0)])
    return dict.fromkeys((float(f), float(t)) for t, f in rising / rising[-1])
