"""What objectives of a public form give away over several runs on the same data, each along the path of its own plan.

The parameters are the same in all runs, so that what each tells of them adds up: the posterior of one is what the next
begins from. What was drawn once and kept is unknown along with them and shared between runs; starts and fresh noise are
new in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.estimate.model_class import FollowedForm, KnownModel, Model, exact_parts, scale_of
from hocket.privacy.estimate.posterior import block_diagonal
from hocket.privacy.estimate.recursion import Course
from hocket.privacy.families import Family


class FormRun(NamedTuple):
    """One run as a listener to several hears it, with the form that is public of it."""

    course: Course
    """Over what was drawn once in any of the runs."""
    people: tuple[int, ...]
    """Whose objectives the network's agents have."""
    model: Model
    """The form of each of its agents' objectives, and where its gradients are taken."""
    offset_size: float
    """The deviation of one number that was drawn once."""


def known_over_runs(
    runs: Sequence[FormRun], people: Sequence[int], n: int, *, prior: float, start: float
) -> KnownModel:
    """Follow a listener through runs of objectives of one form; `people` are the honest ones, of n.

    `prior` is how far, before anything was heard, each parameter by itself may move a gradient in any of the runs. Of
    every agent it is the gradient where a run ended that is known best.
    """
    families, scales = _of_everybody(runs, people)
    ends = dict(zip(people, np.cumsum([families[who].size for who in people]).tolist(), strict=True))
    rows = {who: np.arange(ends[who] - families[who].size, ends[who]) for who in people}
    first = runs[0]
    kept = first.course.listener.offsets * first.model.path.shape[2]
    believed = np.concatenate([np.zeros(0), *(prior * scales[who] for who in people)])
    lasting = block_diagonal(np.diag(believed), first.offset_size * np.eye(kept))
    for run in runs:
        followed = FollowedForm(run.course, run.model, prior)
        order = _order(run, followed, rows, kept, len(believed))
        states = followed.ends[0]
        posterior = followed.watched(followed.from_start(start, lasting[order]))
        lasting = posterior.factor[states:][np.argsort(order)]
    return _known(runs, lasting, rows, families, scales, n, prior)


def _of_everybody(
    runs: Sequence[FormRun], people: Sequence[int]
) -> tuple[dict[int, Family], dict[int, np.ndarray]]:
    """Everybody's form, and how much of each parameter moves a gradient by one in some run."""
    families: dict[int, Family] = {}
    moved: dict[int, list[np.ndarray]] = {}
    for run in runs:
        for agent, who in enumerate(run.people):
            form = run.model.families[agent]
            if families.setdefault(who, form).size != form.size or families[who].dim != form.dim:
                raise BadInput(f"agent {who} has {families[who].name} in one run and {form.name} in another")
            moved.setdefault(who, []).append(run.model.jacobians[agent])
    return families, {who: scale_of(np.concatenate(moved[who])) for who in people}


def _order(
    run: FormRun, followed: FollowedForm, rows: dict[int, np.ndarray], kept: int, parameters: int
) -> np.ndarray:
    """Where this run's lasting unknowns are among those of all: its parameters, what was drawn once, the others'."""
    here = [run.people[agent] for agent in followed.honest]
    others = [who for who in rows if who not in here]
    offsets = np.arange(parameters, parameters + kept)
    return np.concatenate([*(rows[who] for who in here), offsets, *(rows[who] for who in others)]).astype(int)


def _known(
    runs: Sequence[FormRun],
    lasting: np.ndarray,
    rows: dict[int, np.ndarray],
    families: dict[int, Family],
    scales: dict[int, np.ndarray],
    n: int,
    prior: float,
) -> KnownModel:
    sd, shares = np.zeros(n), [np.zeros(0)] * n
    for who, places in rows.items():
        last = [
            run.model.jacobians[run.people.index(who)][-1] @ lasting[places]
            for run in runs
            if who in run.people
        ]
        sd[who] = min(float(np.linalg.norm(one, axis=1).min()) for one in last)
        shares[who] = np.linalg.norm(lasting[places], axis=1) / (prior * scales[who])
    sd[sd < 1e-9 * prior] = 0.0
    words = " and ".join(dict.fromkeys(families[who].name for who in rows))
    honest = {who: families[who] for who in rows}
    return KnownModel(words, sd, exact_parts(honest, dict(enumerate(shares))), shares)
