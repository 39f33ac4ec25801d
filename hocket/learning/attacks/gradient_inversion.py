"""Gradient inversion: the samples of a small batch, from the gradient of multinomial logistic regression.

A sample (z, y) adds z eᵀ to the gradient of the weights and e to that of the offsets, where e = p(z) − 1_y holds its
errors, one per label. Without noise this is exact, in closed form:

- A batch of one, in any exchange: any column of the weights' gradient over the same entry of the offsets' is z.
- Larger batches, where all weights are zero, as at the start: e depends on the label alone. The offsets' gradient
  counts the labels, and the weights' gives the sum of the inputs of every label that occurs, as long as one label does
  not. So every sample is exact whose label no other sample of its batch has; of others, the mean.
- Elsewhere the inputs' span is exact for batches smaller than the number of labels, and the samples are fitted to it.

Noise in the gradient is weighed against what is publicly known of samples: the estimate is the mean of what is then
believed. Over several exchanges on the same batch fresh noise averages out, and noise that is the same in all of them,
an offset, drops out of the differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from hocket.learning.attacks.fitting import Fit, fitted, polished
from hocket.learning.attacks.public import Public
from hocket.learning.attacks.seen import Seen
from hocket.learning.attacks.series import Series
from hocket.learning.models import Model

SWEEPS = 3
"""How often each label of a batch is tried anew."""


@dataclass(frozen=True, eq=False)
class Inverted:
    """What was recovered of a batch: a row for every label in it."""

    inputs: Float[np.ndarray, "rows features"]
    """The sample with this label; their mean, where there are several."""
    labels: Int[np.ndarray, " rows"]
    counts: Int[np.ndarray, " rows"]
    """How many samples have the label."""

    def errors(
        self, inputs: Float[np.ndarray, "batch features"], labels: Int[np.ndarray, " batch"]
    ) -> tuple[Float[np.ndarray, " batch"], Float[np.ndarray, " batch"]]:
        """For every true sample: the relative error of what is recovered under its label, and the cosine between both.

        Where its label was missed, the row counts that comes closest.
        """
        found = []
        for truth, label in zip(inputs, labels, strict=True):
            rows = self.inputs[self.labels == label] if label in self.labels else self.inputs
            apart = np.linalg.norm(rows - truth, axis=1)
            best = rows[np.argmin(apart)]
            size = np.linalg.norm(truth)
            found.append((apart.min() / size, best @ truth / (size * max(np.linalg.norm(best), 1e-30))))
        error, cosine = np.array(found).T
        return error, cosine


def invert_gradients(seen: Seen, model: Model, *, batch: int, public: Public) -> Inverted:
    """The batch behind gradients of logistic regression, all of the same samples, each taken in one local step.
    Exact where nothing hides the gradient; see the module for when. `batch` is part of the public plan.
    """
    series = Series.of(seen, model, batch)
    if series.clear and not series.differences and not series.weights[0].any():
        series = series.thinned(1)  # the start alone tells all that can be told
    fit = _likeliest(series, batch, public)
    if series.weights.any() and not (series.clear and batch == 1):
        fit = polished(series, fit, public)
    return Inverted(fit.inputs, fit.labels, fit.counts)


def _likeliest(series: Series, batch: int, public: Public) -> Fit:
    """The best fit over all labels: one label after the other is tried anew, from what the offsets suggest."""
    labels = _counted_labels(series, batch)
    best = fitted(series, labels, public)
    for _ in range(SWEEPS):
        before = best.evidence
        for place in range(batch):
            for label in range(series.classes):
                tried = labels.copy()
                tried[place] = label
                fit = fitted(series, tried, public)
                if fit.evidence > best.evidence:
                    best, labels = fit, tried
        if best.evidence <= before:
            break
    return best


def _counted_labels(series: Series, batch: int) -> Int[np.ndarray, " batch"]:
    """Labels as the first offsets' gradient suggests them, if inputs hardly mattered: batch · p − counts."""
    scores = np.exp(series.offsets[0] - series.offsets[0].max())
    wanted = batch * scores / scores.sum() - series.by_offset[0]
    counts = np.zeros(series.classes, int)
    for _ in range(batch):
        counts[np.argmax(wanted - counts)] += 1
    return np.repeat(np.arange(series.classes), counts)
