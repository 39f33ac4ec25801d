"""How good models are on held-out data: every agent's, and the mean of all."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped

from hocket.algorithm import x_of
from hocket.engines.compiled.measures import Gauge, noise_size
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.schedule import Looks
from hocket.engines.transcripts import published_states
from hocket.learning.data.dataset import Dataset
from hocket.learning.models import Model
from hocket.problems import Objective
from hocket.problems.problem import Problem
from hocket.problems.sets import Everywhere

PIECE = 250
"""Samples judged at once: what a convolution makes of so many, for every agent, still fits into memory."""


class HeldOutData(NamedTuple):
    """Samples cut into equal pieces."""

    inputs: Shaped[Any, "*one pieces piece ..."]
    labels: Int[Any, "*one pieces piece"]
    """−1 on padding."""


class HeldOut(Objective):
    """The mean loss of a model on data that nobody learns from."""

    model: Model = eqx.field(static=True)

    def value(self, x: Float[Any, " dim"], data: HeldOutData) -> Any:
        return self.judged(x[None], data)[0][0]

    def judged(self, rows: Float[Any, "models dim"], data: HeldOutData) -> tuple[Any, Any]:
        """For every model its mean loss, and the share of samples whose label scores highest."""
        models = jax.vmap(self.model.unravel)(rows)

        def piece(some: HeldOutData) -> Any:
            real = some.labels >= 0

            def one(parameters: Any) -> Any:
                scores = self.model.apply(parameters, some.inputs)
                losses = self.model.loss(scores, jnp.maximum(some.labels, 0))
                right = jnp.argmax(scores, axis=1) == some.labels
                return jnp.sum(jnp.where(real, losses, 0)), jnp.sum(right)

            # All models on the same samples: what does not depend on parameters is computed once for all.
            return jax.vmap(one)(models)

        losses, right = jax.lax.map(piece, data)
        count = jnp.sum(data.labels >= 0)
        return losses.sum(axis=0) / count, right.sum(axis=0) / count


class LearningMeasures(NamedTuple):
    """What is measured at the end of an epoch."""

    gap: Any
    """Not known: NaN."""
    loss: Any
    """Of the mean model on held-out data."""
    disagreement: Any
    noise_rms: Any
    noise_max: Any
    finite: Any
    epoch: Any
    """How often all samples were drawn, on average."""
    accuracy: Any
    """Of every agent's model."""
    mean_accuracy: Any
    """Of the mean of all agents' parameters."""

    @property
    def shown(self) -> dict[str, float]:
        """What a progress bar says."""
        return {
            "epoch": float(self.epoch),
            "accuracy": float(np.mean(self.accuracy)),
            "disagreement": float(self.disagreement),
        }


class Accuracy(Gauge):
    """Reads accuracies on the program's held-out data."""

    kind: ClassVar[type] = LearningMeasures
    passes: Any
    """Epochs in one exchange."""
    published: bool = eqx.field(static=True, default=False)
    """Whether states are judged as they would be published, under noise, and not as they stay at home."""

    def __call__(self, program: Program, carry: Carry, steps: Steps, look: Looks) -> LearningMeasures:
        population = program.population
        own = population.real(x_of(carry.state))
        x = population.real(published_states(program, carry, steps)) if self.published else own
        mean = population.mean(x)
        held_out, data = _parts(program.pooled)
        losses, right = held_out.judged(jnp.concatenate([x, mean[None]]), data)
        rms, largest = noise_size(program, carry, steps)
        return LearningMeasures(
            gap=jnp.asarray(jnp.nan, x.dtype),
            loss=losses[-1],
            disagreement=population.largest(jnp.linalg.norm(x - mean, axis=1)),
            noise_rms=rms,
            noise_max=largest,
            finite=population.roll((jnp.isfinite(x) & jnp.isfinite(own)).all(axis=1)),
            epoch=(carry.k - 1) * self.passes,
            accuracy=population.roll(right[:-1]),
            mean_accuracy=right[-1],
        )


def judge(model: Model, test: Dataset) -> Problem:
    """The problem of one agent on which losses are measured."""
    size = min(PIECE, len(test))
    missing = -len(test) % size
    inputs = np.concatenate([test.inputs, np.repeat(test.inputs[:1], missing, axis=0)])
    labels = np.concatenate([test.labels, np.full(missing, -1, test.labels.dtype)])
    data = HeldOutData(inputs.reshape(-1, size, *inputs.shape[1:]), labels.reshape(-1, size))
    return Problem([HeldOut(model)], [data], feasible=Everywhere(), dim=model.dim, convex=False)


def evaluate(model: Model, x: Float[Any, "*rows dim"], data: Dataset) -> Float[np.ndarray, "*rows"]:
    """Accuracy of parameters on any data: one vector, or a row per model."""
    held_out, samples = _parts(judge(model, data))
    rows = np.atleast_2d(np.asarray(x, np.float32))
    pieces = jax.device_put(samples)
    right = np.asarray(_accuracy(held_out, jnp.asarray(rows), pieces), np.float64)
    return right.reshape(np.shape(x)[:-1])


def _parts(judge: Problem) -> tuple[HeldOut, HeldOutData]:
    (group,) = judge.groups
    assert isinstance(group.objective, HeldOut)
    return group.objective, group.data_of(0)


@eqx.filter_jit
def _accuracy(held_out: HeldOut, rows: Any, data: HeldOutData) -> Any:
    return held_out.judged(rows, data)[1]
