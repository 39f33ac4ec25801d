"""The exchange after the last round: words under noise once more, mixed, and no step taken.

An agent's last state holds its last gradient with no noise on it. What this exchange gives every agent may be given
away: it follows from words alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from hocket.algorithm import x_of
from hocket.engines.program import Carry, Moving, Program, Steps
from hocket.engines.round_noise import noise_of_round, pairwise
from hocket.engines.rounds import one_round
from hocket.runs.job import Job
from hocket.runs.run import LastExchange


def last_exchange(program: Program, job: Job, carry: Carry) -> Callable[[], LastExchange] | None:
    """What plays it, whenever somebody asks; None where noise was handed in for the rounds alone."""
    tables = [getattr(draw, "given", None) for draw in program.draws.values() if not draw.once]
    if any(table is not None and len(table) <= job.rounds for table in tables):
        return None

    def play() -> LastExchange:
        with jax.enable_x64(job.dtype == np.float64):
            moving, said, drawn = _played(program, carry, _steps(job, int(carry.k)))
            return LastExchange(
                x=np.asarray(x_of(moving.state)),
                words=tuple(map(np.asarray, said)),
                noise={name: np.stack(pair, axis=2)[0] for name, pair in drawn.items()},
            )

    return play


def _steps(job: Job, k: int) -> Steps:
    """α_{k−1} and α_k; α_0 is zero."""
    table = np.zeros(2)
    table[0 if k > 1 else 1 :] = job.step.table(max(k - 1, 1), k)
    return Steps(*jax.device_put((np.asarray(k - 1), np.asarray(table, job.dtype))))


def published_states(program: Program, carry: Carry, steps: Steps) -> Any:
    """What agents would publish if the run ended before round k: traced, for measures of nothing else.

    The words are those of round k, so that whoever hears all words learns nothing by it.
    """
    moving, fresh = Moving(carry.state, None, carry.mail), noise_of_round(program, carry.k)
    after, _ = one_round(program, carry, carry.k, moving, steps, fresh, stay=True)
    return x_of(after.state)


@eqx.filter_jit
def _played(program: Program, carry: Carry, steps: Steps) -> tuple[Moving, list[Any], Any]:
    moving = Moving(carry.state, None, carry.mail)
    fresh = noise_of_round(program, carry.k)
    after, said = one_round(program, carry, carry.k, moving, steps, fresh, stay=True)
    drawn = pairwise(program, carry.k[None])
    return after, said, {name: pair for name, pair in drawn.items() if not program.draws[name].once}
