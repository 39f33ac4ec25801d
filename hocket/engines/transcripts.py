"""Many transcripts of one job, one for each seed, in one compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm
from hocket.engines.prepare import prepare
from hocket.engines.program import Moving, Program, Steps
from hocket.engines.round_noise import noise_of_round, pairwise
from hocket.engines.rounds import begin, one_round
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.problems.problem import Problem
from hocket.runs.job import Job, check_seed
from hocket.steps import Step


class Transcripts(NamedTuple):
    """All words and all pairwise draws of many runs, the exchange after the last round included."""

    words: Float[np.ndarray, "seeds words agents ..."]
    """w_1 … w_{K+1}."""
    noise: dict[str, np.ndarray]
    """By kind: (seeds, words, links, 2, width), lower-numbered sender first; a single row for noise drawn once."""


def transcripts(
    problem: Problem,
    network: Network,
    algorithm: Algorithm,
    *,
    rounds: int,
    seeds: Iterable[int],
    step: Step | float | Callable[[int], float],
    start: Any = None,
) -> Transcripts:
    """What is said in a run of every seed: as `solve` would have it, in float64, for algorithms that say one array."""
    chosen = list(seeds)
    for seed in chosen:
        check_seed(seed)
    # Noise on a grid is drawn before a run, by seed: each has a program of its own, and they are played side by side.
    each = getattr(getattr(algorithm, "algorithm", algorithm), "grid", None) is not None
    asked: dict[str, Any] = {"step": step, "rounds": rounds, "start": start}
    jobs = [
        Job.asked(problem, network, algorithm, seed=seed, **asked) for seed in chosen[: None if each else 1]
    ]
    job = jobs[0]
    with jax.enable_x64(True):
        programs = [prepare(one, one.algorithm.effective(), averaging=False) for one in jobs]
        program = jax.tree.map(lambda *one: jnp.stack(one), *programs) if each else programs[0]
        steps = Steps(*jax.device_put((np.asarray(0), np.array([0.0, *job.step.table(1, rounds + 1)]))))
        keys = jax.device_put(np.stack([threefry.seed_key(seed) for seed in chosen]))
        words, noise = _played(program, each, keys, jax.device_put(job.first_states.astype(job.dtype)), steps)
        return Transcripts(np.asarray(words), {kind: np.stack(pair, axis=3) for kind, pair in noise.items()})


@eqx.filter_jit
def _played(program: Program, each: bool, keys: Any, start: Any, steps: Steps) -> Any:
    last = len(steps.table) - 1

    def one(own: Program, key: Any) -> Any:
        this = dataclasses.replace(own, key=key)
        carry = begin(this, start, steps)

        def played(k: Any, moving: Moving, *, stay: bool = False) -> tuple[Moving, Any]:
            fresh = noise_of_round(this, jnp.asarray(k))
            after, (said,) = one_round(this, carry, k, moving, steps, fresh, stay=stay)
            return after, said

        moving, words = jax.lax.scan(
            lambda moving, k: played(k, moving), Moving(carry.state, None), jnp.arange(1, last)
        )
        said = played(jnp.asarray(last), moving, stay=True)[1]
        return jnp.concatenate([words, said[None]]), pairwise(this, jnp.arange(1, last + 1))

    return eqx.filter_vmap(one, in_axes=(eqx.if_array(0) if each else None, 0))(program, keys)
