"""`train`: one model, many agents, one network, one algorithm, one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from hocket.algorithm import Algorithm
from hocket.algorithms import PrivateDgd
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.prepare import Measured
from hocket.engines.solver import check_keep, play
from hocket.errors import BadAlgorithm, BadInput, Diverged
from hocket.learning.accuracy import Accuracy, judge
from hocket.learning.baselines import Clipping, DpSgd
from hocket.learning.batches import stacked_shards
from hocket.learning.clipping import Clip, PoissonBatches
from hocket.learning.data.dataset import Dataset
from hocket.learning.minibatches import Minibatches
from hocket.learning.models import Model, as_model
from hocket.learning.shards import Shards, own_shards
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.runs.job import Job, check_seed
from hocket.runs.run import Ending, Run
from hocket.runs.theorems import Claim
from hocket.steps import Conditions, Step, as_step

COUNTERS = 1 << 32
UNCOVERED = "no theorem: the paper's theorems are for exact gradients and an exchange after every step"


@dataclass(frozen=True)
class PerExchange(Step):
    """H times the step of one local step: how far one exchange's gradients carry together."""

    local: Step
    local_steps: int

    def _values(self, rounds: np.ndarray) -> np.ndarray:
        return self.local_steps * self.local._values(rounds)

    def exact(self, k: int) -> Fraction:
        return self.local_steps * self.local.exact(k)

    def conditions(self) -> Conditions:
        return self.local.conditions()


@dataclass(frozen=True)
class Timetable:
    """How long a training is, in every unit."""

    samples: int
    """Of all agents together."""
    agents: int
    batch: int
    local_steps: int
    epochs: float

    def __post_init__(self) -> None:
        for name in ("batch", "local_steps"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise BadInput(f"{name} = {value}; it must be a whole number of at least 1")
        if not self.epochs > 0 or not np.isfinite(self.epochs):
            raise BadInput(f"epochs = {self.epochs}; train for more than none, and for finitely many")
        if self.rounds * self.local_steps * self.batch >= COUNTERS:
            raise BadInput(
                f"epochs = {self.epochs}; each agent can draw at most 2^32 samples: train for fewer"
            )

    @property
    def passes(self) -> float:
        """Epochs in one exchange; an epoch is as many draws of all agents together as there are samples."""
        return self.agents * self.batch * self.local_steps / self.samples

    @property
    def rounds(self) -> int:
        """Exchanges in all epochs."""
        return self._exchanges(self.epochs)

    def marks(self, every: Any) -> Int[np.ndarray, " marks"]:
        """Exchanges after which every so many epochs are over: the first, the last and those in between."""
        if not isinstance(every, int | np.integer) or every < 1:
            raise BadInput(f"every = {every}; models are judged every 1, 2, … epochs")
        ends = [self._exchanges(epoch) for epoch in range(every, int(np.ceil(self.epochs)), every)]
        return np.unique([0, *ends, self.rounds])

    def epoch_of(self, k: int) -> int:
        """The epoch in which exchange k begins, counted from 1."""
        return int((k - 1) * self.passes) + 1

    def _exchanges(self, epochs: float) -> int:
        return max(1, int(np.ceil(epochs / self.passes - 1e-9)))  # rounding must not add an exchange


def train(
    model: Any,
    shards: Shards | Sequence[Dataset],
    network: Network | list[Network],
    algorithm: Algorithm,
    *,
    test: Dataset,
    epochs: float = 20,
    step: Step | float | Callable[[int], float] = 0.1,
    local_steps: int = 40,
    batch: int = 32,
    momentum: float = 0.0,
    feasible: FeasibleSet | None = None,
    private: DpSgd | None = None,
    clip: Clip | None = None,
    seed: int = 0,
    start: Any = None,
    every: int = 1,
    keep: Literal["metrics", "path", "transcript"] = "metrics",
    engine: Literal["simulator", "cluster"] = "simulator",
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> Run:
    """Train a model together: every agent on its own shard, speaking with its neighbours every `local_steps` steps.

    `step` is the size of one local step, by exchange; noise levels are per local step too. `feasible` keeps the
    parameters in a set, a `Ball` say; `private` trains with differential privacy, against those who do not know `seed`:
    subsets and noise follow from it, so draw it in secret and keep it. `clip` cuts gradients, for the algorithm's own
    noise to hide: see `Clip`. Every so many epochs (`every`) all agents' models and their mean are judged on `test`:
    see `epoch`, `accuracy`, `mean_accuracy` and `loss` in `run.history`. `checkpoint` names a folder in which the run
    keeps its state; the same call later goes on from there.
    With the engine "cluster" agents are spread over all devices of all processes. Runs of the same model object share
    one compilation.
    """
    check_seed(seed)
    model = as_model(model)
    shards = shards if isinstance(shards, Shards) else own_shards(shards)
    timetable = Timetable(sum(shards.counts), len(shards), batch, local_steps, epochs)
    _check(model, shards, test, algorithm, momentum)
    _check_clip(clip, private, timetable, momentum)
    if engine not in ("simulator", "cluster"):
        raise BadInput(f"engine = {engine!r}; choose 'simulator' or 'cluster'")
    check_keep(keep, engine, checkpoint)
    clipping = _clipping(private, shards, timetable)
    objective = Minibatches(
        model,
        threefry.seed_key(seed),
        local_steps,
        batch,
        float(momentum),
        clipping=clipping,
        clip=clip,
        poisson=_poisson(clip, shards, batch),
    )
    job = Job.asked(
        Problem(objective, stacked_shards(shards.parts), feasible=feasible or Everywhere(), dim=model.dim),
        network,
        algorithm,
        step=PerExchange(as_step(step), local_steps),
        rounds=timetable.rounds,
        seed=seed,
        start=model.start if start is None else start,
        dtype=np.float32,
    )
    folder = Path(checkpoint) if checkpoint is not None else None
    run = play(
        job,
        job.algorithm.effective(),
        Measured(averaging=False, judge=judge(model, test), gauge=Accuracy(np.asarray(timetable.passes))),
        engine=engine,
        keep=keep,
        checkpoint=Checkpoint(folder) if folder else None,
        progress=progress,
        marks=timetable.marks(every),
    )
    run = _described(run, shards, timetable, private, objective)
    if run.outcome.ending is Ending.DIVERGED:
        raise Diverged(str(run.outcome), round=run.outcome.round, run=run, checkpoint=folder)
    return run


def _check(model: Model, shards: Shards, test: Dataset, algorithm: Algorithm, momentum: float) -> None:
    for part in (*shards.parts, test):
        model.check(part.inputs, part.classes)
    if not len(test):
        raise BadInput("the test data are empty; hold some samples out to judge models by")
    if not 0 <= momentum < 1:
        raise BadInput(f"momentum = {momentum}; it must lie between 0, for none, and 1")
    if isinstance(algorithm, PrivateDgd):
        raise BadAlgorithm(
            "PrivateDgd takes one exact gradient per exchange; to train with differential privacy use Dgd() and "
            "private=DpSgd(epsilon)"
        )


def _check_clip(clip: Clip | None, private: DpSgd | None, timetable: Timetable, momentum: float) -> None:
    if clip is None:
        return
    if private is not None:
        raise BadAlgorithm("private=DpSgd clips and adds noise by itself; give either that or clip=")
    clip.check(timetable.local_steps, momentum)


def _poisson(clip: Clip | None, shards: Shards, batch: int) -> PoissonBatches | None:
    """Secret batches, at one public rate for all: b over the mean size of a shard."""
    if clip is None or clip.per != "record":
        return None
    return PoissonBatches.of(batch, sum(shards.counts) / len(shards), max(shards.counts))


def _clipping(private: DpSgd | None, shards: Shards, timetable: Timetable) -> Clipping | None:
    if private is None:
        return None
    sigma = private.sigma(**_sampled(shards, timetable))
    return Clipping(np.asarray(private.clip), np.asarray(sigma))


def _if_known(private: DpSgd, shards: Shards, timetable: Timetable) -> float:
    """ε for whoever knows which samples were drawn."""
    return private.epsilon_if_known(**_sampled(shards, timetable))


def _sampled(shards: Shards, timetable: Timetable) -> dict[str, int]:
    """What an account of sampling needs to know of the agent who samples most."""
    steps = timetable.rounds * timetable.local_steps
    return {"samples": min(shards.counts), "batch": timetable.batch, "steps": steps}


def _described(
    run: Run, shards: Shards, timetable: Timetable, private: DpSgd | None, objective: Minibatches
) -> Run:
    """The run with what only learning knows about it."""
    model, steps, outcome = objective.model, timetable.local_steps, run.outcome
    remarks = [f"{steps} local step{'' if steps == 1 else 's'} between exchanges, {shards.how}", *run.remarks]
    if run.noise.rms:
        several = (
            f", {steps} times that per exchange; at equal numbers of gradient steps, √{steps} = "
            f"{math.sqrt(steps):.3g} times would leak as much to averaging as an exchange after every step"
        )
        remarks.append(
            f"noise of {run.noise.rms:.3g} per coordinate and local step{several if steps > 1 else ''}"
        )
    if private is not None and objective.clipping is not None:
        remarks.append(
            f"({private.epsilon:g}, {private.failure:g})-differential privacy for one sample replaced, subsets and "
            f"noise secret, so for a secret seed: gradients clipped to {private.clip:g}, normal noise of σ = "
            f"{float(objective.clipping.sigma):.4g} on the sum of {timetable.batch}, {timetable.rounds * steps} steps; "
            f"without amplification, if subsets are known, ε = {_if_known(private, shards, timetable):.3g}"
        )
    clip = objective.clip
    if clip is not None:
        remarks.append(clip.in_words(objective.batch, objective.poisson))
    if outcome.ending is Ending.DIVERGED:
        detail = f"in epoch {timetable.epoch_of(outcome.round)}, {outcome.detail}"
        outcome = replace(outcome, detail=detail)
    learning = {
        "model": model.name,
        "parameters": model.dim,
        "shards": shards.how,
        "samples": shards.counts,
        "epochs": timetable.epochs,
        "local_steps": steps,
        "batch": timetable.batch,
        "momentum": objective.momentum,
        "clip": None if clip is None else clip.in_numbers(objective.batch, objective.poisson),
        "private": None
        if private is None
        else vars(private)
        | {"assumes": "subsets secret", "epsilon_if_known": _if_known(private, shards, timetable)},
    }
    return replace(
        run,
        claim=Claim(None, UNCOVERED, ()),
        outcome=outcome,
        remarks=tuple(remarks),
        settings=run.settings | {"learning": learning},
    )
