"""What the attacks recover, algorithm by algorithm, measured on small trainings.

Five agents who all receive each other's messages; agent 0 is semi-honest and attacks the others. Everything it uses
it has: what was said to it, noise on its links, public samples, and samples of its own. Each algorithm has noise of a
stated size, the deviation of one coordinate in units of a gradient; the bounds that give it are closed forms on
regular networks with equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import Dgd, FunctionSharing, JointAverage, RssLb, RssNb
from hocket.claims import only_sums
from hocket.learning.accuracy import evaluate
from hocket.learning.baselines import DpSgd
from hocket.learning.canary import canary_bound
from hocket.learning.data import Dataset, Split
from hocket.learning.minibatches import gradient_rms
from hocket.learning.models import Model, logistic_regression, mlp
from hocket.learning.shards import Shards, own_shards
from hocket.learning.training import train
from hocket.networks.network import Network
from hocket.runs.run import Run
from reproductions.attacks.gradient_inversion import invert_gradients
from reproductions.attacks.knowledge import all_gradients, features, first_gradient, public_knowledge
from reproductions.attacks.membership import Rate, Separation, auc_rate, losses, membership_scores

Made = Callable[[float, int, int], Algorithm]
"""The algorithm for a standard deviation, a dimension and a degree."""
PLAIN, JOINT = "DGD", "joint average"
AGENTS, CURIOUS = 5, 0
OTHERS = tuple(range(1, AGENTS))
FEWER = 10
"""How many times fewer epochs DP-SGD trains for, since its noise grows with the number of steps; not tuned further."""
GUESS = "nothing heard"
FIRST, ALL = "first exchange", "all exchanges"
WORDS, AVERAGED, FINAL = "last message", "words averaged", "final model"
RECONSTRUCT, WHOSE, MEMBER, ADVANTAGE, ACCURACY, CANARY = (
    "relative error of a sample",
    "whose sample it is, AUC",
    "whether it was trained on, AUC",
    "the same, advantage",
    "accuracy",
    "ε at least, by a canary",
)
RELEASES = "noisy gradients"


def paired(sd: float, dim: int, degree: int) -> Algorithm:
    """2·degree uniform draws, each within Δ/(2·degree·√D)."""
    return RssNb(sd * math.sqrt(6 * degree * dim))


def balanced(sd: float, dim: int, degree: int) -> Algorithm:
    """γPu with P = I − 11ᵀ/degree: variance γ²(1 − 1/degree)/3, and ‖P‖_∞ = 2(1 − 1/degree)."""
    return RssLb(sd * 2 * math.sqrt(3 * (1 - 1 / degree) * dim))


def shared(sd: float, dim: int, degree: int) -> Algorithm:
    """Linear noise functions: 2·degree uniform draws within the bound, kept for the whole run."""
    return FunctionSharing(1, sd * math.sqrt(3 / (2 * degree)), family="linear")


HIDING: dict[str, Made] = {"RSS-NB": paired, "RSS-LB": balanced, "FS": shared}


def attacked(levels: tuple[float, ...]) -> dict[str, tuple[Made, float]]:
    """Everything that is attacked, by the name of its column, with its noise over the rms of a gradient."""
    plain: dict[str, tuple[Made, float]] = {
        PLAIN: (lambda *_: Dgd(), 0.0),
        JOINT: (lambda *_: JointAverage(), 0.0),
    }
    return plain | {
        f"{name}, noise {level:g}": (made, level) for name, made in HIDING.items() for level in levels
    }


@dataclass(frozen=True)
class Row:
    """One attack on one algorithm, over all seeds."""

    attack: str
    on: str
    method: str
    rate: Rate | None
    """None where the attack does not apply."""
    why: str = ""
    """Why it does not."""

    def data(self) -> dict[str, Any]:
        """The row for JSON or CSV."""
        found = {"does_not_apply": self.why} if self.rate is None else vars(self.rate)
        return {"attack": self.attack, "on": self.on, "method": self.method} | found


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    seeds: int = 5
    levels: tuple[float, ...] = (1.0, 10.0)
    """Noise over the rms of a gradient."""
    batches: tuple[int, ...] = (1, 4)
    """Of samples with different labels, that gradients are inverted for."""
    exchanges: int = 50
    samples: int = 20
    """Of each agent, in trainings that membership is inferred from: few, so that models overfit."""
    epochs: float = 300
    epsilon: float | None = 8.0
    """Of DP-SGD, to compare with; None to leave it out."""


def inversions(split: Split, effort: Effort) -> Iterator[Row]:
    """How closely samples are reconstructed from gradients."""
    network, public = Network.complete(AGENTS), public_knowledge(split.test)
    model = logistic_regression(public.means.shape[1], split.train.classes)
    for batch in effort.batches:
        guesses: list[float] = []
        for method, (made, level) in attacked(effort.levels).items():
            errors: dict[str, list[float]] = {FIRST: [], ALL: []}
            for seed in range(effort.seeds):
                shards = _different_labels(split.train, batch, seed)
                noise = level * gradient_rms(model, shards, local_steps=1, batch=batch, seed=seed)
                run = train(
                    model,
                    shards,
                    network,
                    made(noise, model.dim, AGENTS - 1),
                    test=split.test,
                    epochs=effort.exchanges,
                    local_steps=1,
                    batch=batch,
                    step=0.5,
                    keep="transcript",
                    seed=seed,
                    progress=False,
                )
                target = OTHERS[seed % len(OTHERS)]
                truth, labels = features(shards.parts[target]), shards.parts[target].labels
                view = run.view({CURIOUS})
                ways = {FIRST: first_gradient(view, target, model.start)}
                if batch == 1:
                    ways[ALL] = all_gradients(view, target)
                for way, seen in ways.items():
                    found = invert_gradients(seen, model, batch=batch, public=public)
                    errors[way].append(float(found.errors(truth, labels)[0].mean()))
                if method == PLAIN:
                    apart = np.linalg.norm(public.guess - truth, axis=1) / np.linalg.norm(truth, axis=1)
                    guesses.append(float(apart.mean()))
            for way, values in errors.items():
                if values:
                    yield Row(RECONSTRUCT, f"batch of {batch}, {way}", method, over_seeds(values))
        yield Row(RECONSTRUCT, f"batch of {batch}, {FIRST}", GUESS, over_seeds(guesses))


def memberships(split: Split, effort: Effort) -> Iterator[Row]:
    """How well models tell what they were trained on, and by whom."""
    network = Network.complete(AGENTS)
    model = mlp((int(np.prod(split.train.inputs.shape[1:])), 32, split.train.classes))
    batch = max(effort.samples // 2, 1)
    alike = partial(train, model, network=network, test=split.test, step=0.3, progress=False, every=10**6)
    trained = partial(alike, epochs=effort.epochs, local_steps=10, batch=batch)
    cast = [_Cast.of(split.train, effort.samples, seed) for seed in range(effort.seeds)]
    references = [trained(one.public, algorithm=Dgd(), seed=seed).mean for seed, one in enumerate(cast)]

    def played(start: Callable[[int, _Cast], Run], method: str) -> Iterator[Row]:
        found = [
            _Found.of(model, start(seed, one), one, references[seed], split.test)
            for seed, one in enumerate(cast)
        ]
        yield Row(WHOSE, WORDS, method, auc_rate([one.whose_last for one in found]))
        yield Row(WHOSE, AVERAGED, method, auc_rate([one.whose_averaged for one in found]))
        yield Row(MEMBER, WORDS, method, auc_rate([one.words for one in found]))
        yield Row(MEMBER, FINAL, method, auc_rate([[one.final] for one in found]))
        yield Row(ADVANTAGE, FINAL, method, over_seeds([one.advantage for one in found]))
        yield Row(ACCURACY, FINAL, method, over_seeds([one.accuracy for one in found]))

    for method, (made, level) in attacked(effort.levels).items():

        def learn(seed: int, one: _Cast, made: Any = made, level: float = level) -> Run:
            rms = gradient_rms(model, one.shards, local_steps=1, batch=batch, seed=seed)
            algorithm = made(level * rms, model.dim, AGENTS - 1)
            return trained(one.shards, algorithm=algorithm, keep="transcript", seed=seed)

        yield from played(learn, method)
    if effort.epsilon is not None:
        privately = partial(trained, epochs=effort.epochs / FEWER, private=DpSgd(effort.epsilon))

        def learn_privately(seed: int, one: _Cast) -> Run:
            return privately(one.shards, algorithm=Dgd(), keep="transcript", seed=seed)

        name = private_name(effort.epsilon)
        yield from played(learn_privately, name)
        # One step on whole shards: nothing is amplified, so that the account is nearly tight.
        whole: dict[str, Any] = {"samples": 4, "batch": 4, "steps": 1}
        bounds = [canary_bound(DpSgd(effort.epsilon), seed=seed, **whole) for seed in range(effort.seeds)]
        yield Row(CANARY, RELEASES, name, over_seeds([one.epsilon for one in bounds]))


@dataclass(frozen=True, eq=False)
class _Cast:
    """Disjoint samples: what agents train on, what references train on, and what nobody does."""

    shards: Shards
    public: Shards
    known: Dataset
    """Samples that the attacker knows were not trained on."""
    others: Dataset

    @staticmethod
    def of(data: Dataset, each: int, seed: int) -> _Cast:
        order, all_of = np.random.default_rng(seed).permutation(len(data)), AGENTS * each

        def cut(first: int) -> Shards:
            return own_shards([data.take(order[first + j * each :][:each]) for j in range(AGENTS)])

        rest = order[2 * all_of :]
        return _Cast(cut(0), cut(all_of), data.take(rest[:all_of]), data.take(rest[all_of : 5 * all_of]))


@dataclass(frozen=True, eq=False)
class _Found:
    """What came of one training."""

    whose_last: list[Separation]
    whose_averaged: list[Separation]
    words: list[Separation]
    final: Separation
    advantage: float
    accuracy: float

    @staticmethod
    def of(model: Model, run: Run, cast: _Cast, reference: np.ndarray, test: Dataset) -> _Found:
        view, parts, mean = run.view({CURIOUS}), cast.shards.parts, run.mean
        shown = len(parts) if only_sums(view.algorithm) else 1  # of a total, the average is the model
        said = {link: words / shown for link, words in view.words[0].items()}

        def scores(x: np.ndarray, data: Dataset) -> np.ndarray:
            return membership_scores(model, x, data, references=[reference])

        def whose(j: int, x: np.ndarray) -> Separation:
            better = [losses(model, mean, part) - losses(model, x, part) for part in parts]
            return Separation(better[j], np.concatenate([better[i] for i in OTHERS if i != j]))

        last = {j: said[j, CURIOUS][-1] for j in OTHERS}
        # Late in a training models hardly move any more, and fresh noise in words averages out.
        averaged = {j: said[j, CURIOUS][run.rounds // 2 :].mean(axis=0) for j in OTHERS}
        calibrated = Separation(scores(mean, parts[CURIOUS]), scores(mean, cast.known)).threshold
        final = Separation(
            np.concatenate([scores(mean, parts[j]) for j in OTHERS]), scores(mean, cast.others)
        )
        return _Found(
            whose_last=[whose(j, x) for j, x in last.items()],
            whose_averaged=[whose(j, x) for j, x in averaged.items()],
            words=[Separation(scores(x, parts[j]), scores(x, cast.others)) for j, x in last.items()],
            final=final,
            advantage=final.advantage(calibrated),
            accuracy=float(evaluate(model, mean, test)),
        )


def _different_labels(data: Dataset, batch: int, seed: int) -> Shards:
    """A batch for each agent, without two samples of one label in it."""
    rng, parts = np.random.default_rng(seed), []
    taken: set[int] = set()
    for _ in range(AGENTS):
        labels = rng.permutation(data.classes)[:batch]
        rows = [
            int(rng.choice([row for row in np.flatnonzero(data.labels == label) if int(row) not in taken]))
            for label in labels
        ]
        taken.update(rows)
        parts.append(data.take(np.array(rows)))
    return own_shards(parts)


def private_name(epsilon: float) -> str:
    """The column of DP-SGD."""
    return f"DP-SGD, ε = {epsilon:g}"


def over_seeds(values: list[float]) -> Rate:
    """A number per seed."""
    return Rate.of(np.array(values), values)
