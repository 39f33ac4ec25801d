"""What a training says of itself: its remarks, its settings, and what of it stays at home."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from hocket.learning.baselines import DpSgd
from hocket.learning.batch_oracle import named
from hocket.learning.minibatches import Minibatches
from hocket.learning.shards import Shards
from hocket.learning.timetable import Timetable
from hocket.learning.whole_shards import WholeShards
from hocket.runs.job import PUBLIC_START, RAW
from hocket.runs.run import Ending, Run
from hocket.runs.theorems import Claim

UNCOVERED = "no theorem: the paper's theorems are for exact gradients and an exchange after every step"
NOT_CLAIMED = (
    "no theorem: hk.train claims none; hk.solve says which one covers exact gradients of a convex loss"
)
PUBLISHED = "run.history, and what was shown on the way, is of states as run.published has them"
AT_HOME = "run.x, run.mean, run.noise, run.infeasibility, paths, transcripts and checkpoints stay at home"
HOME_NOISE = ("noise_rms", "noise_max")
"""Of a history: how large the noise was that hides somebody, which is for nobody else to know."""


def described(
    run: Run,
    shards: Shards,
    timetable: Timetable,
    private: DpSgd | None,
    objective: Minibatches | WholeShards,
    *,
    published: bool,
) -> Run:
    """The run with what only learning knows about it; if `published`, nothing in its history is of raw states."""
    model, outcome = objective.model, run.outcome
    remarks = [f"{_exchanges(run, timetable)}, {shards.how}", *run.remarks]
    learning: dict[str, Any] = {
        "model": model.name,
        "parameters": model.dim,
        "shards": shards.how,
        "samples": shards.counts,
        "epochs": timetable.epochs,
        "local_steps": timetable.local_steps,
        "batch": timetable.batch,
        "momentum": 0.0,
        "clip": None,
        "private": None,
        "history": "published states" if published else "own states",
    }
    if run.noise.rms and not published:
        remarks.append(_noise(run.noise.rms, timetable.local_steps))
    if isinstance(objective, Minibatches):
        learning["momentum"] = objective.momentum
        if private is not None and objective.clipping is not None:
            known = private.epsilon_if_known(**timetable.sampled(min(shards.counts)))
            learning["private"] = vars(private) | {
                "neighbours": "one record replaced",
                "assumes": "subsets secret",
                "epsilon_if_known": known,
            }
            remarks.append(_promise(private, float(objective.clipping.sigma), timetable, known))
        if (clip := objective.clip) is not None:
            learning["clip"] = clip.in_numbers(objective.batch, objective.poisson)
            remarks.append(clip.in_words(objective.batch, objective.poisson))
    if published:
        # Under private= states themselves are made of noisy gradients.
        remarks.append(PUBLIC_START)
        remarks.insert(1, PUBLISHED if private is not None else f"{PUBLISHED}; {AT_HOME}")
    if outcome.ending is Ending.DIVERGED:
        detail = f"in epoch {timetable.epoch_of(outcome.round)}, {outcome.detail}"
        outcome = replace(outcome, detail=detail)
    settings = {name: value for name, value in run.settings.items() if name != "stays_at_home"}
    if published and private is None:
        settings["stays_at_home"] = list(RAW)
    kept = {name: column for name, column in run.history.items() if not (published and name in HOME_NOISE)}
    return replace(
        run,
        claim=Claim(None, NOT_CLAIMED if timetable.batch is None else UNCOVERED, ()),
        outcome=outcome,
        history=kept,
        remarks=tuple(remarks),
        settings=settings | {"learning": learning},
    )


def _exchanges(run: Run, timetable: Timetable) -> str:
    """What happens between two exchanges."""
    steps = timetable.local_steps
    if timetable.batch is not None:
        return f"{steps} local step{'' if steps == 1 else 's'} between exchanges"
    assert run.algorithm is not None
    return (
        f"{named(run.algorithm)} takes exact gradients by itself: batch= and local_steps= do not apply, each exchange "
        "takes one step of the size given, on all records, and counts as an epoch"
    )


def _noise(rms: float, steps: int) -> str:
    several = (
        f", {steps} times that per exchange; at equal numbers of gradient steps, √{steps} = "
        f"{math.sqrt(steps):.3g} times would leak as much to averaging as an exchange after every step"
    )
    return f"noise of {rms:.3g} per coordinate and local step{several if steps > 1 else ''}"


def _promise(private: DpSgd, sigma: float, timetable: Timetable, known: float) -> str:
    if private.epsilon == math.inf:
        return f"nothing is promised: epsilon = inf of DpSgd clips gradients to {private.clip:g} and adds no noise"
    return (
        f"({private.epsilon:g}, {private.failure:g})-differential privacy for one record replaced, subsets and "
        f"noise secret, so for a secret seed that no other run uses: gradients clipped to {private.clip:g}, normal "
        f"noise of σ = {sigma:.4g} on the sum of {timetable.batch}, {timetable.rounds * timetable.local_steps} steps; "
        f"without amplification, if subsets are known, ε = {known:.3g}"
    )
