"""From what the user wrote to a compiled program's arguments."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np

from hocket.algorithm import Algorithm
from hocket.engines.compile_cache import keep_compiled
from hocket.engines.compiled.channel import ChannelModel
from hocket.engines.compiled.measures import Gauge
from hocket.engines.compiled.program import Program
from hocket.errors import BadInput
from hocket.networks.neighbour_tables import SharedLayout, tabulate
from hocket.networks.network import Network
from hocket.noise import threefry
from hocket.noise.draws import Balanced, Draw
from hocket.noise.stds import is_by_link, values
from hocket.problems.problem import Problem
from hocket.runs.channel import link_needs
from hocket.runs.job import Job

COUNTERS = 1 << 32
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where Python keeps a function, as it prints it."""


@dataclass(frozen=True)
class Measuring:
    """What is worked out beside the states."""

    averaging: bool
    """Whether Σ α_k x_k is kept, for the time average."""
    judge: Problem | None = None
    """The problem of one agent on which losses are measured; None for the run's own."""
    gauge: Gauge | None = None
    """What is measured at recorded rounds; None for the gap and its company."""


def prepare(
    job: Job,
    algorithm: Algorithm,
    *,
    averaging: bool,
    judge: Problem | None = None,
    gauge: Gauge | None = None,
    room: SharedLayout | None = None,
    beside: Mapping[str, Draw] | None = None,
) -> Program:
    """Lay out everything a run of the job's algorithm, or of one that stands for it, computes with.

    With a `judge`, a problem of one agent, losses are measured on that: on held-out data, where nobody knows f*. With
    `room`, the network is laid out in that, so that others that fit into it share the program. `beside` is what others
    draw that share it: a run without noise draws zeros in its place.
    """
    keep_compiled()
    draws = job.draws(algorithm) or {name: _of_size_zero(draw) for name, draw in (beside or {}).items()}
    _check_counters(draws, job.own_network)
    by_slot = job.channel is not None or any(isinstance(draw, Balanced) for draw in draws.values())
    if by_slot:
        room = None  # weights, or messages on their way, are laid out slot by slot
    if room is not None:
        links = np.arange(room.links)
        links[len(job.own_network.links) :] = -1
        agents = np.arange(job.own_network.n)
        draws = {name: draw.among(links, agents) for name, draw in draws.items()}
    best = job.problem.best if judge is None else None
    program = Program(
        algorithm=_numbers_only(algorithm),
        problem=job.own_problem,
        pooled=job.problem.pooled() if judge is None else judge,
        agents=job.problem.n if judge is None else 1,
        tables=tabulate(job.own_network, slots_needed=by_slot, room=room),
        draws=draws,
        key=threefry.seed_key(job.seed),
        best=np.asarray(np.nan if best is None else best.value),
        grad_at=job.grad_at,
        dtype=job.dtype,
        averaging=averaging,
        gauge=gauge,
        order=_order(job.own_problem),
        channel=None
        if job.channel is None
        else ChannelModel.of(job.channel, link_needs(algorithm).on_missing),
    )
    # Lone numbers of the feasible set are compiled in: loading them takes a tenth of a tiny round's time.
    feasible = jax.tree.map(
        lambda leaf: float(leaf) if np.ndim(leaf) == 0 else jax.device_put(leaf), job.own_problem.feasible
    )
    return eqx.tree_at(lambda program: program.problem.feasible, on_device(program, job.dtype), feasible)


def _of_size_zero(draw: Draw) -> Draw:
    size = next(name for name in ("scale", "gamma", "bound", "sigma") if hasattr(draw, name))
    return dataclasses.replace(draw, **{size: 0 * getattr(draw, size)})


def _order(problem: Problem) -> np.ndarray | None:
    """Where each agent stands when agents are lined up group by group."""
    if len(problem.groups) == 1:
        return None
    return np.argsort(np.concatenate([group.members for group in problem.groups]))


def on_device(tree: Any, dtype: Any) -> Any:
    """Turn every number into an array of the run's precision, so that it becomes an argument of the program."""

    def convert(leaf: Any) -> Any:
        array = np.asarray(leaf)
        if array.dtype == object:
            array = array.astype(np.float64)
        return array.astype(dtype, copy=False) if np.issubdtype(array.dtype, np.floating) else array

    kinds = float | int | np.ndarray | np.generic | jax.Array
    numbers, others = eqx.partition(tree, lambda leaf: isinstance(leaf, kinds) and not isinstance(leaf, bool))
    # Not jnp.asarray: that compiles a program for every shape, 15 ms each. And all at once.
    return eqx.combine(jax.device_put(jax.tree.map(convert, numbers)), others)


def fingerprint(program: Program, start: np.ndarray) -> str:
    """A hash of what decides a run's numbers, so that a checkpoint is only resumed by its own run; steps aside.

    Code enters by its name and by what it gives at the start: where it lies in memory differs between processes.
    """
    digest = hashlib.sha256()
    leaves, structure = jax.tree.flatten(eqx.filter(program, eqx.is_array))
    at_start = float(_total(program.pooled, start[0]))
    digest.update(_ADDRESS.sub("", f"{structure}{at_start:.9e}").encode())
    for leaf in [start, *leaves]:
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


@eqx.filter_jit
def _total(pooled: Problem, x: Any) -> Any:
    return pooled.total(x)


def _numbers_only(algorithm: Algorithm) -> Algorithm:
    """Without the user's own noise, and without σ of each link: both have become tables among the draws."""
    if getattr(algorithm, "given", None) is not None:
        algorithm = dataclasses.replace(algorithm, given=None)
    if is_by_link(sd := getattr(algorithm, "sd", None)):
        # One number stands for all, so that a program compiled for one σ serves here too.
        algorithm = dataclasses.replace(algorithm, sd=max(values(sd)))
    return algorithm


def _check_counters(draws: dict[str, Draw], network: Network) -> None:
    for draw in draws.values():
        width = getattr(draw, "width", 0)
        if max(len(network.links), network.n) * width >= COUNTERS:
            raise BadInput(
                f"{len(network.links)} links of width {width} need more noise counters than 2^32 in a round; "
                "use fewer links, a smaller dimension or split the run"
            )
