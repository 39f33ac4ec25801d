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

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from hocket.errors import BadInput
from hocket.learning.models import Layer, Model
from reproductions.attacks.knowledge import Public, Seen

ROUNDING = 1e-6
"""Messages are in single precision: noise that a gradient has in any case, relative to its size."""
TURNS = 2
"""How often errors and inputs are computed from each other where errors depend on inputs."""
STEPS = 40
SETTLED = 1e-9
ENTRIES = 4_000_000
"""Of the largest table of derivatives: rounds are left out beyond that."""
SWEEPS = 3
"""How often each label of a batch is tried anew."""


@dataclass(frozen=True, eq=False)
class Series:
    """Gradients as sums over a batch, split into weights and offsets, in units of their noise."""

    weights: Float[np.ndarray, "rounds features classes"]
    """Where the gradients were taken."""
    offsets: Float[np.ndarray, "rounds classes"]
    by_weight: Float[np.ndarray, "rounds features classes"]
    by_offset: Float[np.ndarray, "rounds classes"]
    sd: Float[np.ndarray, " rounds"]
    differences: bool
    """Whether only differences between rounds are free of noise that is always the same."""
    rounding: float
    """Standard deviation of what rounding alone does."""

    @staticmethod
    def of(seen: Seen, model: Model, batch: int) -> Series:
        shape = _shape(model)
        gradients = batch * (seen.values - model.l2 * seen.at)
        cut = shape[0] * shape[1]
        differences = seen.offset_sd > 0 and len(gradients) > 1
        noise = seen.sd**2 + (0.0 if differences else seen.offset_sd**2)
        floor = ROUNDING * np.sqrt(np.mean(gradients**2))
        return Series(
            weights=seen.at[:, :cut].reshape(-1, *shape),
            offsets=seen.at[:, cut:],
            by_weight=gradients[:, :cut].reshape(-1, *shape),
            by_offset=gradients[:, cut:],
            sd=np.sqrt(batch**2 * noise + floor**2),
            differences=differences,
            rounding=floor,
        )

    @property
    def classes(self) -> int:
        return self.offsets.shape[1]

    @property
    def clear(self) -> bool:
        """Whether rounding is all the noise there is."""
        return bool(self.sd.max() <= 10 * self.rounding)

    def thinned(self, most: int) -> Series:
        """At most so many rounds, evenly spaced."""
        kept = np.unique(np.linspace(0, len(self.sd) - 1, most).astype(int))
        rows = {
            name: getattr(self, name)[kept] for name in ("weights", "offsets", "by_weight", "by_offset", "sd")
        }
        return replace(self, **rows)

    def whitened(self, rows: Float[np.ndarray, "rounds ..."]) -> Float[np.ndarray, "rounds ..."]:
        """Rows with noise of unit size, and without what all of them share if that is hidden."""
        shape = (-1,) + (1,) * (rows.ndim - 1)
        weight = (1 / self.sd**2).reshape(shape)
        if self.differences:
            rows = rows - (weight * rows).sum(axis=0) / weight.sum()
        return rows / self.sd.reshape(shape)

    def errors(
        self, inputs: Float[np.ndarray, "rows features"], labels: Int[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "rounds rows classes"]:
        """p(z) − 1_y in every round."""
        return self.probabilities(inputs) - np.eye(self.classes)[labels]

    def probabilities(
        self, inputs: Float[np.ndarray, "rows features"]
    ) -> Float[np.ndarray, "rounds rows classes"]:
        """p(z): what the model of every round made of inputs."""
        scores = inputs @ self.weights + self.offsets[:, None]
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        return scores / scores.sum(axis=2, keepdims=True)


def _shape(model: Model) -> tuple[int, int]:
    if not isinstance(model.parameters, Layer):
        raise BadInput(
            f"gradients of {model.name} have no closed-form inverse here; this attack is for logistic_regression"
        )
    features, classes = np.shape(model.parameters.weight)
    return features, classes


@dataclass(frozen=True, eq=False)
class Fit:
    """Inputs, one for each label in a batch, and how likely the gradients are with them."""

    inputs: Float[np.ndarray, "rows features"]
    labels: Int[np.ndarray, " rows"]
    counts: Int[np.ndarray, " rows"]
    evidence: float


def fitted(series: Series, batch: Int[np.ndarray, " batch"], public: Public) -> Fit:
    """The likeliest inputs if these were the labels of the batch: linear least squares, for errors as known so far.
    Exact where errors do not depend on inputs (weights of zero) or are told (a batch of one, without noise).
    """
    labels, counts = np.unique(batch, return_counts=True)
    inputs = prior = public.means[labels]
    seen = series.whitened(series.by_weight)
    # Features along the axes of the public samples vary independently, and so does the noise: one small system each.
    turned = np.einsum("kfc,fa->akc", seen, public.axes).reshape(len(public.axes), -1)
    precision = counts[None] / public.variance[:, None]
    centre = (prior @ public.axes).T
    system = before = precision[:, :, None] * np.eye(len(labels))
    for _ in range(TURNS):
        design = _design(series, inputs, labels, counts)
        system = design @ design.T + before
        solved = np.linalg.solve(system, (turned @ design.T + precision * centre)[:, :, None])[:, :, 0]
        inputs = (public.axes @ solved).T
    volume = np.linalg.slogdet(system)[1].sum() - np.log(precision).sum()
    fit = Fit(inputs, labels, counts, 0.0)
    return replace(fit, evidence=-(_misfit(series, fit, public) + float(volume)) / 2)


def polished(series: Series, fit: Fit, public: Public) -> Fit:
    """The same with errors that follow the inputs: damped Gauss-Newton steps on all of it."""
    rows, features = fit.inputs.shape
    most = ENTRIES // (rows * (features + 1) * series.classes * features)
    series = series.thinned(max(2, min(most, len(series.sd))))
    precision = np.kron(np.diag(fit.counts), (public.axes / public.variance) @ public.axes.T)
    damping, now = 1e-3, _misfit(series, fit, public)
    for _ in range(STEPS):
        slope = _derivative(series, fit).reshape(-1, rows * features)
        curvature = slope.T @ slope + precision
        pull = slope.T @ _residual(series, fit).reshape(-1)
        pull -= precision @ (fit.inputs - public.means[fit.labels]).reshape(-1)
        while damping < 1e6:
            step = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), pull)
            tried = replace(fit, inputs=fit.inputs + step.reshape(rows, features))
            then = _misfit(series, tried, public)
            if then <= now:
                break
            damping *= 10
        else:
            return fit
        gained, fit, now, damping = now - then, tried, then, damping / 10
        if gained <= SETTLED * max(now, 1.0):
            return fit
    return fit


def _misfit(series: Series, fit: Fit, public: Public) -> float:
    """−2 log of the density of gradients and inputs, up to a constant."""
    apart = (fit.inputs - public.means[fit.labels]) @ public.axes
    surprise = np.sum(fit.counts[:, None] * apart**2 / public.variance)
    return float(np.sum(_residual(series, fit) ** 2) + surprise)


def _residual(series: Series, fit: Fit) -> Float[np.ndarray, "rounds features+1 classes"]:
    """What the gradients have that the fit does not explain, in units of their noise; offsets last."""
    errors = fit.counts[:, None] * series.errors(fit.inputs, fit.labels)
    gradients = np.concatenate([series.by_weight, series.by_offset[:, None]], axis=1)
    return series.whitened(gradients - np.einsum("rf,krc->kfc", _extended(fit), errors))


def _derivative(series: Series, fit: Fit) -> Float[np.ndarray, "rounds features+1 classes rows features"]:
    """Of the fit's gradients by its inputs, in units of the gradients' noise."""
    p = fit.counts[:, None] * series.probabilities(fit.inputs)
    share = p / fit.counts[:, None]
    # ∂p_c/∂z = p_c (W_c − Σ_b p_b W_b)
    mean = np.einsum("kfb,krb->krf", series.weights, share)
    moved = p[..., None] * (series.weights.swapaxes(1, 2)[:, None] - mean[:, :, None])
    table = np.einsum("rf,krcg->kfcrg", _extended(fit), moved)
    errors = fit.counts[:, None] * series.errors(fit.inputs, fit.labels)
    places = np.arange(fit.inputs.shape[1])
    table[:, places, :, :, places] += errors.swapaxes(1, 2)
    return series.whitened(table)


def _extended(fit: Fit) -> Float[np.ndarray, "rows features+1"]:
    """Inputs with the one that offsets multiply."""
    return np.concatenate([fit.inputs, np.ones((len(fit.inputs), 1))], axis=1)


def _design(
    series: Series,
    inputs: Float[np.ndarray, "rows features"],
    labels: Int[np.ndarray, " rows"],
    counts: Int[np.ndarray, " rows"],
) -> Float[np.ndarray, "rows columns"]:
    """What one unit of each row's input adds to every entry of one feature's gradients, whitened."""
    if counts.sum() == 1 and series.clear:
        errors = series.by_offset[:, None]  # a batch of one tells its errors itself
    else:
        errors = counts[:, None] * series.errors(inputs, labels)
    return series.whitened(errors).swapaxes(0, 1).reshape(len(labels), -1)


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
