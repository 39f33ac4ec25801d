"""How a case becomes a run, and all cases an experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from hocket.errors import Diverged
from hocket.learning import (
    Dataset,
    DpSgd,
    Shards,
    Split,
    dirichlet_shards,
    equal_shards,
    gradient_rms,
    label_shards,
    train,
)
from hocket.networks.network import Network
from hocket.runs.run import Run
from reproductions.experiment import Watch, side_by_side, unwatched
from reproductions.learning.cases import (
    COMPLETE,
    DIRICHLET,
    EQUAL,
    FULL,
    METHODS,
    RING,
    USUAL_STEPS,
    Case,
    Size,
    cases,
)
from reproductions.learning.outcomes import Found, Kept, Outcome
from reproductions.learning.subjects import Subject

AGENTS = 5
NETWORKS = {RING: Network.cycle(AGENTS), COMPLETE: Network.complete(AGENTS)}
CONCENTRATION = 0.5
"""Of the Dirichlet shards: most labels are mostly in one or two hands."""
LARGER = 8
"""How much larger the batches of DP-SGD are, with as many fewer steps: its noise is per step, whatever the batch."""
DIGITS_KEPT = 6


class Desk:
    """The data at hand, divided as cases ask, and one model for each division, so that runs share compilations."""

    def __init__(self, subject: Subject, splits: dict[str, Split], size: Size):
        self.subject, self.size = subject, size
        self.splits = {
            name: split._replace(train=_first(split.train, size.samples)) for name, split in splits.items()
        }
        self.models = {name: subject.build(split.train, 0) for name, split in self.splits.items()}
        # Runs come seed by seed: a few divisions of large data at a time are enough.
        self.shards = lru_cache(maxsize=4)(self._shards)
        self.gradient = lru_cache(maxsize=None)(self._gradient)

    @property
    def epochs(self) -> float:
        return self.subject.epochs * self.size.epochs

    def setting(self) -> dict[str, Any]:
        """What all runs have in common."""
        step = self.subject.step(1.0)
        return {
            "experiment": self.subject.name,
            "data": {
                name: [split.train.name, len(split.train), len(split.test)]
                for name, split in self.splits.items()
            },
            "model": {name: model.name for name, model in self.models.items()},
            "step": f"α = {self.subject.first_step:g}/(1 + epoch/{self.subject.halving:g})^{step.p:g}",
            "epochs": self.epochs,
            "batch": self.subject.batch,
            "seeds": self.size.seeds,
        }

    def run(self, case: Case) -> Outcome:
        """Train as a case says."""
        began, model, ending = time.monotonic(), self.models[case.split], ""
        try:
            run = self._train(case)
        except Diverged as stopped:
            run, ending = stopped.run, str(stopped)
        history = run.history
        return Outcome(
            case=case,
            epochs=np.round(history["epoch"], DIGITS_KEPT).tolist(),
            accuracy=np.round(history["accuracy"], DIGITS_KEPT).tolist(),
            mean_accuracy=np.round(history["mean_accuracy"], DIGITS_KEPT).tolist(),
            disagreement=run.disagreement,
            noise=run.noise.rms,
            gradient=self.gradient(case.split, case.shards, case.seed),
            exchanges=run.rounds if METHODS[case.method].communicates else 0,
            parameters=model.dim,
            ending=ending,
            remarks=list(run.remarks),
            seconds=round(time.monotonic() - began, 2),
            device=jax.devices()[0].device_kind,
        )

    def _train(self, case: Case) -> Run:
        kind, model, network = METHODS[case.method], self.models[case.split], NETWORKS[case.network or RING]
        split, shards = self.splits[case.split], self.shards(case.split, case.shards, case.seed)
        gradient = self.gradient(case.split, case.shards, case.seed)
        noise = case.level * gradient if kind.level == "noise" else 0.0
        return train(
            model,
            shards,
            network,
            kind.algorithm(noise, model.dim, int(network.degrees[0, 0])),
            test=split.test,
            epochs=self.epochs,
            seed=case.seed,
            start=self.subject.build(split.train, case.seed).start,
            progress=False,
            **self._steps(case, sum(shards.counts)),
        )

    def _steps(self, case: Case, samples: int) -> dict[str, Any]:
        """Batches, local steps and their size; those of DP-SGD differ."""
        batch, local_steps, private = self.subject.batch, case.local_steps, None
        if METHODS[case.method].level == "epsilon":
            batch, local_steps, private = batch * LARGER, max(local_steps // LARGER, 1), DpSgd(case.level)
        step = self.subject.step(AGENTS * batch * local_steps / samples)
        if private is not None:
            # Of twelve settings tried on MNIST with one seed (clip .3 and 1, batches of 8 and 32 times, steps of .5, 2
            # and 8 times), none did clearly better than clip 1, batches of 8 times and steps of ε times.
            step = replace(step, a=case.level * step.a)
        return {"step": step, "local_steps": local_steps, "batch": batch, "private": private}

    def _shards(self, split: str, kind: str, seed: int) -> Shards:
        train = self.splits[split].train
        if kind == EQUAL:
            return equal_shards(train, AGENTS, seed=seed)
        if kind == DIRICHLET:
            return dirichlet_shards(train, AGENTS, concentration=CONCENTRATION, seed=seed)
        return label_shards(train, AGENTS, seed=seed)

    def _gradient(self, split: str, kind: str, seed: int) -> float:
        """What noise levels are multiples of."""
        model = self.subject.build(self.splits[split].train, seed)
        return gradient_rms(
            model,
            self.shards(split, kind, seed),
            local_steps=USUAL_STEPS,
            batch=self.subject.batch,
            seed=seed,
        )


def play(
    subject: Subject,
    size: Size = FULL,
    watch: Watch = unwatched,
    *,
    out: Path | None = None,
    data: Path | None = None,
    download: bool = False,
    only: Sequence[str] = (),
    say: Callable[[str], None] = lambda words: None,
) -> Found:
    """Make all runs that the folder does not hold yet."""
    wanted = cases(subject.splits, size, only)  # an unknown part is said before anything is loaded
    subject, splits = subject.load(data, download=download)
    if subject.remark:
        say(subject.remark)
        wanted = cases(splits, size, only)
    desk = Desk(subject, splits, size)
    kept = Kept.open(subject.name, out, desk.setting())
    _make(desk, kept, wanted, watch, say)
    everything = [kept.find(case) for case in cases(splits, size)]
    outcomes = {outcome.case: outcome for outcome in everything if outcome is not None}
    remarks = [split.remark for split in splits.values() if split.remark]
    total = sum(outcome.seconds for outcome in outcomes.values())
    return Found(subject, size, list(splits), [subject.remark, *remarks], outcomes, total, kept.folder)


def _make(desk: Desk, kept: Kept, wanted: list[Case], watch: Watch, say: Callable[[str], None]) -> None:
    missing = [case for case in wanted if kept.find(case) is None]
    if len(missing) < len(wanted):
        say(f"{len(wanted) - len(missing)} of {len(wanted)} runs are in {kept.folder} already")

    def make(case: Case) -> None:
        outcome = desk.run(case)
        kept.keep(outcome)
        end = outcome.ending and f": {outcome.ending}"
        say(f"{outcome.reached:6.2f} %  {case}  ({outcome.seconds:.0f} s){end}")

    side_by_side(make, missing, watch)


def _first(data: Dataset, samples: int | None) -> Dataset:
    return data if samples is None or samples >= len(data) else data.take(np.arange(samples))
