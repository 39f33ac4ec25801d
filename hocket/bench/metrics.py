"""What a comparison measures beside the gap: gradient, distance to the optimum, and how well classes are told apart."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp

from hocket.algorithm import x_of
from hocket.engines.compiled.measures import Gauge, gap_and_company
from hocket.engines.compiled.program import Carry, Program, Steps
from hocket.engines.schedule import Looks

MEASURED = (
    "gap",
    "regret",
    "loss",
    "gradient_norm",
    "disagreement",
    "consensus_error",
    "x_error",
    "accuracy",
    "precision",
    "recall",
)
"""Columns of measurements, in order."""
MESSAGES = ("messages_sent", "messages_received", "messages_lost")
"""Columns of messages that a channel counts."""


class BenchMeasures(NamedTuple):
    """The gap and its company, and what a comparison adds."""

    gap: Any
    """Of the worst agent."""
    looked_at: Any
    mean_gap: Any
    """Of the agents' mean: the regret."""
    loss: Any
    disagreement: Any
    noise_rms: Any
    noise_max: Any
    finite: Any
    gradient_norm: Any
    """‖(1/n) Σ_j ∇f_j(x̄)‖, penalties aside."""
    consensus_error: Any
    """The root of the mean of ‖x_j − x̄‖²."""
    x_error: Any
    """max_j ‖x_j − x*‖; NaN where no x* is known."""
    accuracy: Any
    """Of x̄ on all agents' samples: the share of right classes; NaN where there are none."""
    precision: Any
    """Of those put into the positive class, the share that is in it."""
    recall: Any
    """Of those in the positive class, the share put into it."""

    messages_sent: Any
    """Of one agent, in the mean, as the channel counts them; NaN without one."""
    messages_received: Any
    messages_lost: Any

    @property
    def shown(self) -> dict[str, float]:
        """What a progress bar says."""
        return {"gap": float(self.gap), "disagreement": float(self.disagreement)}


class BenchGauge(Gauge):
    """Measures what a comparison asks for."""

    optimum: Any
    """x*, or NaN where only its value is known, or nothing."""

    kind: ClassVar[type] = BenchMeasures

    def __call__(self, program: Program, carry: Carry, steps: Steps, look: Looks) -> BenchMeasures:
        x = program.population.real(x_of(carry.state))
        mean = program.population.mean(x)
        apart = jnp.linalg.norm(x - mean, axis=1)
        slope = program.population.mean(program.by_group("gradient", jnp.broadcast_to(mean, x.shape)))
        return BenchMeasures(
            *gap_and_company(program, carry, steps, look),
            gradient_norm=jnp.linalg.norm(slope),
            consensus_error=jnp.sqrt(program.population.mean(apart**2)),
            x_error=program.population.largest(jnp.linalg.norm(x - self.optimum, axis=1)),
            **_classes(program, mean),
            **_messages(program, carry, mean),
        )


def _messages(program: Program, carry: Carry, like: Any) -> dict[str, Any]:
    """Messages of one agent so far, in the mean over agents."""
    if carry.mail is None:
        return dict.fromkeys(MESSAGES, jnp.full((), jnp.nan, like.dtype))
    parts = carry.mail.sent, carry.mail.received, carry.mail.lost
    return {name: jnp.mean(part.astype(like.dtype)) for name, part in zip(MESSAGES, parts, strict=True)}


def _classes(program: Program, x: Any) -> dict[str, Any]:
    """How well x tells classes apart, on the samples of all agents."""
    (group,) = program.pooled.groups
    found = group.objective.classified(x, group.data_of(0))
    if found is None:
        return dict.fromkeys(("accuracy", "precision", "recall"), jnp.full((), jnp.nan, x.dtype))
    guess, truth, real = found

    def share(of: Any, among: Any) -> Any:
        return jnp.sum(of & among & real) / jnp.sum(among & real)

    everywhere = jnp.ones_like(real)
    return {
        "accuracy": share(guess == truth, everywhere),
        "precision": share(truth, guess),
        "recall": share(guess, truth),
    }
