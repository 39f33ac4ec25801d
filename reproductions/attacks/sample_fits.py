"""Samples fitted to all that was said: the sum attack and its kin, on trainings over whole shards.

Of a model whose form is public, what an exchange does to an agent's parameters is a function of where they were and of
its samples: one gradient step, or several. So every exchange is an equation about the same few numbers, and noise that
sums to zero leaves the sum over all agents bare. Labels are taken to be known: anybody who must tell one of ten values
tries them. It takes batches of all samples: which of them a smaller batch holds, nobody learns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.claims import only_sums
from hocket.errors import BadInput
from hocket.learning.data.dataset import Dataset
from hocket.learning.minibatches import Minibatches
from hocket.privacy.attacks import ModelFit, model_fit, sum_attack
from hocket.privacy.attacks.equations import equations
from hocket.privacy.attacks.model_fit import assumed_of, fitted
from hocket.privacy.attacks.several_runs import SAME_NOISE
from hocket.privacy.attacks.system import Key, Received, System
from hocket.privacy.families import Family, of_problem
from hocket.privacy.profile import profile
from hocket.problems import Objective
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere
from hocket.runs.run import Run
from reproductions.attacks.knowledge import features


def does_not_apply(algorithm: Algorithm, *, whole: bool, momentum: float = 0.0, clipped: bool = False) -> str:
    """Why samples cannot be fitted to one neighbour's view of such a training; empty where they can.

    `whole` says that every batch is all of a shard, `clipped` that gradients carry noise for differential privacy.
    """
    if clipped:
        return "every gradient has noise of its own"
    if not whole:
        return "which samples a batch holds is not received"
    if momentum:
        return "momentum is not fitted"
    if only_sums(algorithm):
        return "nobody sends a message of its own"
    if profile(algorithm).per_neighbour:
        return "each neighbour is told another message"
    return ""


class Displacement(Objective):
    """What one exchange does to an agent's parameters, over its step, in place of the gradient: the same for one local
    step, the mean of all gradients on the way for several.
    """

    inner: Minibatches
    step: Any

    def value(self, x: Float[Any, " dim"], data: Any) -> Any:
        return self.inner.value(x, data)

    def gradient(self, x: Float[Any, " dim"], data: Any) -> Float[Any, " dim"]:
        moved = self.inner.local(data)(x, 1, step=self.step, feasible=Everywhere(), plus=None)
        return (x - moved) / self.step


def sample_forms(run: Run) -> dict[int, Family]:
    """The public form of everybody's part in a training with steps that stay the same: all but the samples' inputs."""
    assert run.problem is not None
    assert run.step is not None
    (group,) = run.problem.groups
    objective, alpha = group.objective, run.step.table(1, run.rounds)
    if not isinstance(objective, Minibatches) or np.ptp(alpha):
        raise BadInput(
            "samples are fitted to trainings whose steps stay the same; give such a run of hk.train"
        )
    moved = Displacement(objective, np.float64(alpha[0]))
    problem = Problem(moved, group.data, feasible=Everywhere(), dim=run.problem.dim)
    return {agent: of_problem(problem, agent)[0] for agent in range(problem.n)}


def fit_by_sums(run: Run, coalition: set[int]) -> ModelFit:
    """The sum attack: everybody's samples, from sums over all agents, in which noise that cancels is not."""
    return sum_attack(run.view(coalition), family=sample_forms(run))


def fit_by_all(run: Run, coalition: set[int]) -> ModelFit:
    """The model attack: the same from everything that was received."""
    return model_fit(run.view(coalition), sample_forms(run))


def fit_replaced(before: Run, after: Run, target: int, coalition: set[int]) -> ModelFit:
    """The changed record: a second training under the same kept noise, in which one agent's samples are others.
    What they are is under the key ("after", target).
    """
    received = [equations(run.view(coalition)) for run in (before, after)]
    later: Key = ("after", target)
    forms: dict[Key, Family] = {
        j: form for j, form in sample_forms(before).items() if j in received[0].agents
    }
    roles: list[dict[int, list[Key]]] = [{j: [j] for j in one.agents} for one in received]
    roles[1][target] = [later]
    system = System(
        [Received(one, role) for one, role in zip(received, roles, strict=True)],
        forms | {later: sample_forms(after)[target]},
    )
    taken = assumed_of(received[0], forms, None)
    return fitted("changed record", system, assuming=(*taken, SAME_NOISE))


def fit_together(runs: Sequence[Run], coalition: set[int]) -> ModelFit:
    """Mixed plans: everybody's samples, from all trainings on them of which enough was received; the weakest
    decides."""
    received = [equations(run.view(coalition)) for run in runs]
    told = [
        Received(one, {j: [j] for j in one.agents}, number)
        for number, one in enumerate(received)
        if one.agents
    ]
    if not told:
        raise BadInput(f"there is nothing to fit samples to: {received[0].silence}")
    agents = {j for one in told for j in one.equations.agents}
    forms: dict[Key, Family] = {j: form for j, form in sample_forms(runs[0]).items() if j in agents}
    return fitted("mixed plans", System(told, forms), assuming=assumed_of(told[0].equations, forms, None))


def sample_error(fit: ModelFit, key: Key, samples: Dataset) -> float:
    """How far fitted inputs are from the true ones, as a part of their size, on average over samples."""
    truth = features(samples)
    found = fit.parameters(key).reshape(truth.shape)
    return float(np.mean(np.linalg.norm(found - truth, axis=1) / np.linalg.norm(truth, axis=1)))
