"""How well a model tells yes from no on rows that it was not fitted to, from joint counts of binned predictions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import xlogy

from hocket.algorithm import Total
from hocket.errors import NotEstimable
from hocket.studies.study import EvaluateSection
from hocket.studies.together import Analysis

GROUPS = 10
"""Points of the calibration curve, with about as many rows each."""


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
    """False and true positive rates, from 0, 0 to 1, 1."""
    calibration: tuple[tuple[float, float, int], ...]
    """Mean prediction, share of yes, rows."""
    threshold: float
    confusion: dict[str, int]

    @property
    def accuracy(self) -> float:
        """Rows told right at the threshold."""
        right = self.confusion["true positive"] + self.confusion["true negative"]
        return right / self.rows


def held_out(fingerprint: str, rows: int, share: float) -> Bool[np.ndarray, " rows"]:
    """Which of a member's rows are held out: as the study's fingerprint has it, so the same ones in every run."""
    seed = int.from_bytes(hashlib.sha256(f"held out of {fingerprint}".encode()).digest()[:16], "big")
    return np.random.default_rng(seed).random(rows) < share


def evaluate(
    y: Float[np.ndarray, " rows"], predicted: Float[np.ndarray, " rows"], part: EvaluateSection, smallest: int
) -> Analysis[Evaluation]:
    """Counts of one member's held-out rows, and one total."""
    place = np.minimum((predicted * part.bins).astype(int), part.bins - 1)
    binned = np.zeros((3, part.bins))
    np.add.at(binned[0], place, y)
    np.add.at(binned[1], place, 1 - y)
    np.add.at(binned[2], place, predicted)
    yes = predicted >= part.threshold
    table = np.array([[(yes * y).sum(), (yes * (1 - y)).sum()], [(~yes * y).sum(), (~yes * (1 - y)).sum()]])
    losses = np.array(
        [((predicted - y) ** 2).sum(), -(xlogy(y, predicted) + xlogy(1 - y, 1 - predicted)).sum()]
    )
    total = yield Total({"bins": binned, "confusion": table.astype(np.float64), "losses": losses})
    positive, negative, scores = total["bins"]
    P, N = float(positive.sum()), float(negative.sum())
    if min(P, N) < smallest:
        raise NotEstimable(
            f"held-out rows have fewer than {smallest} with or without the outcome; hold out more rows"
        )
    true, false = np.cumsum(positive[::-1]) / P, np.cumsum(negative[::-1]) / N
    roc = [(0.0, 0.0), *((float(f), float(t)) for f, t in zip(false, true, strict=True))]
    auc = sum((f2 - f1) * (t1 + t2) / 2 for (f1, t1), (f2, t2) in pairwise(roc))
    confusion = [round(float(cell)) for cell in total["confusion"].ravel()]
    names = ("true positive", "false positive", "false negative", "true negative")
    return Evaluation(
        round(P + N),
        float(auc),
        float(positive @ negative) / (2 * P * N),
        float(total["losses"][0]) / (P + N),
        float(total["losses"][1]) / (P + N),
        tuple(dict.fromkeys(roc)),
        tuple(_calibrated(positive, negative, scores, smallest)),
        part.threshold,
        dict(zip(names, confusion, strict=True)),
    )


def _calibrated(
    positive: np.ndarray, negative: np.ndarray, scores: np.ndarray, smallest: int
) -> list[tuple[float, float, int]]:
    """Bins joined until each group has its share of rows, and no fewer than may be shown."""
    least = max(smallest, float((positive + negative).sum()) / GROUPS)
    groups, now = list[np.ndarray](), np.zeros(3)
    for one in np.stack([positive, positive + negative, scores], axis=1):
        now = now + one
        if now[1] >= least:
            groups.append(now)
            now = np.zeros(3)
    if groups:
        groups[-1] = groups[-1] + now
    return [(float(s / n), float(p / n), round(float(n))) for p, n, s in groups]
