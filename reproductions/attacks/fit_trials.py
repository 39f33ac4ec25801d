"""What samples fitted to all that was said come to, algorithm by algorithm, beside what an audit prints.

A model of ten parameters on samples of four numbers, one to each agent: few enough that everything is fitted in a
second, and enough to see who is hidden. More numbers take longer, and are hidden no better by noise that cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd
from hocket.claims import only_sums
from hocket.learning.data import Dataset, Split
from hocket.learning.minibatches import gradient_rms
from hocket.learning.models import logistic_regression
from hocket.learning.shards import Shards, own_shards
from hocket.learning.training import train
from hocket.networks.network import Network
from hocket.privacy import audit
from hocket.privacy.attacks import ModelFit
from hocket.privacy.attacks.system import Key
from hocket.privacy.profile import profile
from hocket.runs.run import Run
from reproductions.attacks.knowledge import features
from reproductions.attacks.sample_fits import (
    does_not_apply,
    fit_by_all,
    fit_by_sums,
    fit_replaced,
    fit_together,
    sample_error,
)
from reproductions.attacks.total_fits import error_of_samples, fit_sums
from reproductions.attacks.trials import (
    AGENTS,
    CURIOUS,
    OTHERS,
    RECONSTRUCT,
    Effort,
    Made,
    Row,
    attacked,
    over_seeds,
    private_name,
)

FEATURES, CLASSES = 4, 2
MODEL = logistic_regression(FEATURES, CLASSES)
DIM = MODEL.dim
NETWORK = Network.complete(AGENTS)
EXCHANGES, STEP = 12, 0.5
ANOTHER = 1000
"""Seeds apart: fresh noise of a second run is not that of the first."""
SEVERAL = 5
"""Local steps, where there are several."""
SUMS, WHOLE, STEPS, SMALL, REPLACED, AFTER_DGD = (
    "four numbers, the sum attack",
    "four numbers, the model attack",
    f"the same, {SEVERAL} local steps",
    "the same, small batches",
    "four numbers, replaced under kept noise",
    "four numbers, after a run of DGD",
)
PRINTED = "a gradient known to, as the audit prints"
FOUND = "the same, found by the model attack"
AT_THE_END = "four numbers"


def coarse(data: Dataset) -> Dataset:
    """Samples of the first two labels, each as the means over the four quarters of its numbers."""
    kept = data.labels < CLASSES
    quarters = np.array_split(features(data)[kept], FEATURES, axis=1)
    means = np.stack([one.mean(axis=1) for one in quarters], axis=1).astype(np.float32)
    return Dataset(f"{data.name} in four numbers", means, data.labels[kept], CLASSES)


def fits(split: Split, effort: Effort) -> Iterator[Row]:
    """How closely samples are fitted to trainings on whole shards, and where that does not apply."""
    small = Split(coarse(split.train), coarse(split.test))
    for method, (made, level) in attacked(effort.levels).items():
        algorithm = made(level or 1.0, DIM, AGENTS - 1)
        why = does_not_apply(algorithm, whole=True)
        trials = [_Trial(small, made, level, seed) for seed in range(effort.seeds)]
        for on, measured in ATTACKS.items():
            if why and on not in (AFTER_DGD, *([SUMS] if only_sums(algorithm) else [])):
                yield Row(RECONSTRUCT, on, method, None, why)
                continue
            yield Row(RECONSTRUCT, on, method, over_seeds([measured(trial) for trial in trials]))
        yield Row(RECONSTRUCT, SMALL, method, None, does_not_apply(algorithm, whole=False))
        if not only_sums(algorithm):  # where nothing but sums is known, the audit prints a theorem
            yield Row(PRINTED, AT_THE_END, method, over_seeds([trial.printed for trial in trials]))
        if not why:
            yield Row(FOUND, AT_THE_END, method, over_seeds([trial.found for trial in trials]))
    if effort.epsilon is not None:
        why = does_not_apply(Dgd(), whole=True, clipped=True)
        for on in (SUMS, WHOLE, STEPS, REPLACED, SMALL):
            yield Row(RECONSTRUCT, on, private_name(effort.epsilon), None, why)


@dataclass(frozen=True, eq=False)
class _Trial:
    """One draw of samples, trained on under one algorithm."""

    data: Split
    made: Made
    level: float
    seed: int

    @property
    def target(self) -> int:
        return OTHERS[self.seed % len(OTHERS)]

    @cached_property
    def shards(self) -> Shards:
        """A sample for each agent."""
        return self._drawn[0]

    @cached_property
    def later(self) -> Shards:
        """The same, but for the target's."""
        return self._drawn[1]

    @cached_property
    def _drawn(self) -> tuple[Shards, Shards]:
        rows = np.random.default_rng(self.seed).permutation(len(self.data.train))[: AGENTS + 1]
        parts = [self.data.train.take(rows[j : j + 1]) for j in range(AGENTS + 1)]
        changed = [parts[AGENTS] if j == self.target else parts[j] for j in range(AGENTS)]
        return own_shards(parts[:AGENTS]), own_shards(changed)

    @cached_property
    def algorithm(self) -> Algorithm:
        size = gradient_rms(MODEL, self.shards, local_steps=1, batch=1, seed=self.seed)
        return self.made(self.level * size, DIM, AGENTS - 1)

    @cached_property
    def run(self) -> Run:
        return self.trained(self.shards)

    def trained(self, shards: Shards, *, steps: int = 1, plain: bool = False, again: int = 0) -> Run:
        """A training; the same seed `again` keeps noise functions, and other noise is drawn anew."""
        return train(
            MODEL,
            shards,
            NETWORK,
            Dgd() if plain else self.algorithm,
            test=self.data.test,
            epochs=EXCHANGES * steps,
            local_steps=steps,
            batch=1,
            step=STEP / steps,
            keep="transcript",
            seed=self.seed if profile(self.algorithm).persistent else self.seed + again,
            progress=False,
        )

    def error(self, fit: ModelFit, key: Key | None = None) -> float:
        """Of one key's sample, or on average over everybody's."""
        if key is not None:
            return sample_error(fit, key, self.later.parts[self.target])
        return float(np.mean([sample_error(fit, j, self.shards.parts[j]) for j in OTHERS]))

    def by_sums(self) -> float:
        if only_sums(self.algorithm):
            return error_of_samples(fit_sums(self.run, {CURIOUS}), self.shards)
        return self.error(fit_by_sums(self.run, {CURIOUS}))

    def by_all(self) -> float:
        return self.error(self.fit)

    @cached_property
    def fit(self) -> ModelFit:
        return fit_by_all(self.run, {CURIOUS})

    def by_steps(self) -> float:
        return self.error(fit_by_all(self.trained(self.shards, steps=SEVERAL), {CURIOUS}))

    def replaced(self) -> float:
        after = self.trained(self.later, again=ANOTHER)
        fit = fit_replaced(self.run, after, self.target, {CURIOUS})
        return self.error(fit, ("after", self.target))

    def after_dgd(self) -> float:
        plain = self.trained(self.shards, plain=True)
        runs = [plain] if only_sums(self.algorithm) else [plain, self.run]
        return self.error(fit_together(runs, {CURIOUS}))

    @property
    def printed(self) -> float:
        """How well the audit of the run says that a gradient is known, as a part of its size."""
        found = audit(NETWORK, coalition={CURIOUS}, run=self.run).findings[0]
        return float(np.mean(found.leakage.sd[list(OTHERS)])) / found.gradient_size

    @property
    def found(self) -> float:
        """How far off the fitted gradients are where the run ended, as a part of their size."""
        assert self.run.problem is not None
        off, size = [], []
        for j in OTHERS:
            attack = self.fit.attack(j)
            assert attack.estimate is not None
            assert attack.at is not None
            truth = np.asarray(self.run.problem.gradient(j, attack.at[-1]))
            off.append(np.mean((attack.estimate[-1] - truth) ** 2))
            size.append(np.mean(truth**2))
        return float(np.sqrt(np.mean(off) / np.mean(size)))


ATTACKS: dict[str, Callable[[_Trial], float]] = {
    SUMS: _Trial.by_sums,
    WHOLE: _Trial.by_all,
    STEPS: _Trial.by_steps,
    REPLACED: _Trial.replaced,
    AFTER_DGD: _Trial.after_dgd,
}
