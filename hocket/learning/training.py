"""`train`: one model, many agents, one network, one algorithm, one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import PrivateDgd
from hocket.engines.checkpoint import Checkpoint
from hocket.engines.prepare import Measuring
from hocket.engines.solver import check_keep, play
from hocket.errors import BadAlgorithm, BadInput, Diverged
from hocket.learning.accuracy import Accuracy, judge
from hocket.learning.baselines import Clipping, DpSgd
from hocket.learning.batch_oracle import check_batches, uses_batches
from hocket.learning.batches import stacked_shards
from hocket.learning.clipping import Clip, PoissonBatches
from hocket.learning.data.dataset import Dataset
from hocket.learning.minibatches import Minibatches
from hocket.learning.models import Model, as_model
from hocket.learning.rows import check_rows
from hocket.learning.shards import Shards, own_shards
from hocket.learning.timetable import BATCH, LOCAL_STEPS, PerExchange, Timetable
from hocket.learning.training_report import described
from hocket.learning.whole_shards import WholeShards
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere, FeasibleSet
from hocket.problems.traced import check_traced
from hocket.runs.job import Job, algorithm_asked, check_seed, is_certified
from hocket.runs.run import Ending, Run
from hocket.steps import Step, as_step


def train(
    model: Any,
    shards: Shards | Sequence[Dataset],
    network: Network | list[Network],
    algorithm: Algorithm | type[Algorithm] | str,
    *,
    test: Dataset,
    epochs: float = 20,
    step: Step | float | Callable[[int], float] = 0.1,
    local_steps: int | None = None,
    batch: int | None = None,
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

    `step` is the size of one local step, by exchange; noise levels are per local step too. An agent takes 40 local
    steps on batches of 32, unless you say otherwise. `feasible` keeps the parameters in a set, a `Ball` say; `private`
    trains with differential privacy, against those who do not know `seed`: subsets and noise follow from it, so draw
    it in secret, and anew for every run. `clip` cuts gradients, for the algorithm's own noise to hide: see
    `Clip`. Every so many epochs (`every`) all agents' models and their mean are judged on `test`: see `epoch`,
    `accuracy`, `mean_accuracy` and `loss` in `run.history`; with `clip`, `private` or certified noise models are
    judged as they would be published.
    `checkpoint` names a folder in which the run keeps its state; the same call later goes on from there.
    Algorithms that ask for gradients by themselves, as those with constant steps do, take one step along the exact
    gradient of the whole shard in each exchange, and refuse batches, momentum, `clip` and `private`.
    With the engine "cluster" agents are spread over all devices of all processes. Runs of the same model object share
    one compilation.
    """
    check_seed(seed)
    model, algorithm = as_model(model), algorithm_asked(algorithm)
    shards = shards if isinstance(shards, Shards) else own_shards(shards)
    _check(model, shards, test, algorithm, momentum)
    check_batches(
        algorithm,
        private=private is not None,
        clip=clip is not None,
        momentum=momentum,
        batch=batch is not None,
        local_steps=local_steps,
    )
    batches = uses_batches(algorithm)
    local_steps = (LOCAL_STEPS if batches else 1) if local_steps is None else local_steps
    batch = (BATCH if batch is None else batch) if batches else None
    timetable = Timetable(sum(shards.counts), len(shards), batch, local_steps, epochs)
    _check_clip(clip, private, timetable, momentum)
    if engine not in ("simulator", "cluster"):
        raise BadInput(f"engine = {engine!r}; choose 'simulator' or 'cluster'")
    check_keep(keep, engine, checkpoint)
    if private is not None or (clip is not None and clip.per == "record"):
        check_rows(model, shards.parts[0].inputs, shards.parts[0].classes)
    objective = (
        WholeShards(model)
        if batch is None
        else Minibatches(
            model,
            threefry.seed_key(seed),
            local_steps,
            batch,
            float(momentum),
            clipping=_clipping(private, shards, timetable),
            clip=clip,
            poisson=_poisson(clip, shards, batch),
        )
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
    # What is promised is promised of messages, and of what is published after them: so nothing else is shown.
    promised = clip is not None or private is not None or is_certified(job)
    if promised:
        check_traced(job.problem)
    run = play(
        job,
        job.algorithm,
        Measuring(
            averaging=False,
            judge=judge(model, test),
            gauge=Accuracy(np.asarray(timetable.passes), published=promised),
        ),
        engine=engine,
        keep=keep,
        checkpoint=Checkpoint(folder) if folder else None,
        progress=progress,
        marks=timetable.marks(every),
    )
    run = described(run, shards, timetable, private, objective, published=promised)
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
    for name, one, kind in (("private", private, DpSgd), ("clip", clip, Clip)):
        if one is not None and type(one) is not kind:
            raise BadAlgorithm(
                f"{name}= is {type(one).__name__}, and what is promised is promised of {kind.__name__} itself: "
                f"of other code nothing is known; give {kind.__name__}(…)"
            )
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
    sigma = private.sigma(**timetable.sampled(min(shards.counts)))
    return Clipping(np.asarray(private.clip), np.asarray(sigma))
